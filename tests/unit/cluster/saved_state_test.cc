// What a store says of itself, and stores that become what another was.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cluster/metadata/commands_codec.h"
#include "cluster/metadata/store.h"
#include "tests/unit/cluster/saved_fixture.h"

namespace saved_state_test {

using namespace ringtail;
using namespace ringtail::cluster::metadata;

namespace {

// Knows of a store only what it is told.
class Listener final : public Observer {
 public:
  void exchange_added(const std::shared_ptr<const ExchangeRecord>& record) override {
    CHECK(exchanges.emplace(record->vhost + "/" + record->name, record).second);
  }
  void exchange_removed(const ExchangeRecord& record) override {
    CHECK(exchanges.erase(record.vhost + "/" + record.name) == 1);
  }
  void exchange_changed(const std::shared_ptr<const ExchangeRecord>& record) override {
    exchanges.at(record->vhost + "/" + record->name) = record;
  }
  void queue_added(const std::shared_ptr<const QueueRecord>& record) override {
    CHECK(queues.emplace(record->qid, record).second);
  }
  void queue_removed(const QueueRecord& record) override { CHECK(queues.erase(record.qid) == 1); }
  void queue_changed(const std::shared_ptr<const QueueRecord>& record) override {
    queues.at(record->qid) = record;
  }
  void queue_moved(const std::shared_ptr<const QueueRecord>& record) override {
    queues.at(record->qid) = record;
  }
  void binding_added(const BindingRecord& record) override {
    CHECK(bindings.insert(key(record)).second);
  }
  void binding_removed(const BindingRecord& record) override {
    CHECK(bindings.erase(key(record)) == 1);
  }
  void node_changed(const std::shared_ptr<const NodeRecord>& record) override {
    nodes[record->id] = record;
  }
  void node_removed(const NodeRecord& record) override { CHECK(nodes.erase(record.id) == 1); }

  void check_same(const Store& store) {
    std::size_t count = 0;
    store.for_each_queue([&](const auto& record) {
      ++count;
      REQUIRE(queues.contains(record->qid));
      CHECK(queues.at(record->qid) == record);
    });
    CHECK(count == queues.size());
    std::size_t bound = 0;
    std::size_t exchange_count = 0;
    store.for_each_vhost([&](const auto& vhost) {
      store.for_each_binding(vhost->name, [&](const BindingRecord& record) {
        ++bound;
        CHECK(bindings.contains(key(record)));
      });
      store.for_each_exchange(vhost->name, [&](const auto& record) {
        ++exchange_count;
        CHECK(exchanges.at(record->vhost + "/" + record->name) == record);
      });
    });
    CHECK(bound == bindings.size());
    CHECK(exchange_count == exchanges.size());
    std::size_t node_count = 0;
    store.for_each_node([&](const auto& record) {
      ++node_count;
      CHECK(nodes.at(record->id) == record);
    });
    CHECK(node_count == nodes.size());
  }

 private:
  static std::string key(const BindingRecord& record) {
    return record.vhost + "|" + record.source + "|" + record.destination + "|" +
           std::to_string(static_cast<int>(record.kind)) + record.routing_key + "|" +
           record.arguments;
  }
  std::map<std::string, std::shared_ptr<const ExchangeRecord>> exchanges;
  std::map<Qid, std::shared_ptr<const QueueRecord>> queues;
  std::map<NodeId, std::shared_ptr<const NodeRecord>> nodes;
  std::set<std::string> bindings;
};

std::string restored(const Store& from, Store& to) {
  auto state = decode_state(encode(from.save()));
  REQUIRE(state.ok());
  to.restore(state.value());
  return text_of(to);
}

}  // namespace

TEST_CASE(
    "a store that becomes what another is is the same, whatever it was, and says what changed") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Store store;
    Store behind;
    Listener listener;
    behind.add_observer(listener);
    bool follows = true;
    for (int step = 0; step < 600; ++step) {
      const Command command = random_command(random, store);
      store.apply(command);
      if (follows) behind.apply(command);
      if (random() % 40 == 0) follows = false;  // it has fallen behind
      if (random() % 97 != 0) continue;
      REQUIRE(restored(store, behind) == text_of(store));
      follows = true;
      listener.check_same(behind);
      Store fresh;
      REQUIRE(restored(store, fresh) == text_of(store));
      // From here on both come to the same by the same commands.
      std::mt19937 same(random());
      for (int more = 0; more < 40; ++more) {
        const Command next = random_command(same, store);
        store.apply(next);
        behind.apply(next);
        fresh.apply(next);
      }
      REQUIRE(text_of(behind) == text_of(store));
      REQUIRE(text_of(fresh) == text_of(store));
      listener.check_same(behind);
    }
  }
}

TEST_CASE("every command comes out of its bytes as it went in") {
  std::mt19937 random(5);
  Store store;
  Store other;
  Proposal proposal{NodeId{7}, 3, 11, 9};
  std::set<std::size_t> kinds;
  for (int i = 0; i < 4000; ++i) {
    const Command command = random_command(random, store);
    kinds.insert(command.index());
    proposal.commands = {command};
    const auto back = decode_proposal(encode(proposal));
    REQUIRE(back.ok());
    CHECK(back.value().node == NodeId{7});
    CHECK(back.value().life == 3);
    CHECK(back.value().first_request == 11);
    CHECK(back.value().oldest_request == 9);
    REQUIRE(back.value().commands.size() == 1);
    CHECK(encode(back.value()) == encode(proposal));
    store.apply(command);
    other.apply(back.value().commands[0]);
  }
  CHECK(text_of(store) == text_of(other));
  CHECK(kinds.size() >= 18);
}

TEST_CASE("the commands that the random ones leave out come out of their bytes too") {
  const std::vector<Command> commands = {
      DeletePermission{"v", "u"},
      PutTopicPermission{{.vhost = "v", .user = "u", .exchange = "e", .write = "w", .read = "r"}},
      DeleteTopicPermission{"v", "u", std::nullopt},
      DeleteTopicPermission{"v", "u", ""},
      DeleteParameter{"c", "v", "n"},
      SetUserLimits{"u", {.max_connections = 0, .max_channels = {}}}};
  for (const Command& command : commands) {
    Proposal proposal{NodeId{1}, 1, 1, 1, {command}};
    const auto back = decode_proposal(encode(proposal));
    REQUIRE(back.ok());
    REQUIRE(back.value().commands.size() == 1);
    CHECK(back.value().commands[0].index() == command.index());
    CHECK(encode(back.value()) == encode(proposal));
  }
  const auto none =
      decode_proposal(encode(Proposal{NodeId{1}, 1, 1, 1, {DeleteTopicPermission{"v", "u", {}}}}));
  CHECK_FALSE(std::get<DeleteTopicPermission>(none.value().commands[0]).exchange.has_value());
  const auto empty =
      decode_proposal(encode(Proposal{NodeId{1}, 1, 1, 1, {DeleteTopicPermission{"v", "u", ""}}}));
  CHECK(std::get<DeleteTopicPermission>(empty.value().commands[0]).exchange == "");
}

TEST_CASE("bytes that are no proposal and no state are told so") {
  CHECK(decode_proposal("\xff\xff\xff").status().code() == runtime::Code::kCorrupt);
  CHECK(decode_state("\xff\xff\xff").status().code() == runtime::Code::kCorrupt);
  // A command of a later version: field 200 of Command.
  Proposal proposal{NodeId{1}, 1, 1, 1};
  std::string bytes = encode(proposal) + std::string("\x2a\x04\xc2\x0c\x01\x78", 6);
  CHECK(decode_proposal(bytes).status().code() == runtime::Code::kCorrupt);
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string noise(random() % 60, '\0');
    for (char& octet : noise) octet = static_cast<char>(random());
    (void)decode_proposal(noise);
    (void)decode_state(noise);
  }
}

}  // namespace saved_state_test
