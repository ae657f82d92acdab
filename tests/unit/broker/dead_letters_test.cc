#include "broker/dead_letters.h"

#include "broker/amqp/field_table.h"
#include "broker/runtime/memory_gauge.h"
#include "tests/unit/broker/shards_fixture.h"

namespace dead_letters_test {

using namespace ringtail;
using namespace ringtail::broker;
using amqp::BasicProperties;
using amqp::FieldArray;
using amqp::FieldTable;
using cluster::metadata::QueueOptions;
using queue::DeathReason;
using queue::MessageRef;

namespace {

QueueOptions to(const std::string& exchange, std::optional<std::string> key = std::nullopt) {
  QueueOptions options;
  options.dead_letter_exchange = exchange;
  options.dead_letter_routing_key = std::move(key);
  return options;
}

std::string keys(const std::vector<std::string>& names) {
  FieldArray array;
  for (const std::string& name : names) array.add(name);
  return array.encode();
}

BasicProperties with_cc(const std::string& key) {
  BasicProperties properties;
  properties.headers = FieldTable().set("CC", FieldArray().add(key)).set("h", std::int32_t{1});
  return properties;
}

// Two shards; "source" lies on shard 0, where its dead letters are made.
struct Dying : Shards {
  Dying() : Shards(2) {
    source = declare("source").record;
    REQUIRE(source->shard.value == 0);
  }
  void die(const MessageRef& message, const QueueOptions& options,
           DeathReason reason = DeathReason::kRejected) {
    sink().dead_letter(source, options, reason, message);
  }
  DeadLetters& sink() { return all[0]->dead_letters; }
  std::shared_ptr<const cluster::metadata::QueueRecord> source;
};

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) {
    for (const int digit : {byte >> 4, byte & 15}) out += "0123456789abcdef"[digit];
  }
  return out;
}

// As rabbitmq-server 3.10.8 sent them: from a queue rtg-src2 with a dead letter routing key, of a
// message with CC and BCC.
constexpr const char* kOwnKey =
    "2000000000ef0168490000000107782d6465617468410000007c460000007705636f756e746c000000000000"
    "000106726561736f6e530000000872656a656374656405717565756553000000087274672d73726332047469"
    "6d6554000000006b0cdd270865786368616e676553000000000c726f7574696e672d6b657973410000001353"
    "000000087274672d7372633253000000017816782d66697273742d64656174682d65786368616e6765530000"
    "000013782d66697273742d64656174682d717565756553000000087274672d7372633214782d66697273742d"
    "64656174682d726561736f6e530000000872656a6563746564";

}  // namespace

TEST_CASE("a dead letter goes to its queue, on this shard or another, in order, as one letter") {
  Dying node;
  WritingQueue& far = node.declare("far");
  WritingQueue& near = node.declare("near");
  REQUIRE(far.record->shard.value == 1);
  REQUIRE(near.record->shard.value == 0);
  for (const char* body : {"1", "2", "3"}) {
    node.die(message_of("", "source", body), to("", "far"));
    node.die(message_of("", "source", body), to("", "near"));
  }
  CHECK(far.messages.empty());  // nothing acts inside the call
  CHECK(node.sink().unsettled() == 6);
  node.run();
  CHECK(far.bodies() == "1 2 3 ");
  CHECK(near.bodies() == "1 2 3 ");
  CHECK(far.letters == 1);
  CHECK(node.sink().unsettled() == 0);
  node.die(message_of("", "source", "4"), to("", "far"));
  node.run();
  CHECK(far.bodies() == "4 ");  // the fixture checks the numbers
}

TEST_CASE("route, properties and traits of a dead letter") {
  Dying node;
  node.exchange("dlx", "fanout");
  WritingQueue& target = node.declare("target");
  node.bind("dlx", "target");
  BasicProperties properties;
  properties.expiration = "10";
  properties.priority = std::uint8_t{7};
  properties.delivery_mode = std::uint8_t{2};
  properties.user_id = "guest";
  node.die(message_of("first", "key", "x", properties), to("dlx"), DeathReason::kExpired);
  node.run();
  REQUIRE(target.messages.size() == 1);
  const queue::Message& dead = *target.messages[0];
  CHECK(dead.exchange() == "dlx");
  CHECK(dead.routing_key() == "key");
  CHECK(dead.traits().persistent);
  CHECK(dead.traits().priority == 7);
  CHECK(dead.traits().has_priority);
  CHECK(dead.traits().expiration_ms == queue::kNoExpiration);
  const auto decoded = BasicProperties::decode(dead.properties());
  REQUIRE(decoded);
  CHECK_FALSE(decoded->expiration);
  CHECK(decoded->user_id == "guest");
  const auto& death = *decoded->headers->find("x-death")->as_array()->items()[0].as_table();
  CHECK(death.find("exchange")->as_text() == "first");
  CHECK(death.find("original-expiration")->as_text() == "10");
}

TEST_CASE("without a routing key of the queue's own the keys of CC and BCC count again") {
  Dying node;
  node.exchange("dlx", "direct");
  WritingQueue& by_key = node.declare("by key");
  WritingQueue& by_cc = node.declare("by cc");
  WritingQueue& by_bcc = node.declare("by bcc");
  node.bind("dlx", "by key", "key");
  node.bind("dlx", "by cc", "copy");
  node.bind("dlx", "by bcc", "blind");
  node.die(message_of("", "key", "x", with_cc("copy"), keys({"blind"})), to("dlx"));
  node.run();
  REQUIRE(by_bcc.messages.size() == 1);
  const MessageRef dead = by_bcc.messages[0];
  CHECK(dead->routing_key() == "key");
  CHECK(runtime::as_text(dead->blind_keys()) == keys({"blind"}));
  const auto headers = *BasicProperties::decode(dead->properties())->headers;
  CHECK(headers.find("CC") != nullptr);
  CHECK(headers.find("BCC") == nullptr);
  CHECK(by_key.bodies() == "x ");
  CHECK(by_cc.bodies() == "x ");
  // And once more, from the dead letter.
  by_bcc.messages.clear();
  node.die(dead, to("dlx"));
  node.run();
  CHECK(by_bcc.bodies() == "x ");
}

TEST_CASE("a routing key of the queue's own replaces all keys, and CC goes: bytes as RabbitMQ's") {
  Dying node;
  node.source = node.declare("rtg-src2").record;
  node.exchange("dlx", "direct");
  WritingQueue& own = node.declare("own");
  WritingQueue& by_cc = node.declare("by cc");
  WritingQueue& by_bcc = node.declare("by bcc");
  node.bind("dlx", "own", "own");
  node.bind("dlx", "by cc", "x");
  node.bind("dlx", "by bcc", "blind");
  node.die(message_of("", "rtg-src2", "b", with_cc("x"), keys({"blind"})), to("dlx", "own"));
  node.run();
  REQUIRE(own.messages.size() == 1);
  CHECK(own.messages[0]->routing_key() == "own");
  CHECK(own.messages[0]->blind_keys().empty());
  CHECK(hex_of(own.messages[0]->properties()) == kOwnKey);
  CHECK(by_cc.messages.empty());
  CHECK(by_bcc.messages.empty());
}

TEST_CASE("a headers exchange routes by the headers that the dead letter has now") {
  Dying node;
  node.exchange("dlx", "headers");
  WritingQueue& target = node.declare("target");
  node.apply(cluster::metadata::Bind{
      {"/", "dlx", cluster::metadata::DestinationKind::kQueue, "target", "",
       FieldTable().set("x-match", "all-with-x").set("x-first-death-queue", "source").encode()}});
  node.die(message_of("", "source", "x"), to("dlx"));
  node.run();
  CHECK(target.bodies() == "x ");
}

TEST_CASE("circles end where no client takes part in them") {
  Dying node;
  node.die(message_of("", "source", "1"), to("", "source"), DeathReason::kExpired);
  node.run();
  WritingQueue& source = *node.queues["source"];
  CHECK(source.bodies().empty());
  // A rejection may go round for ever.
  MessageRef message = message_of("", "source", "2");
  for (int i = 0; i < 3; ++i) {
    node.die(message, to("", "source"));
    node.run();
    REQUIRE(source.messages.size() == 1);
    message = source.messages[0];
    source.messages.clear();
  }
  // It has a rejection in its history, but dies by itself twice.
  node.die(message, to("", "source"), DeathReason::kMaxLength);
  node.run();
  CHECK(source.messages.empty());
}

TEST_CASE("dead letters for an exchange that is not there are dropped") {
  Dying node;
  node.die(message_of("", "source", "x"), to("none"));
  node.die(message_of("", "source", "x"), to("none"));
  node.run();
  CHECK(node.sink().unsettled() == 0);
  CHECK(node.sink().queues_known() == 0);
}

TEST_CASE("nothing is kept of a queue that is gone") {
  Dying node;
  node.declare("target").settles = false;
  node.die(message_of("", "source", "1"), to("", "target"));
  node.run();
  node.die(message_of("", "source", "2"), to("", "target"));
  CHECK(node.sink().unsettled() == 2);
  node.remove("target");
  CHECK(node.sink().unsettled() == 0);
  CHECK(node.sink().queues_known() == 0);
  WritingQueue& again = node.declare("target");
  node.die(message_of("", "source", "3"), to("", "target"));
  node.run();
  CHECK(again.bodies() == "3 ");
}

TEST_CASE("a large body is shared, not copied") {
  Dying node;
  WritingQueue& target = node.declare("target");
  const MessageRef message = message_of("", "source", std::string(1 << 20, 'b'));
  const std::int64_t before = runtime::MemoryGauge::total();
  node.die(message, to("", "target"));
  node.run();
  REQUIRE(target.messages.size() == 1);
  CHECK(runtime::MemoryGauge::total() - before < 4096);
  CHECK(target.messages[0]->body_size() == 1 << 20);
  CHECK(target.messages[0]->large_body().pieces()[0].data() ==
        message->large_body().pieces()[0].data());
}

TEST_CASE("a dead letter routing key longer than a key on the wire routes whole, is shown cut") {
  Dying node;
  const std::string key(300, 'k');
  node.exchange("dlx", "direct");
  WritingQueue& target = node.declare("target");
  node.bind("dlx", "target", key);
  node.die(message_of("", "source", "x"), to("dlx", key));
  node.run();
  REQUIRE(target.messages.size() == 1);
  CHECK(target.messages[0]->routing_key() == key.substr(0, 255));
}

}  // namespace dead_letters_test
