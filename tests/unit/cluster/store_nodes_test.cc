// Nodes, their lives, and what of the queues goes with one.
#include <doctest/doctest.h>

#include <string>

#include "cluster/metadata/commands_codec.h"
#include "cluster/metadata/store.h"

namespace store_nodes_test {

using namespace ringtail;
using namespace ringtail::cluster::metadata;

namespace {

NodeUp up(std::uint32_t id, const std::string& name, std::uint64_t boot = 1,
          std::uint16_t shards = 2) {
  return {{.id = NodeId{id}, .name = name, .host = "h", .shards = shards, .boot = boot}};
}

CommandResult declare(Store& store, const std::string& name, std::uint32_t home,
                      bool durable = true, ConnectionId owner = 0, bool fewest = false) {
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = name;
  command.record.home = NodeId{home};
  command.record.durable = durable;
  command.record.exclusive_owner = owner;
  command.fewest_queues = fewest;
  return store.apply(command);
}

}  // namespace

TEST_CASE("a node's lives count up, and asking twice for one begins one") {
  Store store;
  CHECK(store.apply(up(1, "a")).node->life == 1);
  CHECK(store.apply(up(1, "a")).outcome == Outcome::kUnchanged);
  CHECK(store.apply(up(1, "a", 2)).node->life == 2);
  CHECK(store.apply(NodeDown{NodeId{1}, 1, false}).outcome == Outcome::kUnchanged);
  CHECK(store.node(NodeId{1})->up);
  CHECK(store.apply(NodeDown{NodeId{1}, 2, true}).outcome == Outcome::kDone);
  CHECK_FALSE(store.node(NodeId{1})->up);
  CHECK(store.node(NodeId{1})->stopped);
  // The same boot after its end is another life: it is up again.
  CHECK(store.apply(up(1, "a", 2)).node->life == 3);
  CHECK_FALSE(store.node(NodeId{1})->stopped);
  CHECK(store.apply(NodeDown{NodeId{9}, 1, false}).outcome == Outcome::kNoNode);
}

TEST_CASE("what is not durable, and what is exclusive, ends with the life of its home") {
  Store store;
  store.apply(up(1, "a"));
  store.apply(up(2, "b"));
  declare(store, "durable", 1);
  declare(store, "transient", 1, false);
  declare(store, "exclusive", 1, true, 5);
  declare(store, "elsewhere", 2, false);
  store.apply(Bind{{.vhost = "/", .source = "amq.topic", .destination = "transient"}});
  store.apply(Bind{{.vhost = "/", .source = "amq.topic", .destination = "durable"}});
  store.apply(NodeDown{NodeId{1}, 1, false});
  CHECK(store.queue("/", "durable") != nullptr);
  CHECK(store.queue("/", "transient") == nullptr);
  CHECK(store.queue("/", "exclusive") == nullptr);
  CHECK(store.queue("/", "elsewhere") != nullptr);
  std::size_t bindings = 0;
  store.for_each_binding("/", [&](const BindingRecord& record) {
    ++bindings;
    CHECK(record.destination == "durable");
  });
  CHECK(bindings == 1);
}

TEST_CASE("a new life without an end of the one before ends it") {
  Store store;
  store.apply(up(1, "a"));
  declare(store, "transient", 1, false);
  store.apply(up(1, "a", 2));
  CHECK(store.queue("/", "transient") == nullptr);
}

TEST_CASE("queues are declared on nodes that are up, and spread over their shards") {
  Store store;
  CHECK(declare(store, "q", 1).outcome == Outcome::kNoNode);
  store.apply(up(1, "a", 1, 3));
  for (int i = 0; i < 9; ++i) {
    const auto result = declare(store, "q" + std::to_string(i), 1);
    CHECK(result.queue->shard.value == i % 3);
    CHECK(result.queue->home == NodeId{1});
  }
  store.apply(NodeDown{NodeId{1}, 1, false});
  CHECK(declare(store, "late", 1).outcome == Outcome::kNoNode);
  // What exists is found, wherever it is.
  CHECK(declare(store, "q0", 1).outcome == Outcome::kUnchanged);
}

TEST_CASE("min-masters: the node that is up and has the fewest; of several the first by name") {
  Store store;
  store.apply(up(3, "a"));
  store.apply(up(2, "b"));
  store.apply(up(1, "c"));
  CHECK(declare(store, "one", 1, true, 0, true).queue->home == NodeId{3});
  CHECK(declare(store, "two", 1, true, 0, true).queue->home == NodeId{2});
  store.apply(NodeDown{NodeId{1}, 1, false});
  CHECK(declare(store, "three", 3, true, 0, true).queue->home == NodeId{3});
  CHECK(declare(store, "four", 3, true, 0, true).queue->home == NodeId{2});
  // An exclusive one stays with its connection.
  CHECK(declare(store, "mine", 2, false, 4, true).queue->home == NodeId{2});
}

TEST_CASE(
    "with as many shards as before queues stay where they are; otherwise they are spread anew") {
  Store store;
  store.apply(up(1, "a", 1, 2));
  for (int i = 0; i < 6; ++i) declare(store, "q" + std::to_string(i), 1);
  const auto qid = store.queue("/", "q0")->qid;
  store.apply(DeleteQueue{"/", "q0", qid});
  store.apply(up(1, "a", 2, 2));
  CHECK(store.queue("/", "q1")->shard.value == 1);
  CHECK(store.queue("/", "q2")->shard.value == 0);
  store.apply(up(1, "a", 3, 5));
  for (int i = 1; i < 6; ++i)
    CHECK(store.queue("/", "q" + std::to_string(i))->shard.value == i - 1);
}

TEST_CASE(
    "a node that lost its disk comes back as another: it has the queues of its name, and no "
    "other") {
  Store store;
  store.apply(up(1, "a"));
  store.apply(up(2, "b"));
  declare(store, "durable", 1);
  declare(store, "other", 2);
  // While the one of that name is up nobody else may be it.
  CHECK(store.apply(up(7, "a")).outcome == Outcome::kNodeUp);
  store.apply(NodeDown{NodeId{1}, 1, false});
  CHECK(store.apply(up(7, "a", 1, 1)).outcome == Outcome::kDone);
  CHECK(store.node(NodeId{1}) == nullptr);
  CHECK(store.node_named("a")->id == NodeId{7});
  CHECK(store.queue("/", "durable")->home == NodeId{7});
  CHECK(store.queue("/", "other")->home == NodeId{2});
  // Its places are counted where they are now.
  CHECK(declare(store, "next", 7).queue->shard.value == 0);
}

TEST_CASE("a node that is forgotten takes its queues along; one that is up is not forgotten") {
  Store store;
  store.apply(up(1, "a"));
  store.apply(up(2, "b"));
  declare(store, "durable", 1);
  CHECK(store.apply(ForgetNode{NodeId{1}}).outcome == Outcome::kNodeUp);
  store.apply(NodeDown{NodeId{1}, 1, true});
  CHECK(store.apply(ForgetNode{NodeId{1}}).outcome == Outcome::kDone);
  CHECK(store.queue("/", "durable") == nullptr);
  CHECK(store.node(NodeId{1}) == nullptr);
  CHECK(store.apply(ForgetNode{NodeId{1}}).outcome == Outcome::kNoNode);
}

TEST_CASE("the number of a node that was forgotten or replaced is never used again") {
  Store store;
  store.apply(up(1, "a"));
  store.apply(up(2, "b"));
  store.apply(NodeDown{NodeId{1}, 1, false});
  store.apply(NodeDown{NodeId{2}, 1, false});
  CHECK_FALSE(store.is_forgotten(NodeId{1}));
  store.apply(ForgetNode{NodeId{1}});
  store.apply(up(7, "b"));
  CHECK(store.is_forgotten(NodeId{1}));
  CHECK(store.is_forgotten(NodeId{2}));
  CHECK_FALSE(store.is_forgotten(NodeId{7}));
  const std::string before = encode(store.save());
  for (const NodeUp& command : {up(1, "a", 2), up(1, "c", 3), up(2, "b", 2), up(2, "d", 3)}) {
    CHECK(store.apply(command).outcome == Outcome::kNoNode);
  }
  CHECK(encode(store.save()) == before);
  // Whoever comes under the name has another number.
  CHECK(store.apply(up(8, "a")).outcome == Outcome::kDone);
  // It is part of what is saved, and what is restored takes the place of what was known.
  Store other;
  other.apply(up(5, "e"));
  other.apply(NodeDown{NodeId{5}, 1, false});
  other.apply(ForgetNode{NodeId{5}});
  auto saved = decode_state(encode(store.save()));
  REQUIRE(saved.ok());
  other.restore(saved.value());
  CHECK(encode(other.save()) == encode(store.save()));
  CHECK(other.is_forgotten(NodeId{1}));
  CHECK_FALSE(other.is_forgotten(NodeId{5}));
  CHECK(other.apply(up(2, "f")).outcome == Outcome::kNoNode);
}

TEST_CASE("each proposal of a life counts once, in order, and only while the life lasts") {
  Store store;
  store.apply(up(1, "a"));
  CHECK(store.accept(NodeId{1}, 1, 1, 1));
  CHECK_FALSE(store.accept(NodeId{1}, 1, 1, 1));  // again
  CHECK_FALSE(store.accept(NodeId{1}, 1, 3, 2));  // 2 is missing, and awaited
  CHECK(store.accept(NodeId{1}, 1, 2, 2));
  CHECK(store.accept(NodeId{1}, 1, 5, 5));        // 3 and 4 were given up
  CHECK_FALSE(store.accept(NodeId{1}, 1, 4, 4));  // and come late
  CHECK_FALSE(store.accept(NodeId{2}, 1, 1, 1));  // nobody
  CHECK_FALSE(store.accept(NodeId{1}, 2, 6, 6));  // not yet
  store.apply(NodeDown{NodeId{1}, 1, false});
  CHECK_FALSE(store.accept(NodeId{1}, 1, 6, 6));  // over
  store.apply(up(1, "a", 2));
  CHECK(store.accept(NodeId{1}, 2, 1, 1));
  CHECK_FALSE(store.accept(NodeId{1}, 1, 6, 6));
  CHECK(store.accept(NodeId{3}, 0, 0, 0));  // who asks for its first life has none
}

}  // namespace store_nodes_test
