// Policies that act, limits, vhosts that go: the store with policies.h inside.
#include "cluster/metadata/policies.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "cluster/metadata/store.h"

namespace policies_test {

using namespace ringtail::cluster::metadata;

namespace {

struct Changes : Observer {
  void queue_changed(const std::shared_ptr<const QueueRecord>& record) override {
    told.push_back("queue " + record->name);
  }
  void exchange_changed(const std::shared_ptr<const ExchangeRecord>& record) override {
    told.push_back("exchange " + record->name);
  }
  void queue_removed(const QueueRecord& record) override { told.push_back("- " + record.name); }
  void exchange_removed(const ExchangeRecord& record) override {
    if (!record.predeclared) told.push_back("- " + record.name);
  }
  void binding_removed(const BindingRecord& record) override {
    told.push_back("- " + record.source + "/" + record.destination);
  }
  void vhost_removed(const VhostRecord& record) override {
    told.push_back("- vhost " + record.name);
  }
  void access_changed() override { told.push_back("access"); }
  std::vector<std::string> take() { return std::exchange(told, {}); }
  std::vector<std::string> told;
};

using Texts = std::vector<std::string>;

DeclareQueue queue(const std::string& name, QueueType type = QueueType::kClassic,
                   const std::string& vhost = "/") {
  DeclareQueue command;
  command.record.vhost = vhost;
  command.record.name = name;
  command.record.durable = true;
  command.record.options.type = type;
  return command;
}

DeclareExchange exchange(const std::string& name, const std::string& vhost = "/") {
  return {{.vhost = vhost, .name = name, .type = "direct", .durable = true}};
}

PutPolicy policy(const std::string& name, const std::string& pattern, std::int64_t priority,
                 PolicyDefinition definition, bool of_operator = false) {
  PutPolicy command;
  command.record = {.vhost = "/",
                    .name = name,
                    .of_operator = of_operator,
                    .pattern = pattern,
                    .priority = priority,
                    .definition = std::move(definition)};
  return command;
}

PolicyDefinition length(std::int64_t value) { return {{"max-length", value}}; }

std::string policy_of(const Store& store, const std::string& name) {
  const auto record = store.queue("/", name);
  return record->policy == nullptr ? "none"
                                   : record->policy->policy + "+" + record->policy->operator_policy;
}

}  // namespace

TEST_CASE("the strongest policy that matches acts, on what is there and what comes") {
  Store store(1);
  Changes changes;
  store.add_observer(changes);
  store.apply(queue("a1"));
  store.apply(queue("b1"));
  CHECK(store.apply(policy("weak", "", 0, length(1))).outcome == Outcome::kDone);
  CHECK(policy_of(store, "a1") == "weak+");
  CHECK(store.queue("/", "a1")->policy == store.queue("/", "b1")->policy);  // one object
  CHECK(store.exchange("/", "amq.topic")->policy != nullptr);
  changes.take();
  const std::uint64_t version = store.version();
  store.apply(policy("strong", "^a", 5, length(2)));
  CHECK(changes.take() == Texts{"exchange amq.direct", "exchange amq.fanout", "exchange amq.topic",
                                "exchange amq.headers", "exchange amq.match",
                                "exchange amq.rabbitmq.trace", "queue a1"});
  CHECK(store.version() > version);
  CHECK(policy_of(store, "a1") == "strong+");
  CHECK(policy_of(store, "b1") == "weak+");
  store.apply(queue("a2"));
  CHECK(policy_of(store, "a2") == "strong+");
  store.apply(policy("strong", "^a", -1, length(2)));
  CHECK(policy_of(store, "a1") == "weak+");
  CHECK(store.apply(DeletePolicy{"/", "weak", false}).outcome == Outcome::kDone);
  CHECK(policy_of(store, "a1") == "strong+");
  CHECK(policy_of(store, "b1") == "none");
  CHECK(store.apply(DeletePolicy{"/", "weak", false}).outcome == Outcome::kUnchanged);
}

TEST_CASE("nobody is told of a policy that changes nothing") {
  Store store(1);
  store.apply(queue("a"));
  store.apply(policy("p", "", 0, length(1)));
  Changes changes;
  store.add_observer(changes);
  const auto record = store.queue("/", "a");
  store.apply(policy("p", "a|amq", 3, length(1)));  // says the same to the queue
  CHECK(store.queue("/", "a") == record);
  store.apply(policy("q", "", 2, length(9)));  // weaker
  CHECK(store.queue("/", "a") == record);
  store.apply(policy("p", "", 3, length(2)));
  CHECK(store.queue("/", "a") != record);
  CHECK(store.queue("/", "a")->policy->number("max-length") == 2);
  CHECK(record->policy->number("max-length") == 1);  // what was given out stays as it was
}

TEST_CASE("of equal priorities the first by name, whatever came first") {
  Store store(1);
  store.apply(queue("x"));
  store.apply(policy("b", "", 7, length(1)));
  store.apply(policy("a", "", 7, length(2)));
  CHECK(policy_of(store, "x") == "a+");
  store.apply(policy("c", "", 7, length(3)));
  CHECK(policy_of(store, "x") == "a+");
}

TEST_CASE("what a policy applies to") {
  Store store(1);
  store.apply(queue("classic"));
  store.apply(queue("quorum", QueueType::kQuorum));
  store.apply(exchange("e"));
  const auto check = [&](PolicyTarget target, bool classic, bool quorum, bool on_exchange) {
    PutPolicy command = policy("p", "", 0, length(1));
    command.record.apply_to = target;
    store.apply(command);
    CHECK((store.queue("/", "classic")->policy != nullptr) == classic);
    CHECK((store.queue("/", "quorum")->policy != nullptr) == quorum);
    CHECK((store.exchange("/", "e")->policy != nullptr) == on_exchange);
  };
  check(PolicyTarget::kAll, true, true, true);
  check(PolicyTarget::kQueues, true, true, false);
  check(PolicyTarget::kExchanges, false, false, true);
  check(PolicyTarget::kClassicQueues, true, false, false);
  check(PolicyTarget::kQuorumQueues, false, true, false);
}

// As rabbitmq-server 3.10.8 shows it in effective_policy_definition.
TEST_CASE("a policy with a key of another type of queue is passed over") {
  Store store(1);
  store.apply(queue("c"));
  store.apply(queue("q", QueueType::kQuorum));
  store.apply(policy("low", "", 0, length(1)));
  const auto check = [&](const char* key, bool on_classic, bool on_quorum) {
    CAPTURE(key);
    store.apply(policy("high", "", 9, {{"max-length", std::int64_t{5}}, {key, std::int64_t{5}}}));
    CHECK(policy_of(store, "c") == (on_classic ? "high+" : "low+"));
    CHECK(policy_of(store, "q") == (on_quorum ? "high+" : "low+"));
    CHECK(store.exchange("/", "amq.topic")->policy->policy == "high");
  };
  check("delivery-limit", false, true);
  check("queue-leader-locator", false, true);
  check("max-in-memory-length", false, true);
  check("max-age", false, false);
  check("initial-cluster-size", false, false);
  check("ha-mode", true, false);
  check("queue-mode", true, false);
  check("message-ttl", true, true);
  // An operator policy, too.
  store.apply(DeletePolicy{"/", "high", false});
  store.apply(policy("op", "", 0, {{"delivery-limit", std::int64_t{5}}}, true));
  CHECK(policy_of(store, "c") == "low+");
  CHECK(policy_of(store, "q") == "low+op");
}

TEST_CASE("a policy and an operator policy are merged") {
  Store store(1);
  store.apply(queue("q"));
  store.apply(policy("u", "", 0,
                     {{"max-length", std::int64_t{5}},
                      {"message-ttl", std::int64_t{1000}},
                      {"dead-letter-exchange", std::string("d")}}));
  store.apply(policy("o", "", 0,
                     {{"max-length", std::int64_t{10}},
                      {"message-ttl", std::int64_t{500}},
                      {"max-length-bytes", std::int64_t{99999}}},
                     true));
  CHECK(policy_of(store, "q") == "u+o");
  const PolicyDefinition expected = {{"max-length", std::int64_t{5}},
                                     {"message-ttl", std::int64_t{500}},
                                     {"max-length-bytes", std::int64_t{99999}},
                                     {"dead-letter-exchange", std::string("d")}};
  CHECK(store.queue("/", "q")->policy->definition == expected);
  CHECK(merged_definition({{"ha-mode", std::string("all")}, {"ha-params", std::int64_t{2}}},
                          {{"ha-params", std::int64_t{3}}}) ==
        PolicyDefinition{{"ha-mode", std::string("all")}, {"ha-params", std::int64_t{3}}});
}

TEST_CASE("of two wishes for mirrors the one that promises more is in force") {
  using Nodes = std::vector<std::string>;
  const auto all = PolicyDefinition{{"ha-mode", std::string("all")}};
  const auto exactly = [](std::int64_t count) {
    return PolicyDefinition{{"ha-mode", std::string("exactly")}, {"ha-params", count}};
  };
  const auto nodes = [](const Nodes& names) {
    return PolicyDefinition{{"ha-mode", std::string("nodes")}, {"ha-params", names}};
  };
  const auto wish = [](const PolicyDefinition& user, const PolicyDefinition& by_operator) {
    const EffectivePolicy policy{"u", "o", merged_definition(user, by_operator)};
    return *wanted_mirrors({}, &policy);
  };
  for (const auto& other : {exactly(9), nodes({"a"}), all}) {
    CHECK(wish(all, other).mode == MirrorMode::kAll);
    CHECK(wish(other, all).mode == MirrorMode::kAll);
  }
  CHECK(wish(exactly(2), nodes({"a", "b", "c"})).count == 2);
  CHECK(wish(nodes({"a", "b", "c"}), exactly(2)).count == 2);
  CHECK(wish(exactly(2), exactly(3)).count == 3);
  CHECK(wish(exactly(3), exactly(2)).count == 3);
  CHECK(wish(nodes({"a", "b"}), nodes({"c"})).nodes == Nodes{"a", "b"});
  CHECK(wish(nodes({"a"}), nodes({"c"})).nodes == Nodes{"c"});
}

TEST_CASE("what nobody said about mirrors is what loses nothing") {
  const auto wish = [](PolicyDefinition definition) {
    const EffectivePolicy policy{"u", "", std::move(definition)};
    return merged({}, &policy);
  };
  PolicyDefinition definition = {{"ha-mode", std::string("all")}};
  CHECK(wish(definition).mirrors == Mirrors{});
  CHECK(wish(definition).mirrors->automatic_sync);
  CHECK_FALSE(wish(definition).mirrors->promote_unsynced_on_failure);
  CHECK_FALSE(wish(definition).mirrors->promote_unsynced_on_shutdown);
  CHECK_FALSE(wish(definition).min_in_sync.has_value());
  definition["ha-sync-mode"] = std::string("manual");
  definition["ha-promote-on-failure"] = std::string("always");
  definition["ha-promote-on-shutdown"] = std::string("always");
  definition["ha-sync-batch-size"] = std::int64_t{50};
  definition["ha-min-in-sync"] = std::int64_t{2};
  const QueueOptions options = wish(definition);
  CHECK_FALSE(options.mirrors->automatic_sync);
  CHECK(options.mirrors->promote_unsynced_on_failure);
  CHECK(options.mirrors->promote_unsynced_on_shutdown);
  CHECK(options.mirrors->sync_batch_size == 50);
  CHECK(options.min_in_sync == 2);
  CHECK_FALSE(wish({{"max-length", std::int64_t{1}}}).mirrors.has_value());
  // An argument beats all of it.
  QueueOptions arguments;
  arguments.mirrors = Mirrors{.mode = MirrorMode::kNodes, .nodes = {"a"}};
  arguments.min_in_sync = 1;
  const EffectivePolicy policy{"u", "", definition};
  CHECK(merged(arguments, &policy).mirrors == arguments.mirrors);
  CHECK(merged(arguments, &policy).min_in_sync == 1);
  // A quorum queue is what it is, without any policy.
  arguments = {};
  arguments.type = QueueType::kQuorum;
  CHECK(merged(arguments, nullptr).mirrors->mode == MirrorMode::kMajority);
}

TEST_CASE("changes one by one give what looking at all policies gives") {
  std::mt19937 random(11);
  Store store(1);
  std::map<std::pair<bool, std::string>, PolicyRecord> policies;
  Texts names;
  for (int i = 0; i < 40; ++i) {
    names.push_back(std::string(1, static_cast<char>('a' + i % 5)) + std::to_string(i));
    store.apply(queue(names.back(), i % 3 == 0 ? QueueType::kQuorum : QueueType::kClassic));
  }
  const auto strongest = [&](const QueueRecord& record, bool of_operator) {
    const PolicyRecord* best = nullptr;
    for (const auto& [key, one] : policies) {
      if (key.first != of_operator || record.name.find(one.pattern) == std::string::npos) continue;
      if (one.apply_to == PolicyTarget::kExchanges) continue;
      if (one.apply_to == PolicyTarget::kQuorumQueues &&
          record.options.type != QueueType::kQuorum) {
        continue;
      }
      if (best == nullptr || one.priority > best->priority) best = &one;
    }
    return best == nullptr ? std::string() : best->name;
  };
  for (int step = 0; step < 600; ++step) {
    const bool of_operator = random() % 3 == 0;
    const std::string name = "p" + std::to_string(random() % 8);
    if (random() % 4 == 0) {
      store.apply(DeletePolicy{"/", name, of_operator});
      policies.erase({of_operator, name});
    } else {
      PutPolicy command =
          policy(name, std::string(1, static_cast<char>('a' + random() % 6)),
                 static_cast<std::int32_t>(random() % 5), length(step % 7), of_operator);
      if (random() % 3 == 0) command.record.pattern = "";
      if (random() % 4 == 0) command.record.apply_to = PolicyTarget::kQuorumQueues;
      if (random() % 9 == 0) command.record.apply_to = PolicyTarget::kExchanges;
      store.apply(command);
      policies[{of_operator, name}] = command.record;
    }
    for (const std::string& queue_name : names) {
      const auto record = store.queue("/", queue_name);
      const std::string user = strongest(*record, false);
      const std::string by_operator = strongest(*record, true);
      const bool none = user.empty() && by_operator.empty();
      REQUIRE((record->policy == nullptr) == none);
      if (none) continue;
      REQUIRE(record->policy->policy == user);
      REQUIRE(record->policy->operator_policy == by_operator);
      const PolicyDefinition empty;
      REQUIRE(record->policy->definition ==
              merged_definition(
                  user.empty() ? empty : policies[{false, user}].definition,
                  by_operator.empty() ? empty : policies[{true, by_operator}].definition));
    }
  }
}

TEST_CASE("a vhost has no more queues than its limit allows") {
  Store store(1);
  store.apply(queue("one"));
  store.apply(SetVhostLimits{"/", {.max_queues = 2}});
  CHECK(store.apply(queue("two")).outcome == Outcome::kDone);
  CHECK(store.apply(queue("three")).outcome == Outcome::kQueueLimit);
  CHECK(store.queue("/", "three") == nullptr);
  CHECK(store.apply(queue("two")).outcome == Outcome::kUnchanged);
  store.apply(DeleteQueue{"/", "one", store.queue("/", "one")->qid});
  CHECK(store.apply(queue("three")).outcome == Outcome::kDone);
  store.apply(SetVhostLimits{"/", {}});
  CHECK(store.apply(queue("four")).outcome == Outcome::kDone);
}

TEST_CASE("a vhost goes with all that is in it") {
  Store store(1);
  store.apply(PutVhost{{.name = "v"}});
  store.apply(PutUser{{.name = "u"}});
  store.apply(PutPermission{{.vhost = "v", .user = "u"}});
  store.apply(PutTopicPermission{{.vhost = "v", .user = "u", .exchange = "e"}});
  store.apply(PutParameter{{.component = "c", .vhost = "v", .name = "n", .value = "1"}});
  PutPolicy in_v = policy("p", "", 0, length(1));
  in_v.record.vhost = "v";
  store.apply(in_v);
  store.apply(exchange("e", "v"));
  DeclareExchange gone_alone = exchange("auto", "v");
  gone_alone.record.auto_delete = true;
  store.apply(gone_alone);
  store.apply(queue("q", QueueType::kClassic, "v"));
  store.apply(Bind{{.vhost = "v", .source = "e", .destination = "q", .routing_key = "1"}});
  store.apply(Bind{{.vhost = "v", .source = "auto", .destination = "q"}});
  store.apply(Bind{{.vhost = "v", .source = "e", .destination = "q", .routing_key = "2"}});
  store.apply(queue("other"));
  Changes changes;
  store.add_observer(changes);
  const std::uint64_t version = store.version();
  const std::uint64_t access_version = store.access_version();
  CHECK(store.apply(DeleteVhost{"v"}).outcome == Outcome::kDone);
  CHECK(changes.take() ==
        Texts{"- e/q", "- auto/q", "- e/q", "- q", "- e", "- auto", "access", "- vhost v"});
  CHECK(store.version() > version);
  CHECK(store.access_version() > access_version);
  CHECK_FALSE(store.has_vhost("v"));
  CHECK(store.queue("/", "other") != nullptr);
  int left = 0;
  store.for_each_permission([&](const auto&) { ++left; });
  store.for_each_topic_permission([&](const auto&) { ++left; });
  store.for_each_policy([&](const auto&) { ++left; });
  store.for_each_parameter([&](const auto&) { ++left; });
  CHECK(left == 0);
  CHECK(store.apply(DeleteVhost{"v"}).outcome == Outcome::kNoVhost);
  // It can come back, empty.
  store.apply(PutVhost{{.name = "v"}});
  CHECK(store.queue_count("v") == 0);
  store.apply(queue("q", QueueType::kClassic, "v"));
  CHECK(store.queue("v", "q")->policy == nullptr);
}

}  // namespace policies_test
