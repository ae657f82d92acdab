#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/runtime/bytes.h"
#include "tests/unit/broker/routing_fixture.h"

namespace routing_headers_test {

using namespace ringtail;
using namespace ringtail::broker;
using amqp::FieldArray;
using amqp::FieldTable;
using amqp::FieldValue;
using Names = Routes::Names;

namespace {

std::string properties_with(const FieldTable& headers) {
  amqp::BasicProperties properties;
  properties.content_type = "text/plain";
  properties.headers = headers;
  properties.delivery_mode = std::uint8_t{2};
  return properties.encode();
}

Names route(const Routes& routes, const std::string& properties) {
  return routes.route("amq.headers", Routable{"", runtime::as_bytes(properties)});
}

bool met(const FieldTable& pattern, const FieldTable& headers) {
  Routes routes;
  routes.queue("q");
  routes.bind("amq.headers", "q", "", pattern.encode());
  const bool result = !route(routes, properties_with(headers)).empty();
  routes.unbind("amq.headers", "q", "", pattern.encode());
  CHECK(route(routes, properties_with(headers)).empty());
  return result;
}

bool same(const FieldValue& wanted, const FieldValue& given) {
  const bool all = met(FieldTable().set("k", wanted), FieldTable().set("k", given));
  const bool any = met(FieldTable().set("x-match", "any").set("k", wanted),
                       FieldTable().set("j", 1).set("k", given));
  CHECK(all == any);
  return all;
}

FieldTable match(const char* mode) { return FieldTable().set("x-match", mode); }

}  // namespace

TEST_CASE("all is the default and needs every entry") {
  const FieldTable headers = FieldTable().set("a", "1").set("b", "2").set("c", "3");
  for (const FieldTable& start : {FieldTable(), match("all"), FieldTable().set("x-match", 7)}) {
    CHECK(met(FieldTable(start).set("a", "1"), headers));
    CHECK(met(FieldTable(start).set("c", "3").set("a", "1"), headers));
    CHECK_FALSE(met(FieldTable(start).set("a", "1").set("b", "1"), headers));
    CHECK_FALSE(met(FieldTable(start).set("a", "1").set("d", "4"), headers));
    CHECK(met(start, headers));
    CHECK(met(start, FieldTable()));
  }
}

TEST_CASE("any needs one entry, so an empty pattern matches nothing") {
  const FieldTable headers = FieldTable().set("a", "1").set("b", "2");
  CHECK(met(match("any").set("a", "1").set("z", "1"), headers));
  CHECK(met(match("any").set("a", "0").set("b", "2"), headers));
  CHECK_FALSE(met(match("any").set("a", "2").set("b", "1"), headers));
  CHECK_FALSE(met(match("any"), headers));
  CHECK_FALSE(met(match("any").set("a", "1"), FieldTable()));
}

TEST_CASE("x- entries count only with-x, x-match never") {
  const FieldTable headers = FieldTable().set("a", "1").set("x-b", "2").set("x-match", "any");
  CHECK(met(match("all").set("a", "1").set("x-b", "no"), headers));
  CHECK_FALSE(met(match("all-with-x").set("a", "1").set("x-b", "no"), headers));
  CHECK(met(match("all-with-x").set("a", "1").set("x-b", "2"), headers));
  CHECK_FALSE(met(match("any").set("x-b", "2"), headers));
  CHECK(met(match("any-with-x").set("x-b", "2"), headers));
  CHECK_FALSE(met(match("any-with-x"), FieldTable().set("x-match", "any-with-x")));
  CHECK(met(match("all-with-x"), headers));
}

TEST_CASE("a void entry asks for presence only") {
  CHECK(same(amqp::Void(), "anything"));
  CHECK(same(amqp::Void(), amqp::Void()));
  CHECK_FALSE(same("anything", amqp::Void()));
  CHECK_FALSE(met(FieldTable().set("k", amqp::Void()), FieldTable().set("l", 1)));
}

TEST_CASE("values are compared as Erlang's == does") {
  CHECK(same("text", "text"));
  CHECK_FALSE(same("text", "Text"));
  CHECK(same("text", amqp::Binary{"text"}));
  CHECK(same(std::int8_t{5}, std::int64_t{5}));
  CHECK(same(std::uint8_t{200}, std::int32_t{200}));
  CHECK_FALSE(same(std::int8_t{-1}, std::uint8_t{255}));
  CHECK_FALSE(same(std::int32_t{5}, "5"));
  CHECK(same(std::int32_t{5}, 5.0));
  CHECK(same(0.0, -0.0));
  CHECK(same(0.5F, 0.5));
  CHECK_FALSE(same(0.1F, 0.1));
  CHECK_FALSE(same(std::int32_t{5}, 5.5));
  CHECK(same(1e300, 1e300));
  CHECK(same(amqp::Timestamp{1700000000}, std::int64_t{1700000000}));
  CHECK_FALSE(same(amqp::Timestamp{0xFFFFFFFFFFFFFFFF}, std::int64_t{-1}));
  CHECK(same(true, true));
  CHECK_FALSE(same(true, false));
  CHECK_FALSE(same(true, std::int32_t{1}));
  CHECK(same(amqp::Decimal{2, 314}, amqp::Decimal{2, 314}));
  CHECK_FALSE(same(amqp::Decimal{3, 3140}, amqp::Decimal{2, 314}));
}

TEST_CASE("tables and arrays are equal with the same types in the same order") {
  const FieldTable table = FieldTable().set("a", std::int32_t{1}).set("b", "2");
  CHECK(same(table, FieldTable(table)));
  CHECK_FALSE(same(table, FieldTable().set("b", "2").set("a", std::int32_t{1})));
  CHECK_FALSE(same(table, FieldTable().set("a", std::int64_t{1}).set("b", "2")));
  CHECK_FALSE(same(table, FieldTable().set("a", std::int32_t{1})));
  const FieldArray array({FieldValue("x"), FieldValue(table)});
  CHECK(same(array, FieldArray(array)));
  CHECK_FALSE(same(array, FieldArray({FieldValue("x")})));
  CHECK_FALSE(same(array, FieldArray({FieldValue("y"), FieldValue(table)})));
  CHECK(same(FieldArray(), FieldTable()));
  CHECK_FALSE(same(FieldArray(), amqp::Void()));
}

TEST_CASE("messages without headers match empty all patterns only") {
  Routes routes;
  routes.queue("all");
  routes.queue("one");
  routes.bind("amq.headers", "all", "");
  routes.bind("amq.headers", "one", "", FieldTable().set("a", 1).encode());
  CHECK(routes.route("amq.headers") == Names{"all"});
  CHECK(route(routes, std::string("\0\0", 2)) == Names{"all"});
  CHECK(route(routes, properties_with(FieldTable())) == Names{"all"});
  CHECK(route(routes, "\xFF\xFF\x05") == Names{"all"});
  CHECK(route(routes, properties_with(FieldTable().set("a", 1))) == Names{"all", "one"});
  // Headers of the message before are forgotten.
  CHECK(routes.route("amq.headers") == Names{"all"});
}

TEST_CASE("the fault of a binding's arguments, as RabbitMQ words it") {
  Routes routes;
  const Exchange& headers = *routes.table.find("/", "amq.headers");
  const Exchange& topic = *routes.table.find("/", "amq.topic");
  const auto fault = [](const Exchange& exchange, const FieldTable& arguments) {
    return RouteTable::fault_of_binding(exchange, "", arguments.encode()).value_or("none");
  };
  for (const char* mode : {"all", "any", "all-with-x", "any-with-x"}) {
    CHECK(fault(headers, match(mode)) == "none");
  }
  CHECK(fault(headers, FieldTable()) == "none");
  CHECK(fault(topic, match("some")) == "none");
  CHECK(fault(headers, match("some")) ==
        "Invalid x-match field value <<\"some\">>; expected all, any, all-with-x, or any-with-x");
  CHECK(fault(headers, match("")) ==
        "Invalid x-match field value <<>>; expected all, any, all-with-x, or any-with-x");
  CHECK(fault(headers, match("\x01z")) ==
        "Invalid x-match field value <<1,122>>; expected all, any, all-with-x, or any-with-x");
  CHECK(fault(headers, FieldTable().set("x-match", std::int32_t{5})) ==
        "Invalid x-match field type signedint (value 5); expected longstr");
}

namespace {

struct Entry {
  std::string name;
  int value;
};
using Entries = std::vector<Entry>;

std::string encode(const Entries& entries, const char* mode) {
  std::string bytes;
  if (mode != nullptr) bytes = match(mode).encode();
  // Entry by entry, since a table that is set twice keeps one.
  for (const Entry& each : entries) {
    bytes += each.value < 0 ? FieldTable().set(each.name, amqp::Void()).encode()
                            : FieldTable().set(each.name, each.value).encode();
  }
  return bytes;
}

std::string message_with(const Entries& entries) {
  const std::string table = encode(entries, nullptr);
  std::string properties("\x20\x00\x00\x00\x00", 5);
  properties += static_cast<char>(table.size());
  return properties + table;
}

// The rule: both sides sorted by name, walked in step; a pattern entry and a header of the same
// name use each other up.
bool rule(Entries pattern, Entries headers, bool any, bool with_x) {
  const auto by_name = [](const Entry& a, const Entry& b) { return a.name < b.name; };
  std::stable_sort(pattern.begin(), pattern.end(), by_name);
  std::stable_sort(headers.begin(), headers.end(), by_name);
  bool all_met = true;
  bool any_met = false;
  std::size_t next = 0;
  for (const Entry& wanted : pattern) {
    if (!with_x && wanted.name.substr(0, 2) == "x-") continue;
    while (next < headers.size() && headers[next].name < wanted.name) ++next;
    const bool there = next < headers.size() && headers[next].name == wanted.name;
    const bool equal = there && (wanted.value < 0 || wanted.value == headers[next].value);
    if (there) ++next;
    all_met = all_met && equal;
    any_met = any_met || equal;
  }
  return any ? any_met : all_met;
}

Entries random_entries(std::mt19937& random, bool with_void) {
  static const char* const kNames[] = {"a", "b", "ab", "x-a", "x-b"};
  Entries entries(random() % 4);
  for (Entry& each : entries) {
    each.name = kNames[random() % 5];
    each.value = static_cast<int>(random() % 3);
    if (with_void && random() % 5 == 0) each.value = -1;
  }
  return entries;
}

}  // namespace

TEST_CASE("the index agrees with the rule on random bindings and headers, repeated names too") {
  static const char* const kModes[] = {"all", "any", "all-with-x", "any-with-x"};
  struct Bound {
    std::string queue;
    Entries pattern;
    std::size_t mode;
  };
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Routes routes;
    for (int i = 0; i < 6; ++i) routes.queue("q" + std::to_string(i));
    std::vector<Bound> bindings;
    for (int step = 0; step < 300; ++step) {
      if (random() % 5 < 2 && !bindings.empty()) {
        const std::size_t which = random() % bindings.size();
        const Bound& gone = bindings[which];
        REQUIRE(routes.unbind("amq.headers", gone.queue, "",
                              encode(gone.pattern, kModes[gone.mode])) == Routes::Outcome::kDone);
        bindings.erase(bindings.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        Bound bound{"q" + std::to_string(random() % 6), random_entries(random, true), random() % 4};
        if (routes.bind("amq.headers", bound.queue, "",
                        encode(bound.pattern, kModes[bound.mode])) == Routes::Outcome::kDone) {
          bindings.push_back(bound);
        }
      }
      const Entries headers = random_entries(random, false);
      Names wanted;
      for (const Bound& each : bindings) {
        if (rule(each.pattern, headers, each.mode % 2 == 1, each.mode >= 2)) {
          wanted.push_back(each.queue);
        }
      }
      std::sort(wanted.begin(), wanted.end());
      wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
      Names names = route(routes, message_with(headers));
      std::sort(names.begin(), names.end());
      REQUIRE(names == wanted);
    }
  }
}

}  // namespace routing_headers_test
