#include "queue/queue_process.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "broker/runtime/limits.h"
#include "broker/runtime/memory_gauge.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::queue_process_test {
namespace {

using test::body_of;
using test::FakeChannel;
using test::Fixture;

struct QueueFixture : Fixture {
  Qid qid = declare("q");
  FakeChannel channel{*this};
  FakeChannel other{*this};

  std::unique_ptr<GetResult> get(FakeChannel& from, bool no_ack) {
    from.send<Get>(qid, [&](Get& letter) {
      letter.request = 77;
      letter.no_ack = no_ack;
    });
    run();
    return from.take<GetResult>(kGetResult);
  }
  std::unique_ptr<Inspected> inspect() {
    other.send<Inspect>(qid);
    run();
    return other.take<Inspected>(kInspected);
  }
};

std::vector<std::string> numbered(int from, int to) {
  std::vector<std::string> all;
  for (int i = from; i <= to; ++i) all.push_back(std::to_string(i));
  return all;
}

TEST_CASE_FIXTURE(QueueFixture, "messages come out in the order they went in") {
  channel.publish(qid, {"a", "b"});
  other.publish(qid, {"c"});
  channel.publish(qid, {"d"});
  channel.consume(qid, 1, [](Consume& letter) { letter.no_ack = true; });
  channel.publish(qid, {"e", "f"});
  run();
  CHECK(channel.take<ConsumeOk>(kConsumeOk)->answer == Answer::kOk);
  const auto first = channel.take<Deliver>(kDeliver);
  REQUIRE(first != nullptr);
  CHECK(first->deliveries.front().token == 0);
  CHECK(body_of(first->deliveries.front().message) == "a");
  CHECK(first->deliveries.size() == 6);
  CHECK(inspect()->messages_ready == 0);
}

TEST_CASE_FIXTURE(QueueFixture, "a backlog and what is published behind it stay in order") {
  channel.publish(qid, numbered(1, 200));
  run();
  channel.consume(qid, 1, [](Consume& letter) { letter.no_ack = true; });
  channel.publish(qid, numbered(201, 300));
  run();
  const auto got = channel.deliveries();
  REQUIRE(got.size() == 300);
  for (int i = 0; i < 300; ++i) {
    CHECK(body_of(got[static_cast<std::size_t>(i)].message) == std::to_string(i + 1));
  }
}

TEST_CASE_FIXTURE(QueueFixture, "publishes are settled once per producer and turn") {
  channel.publish(qid, {"a", "b"});
  other.publish(qid, {"x"});
  channel.publish(qid, {"c"});
  run();
  REQUIRE(channel.heard.size() == 1);
  CHECK(channel.take<Settled>(kSettled)->up_to == 3);
  CHECK(other.take<Settled>(kSettled)->up_to == 1);
  channel.publish(qid, {"d"});
  run();
  CHECK(channel.take<Settled>(kSettled)->up_to == 4);
  CHECK(inspect()->published == 5);
}

TEST_CASE_FIXTURE(QueueFixture, "answers come behind what was gathered before them") {
  channel.consume(qid, 1, [](Consume& letter) { letter.no_ack = true; });
  channel.publish(qid, {"a"});
  channel.send<Cancel>(qid, [](Cancel& letter) { letter.consumer = 1; });
  channel.publish(qid, {"b"});
  channel.send<Get>(qid);
  run();
  std::vector<int> kinds;
  for (const auto& letter : channel.heard) kinds.push_back(letter->kind);
  CHECK(kinds == std::vector<int>{kConsumeOk, kSettled, kDeliver, kCancelOk, kSettled, kGetResult});
  for (const auto& letter : channel.heard) {
    CHECK(letter->from == runtime::Address{shard.node(), shard.id(), {qid.value}});
  }
}

TEST_CASE_FIXTURE(QueueFixture, "consumers take turns message by message") {
  for (ConsumerId id = 1; id <= 3; ++id) {
    channel.consume(qid, id, [](Consume& letter) { letter.no_ack = true; });
  }
  channel.publish(qid, numbered(1, 9));
  run();
  std::vector<ConsumerId> who;
  for (const Delivery& delivery : channel.deliveries()) who.push_back(delivery.consumer);
  CHECK(who == std::vector<ConsumerId>{1, 2, 3, 1, 2, 3, 1, 2, 3});

  SUBCASE("a consumer that cannot take is passed over and comes back") {
    channel.credit(qid, 2, 3, 0, true);
    channel.publish(qid, numbered(1, 4));
    run();
    who.clear();
    for (const Delivery& delivery : channel.deliveries()) who.push_back(delivery.consumer);
    CHECK(who == std::vector<ConsumerId>{1, 3, 1, 3});
    channel.credit(qid, 2, 3, 0, false);
    channel.publish(qid, numbered(1, 3));
    run();
    who.clear();
    for (const Delivery& delivery : channel.deliveries()) who.push_back(delivery.consumer);
    CHECK(who == std::vector<ConsumerId>{1, 3, 2});
    CHECK(channel.take<Resumed>(kResumed)->consumer == 2);
    CHECK(channel.take<Resumed>(kResumed) == nullptr);
  }
}

TEST_CASE_FIXTURE(QueueFixture, "higher priorities first, the rest when they cannot take") {
  const auto consume = [&](ConsumerId id, std::int32_t priority) {
    channel.consume(qid, id, [=](Consume& letter) {
      letter.priority = priority;
      letter.prefetch = 2;
    });
  };
  consume(1, 0);
  consume(2, 10);
  consume(3, 10);
  consume(4, -1);
  channel.publish(qid, numbered(1, 10));
  run();
  std::vector<ConsumerId> who;
  std::vector<DeliveryToken> tokens;
  for (const Delivery& delivery : channel.deliveries()) {
    who.push_back(delivery.consumer);
    tokens.push_back(delivery.token);
  }
  CHECK(who == std::vector<ConsumerId>{2, 3, 2, 3, 1, 1, 4, 4});
  CHECK(inspect()->messages_ready == 2);

  // Consumers 4 and 2 get room in one letter: the higher one takes both messages.
  channel.ack(qid, {tokens[6], tokens[0], tokens[2]});
  run();
  who.clear();
  for (const Delivery& delivery : channel.deliveries()) who.push_back(delivery.consumer);
  CHECK(who == std::vector<ConsumerId>{2, 2});
}

TEST_CASE_FIXTURE(QueueFixture, "prefetch bounds what a consumer holds") {
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 3; });
  channel.publish(qid, numbered(1, 10));
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "1 2 3");
  channel.ack(qid, {tokens[1]});
  run();
  CHECK(channel.bodies(&tokens) == "4");
  channel.ack(qid, {tokens[0], tokens[2], tokens[3]}, true);
  run();
  CHECK(channel.bodies() == "5 6 7");
  const auto seen = inspect();
  CHECK(seen->messages_ready == 3);
  CHECK(seen->messages_unacknowledged == 3);
  CHECK(seen->message_bytes_ready == 4);
  CHECK(seen->delivered == 7);
  CHECK(seen->acknowledged == 1);
  CHECK(seen->consumers == 1);
}

TEST_CASE_FIXTURE(QueueFixture, "prefetch does not bind a consumer without acknowledgements") {
  channel.consume(qid, 1, [](Consume& letter) {
    letter.prefetch = 1;
    letter.no_ack = true;
  });
  channel.publish(qid, numbered(1, 4));
  run();
  CHECK(channel.bodies() == "1 2 3 4");
}

TEST_CASE_FIXTURE(QueueFixture, "the write window in messages") {
  channel.consume(qid, 1, [](Consume& letter) { letter.no_ack = true; });
  const auto window = static_cast<int>(runtime::kDeliverWindowMessages);
  for (int i = 0; i < window + 1000; i += 1000)
    channel.publish(qid, std::vector<std::string>(1000));
  run();
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (int round = 0; round < 100; ++round) {
    const auto got = channel.deliveries();
    if (got.empty()) break;
    for (const Delivery& delivery : got) bytes += delivery.message->footprint();
    count += got.size();
    // The window in bytes closes first: report the bytes alone, so that messages are the limit.
    channel.credit(qid, 1, 0, bytes);
    run();
  }
  CHECK(count == runtime::kDeliverWindowMessages);
  channel.credit(qid, 1, 10, bytes);
  run();
  CHECK(channel.deliveries().size() == 10);
  // An older report takes nothing back.
  channel.credit(qid, 1, 5, 0);
  run();
  CHECK(channel.deliveries().empty());
}

TEST_CASE_FIXTURE(QueueFixture, "the write window in bytes lets one large message cross it") {
  const std::uint64_t half = runtime::kDeliverWindowBytes / 2;
  channel.send<Publish>(qid, [&](Publish& letter) {
    letter.first_number = 1;
    for (int i = 0; i < 5; ++i) {
      letter.messages.emplace_back(Message::create({}, {}, half + 1, {}));
    }
  });
  channel.consume(qid, 1);
  run();
  auto got = channel.deliveries();
  REQUIRE(got.size() == 2);
  const std::uint64_t footprint = got[0].message->footprint();
  channel.credit(qid, 1, 1, footprint);
  run();
  CHECK(channel.deliveries().size() == 1);
  channel.credit(qid, 1, 3, 3 * footprint);
  run();
  CHECK(channel.deliveries().size() == 2);
}

TEST_CASE_FIXTURE(QueueFixture, "the delivery limit is a total that a credit replaces") {
  channel.consume(qid, 1, [](Consume& letter) { letter.delivery_limit = 0; });
  channel.publish(qid, numbered(1, 9));
  run();
  CHECK(channel.bodies() == "");
  channel.credit(qid, 1, 0, 0, false, 2);
  run();
  CHECK(channel.bodies() == "1 2");
  channel.credit(qid, 1, 2, 0, false, 5);
  run();
  CHECK(channel.bodies() == "3 4 5");
  channel.credit(qid, 1, 5, 0);
  run();
  CHECK(channel.bodies() == "6 7 8 9");
}

TEST_CASE_FIXTURE(QueueFixture, "requeued messages go back to their places") {
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 5; });
  channel.publish(qid, numbered(1, 8));
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "1 2 3 4 5");
  channel.credit(qid, 1, 5, 0, true);
  channel.requeue(qid, {tokens[3]});
  channel.requeue(qid, {tokens[4], tokens[1]}, false);
  channel.publish(qid, {"9"});
  run();
  CHECK(channel.bodies() == "");
  other.consume(qid, 1, [](Consume& letter) { letter.prefetch = 6; });
  run();
  CHECK(other.bodies(&tokens) == "2 4* 5 6 7 8");
  // Once marked it stays so.
  other.credit(qid, 1, 6, 0, true);
  other.requeue(qid, {tokens[6], tokens[9]}, false);
  channel.requeue(qid, {tokens[0]});
  channel.credit(qid, 1, 5, 0, false);
  run();
  CHECK(channel.bodies() == "1* 4* 7 9");
  // What came back undelivered was not delivered.
  const auto seen = inspect();
  CHECK(seen->delivered == 5 - 2 + 6 - 2 + 4);
  CHECK(seen->redelivered == 0 + 1 - 1 + 2);
}

TEST_CASE_FIXTURE(QueueFixture, "a requeue is offered to the other consumers") {
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
  other.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
  channel.publish(qid, {"a", "b", "c"});
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a");
  CHECK(other.bodies(&tokens) == "b");
  other.ack(qid, {tokens[1]});
  run();
  CHECK(other.bodies(&tokens) == "c");
  channel.requeue(qid, {tokens[0]});
  run();
  CHECK(channel.bodies() == "a*");
}

TEST_CASE_FIXTURE(QueueFixture, "get with and without acknowledgement") {
  auto result = get(channel, false);
  CHECK(result->answer == Answer::kOk);
  CHECK(!result->message);
  CHECK(result->request == 77);
  channel.publish(qid, {"a", "b", "c"});
  result = get(channel, false);
  CHECK(body_of(result->message) == "a");
  CHECK(result->token != 0);
  CHECK(result->messages_ready == 2);
  const DeliveryToken token = result->token;
  result = get(other, true);
  CHECK(body_of(result->message) == "b");
  CHECK(result->token == 0);
  CHECK(inspect()->messages_unacknowledged == 1);
  channel.requeue(qid, {token});
  result = get(other, false);
  CHECK(body_of(result->message) == "a");
  CHECK(result->redelivered);
  other.ack(qid, {result->token});
  const auto seen = inspect();
  CHECK(seen->messages_ready == 1);
  CHECK(seen->messages_unacknowledged == 0);
}

TEST_CASE_FIXTURE(QueueFixture, "unknown, old and foreign tokens do no harm") {
  channel.consume(qid, 1);
  channel.publish(qid, {"a", "b"});
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a b");
  other.ack(qid, tokens);  // a channel that the queue does not know
  other.consume(qid, 1);
  other.ack(qid, tokens);  // one that it knows
  other.requeue(qid, tokens);
  channel.ack(qid, {0, 12345, ~0ULL, tokens[0], tokens[0]});
  channel.requeue(qid, {tokens[0]});
  run();
  auto seen = inspect();
  CHECK(seen->acknowledged == 1);
  CHECK(seen->messages_unacknowledged == 1);
  CHECK(seen->messages_ready == 0);
  channel.publish(qid, {"c"});
  run();
  channel.ack(qid, {tokens[0]});  // its slot may have been used again
  run();
  seen = inspect();
  CHECK(seen->messages_unacknowledged == 2);
}

TEST_CASE_FIXTURE(QueueFixture, "purge takes what is ready and nothing else") {
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
  channel.publish(qid, numbered(1, 5));
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "1");
  other.send<Purge>(qid, [](Purge& letter) { letter.request = 9; });
  run();
  const auto purged = other.take<Purged>(kPurged);
  CHECK(purged->messages == 4);
  CHECK(purged->request == 9);
  channel.requeue(qid, tokens);
  run();
  CHECK(channel.bodies() == "1*");
  channel.publish(qid, {"6"});
  const auto seen = inspect();
  CHECK(seen->messages_ready == 1);
  CHECK(seen->message_bytes_ready == 1);
}

TEST_CASE_FIXTURE(QueueFixture, "a large purge is freed over several turns") {
  const std::int64_t before = runtime::MemoryGauge::total();
  for (int i = 0; i < 50; ++i) channel.publish(qid, std::vector<std::string>(1000));
  run();
  other.send<Purge>(qid);
  shard.run_turn();
  CHECK(other.take<Purged>(kPurged)->messages == 50'000);
  CHECK(runtime::MemoryGauge::total() > before);
  int turns = 0;
  while (shard.run_turn()) ++turns;
  CHECK(turns >= 1);
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE_FIXTURE(QueueFixture, "memory goes back to where it was") {
  const std::int64_t before = runtime::MemoryGauge::total();
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 700; });
  for (int i = 0; i < 5; ++i) channel.publish(qid, numbered(1, 1000));
  run();
  std::vector<DeliveryToken> tokens;
  channel.bodies(&tokens);
  CHECK(runtime::MemoryGauge::total() > before);
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    channel.ack(qid, {tokens[at]});
    run();
    channel.bodies(&tokens);
  }
  CHECK(tokens.size() == 5000);
  // An empty queue keeps a little for its next entries and deliveries: a chunk of each.
  CHECK(runtime::MemoryGauge::total() - before <= 1024 + 4096);
  CHECK(inspect()->messages_unacknowledged == 0);
}

}  // namespace
}  // namespace ringtail::queue::queue_process_test
