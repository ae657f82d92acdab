// Texts as RabbitMQ 3.10.8 gives them (rabbit_misc:assert_args_equivalence/4, called directly).
#include <array>

#include "broker/amqp/field_table.h"
#include "tests/unit/amqp/wire_tools.h"

namespace equivalence_test {

using namespace ringtail::amqp;

namespace {

constexpr std::string_view kQueue = "queue 'q' in vhost '/'";

// A redeclaration with `received` where `current` is; "ok" when they are equal.
std::string outcome(std::string_view name, const FieldValue* current, const FieldValue* received) {
  FieldTable ours, theirs;
  if (current != nullptr) ours.set(name, *current);
  if (received != nullptr) theirs.set(name, *received);
  const std::array<std::string_view, 1> names = {name};
  return inequivalent_argument(theirs, ours, names, kQueue).value_or("ok");
}

std::string ttl(const FieldValue& current, const FieldValue& received) {
  const std::string text = outcome("x-message-ttl", &current, &received);
  static const std::string kPrefix =
      "inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': ";
  if (text == "ok") return text;
  CHECK(text.substr(0, kPrefix.size()) == kPrefix);
  return text.substr(kPrefix.size());
}

constexpr std::int64_t kTen = 10;

}  // namespace

TEST_CASE("differences of arguments") {
  CHECK(ttl(kTen, std::int64_t{20}) == "received '20' but current is '10'");
  CHECK(ttl(kTen, 10.0) == "received '10.0' but current is '10'");
  CHECK(ttl(kTen, "10") == "received '10' but current is '10'");
  CHECK(ttl(true, false) == "received 'false' but current is 'true'");
  CHECK(ttl(true, "true") == "received 'true' but current is 'true'");
  CHECK(ttl(Void{}, std::int64_t{1}) == "received '1' but current is none");
  CHECK(ttl(2.0, 1.0e20) == "received '1.0e20' but current is '2.0'");
  CHECK(ttl(FieldArray{}.add(std::int64_t{1}), FieldArray{}.add(std::int32_t{1})) ==
        "received '[{signedint,1}]' but current is '[{long,1}]'");
  CHECK(ttl(Decimal{2, 5}, std::int64_t{5}) == "received '5' but current is '{2,5}'");
}

TEST_CASE("what counts as equal") {
  CHECK(ttl(kTen, std::int32_t{10}) == "ok");
  CHECK(ttl(kTen, std::uint8_t{10}) == "ok");
  CHECK(ttl(kTen, Timestamp{10}) == "ok");
  CHECK(ttl(std::uint8_t{7}, std::int8_t{7}) == "ok");
  CHECK(ttl(1.5f, 1.5) == "ok");
  CHECK(ttl("a", Binary{"a"}) == "ok");
  CHECK(ttl(FieldTable{}, FieldArray{}) == "ok");
  CHECK(ttl(FieldArray{}.add(kTen), FieldArray{}.add(kTen)) == "ok");
  CHECK(ttl(FieldTable{}.set("a", "b"), FieldTable{}.set("a", "b")) == "ok");
  CHECK(ttl(Void{}, Void{}) == "ok");
  CHECK(ttl(Decimal{1, 2}, Decimal{1, 2}) == "ok");
  CHECK(ttl(std::int64_t{-1}, Timestamp{0xFFFFFFFFFFFFFFFF}) != "ok");
  CHECK(ttl(FieldTable{}.set("a", "b"), FieldTable{}.set("a", "c")) != "ok");
  CHECK(ttl(FieldTable{}.set("a", "b"), FieldArray{}.add("b")) != "ok");
}

TEST_CASE("one side has none") {
  const FieldValue ten = kTen;
  CHECK(outcome("x-expires", nullptr, &ten) ==
        "inequivalent arg 'x-expires' for queue 'q' in vhost '/': "
        "received the value '10' of type 'long' but current is none");
  CHECK(outcome("x-expires", &ten, nullptr) ==
        "inequivalent arg 'x-expires' for queue 'q' in vhost '/': "
        "received none but current is the value '10' of type 'long'");
  const FieldValue nothing = Void{};
  CHECK(outcome("x-expires", &nothing, nullptr) ==
        "inequivalent arg 'x-expires' for queue 'q' in vhost '/': "
        "received none but current is the value 'undefined' of type 'void'");
  const FieldValue table = FieldTable{}.set("a", "b");
  CHECK(outcome("x-expires", &table, nullptr) ==
        "inequivalent arg 'x-expires' for queue 'q' in vhost '/': "
        "received none but current is the value '[{<<\"a\">>,longstr,<<\"b\">>}]' of type 'table'");
  CHECK(outcome("x-expires", nullptr, nullptr) == "ok");
}

TEST_CASE("an x-queue-type of classic is the same as none") {
  const FieldValue classic = "classic";
  const FieldValue quorum = "quorum";
  const FieldValue binary = Binary{"classic"};
  CHECK(outcome("x-queue-type", &classic, nullptr) == "ok");
  CHECK(outcome("x-queue-type", nullptr, &classic) == "ok");
  CHECK(outcome("x-queue-type", &classic, &quorum) ==
        "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': "
        "received 'quorum' but current is 'classic'");
  CHECK(outcome("x-queue-type", nullptr, &quorum) ==
        "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': "
        "received the value 'quorum' of type 'longstr' but current is none");
  CHECK(outcome("x-queue-type", nullptr, &binary) ==
        "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': "
        "received the value 'classic' of type 'binary' but current is none");
  CHECK(outcome("x-other", nullptr, &classic) != "ok");
}

TEST_CASE("only the names given count, in their order") {
  const FieldTable current = FieldTable{}.set("a", kTen).set("b", kTen).set("ignored", kTen);
  const FieldTable received = FieldTable{}.set("b", "x").set("a", "y");
  const std::array<std::string_view, 3> names = {"c", "b", "a"};
  CHECK(inequivalent_argument(received, current, names, kQueue) ==
        "inequivalent arg 'b' for queue 'q' in vhost '/': received 'x' but current is '10'");
  const std::array<std::string_view, 1> none = {"c"};
  CHECK_FALSE(inequivalent_argument(received, current, none, kQueue));
  CHECK(inequivalent_field("durable", kQueue, "false", "true") ==
        "inequivalent arg 'durable' for queue 'q' in vhost '/': "
        "received 'false' but current is 'true'");
}

TEST_CASE("floating point prints as Erlang does") {
  const std::pair<double, const char*> cases[] = {
      {1.5, "1.5"},
      {1.0, "1.0"},
      {0.1, "0.1"},
      {0.05, "0.05"},
      {0.0001, "0.0001"},
      {0.00012, "1.2e-4"},
      {1.0e-5, "1.0e-5"},
      {0.00123, "0.00123"},
      {123456.0, "123456.0"},
      {99.0, "99.0"},
      {1000.0, "1.0e3"},
      {1.0e15, "1.0e15"},
      {12345678901.0, "12345678901.0"},
      {9007199254740991.0, "9007199254740991.0"},
      {9007199254740992.0, "9.007199254740992e15"},
      {1.7976931348623157e308, "1.7976931348623157e308"},
      {5.0e-324, "5.0e-324"},
      {-2.5, "-2.5"},
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {120000000.0, "1.2e8"},
      {4503599627370497.5, "4503599627370498.0"},
  };
  for (const auto& [value, text] : cases) CHECK(to_text(value) == text);
  CHECK(to_text(3.14f) == "3.140000104904175");
}

TEST_CASE("terms inside tables and arrays") {
  CHECK(to_text(FieldTable{}.set("a", "b\"c").set("n", std::int64_t{5})) ==
        "[{<<\"a\">>,longstr,<<\"b\\\"c\">>},{<<\"n\">>,long,5}]");
  CHECK(to_text(FieldArray{}.add(std::int64_t{1}).add("\1\2").add("")) ==
        "[{long,1},{longstr,<<1,2>>},{longstr,<<>>}]");
  CHECK(to_text(FieldArray{}.add(FieldTable{}).add(Void{}).add(true)) ==
        "[{table,[]},{void,undefined},{bool,true}]");
  CHECK(to_text(Decimal{2, 314}) == "{2,314}");
  CHECK(to_text("plain \"text\"") == "plain \"text\"");
}

}  // namespace equivalence_test
