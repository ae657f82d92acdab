#include "broker/runtime/sim/sim_shard.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/limits.h"
#include "broker/runtime/sim/sim_client.h"

namespace sim_shard_test {

using namespace ringtail::runtime;

namespace {

constexpr LetterKind kBall = kRuntimeLetters + 0x7f;

struct Ball final : Letter {
  explicit Ball(int ball_number) : Letter(kBall), number(ball_number) {}
  int number;
};

// Returns every ball, with the next number, until it has seen enough.
class Player final : public Actor {
 public:
  Player(Shard& shard, int last) : shard_(shard), last_(last) { address = shard.add(*this); }
  ~Player() override { shard_.remove(address.actor); }
  void receive(LetterPtr letter) noexcept override {
    const int number = letter_cast<Ball>(*letter).number;
    seen.push_back(number);
    if (number < last_) shard_.post(address, letter->from, std::make_unique<Ball>(number + 1));
  }

  Address address;
  std::vector<int> seen;

 private:
  Shard& shard_;
  int last_;
};

}  // namespace

TEST_CASE("two shards play ping-pong over their mailboxes, the same every time") {
  const auto play = [](std::uint64_t seed) {
    SimWorld world(seed);
    SimHost host(world);
    SimNode node(host, NodeId{0}, 2);
    Player ping(node.shard(0), 1000);
    Player pong(node.shard(1), 1000);
    node.driver(0).run(
        [&] { node.shard(0).post(ping.address, pong.address, std::make_unique<Ball>(1)); });
    REQUIRE(world.run_until_idle());
    REQUIRE(pong.seen.size() == 500);
    REQUIRE(ping.seen.size() == 500);
    CHECK(pong.seen.front() == 1);
    CHECK(ping.seen.back() == 1000);
    return std::pair(world.digest(), world.now_ns());
  };
  const auto first = play(11);
  CHECK(first == play(11));
  CHECK(first != play(12));
  // A letter waits for a loop to wake, so a thousand take a while of virtual time.
  CHECK(first.second > 1000 * kMicrosecondNs);
  CHECK(first.second < 100 * kMillisecondNs);
}

TEST_CASE("more letters than a ring holds arrive all the same, in order") {
  SimWorld world(3);
  SimHost host(world);
  SimNode node(host, NodeId{0}, 3);
  Player sink(node.shard(2), 0);
  const int count = 5 * static_cast<int>(kMailboxCapacity);
  for (const std::size_t sender : {std::size_t{0}, std::size_t{1}}) {
    node.driver(sender).run([&] {
      for (int i = 1; i <= count; ++i) {
        node.shard(sender).post(Address{}, sink.address, std::make_unique<Ball>(i));
      }
    });
  }
  REQUIRE(world.run_until_idle());
  REQUIRE(sink.seen.size() == 2 * static_cast<std::size_t>(count));
}

TEST_CASE("letters on one shard keep their order") {
  SimWorld world(4);
  SimHost host(world);
  SimNode node(host, NodeId{0}, 1);
  Player sink(node.shard(0), 0);
  node.driver(0).run([&] {
    for (int i = 1; i <= 100; ++i) {
      node.shard(0).post(Address{}, sink.address, std::make_unique<Ball>(i));
    }
    CHECK(sink.seen.empty());
  });
  CHECK(sink.seen.empty());
  REQUIRE(world.run_until_idle());
  for (int i = 0; i < 100; ++i) CHECK(sink.seen[static_cast<std::size_t>(i)] == i + 1);
}

namespace {

class Once final : public TurnTask {
 public:
  explicit Once(int& runs) : runs_(runs) {}
  void turn_end() noexcept override { ++runs_; }

 private:
  int& runs_;
};

}  // namespace

TEST_CASE("a turn follows a timer, a disk request and a socket") {
  SimWorld world(5);
  SimHost host(world);
  SimNode node(host, NodeId{0}, 1);
  SimShardDriver& driver = node.driver(0);
  int turns = 0;
  Once task(turns);
  const auto ask = [&] { driver.shard().write_output_at_turn_end(task); };

  auto timer = driver.env().timers().make(ask);
  timer->start(5);
  REQUIRE(world.run_until([&] { return turns == 1; }));
  CHECK(world.now_ns() == 5 * kMillisecondNs);

  auto file = driver.env().disk().open("f", OpenMode::kCreateNew);
  REQUIRE(file.ok());
  DiskRequest request;
  request.done = [&](const Status&) { ask(); };
  file.value()->sync(request);
  REQUIRE(world.run_until([&] { return turns == 2; }));

  auto listener =
      driver.env().net().listen("127.0.0.1", 1, [&](std::unique_ptr<AcceptedSocket>) { ask(); });
  REQUIRE(listener.ok());
  SimClient client(host);
  client.connect("127.0.0.1", 1);
  REQUIRE(world.run_until([&] { return turns == 3; }));
}

namespace {

// Asks for another round in every round: a shard that never rests.
class Restless final : public TurnTask {
 public:
  explicit Restless(Shard& shard) : shard_(shard) {}
  void turn_end() noexcept override {
    ++runs;
    if (!stop) shard_.write_output_at_turn_end(*this);
  }
  int runs = 0;
  bool stop = false;

 private:
  Shard& shard_;
};

}  // namespace

TEST_CASE("a shard that never rests does not stop the clock") {
  SimWorld world(6);
  SimHost host(world);
  SimNode node(host, NodeId{0}, 2);
  Restless restless(node.shard(0));
  node.driver(0).run([&] { node.shard(0).write_output_at_turn_end(restless); });
  int fired = 0;
  auto timer = node.driver(1).env().timers().make([&] { ++fired; });
  timer->start(1);
  world.run_for(2 * kMillisecondNs);
  CHECK(fired == 1);
  CHECK(restless.runs > 1000);
  restless.stop = true;
  CHECK(world.run_until_idle());
}

TEST_CASE("full rings, short batches, short turns and late threads lose no letter and no order") {
  // Keeps the numbers it gets, and sends each on.
  struct Relay final : Actor {
    explicit Relay(Shard& own_shard) : shard(own_shard), address(own_shard.add(*this)) {}
    ~Relay() override { shard.remove(address.actor); }
    void receive(LetterPtr letter) noexcept override {
      seen.push_back(letter_cast<Ball>(*letter).number);
      if (next) shard.post(address, *next, std::make_unique<Ball>(seen.back()));
    }
    Shard& shard;
    Address address;
    std::optional<Address> next;
    std::vector<int> seen;
  };
  static constexpr int kBalls = 3 * static_cast<int>(kMailboxCapacity);
  const auto play = [](std::uint64_t seed, bool buggify) {
    SimWorld world(seed);
    world.set_buggify(buggify);
    SimHost host(world);
    SimNode node(host, NodeId{0}, 3);
    Relay first(node.shard(0));
    Relay second(node.shard(1));
    Relay third(node.shard(2));
    first.next = second.address;
    second.next = third.address;
    node.driver(0).run([&] {
      for (int i = 0; i < kBalls; ++i) {
        node.shard(0).post(first.address, first.address, std::make_unique<Ball>(i));
      }
    });
    REQUIRE(world.run_until_idle(600 * kSecondNs));
    CHECK(static_cast<int>(first.seen.size()) == kBalls);
    CHECK(second.seen == first.seen);
    CHECK(third.seen == first.seen);
    CHECK(std::is_sorted(third.seen.begin(), third.seen.end()));
    return world.digest();
  };
  int different = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const std::uint64_t digest = play(seed, true);
    CHECK(play(seed, true) == digest);
    if (play(seed, false) != digest) ++different;
  }
  CHECK(different > 10);
}

}  // namespace sim_shard_test
