// CL1: a stranger is told a nonce and nothing else, and costs a place for a while.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "cluster/link_limits.h"
#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"

namespace cl1_strangers {

using namespace ringtail;
using namespace ringtail::sim;
using runtime::kMillisecondNs;

TEST_CASE("control: strangers cost a place for a while, and their number is bounded") {
  TwoNodes two;
  runtime::SimEnv stranger(two.host_a);
  std::vector<std::unique_ptr<runtime::Stream>> streams;
  const auto knock = [&] {
    stranger.net().connect("10.0.0.2", LinkNode::kPort, [&](auto stream) {
      if (stream.ok()) streams.push_back(std::move(stream).value());
    });
  };
  for (std::size_t i = 0; i < cluster::kUnprovenMax + 36; ++i) knock();
  two.world.run_for(10 * kMillisecondNs);
  CHECK(two.b->hub().listener().unproven() == cluster::kUnprovenMax);
  CHECK(two.b->hub().listener().turned_away() == 36);
  two.link();  // must wait
  two.world.run_for(cluster::kHandshakeTimeoutMs * kMillisecondNs);
  CHECK(two.b->hub().listener().unproven() == 0);
  CHECK(two.connected());
}

namespace {

// Says something, then something more when it hears anything.
struct Stranger final : runtime::StreamEvents {
  void say(const std::string& text) {
    runtime::OutChain chain;
    chain.append_copy(text.data(), text.size());
    if (!stream->pending_write()) stream->write(chain);
  }
  void on_read(std::span<std::uint8_t> data) noexcept override {
    heard += data.size();
    if (heard == 42 && !more.empty()) say(more);
  }
  void on_written() noexcept override {}
  void on_closed(const runtime::Status&) noexcept override { closed = true; }

  std::unique_ptr<runtime::Stream> stream;
  std::string more;
  std::size_t heard = 0;
  bool closed = false;
};

}  // namespace

TEST_CASE("links: who does not prove himself is told a nonce and nothing else") {
  TwoNodes two;
  runtime::SimEnv env(two.host_a);
  cluster::LinkHello hello;
  hello.identity = two.a->identity(1);
  const std::string greeting = cluster::DialerHandshake(hello, cluster::Nonce{}).greeting();
  const std::string proofless = std::string(2, '\1') + std::string(0x0101, 'x');
  struct Words {
    std::string first;
    std::string more;
    std::size_t heard;
  };
  for (const Words& words :
       {Words{"GET / HTTP/1.1\r\n\r\n", "", 0}, Words{std::string("AMQP\0\0\x9\x1", 8), "", 0},
        Words{greeting, "", 42}, Words{greeting, proofless, 42}, Words{greeting, greeting, 42},
        Words{greeting + proofless, "", 0}, Words{std::string(100'000, '\0'), "", 0}}) {
    Stranger stranger;
    stranger.more = words.more;
    env.net().connect("10.0.0.2", LinkNode::kPort, [&](auto made) {
      REQUIRE(made.ok());
      stranger.stream = std::move(made).value();
      stranger.stream->start(stranger);
      stranger.say(words.first);
    });
    REQUIRE(two.world.run_until([&] { return stranger.closed; }, 6 * runtime::kSecondNs));
    // Cut reads can bring the greeting alone; the answer to it is all there ever is.
    CHECK(stranger.heard <= 42);
    if (words.first.size() <= greeting.size()) CHECK(stranger.heard == words.heard);
    CHECK(two.b->hub().listener().unproven() == 0);
  }
}

}  // namespace cl1_strangers
