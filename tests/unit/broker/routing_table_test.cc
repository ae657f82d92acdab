#include <doctest/doctest.h>

#include <algorithm>

#include "broker/amqp/field_table.h"
#include "tests/unit/broker/routing_fixture.h"

namespace routing_table_test {

using namespace ringtail;
using namespace ringtail::broker;
using Names = Routes::Names;

namespace {

std::string alternate(const std::string& name) {
  return amqp::FieldTable().set("alternate-exchange", name).encode();
}

}  // namespace

TEST_CASE("the table knows exchanges by vhost and name, and their types") {
  Routes routes;
  CHECK(routes.table.find("/", "amq.topic") != nullptr);
  CHECK(RouteTable::record(*routes.table.find("/", "amq.topic")).type == "topic");
  CHECK(routes.table.find("/", "none") == nullptr);
  CHECK(routes.table.find("none", "amq.topic") == nullptr);
  routes.exchange("x", "fanout");
  CHECK(routes.table.find("/", "x") != nullptr);
  routes.delete_exchange("x");
  CHECK(routes.table.find("/", "x") == nullptr);
  for (const char* type : {"direct", "fanout", "topic", "headers"}) {
    CHECK(RouteTable::knows_type(type));
  }
  CHECK_FALSE(RouteTable::knows_type(""));
  CHECK_FALSE(RouteTable::knows_type("x-unknown"));
}

TEST_CASE("the default exchange leads to the queue named by the key") {
  Routes routes;
  routes.queue("a");
  routes.store.apply(cluster::metadata::PutVhost{{.name = "other"}});
  routes.queue("elsewhere", "other");
  CHECK(routes.route("", "a") == Names{"a"});
  CHECK(routes.route("", "b") == Names{});
  CHECK(routes.route("", "elsewhere") == Names{});
  routes.delete_queue("a");
  CHECK(routes.route("", "a") == Names{});
}

TEST_CASE("a table on a store that is in use learns its state") {
  Routes routes;
  routes.queue("a");
  routes.exchange("x", "direct");
  routes.bind("x", "a", "k");
  const RouteTable late(routes.store);
  std::vector<const cluster::metadata::QueueRecord*> queues;
  late.route(*late.find("/", "x"), Routable{"k", {}}, queues);
  REQUIRE(queues.size() == 1);
  CHECK(queues[0] == routes.store.queue("/", "a").get());
}

TEST_CASE("direct: equal keys; the result is appended") {
  Routes routes;
  for (const char* name : {"a", "b", "c"}) routes.queue(name);
  routes.bind("amq.direct", "a", "one");
  routes.bind("amq.direct", "b", "one");
  routes.bind("amq.direct", "a", "two");
  routes.bind("amq.direct", "c", "");
  CHECK(routes.route("amq.direct", "one") == Names{"a", "b"});
  CHECK(routes.route("amq.direct", "two") == Names{"a"});
  CHECK(routes.route("amq.direct", "") == Names{"c"});
  CHECK(routes.route("amq.direct", "on") == Names{});
  routes.unbind("amq.direct", "a", "one");
  CHECK(routes.route("amq.direct", "one") == Names{"b"});
  CHECK(routes.route("amq.direct", "two") == Names{"a"});

  std::vector<const cluster::metadata::QueueRecord*> queues = {nullptr};
  routes.table.route(*routes.table.find("/", "amq.direct"), Routable{"two", {}}, queues);
  CHECK(queues.size() == 2);
  CHECK(queues[0] == nullptr);
}

TEST_CASE("two bindings of one queue deliver once and count twice") {
  Routes routes;
  routes.queue("a");
  for (const char* type : {"direct", "fanout", "topic", "headers"}) {
    const std::string exchange = std::string("amq.") + type;
    routes.bind(exchange, "a", "k", "");
    routes.bind(exchange, "a", "k", amqp::FieldTable().set("x-note", true).encode());
    CHECK(routes.route(exchange, "k") == Names{"a"});
    routes.unbind(exchange, "a", "k", "");
    CHECK(routes.route(exchange, "k") == Names{"a"});
    routes.unbind(exchange, "a", "k", amqp::FieldTable().set("x-note", true).encode());
    CHECK(routes.route(exchange, "k") == Names{});
  }
}

TEST_CASE("fanout reaches all, also many, whatever order they go in") {
  Routes routes;
  Names names;
  for (int i = 0; i < 100; ++i) {
    names.push_back("q" + std::to_string(i));
    routes.queue(names.back());
    routes.bind("amq.fanout", names.back(), "ignored");
  }
  CHECK(routes.route("amq.fanout", "any") == names);
  for (int i = 0; i < 100; i += 3) routes.delete_queue("q" + std::to_string(i));
  for (int i = 1; i < 100; i += 3) routes.unbind("amq.fanout", "q" + std::to_string(i), "ignored");
  Names left = routes.route("amq.fanout");
  std::sort(left.begin(), left.end());
  Names expected;
  for (int i = 2; i < 100; i += 3) expected.push_back("q" + std::to_string(i));
  std::sort(expected.begin(), expected.end());
  CHECK(left == expected);
  for (int i = 2; i < 100; i += 3) routes.unbind("amq.fanout", "q" + std::to_string(i), "ignored");
  CHECK(routes.route("amq.fanout") == Names{});
}

TEST_CASE("further keys count like the routing key, and a queue still gets one copy") {
  Routes routes;
  for (const char* name : {"a", "b", "c"}) routes.queue(name);
  routes.bind("amq.direct", "a", "one");
  routes.bind("amq.direct", "b", "two");
  routes.bind("amq.topic", "a", "one.#");
  routes.bind("amq.topic", "c", "*.three");
  const std::string_view further[] = {"two", "one", "c", "one.three"};
  const Routable message{"one", {}, further};
  CHECK(routes.route("amq.direct", message) == Names{"a", "b"});
  CHECK(routes.route("amq.topic", message) == Names{"a", "c"});
  CHECK(routes.route("", message) == Names{"c"});
}

TEST_CASE("exchange to exchange: every exchange once, cycles included") {
  Routes routes;
  for (const char* name : {"a", "b", "c"}) routes.queue(name);
  for (const char* name : {"x", "y", "z"}) routes.exchange(name, "fanout");
  routes.bind("x", "a");
  routes.bind("y", "b");
  routes.bind("z", "c");
  routes.bind("z", "a");
  routes.bind_exchange("x", "y");
  routes.bind_exchange("y", "z");
  CHECK(routes.route("x") == Names{"a", "b", "c"});
  routes.bind_exchange("z", "x");
  routes.bind_exchange("x", "x");
  routes.bind_exchange("z", "y");
  CHECK(routes.route("x") == Names{"a", "b", "c"});
  CHECK(routes.route("z") == Names{"c", "a", "b"});
  routes.unbind_exchange("z", "x");
  routes.unbind_exchange("z", "y");
  CHECK(routes.route("z") == Names{"c", "a"});
  routes.delete_exchange("y");
  CHECK(routes.route("x") == Names{"a"});
}

TEST_CASE("the alternate exchange gets what matches nothing") {
  Routes routes;
  for (const char* name : {"a", "b", "c"}) routes.queue(name);
  routes.exchange("first", "direct", alternate("second"));
  routes.exchange("second", "direct", alternate("third"));
  routes.bind("first", "a", "k");
  SUBCASE("step by step, each where the one before matched nothing") {
    CHECK(routes.route("first", "none") == Names{});  // "third" is not there yet
    routes.exchange("third", "fanout");
    routes.bind("third", "c");
    routes.bind("second", "b", "l");
    CHECK(routes.route("first", "k") == Names{"a"});
    CHECK(routes.route("first", "l") == Names{"b"});
    CHECK(routes.route("first", "none") == Names{"c"});
  }
  SUBCASE("not where an exchange matched that led nowhere") {
    routes.exchange("empty", "fanout");
    routes.bind_exchange("first", "empty", "k2");
    routes.bind("second", "b", "k2");
    CHECK(routes.route("first", "k2") == Names{});
  }
  SUBCASE("loops end") {
    routes.exchange("third", "direct", alternate("first"));
    CHECK(routes.route("first", "none") == Names{});
    routes.bind_exchange("second", "first", "back");
    CHECK(routes.route("first", "back") == Names{});
  }
  SUBCASE("of an exchange that is bound to another") {
    routes.exchange("source", "fanout");
    routes.bind_exchange("source", "first");
    routes.bind("source", "c");
    routes.bind("second", "b", "none");
    CHECK(routes.route("source", "none") == Names{"c", "b"});
  }
  SUBCASE("is none where its name is empty") {
    routes.exchange("mail", "fanout", alternate(""));
    CHECK(routes.route("mail", "b") == Names{});
    CHECK(routes.route("mail", "nobody") == Names{});
  }
  SUBCASE("an argument of another type is none") {
    routes.exchange("odd", "fanout", amqp::FieldTable().set("alternate-exchange", true).encode());
    CHECK(routes.route("odd", "b") == Names{});
  }
}

TEST_CASE("deleting a queue with many bindings leaves the others") {
  Routes routes;
  routes.queue("a");
  routes.queue("b");
  for (int i = 0; i < 5000; ++i) {
    routes.bind("amq.topic", "a", "k." + std::to_string(i) + ".#");
    routes.bind("amq.direct", "a", std::to_string(i));
  }
  routes.bind("amq.topic", "b", "k.#");
  CHECK(routes.route("amq.topic", "k.77.x").size() == 2);
  routes.delete_queue("a");
  CHECK(routes.route("amq.topic", "k.77.x") == Names{"b"});
  CHECK(routes.route("amq.direct", "77") == Names{});
}

}  // namespace routing_table_test
