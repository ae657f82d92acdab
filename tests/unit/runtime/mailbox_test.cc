// Mailboxes between real threads: order, no lost wake-up, rings that are full.
#include "broker/runtime/mailbox.h"

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "broker/runtime/shard.h"
#include "tests/unit/runtime/stub_env.h"

namespace mailbox_test {

using namespace ringtail::runtime;

namespace {

struct Numbered : Letter {
  explicit Numbered(std::uint64_t letter_number) : Letter(kRuntimeLetters), number(letter_number) {}
  std::uint64_t number;
};

// Stands in for uv_async: a thread sleeps until it was woken at least once since it last slept.
class Sleeper : public Waker {
 public:
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    ++wakes_;
    woken_ = true;
    changed_.notify_one();
  }
  void sleep() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return woken_; });
    woken_ = false;
  }
  int wakes() {
    const std::lock_guard lock(mutex_);
    return wakes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  int wakes_ = 0;
};

constexpr ShardId kLeft{0};
constexpr ShardId kRight{1};

void put(Mailboxes& mailboxes, std::uint64_t number) {
  mailboxes.put(kLeft, kRight, ActorId{number}, std::make_unique<Numbered>(number));
}

// Takes all there is; checks that the numbers follow each other.
std::uint64_t take_all(Mailboxes& mailboxes, std::uint64_t next) {
  PostedLetter posted;
  while (mailboxes.take(kRight, kLeft, posted)) {
    const LetterPtr letter(posted.letter);
    REQUIRE(posted.to.value == next);
    REQUIRE(letter_cast<Numbered>(*letter).number == next);
    ++next;
  }
  return next;
}

struct TwoSleepers {
  Mailboxes mailboxes{2};
  Sleeper left;
  Sleeper right;
  TwoSleepers() {
    mailboxes.set_waker(kLeft, &left);
    mailboxes.set_waker(kRight, &right);
  }
};

}  // namespace

TEST_CASE("mailbox: nothing arrives before flush, and one flush wakes once") {
  TwoSleepers two;
  for (std::uint64_t i = 0; i < 10; ++i) put(two.mailboxes, i);
  CHECK(take_all(two.mailboxes, 0) == 0);
  CHECK_FALSE(two.mailboxes.flush(kLeft));
  CHECK(two.right.wakes() == 1);
  CHECK_FALSE(two.mailboxes.flush(kLeft));
  CHECK(two.right.wakes() == 1);
  CHECK(take_all(two.mailboxes, 0) == 10);
  two.mailboxes.drained(kRight);
  CHECK(two.left.wakes() == 0);
}

TEST_CASE("mailbox: what does not fit waits at the sender, who is woken when there is room") {
  TwoSleepers two;
  const std::uint64_t count = 3 * kMailboxCapacity + 5;
  for (std::uint64_t i = 0; i < count; ++i) put(two.mailboxes, i);
  CHECK(two.mailboxes.flush(kLeft));
  CHECK(two.right.wakes() == 1);
  CHECK(two.mailboxes.flush(kLeft));
  CHECK(two.right.wakes() == 1);  // nothing more could be moved: nothing to wake for
  std::uint64_t next = 0;
  int rounds = 0;
  while (next < count) {
    const std::uint64_t before = next;
    next = take_all(two.mailboxes, next);
    REQUIRE(next > before);
    two.mailboxes.drained(kRight);
    const bool waits = two.mailboxes.flush(kLeft);
    CHECK(waits == (next + kMailboxCapacity < count));
    ++rounds;
  }
  CHECK(rounds == 4);
  CHECK(two.left.wakes() == 3);
}

TEST_CASE("mailbox: letters still under way are destroyed with it") {
  struct Counted : Letter {
    explicit Counted(int& counter) : Letter(kRuntimeLetters), alive(counter) { ++alive; }
    ~Counted() override { --alive; }
    int& alive;
  };
  int alive = 0;
  {
    TwoSleepers two;
    for (std::size_t i = 0; i < kMailboxCapacity + 10; ++i) {
      two.mailboxes.put(kLeft, kRight, ActorId{1}, std::make_unique<Counted>(alive));
    }
    two.mailboxes.flush(kLeft);
    CHECK(alive == static_cast<int>(kMailboxCapacity) + 10);
  }
  CHECK(alive == 0);
}

TEST_CASE(
    "mailbox: two threads, sleeping whenever there is nothing, lose neither letter nor wake") {
  TwoSleepers two;
  constexpr std::uint64_t kCount = 200000;
  std::thread receiver([&two] {
    std::uint64_t next = 0;
    for (;;) {
      next = take_all(two.mailboxes, next);
      two.mailboxes.drained(kRight);
      if (next == kCount) return;
      two.right.sleep();
    }
  });
  std::uint64_t sent = 0;
  std::uint64_t burst = 1;
  bool waits = false;
  while (sent < kCount || waits) {
    // Bursts from one letter, when the receiver sleeps between any two, to more than the ring
    // takes.
    for (std::uint64_t i = 0; i < burst && sent < kCount; ++i) put(two.mailboxes, sent++);
    burst = burst * 5 % 2687;
    waits = two.mailboxes.flush(kLeft);
    if (waits) two.left.sleep();
  }
  receiver.join();
}

TEST_CASE("mailbox: two shards on two threads, questions and answers in order") {
  struct Side : Actor {
    Side(NodeId node, ShardId id, Mailboxes& boxes) : shard(node, id, env, boxes) {
      address = shard.add(*this);
    }
    void receive(LetterPtr letter) noexcept override {
      auto& numbered = letter_cast<Numbered>(*letter);
      in_order = in_order && numbered.number == next;
      ++next;
      if (answers) shard.post(address, peer, std::make_unique<Numbered>(numbered.number));
    }
    StubEnv env;
    Shard shard;
    Address address;
    Address peer;
    std::uint64_t next = 0;
    bool in_order = true;
    bool answers = false;
  };
  constexpr std::uint64_t kCount = 50000;
  TwoSleepers two;
  std::mutex ready;
  std::condition_variable is_ready;
  Address question_from;
  bool asked = false;

  std::thread thread([&] {
    auto side = std::make_unique<Side>(NodeId{}, kRight, two.mailboxes);
    side->answers = true;
    Address peer;
    {
      std::unique_lock lock(ready);
      is_ready.wait(lock, [&] { return asked; });
      peer = question_from;
    }
    side->peer = peer;
    while (side->next < kCount) {
      while (side->shard.run_turn()) {
      }
      if (side->next < kCount) two.right.sleep();
    }
    while (two.mailboxes.flush(kRight)) two.right.sleep();
    CHECK(side->in_order);
  });

  Side asking(NodeId{}, kLeft, two.mailboxes);
  {
    const std::lock_guard lock(ready);
    question_from = asking.address;
    asked = true;
  }
  is_ready.notify_one();
  const Address right{NodeId{}, kRight, ActorId{kInventedActorBit | 1}};
  for (std::uint64_t sent = 0; asking.next < kCount;) {
    for (int i = 0; i < 700 && sent < kCount; ++i) {
      asking.shard.post(asking.address, right, std::make_unique<Numbered>(sent++));
    }
    while (asking.shard.run_turn()) {
    }
    if (sent == kCount && asking.next < kCount) two.left.sleep();
  }
  thread.join();
  CHECK(asking.in_order);
}

}  // namespace mailbox_test
