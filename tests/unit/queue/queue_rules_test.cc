// What queues do because of their options, with the values that RabbitMQ 3.10.8 gives for the same.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "broker/runtime/memory_gauge.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::queue_rules_test {
namespace {

using cluster::metadata::Overflow;
using cluster::metadata::QueueOptions;
using test::body_of;
using test::FakeChannel;
using test::of_expiration;
using test::of_priority;

struct RulesFixture : test::Fixture {
  // The options with a dead letter exchange.
  static QueueOptions dlx(QueueOptions options = {}) {
    options.dead_letter_exchange = "dlx";
    return options;
  }
  static QueueOptions with_ttl(std::uint64_t ms) {
    QueueOptions options;
    options.message_ttl_ms = ms;
    return dlx(options);
  }
  static QueueOptions with_length(std::uint64_t length, std::optional<Overflow> overflow = {}) {
    QueueOptions options;
    options.max_length = length;
    options.overflow = overflow;
    return dlx(options);
  }
  static QueueOptions with_bytes(std::uint64_t bytes, std::optional<Overflow> overflow = {}) {
    QueueOptions options;
    options.max_length_bytes = bytes;
    options.overflow = overflow;
    return dlx(options);
  }
  static QueueOptions with_priorities(std::uint8_t levels, QueueOptions options = {}) {
    options.max_priority = levels;
    return options;
  }

  void publish(Qid qid, const std::vector<std::string>& bodies,
               const Message::Traits& traits = {}) {
    channel.publish(qid, bodies, traits);
    run();
  }
  // What basic.get gives, "" for nothing; with a star when redelivered.
  std::string get(Qid qid, DeliveryToken* token = nullptr) {
    channel.send<Get>(qid, [&](Get& letter) { letter.no_ack = token == nullptr; });
    run();
    auto result = channel.take<GetResult>(kGetResult);
    REQUIRE(result != nullptr);
    if (!result->message) return "";
    if (token != nullptr) *token = result->token;
    last_count = result->delivery_count;
    return body_of(result->message) + (result->redelivered ? "*" : "");
  }
  // All that is ready, taken.
  std::string drain(Qid qid) {
    std::string all;
    for (std::string body = get(qid); !body.empty(); body = get(qid)) {
      if (!all.empty()) all += " ";
      all += body;
    }
    return all;
  }
  std::string dead() { return dead_letters.take(); }
  std::size_t ready(Qid qid) { return registry->find(qid)->stats().messages_ready; }
  // The numbers that were refused since the last call.
  std::vector<std::uint64_t> rejected() {
    std::vector<std::uint64_t> all;
    while (auto settled = channel.take<Settled>(kSettled)) {
      all.insert(all.end(), settled->rejected.begin(), settled->rejected.end());
    }
    return all;
  }
  void requeue(Qid qid, std::vector<DeliveryToken> tokens, bool redelivered = true) {
    channel.requeue(qid, std::move(tokens), redelivered);
    run();
  }

  FakeChannel channel{*this};
  std::uint16_t last_count = 0;
};

// --- expiry -------------------------------------------------------------------------------------

TEST_CASE_FIXTURE(RulesFixture, "a plain queue asks for neither clock nor timers") {
  const Qid qid = declare("q");
  publish(qid, {"a", "b"});
  channel.consume(qid, 1);
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a b");
  requeue(qid, {tokens[0]});
  channel.ack(qid, {tokens[1]});
  publish(qid, {"c"});
  CHECK(env.clock_reads == 0);
  CHECK(env.timer_starts == 0);
}

TEST_CASE_FIXTURE(RulesFixture, "messages expire at the head, one timer for all of them") {
  const Qid qid = declare("q", with_ttl(100));
  publish(qid, {"a", "b"});
  pass(50);
  publish(qid, {"c"});
  pass(49);
  CHECK(dead() == "");
  pass(1);
  CHECK(dead() == "a:expired b:expired");
  CHECK(dead_letters.last_queue == "q");
  CHECK(env.running() == 1);
  pass(50);
  CHECK(dead() == "c:expired");
  CHECK(ready(qid) == 0);
  CHECK(env.timer_starts == 2);
}

TEST_CASE_FIXTURE(RulesFixture, "the smaller of the queue's and the message's own time counts") {
  const Qid qid = declare("q", with_ttl(100));
  publish(qid, {"long"}, of_expiration(1000));
  pass(100);
  CHECK(dead() == "long:expired");
  publish(qid, {"short"}, of_expiration(10));
  pass(10);
  CHECK(dead() == "short:expired");
}

TEST_CASE_FIXTURE(RulesFixture, "what expires behind the head waits for it") {
  const Qid qid = declare("q", dlx());
  publish(qid, {"a"});
  publish(qid, {"b"}, of_expiration(10));
  publish(qid, {"c"}, of_expiration(20));
  publish(qid, {"d"});
  pass(1000);
  CHECK(dead() == "");
  CHECK(ready(qid) == 4);
  CHECK(get(qid) == "a");
  CHECK(dead() == "b:expired c:expired");
  CHECK(get(qid) == "d");
}

TEST_CASE_FIXTURE(RulesFixture, "an expired message is never handed out, timer or not") {
  const Qid qid = declare("q", dlx());
  publish(qid, {"a"}, of_expiration(10));
  // The clock is past its time, the timer is late.
  env.pass_without_timers(11);
  SUBCASE("get") { CHECK(get(qid) == ""); }
  SUBCASE("consume") {
    channel.consume(qid, 1);
    run();
    CHECK(channel.bodies() == "");
  }
  CHECK(dead() == "a:expired");
}

TEST_CASE_FIXTURE(RulesFixture, "time 0: to a waiting consumer or nowhere") {
  const Qid qid = declare("q", with_ttl(0));
  publish(qid, {"a", "b"});
  CHECK(dead() == "a:expired b:expired");
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
  publish(qid, {"c", "d"});
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "c");
  CHECK(dead() == "d:expired");
  requeue(qid, tokens);
  CHECK(channel.bodies() == "");
  CHECK(dead() == "c:expired");
}

TEST_CASE_FIXTURE(RulesFixture, "what comes back keeps its time") {
  const Qid qid = declare("q", with_ttl(100));
  publish(qid, {"a", "b"});
  DeliveryToken first = 0;
  DeliveryToken second = 0;
  CHECK(get(qid, &first) == "a");
  CHECK(get(qid, &second) == "b");
  pass(60);
  requeue(qid, {first});
  CHECK(get(qid, &first) == "a*");
  pass(60);
  CHECK(dead() == "");
  requeue(qid, {first, second});
  CHECK(dead() == "a:expired b:expired");
  // So does one that went straight to a consumer.
  channel.consume(qid, 1);
  publish(qid, {"c"});
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "c");
  pass(200);
  requeue(qid, tokens);
  CHECK(dead() == "c:expired");
}

TEST_CASE_FIXTURE(RulesFixture, "without a dead letter exchange the expired are dropped") {
  QueueOptions options;
  options.message_ttl_ms = 10;
  const Qid qid = declare("q", options);
  publish(qid, {"a"});
  pass(10);
  CHECK(ready(qid) == 0);
  CHECK(dead() == "");
}

TEST_CASE_FIXTURE(RulesFixture, "a policy's time is for what comes after it, as in RabbitMQ") {
  const Qid qid = declare("q", dlx());
  publish(qid, {"a"});
  set_policy(qid, {{"message-ttl", std::int64_t{50}}});
  publish(qid, {"b"});
  pass(1000);
  CHECK(dead() == "");
  CHECK(get(qid) == "a");
  CHECK(dead() == "b:expired");
  publish(qid, {"c"});
  set_policy(qid, {});
  publish(qid, {"d"});
  pass(50);
  CHECK(dead() == "c:expired");
  pass(1000);
  CHECK(get(qid) == "d");
}

TEST_CASE_FIXTURE(RulesFixture, "the records of expiries go with their messages") {
  const std::int64_t before = runtime::MemoryGauge::total();
  {
    const Qid qid = declare("q", with_ttl(100));
    for (int i = 0; i < 500; ++i) {
      publish(qid, {"a"});
      pass(1);
    }
    CHECK(dead_letters.take().size() > 0);
    channel.send<Purge>(qid);
    run();
    publish(qid, {"b"});
    pass(100);
    CHECK(dead() == "b:expired");
  }
  CHECK(runtime::MemoryGauge::total() - before <= 1024 + 4096);
}

// --- limits -------------------------------------------------------------------------------------

TEST_CASE_FIXTURE(RulesFixture, "above the length the head is dropped") {
  const Qid qid = declare("q", with_length(2));
  publish(qid, {"a", "b", "c"});
  publish(qid, {"d"});
  CHECK(dead() == "a:maxlen b:maxlen");
  CHECK(rejected().empty());
  CHECK(drain(qid) == "c d");
}

TEST_CASE_FIXTURE(RulesFixture, "limit 0") {
  SUBCASE("drop-head: to a waiting consumer or nowhere") {
    const Qid qid = declare("q", with_length(0));
    publish(qid, {"a"});
    CHECK(dead() == "a:maxlen");
    channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
    publish(qid, {"w", "x"});
    CHECK(channel.bodies() == "w");
    CHECK(dead() == "x:maxlen");
    channel.send<ChannelGone>(qid);
    run();
    CHECK(dead() == "w:maxlen");
  }
  SUBCASE("reject-publish refuses even with a waiting consumer") {
    const Qid qid = declare("q", with_length(0, Overflow::kRejectPublish));
    channel.consume(qid, 1);
    publish(qid, {"a", "b"});
    CHECK(channel.bodies() == "");
    CHECK(rejected() == std::vector<std::uint64_t>{1, 2});
    CHECK(dead() == "");
  }
  SUBCASE("over the length rather than expired") {
    QueueOptions options = with_length(0);
    options.message_ttl_ms = 0;
    publish(declare("q", options), {"a"});
    CHECK(dead() == "a:maxlen");
  }
}

TEST_CASE_FIXTURE(RulesFixture, "reject-publish refuses what would pass the limit") {
  bool with_dlx = false;
  SUBCASE("one way") {}
  SUBCASE("the other") { with_dlx = true; }
  const Qid qid = declare(
      "q", with_length(2, with_dlx ? Overflow::kRejectPublishDlx : Overflow::kRejectPublish));
  publish(qid, {"a", "b", "c", "d"});
  CHECK(rejected() == std::vector<std::uint64_t>{3, 4});
  CHECK(get(qid) == "a");
  publish(qid, {"e", "f"});
  CHECK(rejected() == std::vector<std::uint64_t>{6});
  CHECK(dead() == (with_dlx ? "c:maxlen d:maxlen f:maxlen" : ""));
  CHECK(registry->find(qid)->stats().published == 3);
  CHECK(drain(qid) == "b e");
}

TEST_CASE_FIXTURE(RulesFixture, "a limit in bytes counts ready bodies") {
  const std::string eleven(11, 'B');
  const std::string nine(9, '9');
  SUBCASE("drop-head: a larger one drops all before it and itself") {
    const Qid qid = declare("q", with_bytes(10));
    publish(qid, {"x", "y", eleven, "z", nine});
    CHECK(dead() == "x:maxlen y:maxlen " + eleven + ":maxlen");
    CHECK(drain(qid) == "z " + nine);
  }
  SUBCASE("reject-publish") {
    const Qid qid = declare("q", with_bytes(10, Overflow::kRejectPublish));
    publish(qid, {"x", "y", eleven, "z", nine});
    CHECK(rejected() == std::vector<std::uint64_t>{3, 5});
    CHECK(drain(qid) == "x y z");
  }
  SUBCASE("what is handed out does not count") {
    const Qid qid = declare("q", with_bytes(10));
    DeliveryToken token = 0;
    publish(qid, {nine});
    get(qid, &token);
    publish(qid, {nine});
    CHECK(dead() == "");
    requeue(qid, {token});
    CHECK(dead() == nine + ":maxlen");
    CHECK(drain(qid) == nine);
  }
}

TEST_CASE_FIXTURE(RulesFixture, "what comes back may pass the limit") {
  bool drops = false;
  SUBCASE("one way") {}
  SUBCASE("the other") { drops = true; }
  const Qid qid =
      declare("q", with_length(2, drops ? Overflow::kDropHead : Overflow::kRejectPublish));
  publish(qid, {"a", "b"});
  DeliveryToken first = 0;
  DeliveryToken second = 0;
  get(qid, &first);
  get(qid, &second);
  publish(qid, {"c", "d"});
  requeue(qid, {first, second});
  CHECK(dead() == (drops ? "a:maxlen b:maxlen" : ""));
  CHECK(drain(qid) == (drops ? "c d" : "a* b* c d"));
}

TEST_CASE_FIXTURE(RulesFixture, "a policy's limit acts at once and is lifted with it") {
  const Qid qid = declare("q", dlx());
  publish(qid, {"a", "b", "c", "d"});
  set_policy(qid, {{"max-length", std::int64_t{2}}});
  CHECK(dead() == "a:maxlen b:maxlen");
  publish(qid, {"e"});
  CHECK(dead() == "c:maxlen");
  set_policy(qid, {{"max-length", std::int64_t{2}}, {"overflow", std::string("reject-publish")}});
  rejected();
  publish(qid, {"f"});
  CHECK(rejected() == std::vector<std::uint64_t>{6});
  set_policy(qid, {});
  publish(qid, {"g"});
  CHECK(drain(qid) == "d e g");
  CHECK(dead() == "");
}

TEST_CASE_FIXTURE(RulesFixture, "purge and delete dead-letter nothing") {
  const Qid qid = declare("q", with_ttl(100));
  publish(qid, {"a", "b"});
  channel.send<Purge>(qid);
  run();
  CHECK(channel.take<Purged>(kPurged)->messages == 2);
  publish(qid, {"c"});
  channel.send<Delete>(qid);
  run();
  pass(1000);
  complete_removals();
  CHECK(dead() == "");
  CHECK(env.running() == 0);
}

// --- many at once -------------------------------------------------------------------------------

TEST_CASE_FIXTURE(RulesFixture,
                  "very many are dropped in portions, and nothing is handed out "
                  "before") {
  constexpr std::uint64_t kMany = 30'000;
  bool by_policy = false;
  SUBCASE("one way") {}
  SUBCASE("the other") { by_policy = true; }
  const Qid qid = declare("q", by_policy ? dlx() : with_ttl(100));
  publish(qid, std::vector<std::string>(kMany, "m"));
  dead_letters.counting_only = true;
  FakeChannel other(*this);
  if (by_policy) {
    auto record = std::make_shared<cluster::metadata::QueueRecord>(registry->find(qid)->record());
    record->options.max_length = 2;
    registry->queue_changed(record);
  } else {
    env.pass(100, [] {});
  }
  CHECK(dead_letters.count > 0);
  const std::uint64_t first = dead_letters.count;
  CHECK(first <= 2000);
  // Both wait for the end of it.
  channel.send<Get>(qid);
  other.send<Get>(qid);
  const std::uint64_t portion = kDropsPerRound * runtime::kRoundsPerTurn;
  int turns = 0;
  while (shard.run_turn()) {
    ++turns;
    CHECK(dead_letters.count <= first + static_cast<std::uint64_t>(turns) * portion);
    if (ready(qid) > 2) CHECK(channel.take<GetResult>(kGetResult) == nullptr);
  }
  CHECK(turns >= 3);
  CHECK(dead_letters.count == (by_policy ? kMany - 2 : kMany));
  CHECK(static_cast<bool>(channel.take<GetResult>(kGetResult)->message) == by_policy);
  CHECK(static_cast<bool>(other.take<GetResult>(kGetResult)->message) == by_policy);
}

TEST_CASE_FIXTURE(RulesFixture, "a full queue drops as fast as it is published to") {
  const Qid qid = declare("q", with_length(10));
  dead_letters.counting_only = true;
  publish(qid, std::vector<std::string>(10, "m"));
  for (int i = 0; i < 5; ++i) channel.publish(qid, std::vector<std::string>(5000, "m"));
  shard.run_turn();
  CHECK(ready(qid) == 10);
  CHECK(dead_letters.count == 25'000);
}

TEST_CASE_FIXTURE(RulesFixture,
                  "a get that waits for the dropping ends with its channel or queue") {
  const Qid qid = declare("q", with_ttl(100));
  publish(qid, std::vector<std::string>(30'000, "m"));
  dead_letters.counting_only = true;
  env.pass(100, [] {});
  channel.send<Get>(qid);
  FakeChannel other(*this);
  other.send<Get>(qid);
  channel.send<ChannelGone>(qid);
  SUBCASE("deleted by a client") {
    other.send<Delete>(qid);
    run();
    complete_removals();
    CHECK(other.take<DeleteResult>(kDeleteResult) != nullptr);
  }
  SUBCASE("deleted with its vhost") {
    shard.run_turn();
    REQUIRE(registry->find(qid) != nullptr);
    store.apply(cluster::metadata::DeleteQueue{"/", "q", qid});
    run();
  }
  CHECK(channel.take<GetResult>(kGetResult) == nullptr);
  CHECK(other.take<GetResult>(kGetResult)->answer == Answer::kNotFound);
}

// --- rejected, returned too often ---------------------------------------------------------------

TEST_CASE_FIXTURE(RulesFixture, "the rejected are dead-lettered, the acknowledged are not") {
  const Qid qid = declare("q", dlx());
  publish(qid, {"a", "b", "c"});
  channel.consume(qid, 1);
  run();
  std::vector<DeliveryToken> tokens;
  channel.bodies(&tokens);
  channel.ack(qid, {tokens[0]});
  channel.ack(qid, {tokens[2], tokens[1]}, true);
  run();
  CHECK(dead() == "c:rejected b:rejected");
  CHECK(registry->find(qid)->stats().acknowledged == 1);
}

TEST_CASE_FIXTURE(RulesFixture, "a delivery limit counts returns") {
  QueueOptions options = dlx();
  options.delivery_limit = 2;
  const Qid qid = declare("q", options);
  publish(qid, {"a"});
  DeliveryToken token = 0;
  CHECK(get(qid, &token) == "a");
  CHECK(last_count == 0);
  requeue(qid, {token});
  CHECK(get(qid, &token) == "a*");
  CHECK(last_count == 1);
  // What the client never saw does not count.
  requeue(qid, {token}, false);
  CHECK(get(qid, &token) == "a*");
  CHECK(last_count == 1);
  // The end of a channel does.
  channel.send<ChannelGone>(qid);
  run();
  channel.consume(qid, 1);
  run();
  auto deliveries = channel.deliveries();
  REQUIRE(deliveries.size() == 1);
  CHECK(deliveries[0].delivery_count == 2);
  CHECK(dead() == "");
  requeue(qid, {deliveries[0].token});
  CHECK(dead() == "a:delivery_limit");
  CHECK(ready(qid) == 0);
}

TEST_CASE_FIXTURE(RulesFixture, "a delivery limit by policy counts what was returned before") {
  const Qid qid = declare("q");
  publish(qid, {"a"});
  DeliveryToken token = 0;
  for (int i = 0; i < 3; ++i) {
    get(qid, &token);
    CHECK(last_count == 0);
    requeue(qid, {token});
  }
  set_policy(qid, {{"delivery-limit", std::int64_t{3}}});
  get(qid, &token);
  CHECK(last_count == 3);
  requeue(qid, {token});
  CHECK(ready(qid) == 0);
}

// --- priorities ---------------------------------------------------------------------------------

TEST_CASE_FIXTURE(RulesFixture, "the highest priority first, within it in order") {
  const Qid qid = declare("q", with_priorities(5));
  publish(qid, {"none"});
  publish(qid, {"a5", "b5"}, of_priority(5));
  publish(qid, {"c3"}, of_priority(3));
  publish(qid, {"d9"}, of_priority(9));
  publish(qid, {"e0"}, of_priority(0));
  CHECK(drain(qid) == "a5 b5 d9 c3 none e0");
}

TEST_CASE_FIXTURE(RulesFixture, "all 255 levels") {
  const Qid qid = declare("q", with_priorities(255));
  std::string expected;
  for (int level = 0; level <= 255; level += 5) {
    publish(qid, {std::to_string(level)}, of_priority(static_cast<std::uint8_t>(level)));
    expected = std::to_string(level) + (expected.empty() ? "" : " " + expected);
  }
  CHECK(drain(qid) == expected);
}

TEST_CASE_FIXTURE(RulesFixture, "what comes back goes to its place in its level") {
  const Qid qid = declare("q", with_priorities(5));
  publish(qid, {"a", "b"}, of_priority(1));
  publish(qid, {"c"}, of_priority(3));
  DeliveryToken first = 0;
  DeliveryToken second = 0;
  CHECK(get(qid, &first) == "c");
  CHECK(get(qid, &second) == "a");
  publish(qid, {"d"}, of_priority(3));
  publish(qid, {"e"}, of_priority(1));
  requeue(qid, {second, first});
  CHECK(drain(qid) == "c* d a* b e");
}

TEST_CASE_FIXTURE(RulesFixture, "with priorities too the head is dropped: the highest") {
  QueueOptions options = with_priorities(5, with_length(2));
  const Qid qid = declare("q", options);
  const std::vector<std::pair<std::string, std::uint8_t>> messages = {
      {"lo1", 0}, {"hi1", 5}, {"lo2", 0}, {"mid", 3}, {"hi2", 9}, {"lo3", 0}, {"hi3", 5}};
  channel.send<Publish>(qid, [&](Publish& letter) {
    letter.first_number = 1;
    for (const auto& [body, priority] : messages) {
      letter.messages.push_back(test::make_message(body, of_priority(priority)));
    }
  });
  run();
  CHECK(dead() == "hi1:maxlen mid:maxlen hi2:maxlen lo1:maxlen hi3:maxlen");
  CHECK(drain(qid) == "lo2 lo3");
}

TEST_CASE_FIXTURE(RulesFixture, "with priorities the limit acts on one message after the other") {
  const Qid qid = declare("q", with_priorities(5, with_bytes(10)));
  channel.send<Publish>(qid, [&](Publish& letter) {
    letter.first_number = 1;
    letter.messages.push_back(test::make_message("aaaaaaaa"));
    letter.messages.push_back(test::make_message("ccccc"));
    letter.messages.push_back(test::make_message("bbb", of_priority(5)));
  });
  run();
  CHECK(dead() == "aaaaaaaa:maxlen");
  CHECK(drain(qid) == "bbb ccccc");
}

TEST_CASE_FIXTURE(RulesFixture, "with priorities expiry is seen at the head only") {
  const Qid qid = declare("q", with_priorities(5, dlx()));
  Message::Traits high = of_priority(5);
  high.expiration_ms = 3000;
  publish(qid, {"hi"}, high);
  publish(qid, {"lo"}, of_expiration(200));
  pass(1000);
  CHECK(dead() == "");
  CHECK(get(qid) == "hi");
  CHECK(dead() == "lo:expired");
  // A new head that expires sooner is watched.
  publish(qid, {"lo"}, of_expiration(500));
  high.expiration_ms = 100;
  publish(qid, {"hi"}, high);
  pass(100);
  CHECK(dead() == "hi:expired");
  pass(400);
  CHECK(dead() == "lo:expired");
}

TEST_CASE_FIXTURE(RulesFixture, "priorities, consumers and purge") {
  const Qid qid = declare("q", with_priorities(5));
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
  publish(qid, {"a"}, of_priority(1));
  publish(qid, {"b"}, of_priority(1));
  publish(qid, {"c"}, of_priority(4));
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a");
  requeue(qid, {tokens[0]});
  CHECK(channel.bodies(&tokens) == "c");
  channel.send<Purge>(qid);
  run();
  CHECK(channel.take<Purged>(kPurged)->messages == 2);
  publish(qid, {"d"}, of_priority(2));
  requeue(qid, {tokens[1]});
  CHECK(channel.bodies() == "c*");
}

// --- one active consumer ------------------------------------------------------------------------

TEST_CASE_FIXTURE(RulesFixture, "a single active consumer, and who follows it") {
  QueueOptions options;
  options.single_active_consumer = true;
  const Qid qid = declare("q", options);
  FakeChannel second(*this);
  FakeChannel third(*this);
  FakeChannel fourth(*this);
  const auto with_priority = [](std::int32_t priority) {
    return [priority](Consume& letter) { letter.priority = priority; };
  };
  channel.consume(qid, 1, with_priority(0));
  second.consume(qid, 1, with_priority(1));
  third.consume(qid, 1, with_priority(5));
  fourth.consume(qid, 1, with_priority(5));
  publish(qid, {"1", "2"});
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "1 2");

  // What it holds stays with it; the next one is of the highest priority, the oldest of these.
  channel.send<Cancel>(qid, [](Cancel& letter) { letter.consumer = 1; });
  publish(qid, {"3", "4"});
  CHECK(third.bodies() == "3 4");
  channel.ack(qid, tokens);
  run();
  CHECK(registry->find(qid)->stats().messages_unacknowledged == 2);

  // What it held comes back when its channel goes, and goes to the next.
  third.send<ChannelGone>(qid);
  run();
  CHECK(fourth.bodies() == "3* 4*");
  // A better one that comes later waits.
  channel.consume(qid, 2, with_priority(9));
  publish(qid, {"5"});
  CHECK(channel.bodies() == "");
  CHECK(fourth.bodies() == "5");

  const auto all = registry->find(qid)->consumer_stats();
  REQUIRE(all.size() == 3);
  for (const ConsumerStats& stats : all) CHECK(stats.active == (stats.priority == 5));

  fourth.send<ChannelGone>(qid);
  run();
  CHECK(channel.bodies() == "3* 4* 5*");
  CHECK(second.bodies() == "");
}

TEST_CASE_FIXTURE(RulesFixture, "a waiting consumer is no reason to overtake the active one") {
  QueueOptions options;
  options.single_active_consumer = true;
  const Qid qid = declare("q", options);
  channel.consume(qid, 1, [](Consume& letter) { letter.prefetch = 1; });
  channel.consume(qid, 2);
  publish(qid, {"a", "b"});
  channel.credit(qid, 2, 0, 0);
  run();
  std::vector<DeliveryToken> tokens;
  CHECK(channel.bodies(&tokens) == "a");
  channel.send<Cancel>(qid, [](Cancel& letter) { letter.consumer = 2; });
  channel.ack(qid, {tokens[0]});
  run();
  CHECK(channel.bodies() == "b");
}

TEST_CASE_FIXTURE(RulesFixture, "nobody is exclusive on a queue with one active consumer") {
  QueueOptions options;
  options.single_active_consumer = true;
  const Qid qid = declare("q", options);
  channel.consume(qid, 1, [](Consume& letter) { letter.exclusive = true; });
  run();
  CHECK(channel.take<ConsumeOk>(kConsumeOk)->answer == Answer::kExclusiveUse);
}

TEST_CASE_FIXTURE(RulesFixture, "consumers tell of themselves") {
  const Qid qid = declare("q");
  channel.consume(qid, 1, [](Consume& letter) {
    letter.exclusive = true;
    letter.priority = -3;
    letter.prefetch = 7;
  });
  run();
  const auto all = registry->find(qid)->consumer_stats();
  REQUIRE(all.size() == 1);
  CHECK(all[0].exclusive);
  CHECK(all[0].active);
  CHECK(all[0].priority == -3);
  CHECK(all[0].prefetch == 7);
}

// --- the unused queue ---------------------------------------------------------------------------

TEST_CASE_FIXTURE(RulesFixture, "a queue that is not used goes") {
  QueueOptions options = dlx();
  options.expires_ms = 1000;
  const Qid qid = declare("q", options);
  publish(qid, {"a", "b"});
  pass(600);
  // These are uses.
  channel.send<Inspect>(qid);
  run();
  pass(600);
  CHECK(get(qid) == "a");
  pass(600);
  channel.consume(qid, 1);
  run();
  pass(5000);
  channel.send<Cancel>(qid, [](Cancel& letter) { letter.consumer = 1; });
  run();
  pass(999);
  CHECK(removals.empty());
  // These are not.
  publish(qid, {"c"});
  registry->find(qid)->stats();
  pass(1);
  CHECK(removals.size() == 1);
  complete_removals();
  CHECK(registry->find(qid) == nullptr);
  CHECK(dead() == "");
  CHECK(env.running() == 0);
}

TEST_CASE_FIXTURE(RulesFixture, "a policy begins, changes and ends the time of an unused queue") {
  const Qid qid = declare("q");
  pass(10'000);
  set_policy(qid, {{"expires", std::int64_t{1000}}});
  pass(900);
  set_policy(qid, {{"expires", std::int64_t{500}}});
  pass(400);
  set_policy(qid, {});
  pass(10'000);
  CHECK(removals.empty());
  set_policy(qid, {{"expires", std::int64_t{500}}});
  pass(500);
  CHECK(removals.size() == 1);
  // A change that comes while it goes.
  set_policy(qid, {{"expires", std::int64_t{100}}, {"max-length", std::int64_t{0}}});
  pass(1000);
  CHECK(removals.size() == 1);
}

TEST_CASE_FIXTURE(RulesFixture, "a channel that goes with its consumers begins the time anew") {
  QueueOptions options;
  options.expires_ms = 1000;
  const Qid qid = declare("q", options);
  channel.consume(qid, 1);
  run();
  pass(3000);
  channel.send<ChannelGone>(qid);
  run();
  pass(999);
  CHECK(removals.empty());
  pass(1);
  CHECK(removals.size() == 1);
}

TEST_CASE_FIXTURE(RulesFixture, "the queue tells its consumer timeout") {
  QueueOptions options;
  options.consumer_timeout_ms = 5000;
  const Qid qid = declare("q", options);
  channel.consume(qid, 1);
  channel.send<Get>(qid);
  run();
  CHECK(channel.take<ConsumeOk>(kConsumeOk)->consumer_timeout_ms == 5000);
  publish(qid, {"a"});
}

}  // namespace
}  // namespace ringtail::queue::queue_rules_test
