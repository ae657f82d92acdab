#include "tools/perf/client.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/perf/fake_env.h"

namespace client_test {

using namespace ringtail;
using namespace ringtail::perf;

namespace {

using Methods = std::vector<std::uint32_t>;

struct User final : ClientUser {
  bool on_frame(const amqp::Frame& frame) noexcept override {
    if (frame.type == amqp::FrameType::kMethod &&
        amqp::load_u32(frame.payload.data()) != amqp::kMethodKey<amqp::BasicAck>) {
      return false;
    }
    ++frames;
    bytes += frame.payload.size();
    return true;
  }
  void on_read_done() noexcept override { ++reads; }
  void on_writable() noexcept override { ++writable; }
  void on_lost(const std::string& reason) noexcept override { lost.push_back(reason); }
  void on_blocked(bool blocked, const std::string&) noexcept override { blocks += blocked ? 1 : 0; }

  int frames = 0;
  std::size_t bytes = 0;
  int reads = 0;
  int writable = 0;
  int blocks = 0;
  std::vector<std::string> lost;
};

struct Fixture {
  FakeEnv env;
  User user;
  Client client{env, Target{}, 0};
  int opened = 0;
  int closed = 0;

  Fixture() {
    client.open(user, [this] { ++opened; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the handshake, however the bytes are cut") {
  for (const std::size_t part : {kWhole, std::size_t{1}, std::size_t{7}}) {
    FakeEnv own_env;
    Client own(own_env, Target{}, 0);
    int own_opened = 0;
    own.open(user, [&own_opened] { ++own_opened; });
    own_env.open(part);
    CHECK(own_opened == 1);
    CHECK(own.is_open());
    CHECK(own_env.methods_written() == Methods{amqp::kMethodKey<amqp::ConnectionStartOk>,
                                               amqp::kMethodKey<amqp::ConnectionTuneOk>,
                                               amqp::kMethodKey<amqp::ConnectionOpen>,
                                               amqp::kMethodKey<amqp::ChannelOpen>});
  }
}

TEST_CASE_FIXTURE(Fixture, "answers go to their calls in order") {
  env.open();
  std::vector<int> answers;
  client.call<amqp::BasicQosOk>(amqp::BasicQos{},
                                [&](std::span<const std::uint8_t>) { answers.push_back(1); });
  client.call<amqp::ConfirmSelectOk>(amqp::ConfirmSelect{},
                                     [&](std::span<const std::uint8_t>) { answers.push_back(2); });
  client.flush();
  env.say(1, amqp::BasicQosOk{});
  CHECK(answers == std::vector<int>{1});
  env.say(1, amqp::ConfirmSelectOk{});
  CHECK(answers == std::vector<int>{1, 2});
}

TEST_CASE_FIXTURE(Fixture, "the user gets its frames whole although the reads cut them") {
  env.open();
  runtime::OutChain out;
  for (std::uint64_t tag = 1; tag <= 10; ++tag)
    amqp::write_method(out, 1, amqp::BasicAck{tag, false});
  env.feed(FakeEnv::bytes_of(out), 5);
  CHECK(user.frames == 10);
  CHECK(user.bytes == 10 * 13);
}

TEST_CASE_FIXTURE(Fixture, "a refused login is a loss with the broker's words") {
  env.accept();
  env.say(0, amqp::ConnectionStart{0, 9, {}, "PLAIN", "en_US"});
  env.say(0, amqp::ConnectionClose{403, "ACCESS_REFUSED", 0, 0});
  REQUIRE(user.lost.size() == 1);
  CHECK(user.lost[0].find("403 ACCESS_REFUSED") != std::string::npos);
  env.end();
  CHECK(user.lost.size() == 1);
  CHECK(opened == 0);
}

TEST_CASE_FIXTURE(Fixture, "a channel closed by the broker is a loss, and answered") {
  env.open();
  env.methods_written();
  env.say(1, amqp::ChannelClose{404, "NOT_FOUND - no queue", 50, 10});
  CHECK(env.methods_written() == Methods{amqp::kMethodKey<amqp::ChannelCloseOk>});
  REQUIRE(user.lost.size() == 1);
  CHECK(user.lost[0].find("404 NOT_FOUND") != std::string::npos);
  CHECK(env.stream->closed);
}

TEST_CASE_FIXTURE(Fixture, "garbage is a loss") {
  env.open();
  const std::vector<std::uint8_t> garbage(64, 0x77);
  env.feed(garbage);
  CHECK(user.lost.size() == 1);
  CHECK(env.stream->closed);
}

TEST_CASE_FIXTURE(Fixture, "an end of the stream is a loss, once") {
  env.open();
  env.end(runtime::Status(runtime::Code::kClosed, "closed by the peer"));
  CHECK(user.lost == std::vector<std::string>{"closed by the peer"});
  client.close([this] { ++closed; });
  CHECK(closed == 1);
}

TEST_CASE_FIXTURE(Fixture, "a close in order waits for both ends and is no loss") {
  env.open();
  env.methods_written();
  client.close([this] { ++closed; });
  CHECK(env.methods_written() == Methods{amqp::kMethodKey<amqp::ConnectionClose>});
  env.say(1, amqp::BasicAck{1, false});  // on its way when we closed
  CHECK(user.frames == 0);
  CHECK(closed == 0);
  env.say(0, amqp::ConnectionCloseOk{});
  CHECK(env.stream->closed);
  env.end();
  CHECK(closed == 1);
  CHECK(user.lost.empty());
}

TEST_CASE_FIXTURE(Fixture, "a failed connection is a loss") {
  env.connecting(runtime::Status(runtime::Code::kUnavailable, "connection refused"));
  CHECK(user.lost == std::vector<std::string>{"connection refused"});
  client.close([this] { ++closed; });
  CHECK(closed == 1);
}

TEST_CASE_FIXTURE(Fixture, "a client aborted while it connects closes what comes of it") {
  client.close([this] { ++closed; });
  CHECK(closed == 0);
  env.accept();
  CHECK(env.stream->closed);
  env.end();
  CHECK(closed == 1);
  CHECK(user.lost.empty());
}

TEST_CASE_FIXTURE(Fixture, "output waits while the socket is full") {
  env.open();
  env.methods_written();
  env.block_writes = true;
  amqp::write_method(client.out(), kChannel, amqp::BasicAck{1, false});
  client.flush();
  CHECK_FALSE(client.idle());
  amqp::write_method(client.out(), kChannel, amqp::BasicAck{2, false});
  client.flush();
  CHECK(env.methods_written().size() == 1);
  env.block_writes = false;
  env.stream->blocked = false;
  env.stream->events->on_written();
  CHECK(env.methods_written().size() == 1);
  CHECK(client.idle());
  CHECK(user.writable == 1);
}

TEST_CASE("heartbeats are sent, and missed") {
  FakeEnv env;
  User user;
  Client client(env, Target{}, 10);
  client.open(user, [] {});
  env.open();
  env.written.clear();
  env.fire();  // half a heartbeat: something was written since the last
  CHECK(env.written.empty());
  env.fire();
  CHECK(env.written.size() == 8);
  env.fire();
  env.fire();
  CHECK(user.lost.empty());
  env.fire();
  REQUIRE(user.lost.size() == 1);
  CHECK(user.lost[0].find("heartbeat") != std::string::npos);
}

}  // namespace client_test
