#include "broker/json_table.h"

#include <doctest/doctest.h>

#include <string>

#include "broker/base64.h"

namespace ringtail::broker::json_table_test {

using amqp::FieldArray;
using amqp::FieldTable;
using amqp::FieldType;

namespace {

Json json_of(const char* text) { return Json::parse(text); }

std::string refusal_of(const char* text) {
  const auto table = table_of_json(json_of(text));
  return table.ok() ? "accepted" : table.status().text();
}

std::string fault_of(const std::string& text) {
  const auto json = parse_json(text);
  return json.ok() ? "accepted" : json.status().text();
}

}  // namespace

TEST_CASE("a JSON object becomes a table with RabbitMQ's types") {
  const auto table = table_of_json(
      json_of(R"({"n":-5,"big":1099511627776,"f":1.5,"one":1.0,"b":true,"s":"x","l":[1,"a"],)"
              R"("t":{"x":1}})"));
  REQUIRE(table.ok());
  const FieldTable& got = table.value();
  CHECK(got.find("n")->type() == FieldType::kLong);
  CHECK(got.find("n")->as_int() == -5);
  CHECK(got.find("big")->as_int() == 1099511627776);
  CHECK(got.find("f")->type() == FieldType::kDouble);
  CHECK(got.find("one")->type() == FieldType::kDouble);
  CHECK(got.find("b")->as_bool() == true);
  CHECK(got.find("s")->as_text() == "x");
  REQUIRE(got.find("l")->as_array() != nullptr);
  CHECK(got.find("l")->as_array()->items().size() == 2);
  CHECK(got.find("t")->as_table()->find("x")->as_int() == 1);
  CHECK(got.entries().front().name == "b");  // in the order of their names
  CHECK(
      json_text(json_of_table(got)) ==
      R"({"b":true,"big":1099511627776,"f":1.5,"l":[1,"a"],"n":-5,"one":1.0,"s":"x","t":{"x":1}})");
}

TEST_CASE("no arguments are an empty object or an empty list") {
  CHECK(arguments_of_json(json_of("{}")).value().empty());
  CHECK(arguments_of_json(json_of("[]")).value().empty());
  CHECK(json_text(json_of_arguments("")) == "{}");
}

TEST_CASE("what no table can hold is refused and its place named") {
  CHECK(refusal_of("3") == "arguments have to be an object, not 3");
  CHECK(refusal_of("[1]") == "arguments have to be an object, not [1]");
  CHECK(refusal_of(R"({"a":null})") == "a is null: arguments have values");
  CHECK(refusal_of(R"({"a":{"b":[1,null]}})") == "a.b[1] is null: arguments have values");
  CHECK(refusal_of(R"({"a":9223372036854775808})") ==
        "a is 9223372036854775808: numbers go up to 9223372036854775807");
  CHECK(refusal_of(R"({"a":9223372036854775807})") == "accepted");
  const std::string long_name(256, 'n');
  CHECK(refusal_of(("{\"" + long_name + "\":1}").c_str()) ==
        long_name + " is too long: names have at most 255 bytes");
}

TEST_CASE("every type of a table has a JSON") {
  FieldTable table;
  table.set("void", amqp::Void{});
  table.set("when", amqp::Timestamp{1577934245});
  table.set("decimal", amqp::Decimal{2, 125});
  table.set("text", amqp::Binary{"plain"});
  table.set("bytes", amqp::Binary{"\xFF\xFE"});
  table.set("byte", std::int8_t{-1});
  table.set("float", 0.5F);
  FieldArray list;
  list.add(FieldTable().set("k", "v"));
  table.set("list", list);
  CHECK(json_text(json_of_table(table)) ==
        R"({"byte":-1,"bytes":"//4=","decimal":1.25,"float":0.5,"list":[{"k":"v"}],)"
        R"("text":"plain","void":"undefined","when":1577934245})");
}

TEST_CASE("text that is no JSON is refused with its place") {
  CHECK(fault_of("").starts_with("not JSON at line 1, column 0"));
  CHECK(fault_of("{\n  \"a\": tru\n}").starts_with("not JSON at line 3, column 0: "));
  CHECK(fault_of("{\"a\":1} x").starts_with("not JSON at line 1, column 9: "));
  CHECK(fault_of("\"\xFF\"").starts_with("not JSON at line 1"));
  CHECK(fault_of("1e999").starts_with("not JSON"));
  CHECK(fault_of(std::string(64, '[') + std::string(64, ']')) == "accepted");
  CHECK(fault_of(std::string(65, '[') + std::string(65, ']')) ==
        "the JSON is nested 65 deep: at most 64 is read");
  CHECK(fault_of(std::string(1000000, '[')).starts_with("the JSON is nested 1000000 deep"));
  CHECK(fault_of("\"[[[[\\\"" + std::string(100, '[') + "\"") == "accepted");
}

TEST_CASE("a policy's definition and back") {
  const char* text = R"({"a":true,"f":0.5,"l":["x","y"],"n":-3,"s":"t"})";
  const auto definition = policy_definition_of_json(json_of(text));
  REQUIRE(definition.ok());
  CHECK(json_text(json_of_policy_definition(definition.value())) == text);
  const auto refused = [](const char* json) {
    return policy_definition_of_json(json_of(json)).status().text();
  };
  CHECK(refused("[]") == "definition has to be an object, not []");
  CHECK(refused(R"({"k":{}})").starts_with("k is {}: "));
  CHECK(refused(R"({"k":[1]})").starts_with("k is [1]: "));
  CHECK(refused(R"({"k":null})").starts_with("k is null: "));
}

TEST_CASE("Base64 and back") {
  for (const auto& [bytes, text] :
       {std::pair{"", ""}, std::pair{"f", "Zg=="}, std::pair{"fo", "Zm8="},
        std::pair{"foo", "Zm9v"}, std::pair{"foob", "Zm9vYg=="},
        std::pair{"\xFF\xFE\xFD", "//79"}}) {
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text) == std::string(bytes));
  }
  for (const char* bad : {"Z", "Zg", "Zg=", "Zm9v\n", "====", "Z===", "Zm=v", "Zh==", "Zm-_"}) {
    CHECK_MESSAGE(!base64_decode(bad).has_value(), bad);
  }
}

}  // namespace ringtail::broker::json_table_test
