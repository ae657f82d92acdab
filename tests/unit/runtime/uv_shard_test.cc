// Whole shards on threads of their own, and the signals that end a node.
#include "broker/runtime/uv/uv_shard.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "broker/runtime/env.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/mailbox.h"
#include "broker/runtime/uv/uv_signals.h"
#include "tests/unit/runtime/uv_fixture.h"

namespace uv_shard_test {

using namespace ringtail::runtime;

namespace {

struct SocketLetter : Letter {
  SocketLetter() : Letter(kRuntimeLetters) {}
  std::unique_ptr<AcceptedSocket> socket;
};

struct Ping : Letter {
  explicit Ping(std::uint64_t ping_number) : Letter(kRuntimeLetters + 1), number(ping_number) {}
  std::uint64_t number;
};

// Lives on a shard: adopts sockets and echoes what they bring; answers a ping by the next one.
class Service final : public Actor {
 public:
  static constexpr ActorId kId{1};

  explicit Service(Shard& shard) : shard_(shard) { shard_.add(kId, *this); }
  ~Service() override { shard_.remove(kId); }

  void receive(LetterPtr letter) noexcept override {
    if (letter->kind == kRuntimeLetters) {
      auto stream = shard_.env().net().adopt(std::move(letter_cast<SocketLetter>(*letter).socket));
      if (stream.ok()) echoes_.push_back(std::make_unique<Echo>(std::move(stream).value(), shard_));
      return;
    }
    auto& ping = letter_cast<Ping>(*letter);
    if (ping.number == 0) {
      finished.set_value();
      return;
    }
    const Address from = letter->from;
    shard_.post({shard_.node(), shard_.id(), kId}, from, std::make_unique<Ping>(ping.number - 1));
  }

  std::promise<void> finished;

 private:
  struct Echo : StreamEvents, TurnTask {
    Echo(std::unique_ptr<Stream> owned, Shard& owning) : stream(std::move(owned)), shard(owning) {
      stream->start(*this);
    }
    void on_read(std::span<std::uint8_t> data) noexcept override {
      chain.append_copy(data.data(), data.size());
      shard.write_output_at_turn_end(*this);
    }
    void turn_end() noexcept override {
      if (!stream->pending_write()) stream->write(chain);
    }
    void on_written() noexcept override { shard.write_output_at_turn_end(*this); }
    void on_closed(const Status&) noexcept override {}
    std::unique_ptr<Stream> stream;
    Shard& shard;
    OutChain chain;
  };

  Shard& shard_;
  std::vector<std::unique_ptr<Echo>> echoes_;
};

// A node of `count` shards with a Service each.
class Node {
 public:
  explicit Node(std::uint16_t count) : mailboxes_(count), services_(count) {
    for (std::uint16_t i = 0; i < count; ++i) {
      shards_.emplace_back(
          NodeId{}, ShardId{i}, mailboxes_,
          [this, i](Shard& shard) { services_[i] = std::make_unique<Service>(shard); },
          [this, i](Shard&) {
            if (i == 0) listener_.reset();
            services_[i].reset();
          });
    }
    for (UvShard& shard : shards_) REQUIRE(shard.start().ok());
  }
  ~Node() {
    for (UvShard& shard : shards_) shard.stop();
    for (UvShard& shard : shards_) shard.join();
  }
  UvShard& shard(std::size_t i) { return shards_[i]; }
  Service& service(std::size_t i) { return *services_[i]; }
  // Listens on shard 0, hands every connection to shard `target`; returns the port.
  std::uint16_t listen_for(std::uint16_t target) {
    std::promise<std::uint16_t> port;
    shard(0).call([&](Shard& shard) {
      auto listener = shard.env().net().listen(
          "127.0.0.1", 0, [&shard, target](std::unique_ptr<AcceptedSocket> socket) {
            auto letter = std::make_unique<SocketLetter>();
            letter->socket = std::move(socket);
            shard.post({shard.node(), shard.id(), Service::kId},
                       {shard.node(), ShardId{target}, Service::kId}, std::move(letter));
          });
      listener_ = std::move(listener).value();
      port.set_value(listener_->port());
    });
    return port.get_future().get();
  }

 private:
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<Service>> services_;
  std::unique_ptr<Listener> listener_;
  std::vector<UvShard> shards_;
};

// Sends `total` bytes and waits until as many have come back.
struct EchoClient : StreamEvents {
  EchoClient(UvFixture& uv, std::uint16_t port, std::size_t total) {
    uv.net().connect("127.0.0.1", port, [&](Result<std::unique_ptr<Stream>> result) {
      REQUIRE(result.ok());
      stream = std::move(result).value();
      stream->start(*this);
      OutChain chain;
      const std::string text(total, 'e');
      chain.append_copy(text.data(), text.size());
      stream->write(chain);
    });
    uv.run_until([&] { return received == total || ended; });
    CHECK_FALSE(ended);
  }
  void on_read(std::span<std::uint8_t> data) noexcept override { received += data.size(); }
  void on_written() noexcept override {}
  void on_closed(const Status&) noexcept override { ended = true; }
  std::unique_ptr<Stream> stream;
  std::size_t received = 0;
  bool ended = false;
};

}  // namespace

TEST_CASE("uv shard: starts, calls, stops") {
  Mailboxes mailboxes(1);
  std::thread::id started_on;
  std::thread::id stopped_on;
  UvShard shard(
      NodeId{}, ShardId{0}, mailboxes, [&](Shard&) { started_on = std::this_thread::get_id(); },
      [&](Shard&) { stopped_on = std::this_thread::get_id(); });
  REQUIRE(shard.start().ok());
  CHECK(started_on != std::thread::id());
  CHECK(started_on != std::this_thread::get_id());
  std::promise<std::vector<int>> result;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) shard.call([&, i](Shard&) { order.push_back(i); });
  shard.call([&](Shard&) { result.set_value(order); });
  CHECK(result.get_future().get() == std::vector<int>{0, 1, 2});
  shard.stop();
  shard.stop();
  shard.join();
  CHECK(stopped_on == started_on);
  shard.call([](Shard&) { FAIL("called after its end"); });
}

TEST_CASE("uv shard: letters go to and fro between two shards") {
  Node node(2);
  constexpr std::uint64_t kRounds = 5000;
  std::future<void> finished = node.service(0).finished.get_future();
  node.shard(0).call([](Shard& shard) {
    // The ping with an even number comes to this shard, which answers to the other.
    shard.post({NodeId{}, ShardId{0}, Service::kId}, {NodeId{}, ShardId{1}, Service::kId},
               std::make_unique<Ping>(kRounds + 1));
  });
  finished.get();
}

TEST_CASE("uv shard: a shard with more to do than one turn holds goes on by itself") {
  Node node(1);
  std::future<void> finished = node.service(0).finished.get_future();
  node.shard(0).call([](Shard& shard) {
    const Address self{NodeId{}, ShardId{0}, Service::kId};
    shard.post(self, self, std::make_unique<Ping>(100 * kRoundsPerTurn));
  });
  finished.get();
}

TEST_CASE("uv shard: connections accepted on one shard are served by another") {
  Node node(2);
  for (const std::uint16_t target : {std::uint16_t{1}, std::uint16_t{0}}) {
    const std::uint16_t port = node.listen_for(target);
    UvFixture uv;
    const EchoClient small(uv, port, 5);
    const EchoClient large(uv, port, 5 * 1024 * 1024);
    CHECK(large.received == 5 * 1024 * 1024);
  }
}

TEST_CASE("uv shard: stops while clients are connected and others wake it") {
  for (int round = 0; round < 5; ++round) {
    Node node(2);
    const std::uint16_t port = node.listen_for(1);
    UvFixture uv;
    const EchoClient client(uv, port, 1000);
    node.shard(0).call([](Shard& shard) {
      shard.post({NodeId{}, ShardId{0}, Service::kId}, {NodeId{}, ShardId{1}, Service::kId},
                 std::make_unique<Ping>(~std::uint64_t{0}));
    });
    std::thread stopper([&node] {
      node.shard(1).stop();
      node.shard(1).join();
    });
    uv.run_until([&] { return client.ended; });
    const_cast<EchoClient&>(client).stream.reset();
    stopper.join();
  }
}

TEST_CASE("uv signals: SIGTERM and SIGINT are reported, stop() ends the wait") {
  std::vector<int> received;
  UvSignals* self = nullptr;
  UvSignals signals([&](int number) {
    received.push_back(number);
    if (received.size() == 1) {
      kill(getpid(), SIGINT);
    } else {
      self->stop();
    }
  });
  self = &signals;
  Node node(2);  // its threads take no signal
  kill(getpid(), SIGTERM);
  signals.run();
  CHECK(received == std::vector<int>{SIGTERM, SIGINT});
}

TEST_CASE("uv signals: stopped from another thread") {
  UvSignals signals([](int) {});
  std::thread other([&signals] { signals.stop(); });
  signals.run();
  other.join();
}

}  // namespace uv_shard_test
