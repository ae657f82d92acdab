// A shard's turn: order of letters, rounds, tasks at the end of the turn, actors that go.
#include "broker/runtime/shard.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/limits.h"
#include "broker/runtime/mailbox.h"
#include "tests/unit/runtime/stub_env.h"

namespace shard_test {

using namespace ringtail::runtime;

namespace {

struct Note : Letter {
  explicit Note(std::string note_text) : Letter(kRuntimeLetters), text(std::move(note_text)) {}
  std::string text;
};

LetterPtr note(std::string text) { return std::make_unique<Note>(std::move(text)); }

struct Recorder : Actor {
  void receive(LetterPtr letter) noexcept override {
    seen.push_back(letter_cast<Note>(*letter).text);
    from.push_back(letter->from);
    if (then) then();
  }
  std::vector<std::string> seen;
  std::vector<Address> from;
  std::function<void()> then;
};

struct Task : TurnTask {
  explicit Task(std::function<void()> body) : run(std::move(body)) {}
  void turn_end() noexcept override { run(); }
  std::function<void()> run;
};

struct NoWaker : Waker {
  void wake() noexcept override { ++wakes; }
  int wakes = 0;
};

struct OneShard {
  StubEnv env;
  Mailboxes mailboxes{1};
  Shard shard{NodeId{}, ShardId{}, env, mailboxes};
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("shard: letters arrive in order, with their sender, never inside post") {
  OneShard one;
  Recorder actor;
  const Address to = one.shard.add(actor);
  CHECK((to.actor.value & kInventedActorBit) != 0);
  const Address sender{NodeId{}, ShardId{}, ActorId{7}};
  one.shard.post(sender, to, note("a"));
  one.shard.post(sender, to, note("b"));
  CHECK(actor.seen.empty());
  CHECK_FALSE(one.shard.run_turn());
  CHECK(actor.seen == Texts{"a", "b"});
  CHECK(actor.from[1] == sender);
}

TEST_CASE("shard: a letter posted by a receiver comes in the next round of the same turn") {
  OneShard one;
  Recorder first;
  Recorder second;
  const Address first_at = one.shard.add(first);
  const Address second_at = one.shard.add(ActorId{42}, second);
  CHECK(second_at.actor == ActorId{42});
  Texts order;
  Task flush([&] { order.push_back("flush"); });
  first.then = [&] {
    order.push_back("first");
    one.shard.flush_batches_at_turn_end(flush);
    one.shard.flush_batches_at_turn_end(flush);
    if (order.size() == 1) one.shard.post(first_at, second_at, note("2"));
  };
  second.then = [&] { order.push_back("second"); };
  one.shard.post(first_at, first_at, note("1"));
  CHECK_FALSE(one.shard.run_turn());
  CHECK(order == Texts{"first", "flush", "second"});
}

TEST_CASE("shard: batches come before output, and may bring more letters") {
  OneShard one;
  Recorder actor;
  const Address at = one.shard.add(actor);
  Texts order;
  Task output([&] { order.push_back("output"); });
  Task batch([&] {
    order.push_back("batch");
    one.shard.post(at, at, note("x"));
  });
  actor.then = [&] {
    order.push_back("letter");
    one.shard.write_output_at_turn_end(output);
  };
  one.shard.write_output_at_turn_end(output);
  one.shard.flush_batches_at_turn_end(batch);
  CHECK_FALSE(one.shard.run_turn());
  CHECK(order == Texts{"batch", "output", "letter", "output"});
}

TEST_CASE("shard: a task added while tasks run goes into the next round") {
  OneShard one;
  int runs = 0;
  Task* self = nullptr;
  Task again([&] {
    if (++runs < 3) one.shard.flush_batches_at_turn_end(*self);
  });
  self = &again;
  one.shard.flush_batches_at_turn_end(again);
  CHECK_FALSE(one.shard.run_turn());
  CHECK(runs == 3);
}

TEST_CASE("shard: a task destroyed while tasks run is not called") {
  OneShard one;
  int calls = 0;
  auto second = std::make_unique<Task>([&] { ++calls; });
  auto first = std::make_unique<Task>([&] {
    ++calls;
    second.reset();
  });
  one.shard.write_output_at_turn_end(*first);
  one.shard.write_output_at_turn_end(*second);
  one.shard.run_turn();
  CHECK(calls == 1);
}

TEST_CASE("shard: a turn ends after its rounds, and says that there is more") {
  OneShard one;
  Recorder actor;
  const Address at = one.shard.add(actor);
  bool go_on = true;
  actor.then = [&] {
    if (go_on) one.shard.post(at, at, note("again"));
  };
  one.shard.post(at, at, note("start"));
  CHECK(one.shard.run_turn());
  CHECK(actor.seen.size() == static_cast<std::size_t>(kRoundsPerTurn));
  go_on = false;
  CHECK_FALSE(one.shard.run_turn());
  CHECK(actor.seen.size() == static_cast<std::size_t>(kRoundsPerTurn) + 1);
}

TEST_CASE("shard: letters to an actor that went go to the fallback") {
  OneShard one;
  Recorder fallback;
  auto leaving = std::make_unique<Recorder>();
  const Address at = one.shard.add(*leaving);
  leaving->then = [&] {
    one.shard.remove(at.actor);
    leaving->then = nullptr;
  };
  one.shard.post(at, at, note("1"));
  one.shard.post(at, at, note("2"));
  one.shard.run_turn();
  CHECK(leaving->seen == Texts{"1"});
  one.shard.set_fallback(&fallback);
  one.shard.post(at, at, note("3"));
  one.shard.run_turn();
  CHECK(leaving->seen == Texts{"1"});
  CHECK(fallback.seen == Texts{"3"});
  const Address next = one.shard.add(*leaving);
  CHECK(next.actor != at.actor);
}

TEST_CASE("shard: letters between two shards keep their order and wake once a round") {
  StubEnv env;
  Mailboxes mailboxes(2);
  NoWaker wakers[2];
  mailboxes.set_waker(ShardId{0}, &wakers[0]);
  mailboxes.set_waker(ShardId{1}, &wakers[1]);
  Shard left(NodeId{}, ShardId{0}, env, mailboxes);
  Shard right(NodeId{}, ShardId{1}, env, mailboxes);
  Recorder here;
  Recorder there;
  const Address here_at = left.add(here);
  const Address there_at = right.add(there);
  there.then = [&] { right.post(there_at, here_at, note("reply")); };
  for (const char* text : {"a", "b", "c"}) left.post(here_at, there_at, note(text));
  CHECK(wakers[1].wakes == 0);
  left.run_turn();
  CHECK(wakers[1].wakes == 1);
  right.run_turn();
  CHECK(there.seen == Texts{"a", "b", "c"});
  CHECK(wakers[0].wakes == 1);
  left.run_turn();
  CHECK(here.seen.size() == 3);
}

}  // namespace shard_test
