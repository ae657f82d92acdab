#include "broker/recent_history.h"

#include "broker/amqp/field_table.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/memory_gauge.h"
#include "tests/unit/broker/shards_fixture.h"

namespace recent_history_test {

using namespace ringtail;
using namespace ringtail::broker;
using amqp::FieldTable;

namespace {

std::string length(std::int64_t count) {
  return FieldTable().set("x-recent-history-length", count).encode();
}

// Routes on one shard as a channel does: to the queues that are bound, and to the history.
void publish(Shards& node, std::size_t shard, const std::string& exchange,
             const queue::MessageRef& message) {
  Shards::One& on = *node.all[shard];
  std::vector<const cluster::metadata::QueueRecord*> targets;
  std::vector<const Exchange*> remembering;
  on.routes.route(*on.routes.find("/", exchange),
                  {.routing_key = message->routing_key(), .properties = message->properties()},
                  targets, &remembering);
  for (const auto* target : targets) node.queues[target->name]->messages.push_back(message);
  if (!remembering.empty()) on.history.remember(remembering, message);
}

void publish(Shards& node, std::size_t shard, const std::string& exchange,
             const std::string& body) {
  publish(node, shard, exchange, message_of(exchange, "key", body));
}

// Awaits histories, as a channel that has bound.
struct Asker : runtime::Actor {
  explicit Asker(runtime::Shard& on) : shard(on), address(on.add(*this)) {}
  ~Asker() override { shard.remove(address.actor); }
  void ask(RecentHistory& history) {
    auto letter = std::make_unique<AwaitHistory>();
    letter->vhost = "/";
    letter->exchange = "h";
    shard.post(address, history.owner_address("/", "h"), std::move(letter));
  }
  void receive(runtime::LetterPtr letter) noexcept override {
    REQUIRE(letter->kind == kHistoryDelivered);
    ++heard;
  }
  runtime::Shard& shard;
  const runtime::Address address;
  int heard = 0;
};

}  // namespace

TEST_CASE("a new queue gets the last messages, oldest first, from whatever shard they came") {
  for (const std::uint16_t shards : {std::uint16_t{1}, std::uint16_t{3}}) {
    Shards node(shards);
    node.exchange("h", "x-recent-history", length(3));
    WritingQueue& queue = node.declare("q");
    for (const char* body : {"1", "2", "3", "4", "5"}) {
      publish(node, 0, "h", body);
      node.run();
    }
    node.bind("h", "q");
    node.run();
    CHECK(queue.bodies() == "3 4 5 ");
    node.bind("h", "q");  // it was bound already
    node.run();
    CHECK(queue.bodies().empty());
    node.bind("h", "q", "another key");
    node.run();
    CHECK(queue.bodies() == "3 4 5 ");
    publish(node, 0, "h", "6");
    node.run();
    CHECK(queue.bodies() == "6 ");
  }
}

TEST_CASE("the messages keep their route; the length is 20 unless it is said") {
  Shards node(2);
  node.exchange("h", "x-recent-history");
  WritingQueue& queue = node.declare("q");
  for (int i = 0; i < 25; ++i) publish(node, 1, "h", std::to_string(i));
  node.run();
  node.bind("h", "q");
  node.run();
  REQUIRE(queue.messages.size() == 20);
  CHECK(runtime::as_text(queue.messages[0]->inline_body()) == "5");
  CHECK(queue.messages[0]->exchange() == "h");
  CHECK(queue.messages[0]->routing_key() == "key");
}

TEST_CASE("a message may ask not to be remembered") {
  Shards node(1);
  node.exchange("h", "x-recent-history");
  WritingQueue& queue = node.declare("q");
  const auto with = [](amqp::FieldValue value) {
    amqp::BasicProperties properties;
    properties.headers = FieldTable().set("x-recent-history-no-store", std::move(value));
    return properties;
  };
  publish(node, 0, "h", message_of("h", "", "yes", with(true)));
  publish(node, 0, "h", message_of("h", "", "no", with(false)));
  publish(node, 0, "h", message_of("h", "", "text", with("true")));
  node.run();
  node.bind("h", "q");
  node.run();
  CHECK(queue.bodies() == "no text ");
}

TEST_CASE("while a binding becomes known, every message arrives once") {
  // Shard by shard learns of the binding, and before and after that each routes a message.
  Shards node(3);
  node.exchange("h", "x-recent-history", length(100));
  WritingQueue& queue = node.declare("q");
  std::string bodies;
  for (std::size_t learns = 0; learns < 3; ++learns) {
    for (std::size_t shard = 0; shard < 3; ++shard) {
      publish(node, shard, "h", std::to_string(learns) + std::to_string(shard));
      if (learns != 1) node.all[shard]->shard.run_turn();
    }
    node.all[learns]->store.apply(Shards::binding("h", "q"));
  }
  for (std::size_t shard = 0; shard < 3; ++shard)
    publish(node, shard, "h", "9" + std::to_string(shard));
  node.run();
  std::vector<std::string> got;
  for (const auto& message : queue.messages) {
    got.emplace_back(runtime::as_text(message->inline_body()));
  }
  std::sort(got.begin(), got.end());
  CHECK(got == std::vector<std::string>{"00", "01", "02", "10", "11", "12", "20", "21", "22", "90",
                                        "91", "92"});
}

TEST_CASE("who awaits a history hears when the queue has it, whatever shard it asks from") {
  Shards node(3);
  node.exchange("h", "x-recent-history");
  WritingQueue& queue = node.declare("q");
  queue.settles = false;
  for (std::size_t shard = 0; shard < 3; ++shard) publish(node, shard, "h", "1");
  node.run();
  node.all[0]->store.apply(Shards::binding("h", "q"));
  node.all[1]->store.apply(Shards::binding("h", "q"));
  Asker asker(node.all[1]->shard);
  asker.ask(node.all[1]->history);
  node.run();
  CHECK(asker.heard == 0);  // a mark is missing
  node.all[2]->store.apply(Shards::binding("h", "q"));
  node.run();
  CHECK(queue.messages.size() == 3);
  CHECK(asker.heard == 0);  // the queue has not settled them
  asker.ask(node.all[1]->history);
  SUBCASE("the queue settles them") {
    queue.settles = true;
    node.bind("h", "q", "another");
    node.run();
  }
  SUBCASE("the queue goes") {
    node.remove("q");
    node.run();
  }
  CHECK(asker.heard == 2);
  asker.ask(node.all[1]->history);
  node.run();
  CHECK(asker.heard == 3);  // nothing to wait for
}

TEST_CASE("an exchange that is bound to it gets the history, newest first") {
  Shards node(2);
  node.exchange("h", "x-recent-history");
  node.exchange("other", "direct");
  WritingQueue& queue = node.declare("q");
  node.bind("other", "q", "key");
  for (const char* body : {"1", "2", "3"}) publish(node, 0, "h", body);
  node.run();
  node.apply(Shards::binding("h", "other", "", cluster::metadata::DestinationKind::kExchange));
  node.run();
  CHECK(queue.bodies() == "3 2 1 ");
}

TEST_CASE("a history goes with its exchange, and its successor begins with nothing") {
  Shards node(2);
  node.exchange("h", "x-recent-history");
  WritingQueue& queue = node.declare("q");
  publish(node, 0, "h", "1");
  node.run();
  node.apply(cluster::metadata::DeleteExchange{"/", "h", false});
  node.exchange("h", "x-recent-history");
  node.bind("h", "q");
  node.run();
  CHECK(queue.messages.empty());
}

TEST_CASE(
    "one letter is under way to the owner at a time, and what waits is no more than it keeps") {
  Shards node(2);
  node.exchange("h", "x-recent-history", length(2));
  const std::int64_t before = runtime::MemoryGauge::total();
  // Nobody lets the shards exchange letters.
  for (int i = 0; i < 1000; ++i) {
    publish(node, 0, "h", message_of("h", "", std::string(1000, 'x')));
    publish(node, 1, "h", message_of("h", "", std::string(1000, 'x')));
    node.all[0]->shard.run_turn();
  }
  CHECK(runtime::MemoryGauge::total() - before < 20 * 1500);
  node.run();
}

TEST_CASE("a history is bounded, whatever its length") {
  History history(1);
  history.add(message_of("", "", "a"));
  history.add(message_of("", "", "b"));
  REQUIRE(history.messages().size() == 1);
  CHECK(runtime::as_text(history.messages()[0]->inline_body()) == "b");
  History large(1000000);
  const auto half = message_of("", "", std::string(runtime::kHistoryBytesMax / 2, 'x'));
  for (int i = 0; i < 3; ++i) large.add(half);
  CHECK(large.messages().size() == 1);  // two and their headers are more than the limit
}

}  // namespace recent_history_test
