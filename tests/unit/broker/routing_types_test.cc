// The exchange types that RabbitMQ has as plug-ins, and what the table does when policies change.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/routing/hash_ring.h"
#include "broker/routing/stable_hash.h"
#include "broker/runtime/bytes.h"
#include "tests/unit/broker/routing_fixture.h"

namespace routing_types_test {

using namespace ringtail;
using namespace ringtail::broker;
using amqp::BasicProperties;
using amqp::FieldTable;
using Names = Routes::Names;

namespace {

std::string number(std::size_t value) { return std::to_string(value); }

std::string argument(const std::string& name, amqp::FieldValue value) {
  return FieldTable().set(name, std::move(value)).encode();
}

// How many of the messages that `make` numbers each queue gets; each goes to one queue exactly.
template <typename Make>
std::map<std::string, int> spread(const Routes& routes, int messages, const Make& make) {
  std::map<std::string, int> counts;
  for (int i = 0; i < messages; ++i) {
    const Names names = make(static_cast<std::size_t>(i));
    REQUIRE(names.size() == 1);
    ++counts[names[0]];
  }
  (void)routes;
  return counts;
}

std::vector<std::string> chosen(const Routes& routes, const std::string& exchange, int messages) {
  std::vector<std::string> all;
  for (int i = 0; i < messages; ++i) {
    all.push_back(routes.route(exchange, "key" + number(static_cast<std::size_t>(i)))[0]);
  }
  return all;
}

std::string fault_of_binding(const Routes& routes, const std::string& exchange,
                             const std::string& key) {
  return RouteTable::fault_of_binding(*routes.table.find("/", exchange), key, "").value_or("");
}

}  // namespace

TEST_CASE("all types are named, in order, with RabbitMQ's descriptions") {
  std::string names;
  for (const ExchangeTypeInfo& type : RouteTable::types()) {
    names += std::string(type.name) + " ";
    CHECK(RouteTable::knows_type(type.name));
    CHECK_FALSE(type.description.empty());
  }
  CHECK(names ==
        "direct fanout headers topic x-consistent-hash x-modulus-hash x-random x-recent-history ");
}

TEST_CASE("x-random: one binding, each as likely, whatever the keys are") {
  Routes routes;
  routes.exchange("x", "x-random");
  const auto route = [&](std::size_t i) {
    return routes.route("x", Routable{.routing_key = "key", .properties = {}, .chance = i});
  };
  CHECK(route(1).empty());
  for (std::size_t i = 0; i < 4; ++i) routes.queue("q" + number(i));
  for (std::size_t i = 0; i < 4; ++i) routes.bind("x", "q" + number(i), "k" + number(i));
  for (const auto& [name, count] : spread(routes, 40000, route))
    CHECK(std::abs(count - 10000) < 400);
  // Two bindings count twice.
  routes.bind("x", "q0", "another");
  CHECK(std::abs(spread(routes, 50000, route)["q0"] - 20000) < 600);
  routes.unbind("x", "q0", "k0");
  routes.unbind("x", "q3", "k3");
  auto counts = spread(routes, 30000, route);
  CHECK(counts.size() == 3);
  for (const auto& [name, count] : counts) CHECK(std::abs(count - 10000) < 400);
  routes.delete_queue("q1");
  routes.delete_queue("q0");
  CHECK(spread(routes, 10, route) == std::map<std::string, int>{{"q2", 10}});
}

TEST_CASE("x-random: the same message and number, the same choice; chained ones choose apart") {
  Routes routes;
  for (const char* name : {"first", "second"}) routes.exchange(name, "x-random");
  for (const char* name : {"a", "b", "c", "d"}) routes.queue(name);
  routes.bind("first", "a");
  routes.bind_exchange("first", "second");
  routes.bind("second", "b");
  routes.bind("second", "c");
  const auto route = [&](std::size_t i) {
    return routes.route("first", Routable{.routing_key = "", .properties = {}, .chance = i});
  };
  CHECK(route(7) == route(7));
  auto counts = spread(routes, 40000, route);
  CHECK(std::abs(counts["a"] - 20000) < 800);
  CHECK(std::abs(counts["b"] - 10000) < 600);
  CHECK(std::abs(counts["c"] - 10000) < 600);
}

TEST_CASE("x-modulus-hash: a key has its queue, in whatever order they were bound") {
  Routes routes;
  Routes other;
  for (Routes* each : {&routes, &other}) {
    each->exchange("x", "x-modulus-hash");
    CHECK(each->route("x", "key").empty());
    for (std::size_t i = 0; i < 5; ++i) each->queue("q" + number(i));
  }
  for (std::size_t i = 0; i < 5; ++i) {
    routes.bind("x", "q" + number(i), "k");
    other.bind("x", "q" + number(4 - i), "k");
  }
  CHECK(chosen(routes, "x", 500) == chosen(other, "x", 500));
  auto counts = spread(routes, 50000, [&](std::size_t i) { return routes.route("x", number(i)); });
  for (const auto& [name, count] : counts) CHECK(std::abs(count - 10000) < 500);
  // Further keys are part of what is hashed.
  std::set<std::string> reached;
  for (std::size_t i = 0; i < 50; ++i) {
    const std::string further = number(i);
    const std::string_view keys[] = {further};
    reached.insert(routes.route("x", Routable{"key", {}, keys})[0]);
  }
  CHECK(reached.size() == 5);
  routes.unbind("x", "q2", "k");
  routes.bind("x", "q2", "k");
  CHECK(chosen(routes, "x", 500) == chosen(other, "x", 500));
}

TEST_CASE("x-consistent-hash: every queue gets its weight, within a few per cent") {
  Routes routes;
  routes.exchange("x", "x-consistent-hash");
  CHECK(routes.route("x", "key").empty());
  const std::map<std::string, int> weights = {{"a", 1}, {"b", 1}, {"c", 2}, {"d", 4}, {"e", 12}};
  for (const auto& [name, weight] : weights) {
    routes.queue(name);
    routes.bind("x", name, std::to_string(weight));
  }
  const int unit = 20000;
  auto counts =
      spread(routes, 20 * unit, [&](std::size_t i) { return routes.route("x", number(i)); });
  for (const auto& [name, weight] : weights) {
    INFO(name, " ", counts[name]);
    CHECK(std::abs(counts[name] - weight * unit) < weight * unit * 6 / 100);
  }
}

TEST_CASE("x-consistent-hash: only what must move does, and the order of binding is no matter") {
  Routes routes;
  routes.exchange("x", "x-consistent-hash");
  const int messages = 20000;
  for (std::size_t i = 0; i < 10; ++i) {
    routes.queue("q" + number(i));
    routes.bind("x", "q" + number(i), "1");
  }
  const auto before = chosen(routes, "x", messages);
  SUBCASE("one more") {
    routes.queue("new");
    routes.bind("x", "new", "1");
    const auto after = chosen(routes, "x", messages);
    int moved = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (after[i] == before[i]) continue;
      ++moved;
      CHECK(after[i] == "new");
    }
    CHECK(std::abs(moved - messages / 11) < messages / 11 / 8);
    routes.unbind("x", "new", "1");
    CHECK(chosen(routes, "x", messages) == before);
  }
  SUBCASE("one less, from the middle") {
    routes.delete_queue("q4");
    const auto after = chosen(routes, "x", messages);
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (before[i] != "q4") CHECK(after[i] == before[i]);
    }
  }
  SUBCASE("the other way round") {
    Routes other;
    other.exchange("x", "x-consistent-hash");
    for (std::size_t i = 10; i-- > 0;) {
      other.queue("q" + number(i));
      other.bind("x", "q" + number(i), "1");
    }
    CHECK(chosen(other, "x", messages) == before);
  }
}

TEST_CASE("x-consistent-hash: one binding of a queue counts, and the next takes its place") {
  Routes routes;
  routes.exchange("x", "x-consistent-hash");
  routes.queue("a");
  routes.queue("b");
  routes.bind("x", "a", "1");
  routes.bind("x", "b", "1");
  const auto even = chosen(routes, "x", 1000);
  routes.bind("x", "a", "50");
  CHECK(chosen(routes, "x", 1000) == even);
  routes.unbind("x", "a", "50");
  CHECK(chosen(routes, "x", 1000) == even);
  routes.bind("x", "a", "50");
  routes.unbind("x", "a", "1");
  const auto heavy = chosen(routes, "x", 1000);
  CHECK(std::count(heavy.begin(), heavy.end(), "a") > 950);
  routes.unbind("x", "a", "50");
  CHECK(routes.route("x", "any") == Names{"b"});
}

TEST_CASE("x-consistent-hash: what is hashed") {
  Routes routes;
  for (const char* name : {"a", "b", "c"}) routes.queue(name);
  const auto exchange = [&](const std::string& name, const std::string& arguments) {
    routes.exchange(name, "x-consistent-hash", arguments);
    for (const char* queue : {"a", "b", "c"}) routes.bind(name, queue, "3");
  };
  exchange("key", "");
  exchange("header", argument("hash-header", "id"));
  exchange("message", argument("hash-property", "message_id"));
  exchange("correlation", argument("hash-property", "correlation_id"));
  exchange("time", argument("hash-property", "timestamp"));
  for (const char* varied : {"key", "header", "message", "correlation", "time"}) {
    std::map<std::string, std::set<std::string>> reached;
    for (std::size_t i = 0; i < 200; ++i) {
      BasicProperties properties;
      std::string key = "k";
      const std::string what = varied;
      if (what == "key") key = number(i);
      if (what == "header") {
        properties.headers = FieldTable().set("id", static_cast<std::int32_t>(i));
      }
      if (what == "message") properties.message_id = number(i);
      if (what == "correlation") properties.correlation_id = number(i);
      if (what == "time") properties.timestamp = i;
      const std::string encoded = properties.encode();
      for (const char* exchange_name : {"key", "header", "message", "correlation", "time"}) {
        const Names names = routes.route(exchange_name, Routable{key, runtime::as_bytes(encoded)});
        REQUIRE(names.size() == 1);
        reached[exchange_name].insert(names[0]);
      }
    }
    for (const auto& [exchange_name, queues] : reached) {
      INFO(varied, " ", exchange_name);
      CHECK(queues.size() == (exchange_name == varied ? 3 : 1));
    }
  }
}

TEST_CASE("x-consistent-hash: RabbitMQ's words for what is wrong") {
  const auto fault = [](const FieldTable& arguments) {
    return RouteTable::fault_of_declaration("x-consistent-hash", arguments.encode()).value_or("");
  };
  CHECK(fault(FieldTable()).empty());
  CHECK(fault(FieldTable().set("hash-header", "h")).empty());
  for (const char* property : {"message_id", "correlation_id", "timestamp"}) {
    CHECK(fault(FieldTable().set("hash-property", property)).empty());
  }
  CHECK(fault(FieldTable().set("hash-property", "app_id")) == "Unsupported property: app_id");
  CHECK(fault(FieldTable().set("hash-header", "h").set("hash-property", "message_id")) ==
        "hash-header and hash-property are mutually exclusive");
  CHECK_FALSE(fault(FieldTable().set("hash-header", 5)).empty());
  CHECK_FALSE(fault(FieldTable().set("hash-property", 5)).empty());

  Routes routes;
  routes.exchange("x", "x-consistent-hash");
  for (const char* good : {"1", "+2", "10", "007", "99999999999999999999"}) {
    CHECK(fault_of_binding(routes, "x", good).empty());
  }
  CHECK(fault_of_binding(routes, "x", "abc") == "The binding key must be an integer: <<\"abc\">>");
  CHECK(fault_of_binding(routes, "x", "") == "The binding key must be an integer: <<>>");
  CHECK(fault_of_binding(routes, "x", " 1") == "The binding key must be an integer: <<\" 1\">>");
  CHECK(fault_of_binding(routes, "x", "1.5") == "The binding key must be an integer: <<\"1.5\">>");
  CHECK(fault_of_binding(routes, "x", "a\"b") ==
        "The binding key must be an integer: <<\"a\\\"b\">>");
  CHECK(fault_of_binding(routes, "x", "\xC3\xA9") ==
        "The binding key must be an integer: <<\"\xC3\xA9\">>");
  CHECK(fault_of_binding(routes, "x", "\x01") == "The binding key must be an integer: <<1>>");
  for (const char* small : {"0", "-1", "-0", "-99999999999999999999"}) {
    CHECK(fault_of_binding(routes, "x", small) == "The binding key must be greater than 0");
  }
}

TEST_CASE("a hash ring's memory is bounded, and weights keep their proportion") {
  Routes routes;
  std::vector<std::unique_ptr<QueueTarget>> targets;
  HashRing ring;
  for (std::size_t i = 0; i < 4; ++i) {
    targets.push_back(std::make_unique<QueueTarget>(nullptr));
    ring.add(*targets[i], stable_hash(number(i)), i == 0 ? 4000000000U : 2000000000U);
  }
  CHECK(ring.points() <= HashRing::kPointsMax);
  int first = 0;
  for (std::uint64_t i = 0; i < 50000; ++i) {
    if (&ring.find(mix_hash(i)) == targets[0].get()) ++first;
  }
  CHECK(std::abs(first - 20000) < 800);
  for (const auto& target : targets) ring.remove(*target);
  CHECK(ring.empty());
}

TEST_CASE("x-recent-history: a fanout; RabbitMQ's words for a wrong length") {
  Routes routes;
  routes.exchange("x", "x-recent-history");
  routes.queue("a");
  routes.queue("b");
  routes.bind("x", "a", "k");
  routes.bind("x", "b");
  CHECK(routes.route("x", "any") == Names{"a", "b"});
  const auto fault = [](amqp::FieldValue length) {
    return RouteTable::fault_of_declaration("x-recent-history",
                                            argument("x-recent-history-length", std::move(length)))
        .value_or("");
  };
  CHECK(fault(std::int32_t{1}).empty());
  CHECK(fault(std::int8_t{1}).empty());
  CHECK(fault(std::int64_t{1000000000000}).empty());
  const std::string rule = ", 'x-recent-history-length' must be a positive integer";
  CHECK(fault(std::int32_t{0}) == "Invalid argument 0" + rule);
  CHECK(fault(std::int32_t{-1}) == "Invalid argument -1" + rule);
  CHECK(fault("5") == "Invalid argument <<\"5\">>" + rule);
  CHECK(fault(true) == "Invalid argument true" + rule);
  CHECK(fault(amqp::Void()) == "Invalid argument undefined" + rule);
}

TEST_CASE("routing names the exchanges that remember, those behind others too") {
  Routes routes;
  routes.exchange("first", "fanout");
  routes.exchange("h", "x-recent-history");
  routes.bind_exchange("first", "h");
  std::vector<const cluster::metadata::QueueRecord*> queues;
  std::vector<const Exchange*> remembering;
  routes.table.route(*routes.table.find("/", "first"), Routable{"k", {}}, queues, &remembering);
  REQUIRE(remembering.size() == 1);
  CHECK(RouteTable::record(*remembering[0]).name == "h");
  routes.table.route(*routes.table.find("/", "first"), Routable{"k", {}}, queues);
}

TEST_CASE("a policy gives an alternate exchange where the arguments do not") {
  Routes routes;
  routes.exchange("spare", "fanout");
  routes.exchange("other", "fanout");
  for (const char* name : {"spare queue", "other queue"}) routes.queue(name);
  routes.bind("spare", "spare queue");
  routes.bind("other", "other queue");
  routes.exchange("plain", "direct");
  routes.exchange("argued", "direct", argument("alternate-exchange", "other"));
  const auto with_policy = [&](const std::string& name,
                               std::shared_ptr<const cluster::metadata::EffectivePolicy> policy) {
    auto record =
        std::make_shared<cluster::metadata::ExchangeRecord>(*routes.store.exchange("/", name));
    record->policy = std::move(policy);
    routes.table.exchange_changed(record);
  };
  auto policy = std::make_shared<cluster::metadata::EffectivePolicy>();
  policy->definition["alternate-exchange"] = "spare";
  CHECK(routes.route("plain", "k").empty());
  with_policy("plain", policy);
  with_policy("argued", policy);
  CHECK(routes.route("plain", "k") == Names{"spare queue"});
  CHECK(routes.route("argued", "k") == Names{"other queue"});
  CHECK(RouteTable::record(*routes.table.find("/", "plain")).policy == policy);
  with_policy("plain", nullptr);
  CHECK(routes.route("plain", "k").empty());
  routes.queue("q");
  routes.bind("plain", "q", "k");
  CHECK(routes.route("plain", "k") == Names{"q"});
  routes.delete_exchange("plain");
}

TEST_CASE("a queue's record is replaced where routing answers with it") {
  Routes routes;
  routes.queue("q");
  routes.bind("amq.fanout", "q");
  auto changed = std::make_shared<cluster::metadata::QueueRecord>(*routes.store.queue("/", "q"));
  routes.table.queue_changed(changed);
  for (const char* exchange : {"", "amq.fanout"}) {
    std::vector<const cluster::metadata::QueueRecord*> queues;
    routes.table.route(*routes.table.find("/", exchange), Routable{"q", {}}, queues);
    REQUIRE(queues.size() == 1);
    CHECK(queues[0] == changed.get());
  }
}

TEST_CASE("many bindings: tables that are kept in parts answer as small ones do") {
  Routes routes;
  routes.queue("a");
  routes.queue("b");
  const auto key = [](std::size_t i) { return "k" + number(i) + ".x" + number(i % 7); };
  for (const char* exchange : {"amq.direct", "amq.topic"}) {
    for (std::size_t i = 0; i < 10000; ++i) {
      CHECK(routes.bind(exchange, i % 2 == 0 ? "a" : "b", key(i)) == Routes::Outcome::kDone);
    }
    CHECK(routes.bind(exchange, "a", key(4)) == Routes::Outcome::kUnchanged);
    for (std::size_t i = 0; i < 10000; ++i) {
      CHECK(routes.route(exchange, key(i)) == Names{i % 2 == 0 ? "a" : "b"});
    }
    CHECK(routes.route(exchange, "k1.x2").empty());
    for (std::size_t i = 0; i < 10000; i += 3) {
      CHECK(routes.unbind(exchange, i % 2 == 0 ? "a" : "b", key(i)) == Routes::Outcome::kDone);
    }
    for (std::size_t i = 0; i < 10000; ++i) {
      CHECK(routes.route(exchange, key(i)).empty() == (i % 3 == 0));
    }
  }
  routes.delete_queue("a");
  routes.delete_queue("b");
  CHECK(routes.route("amq.topic", key(1)).empty());
}

}  // namespace routing_types_test
