#include "broker/amqp/field_table.h"

#include <limits>

#include "broker/runtime/limits.h"
#include "tests/unit/amqp/wire_tools.h"

namespace field_table_test {

using namespace ringtail::amqp;
namespace runtime = ringtail::runtime;

namespace {

FieldTable sample() {
  FieldTable table;
  table.set("bool", true);
  table.set("byte", std::int8_t{-5});
  table.set("unsignedbyte", std::uint8_t{250});
  table.set("short", std::int16_t{-300});
  table.set("unsignedshort", std::uint16_t{65000});
  table.set("signedint", std::int32_t{-70000});
  table.set("unsignedint", std::uint32_t{4000000000});
  table.set("long", std::int64_t{-5000000000});
  table.set("float", 1.5f);
  table.set("double", -0.25);
  table.set("decimal", Decimal{2, 314});
  table.set("longstr", "text");
  table.set("binary", Binary{std::string("\0\1", 2)});
  table.set("timestamp", Timestamp{1700000000});
  table.set("void", Void{});
  table.set("array", FieldArray{}.add(std::int32_t{1}).add("two").add(FieldTable{}));
  table.set("table", FieldTable{}.set("inner", FieldTable{}.set("deep", true)));
  return table;
}

// A table with an array (or a table) inside another, `depth` deep in all.
Buffer nested(int depth, bool tables) {
  Buffer inner;
  for (int level = 1; level < depth; ++level) {
    const bool named = tables || level == depth - 1;  // the outermost is a table always
    Buffer outer;
    if (named) outer = wire("01 'n'");
    outer.push_back(tables ? 'F' : 'A');
    std::uint8_t size[4];
    store_u32(size, static_cast<std::uint32_t>(inner.size()));
    outer.insert(outer.end(), size, size + 4);
    outer.insert(outer.end(), inner.begin(), inner.end());
    inner = std::move(outer);
  }
  return inner;
}

FieldTable decoded(std::string_view hex) {
  const Buffer bytes = wire(hex);
  const auto table = FieldTable::decode(bytes);
  REQUIRE(table.has_value());
  return *table;
}

}  // namespace

TEST_CASE("every type as it lies on the wire") {
  const FieldTable table = decoded(
      "01 'a' 't' 02"
      "01 'b' 'b' FF"
      "01 'c' 'B' FF"
      "01 'd' 's' FFFE"
      "01 'e' 'u' FFFE"
      "01 'f' 'I' FFFFFFFD"
      "01 'g' 'i' FFFFFFFD"
      "01 'h' 'l' FFFFFFFFFFFFFFFC"
      "01 'i' 'L' FFFFFFFFFFFFFFFC"
      "01 'j' 'f' 3FC00000"
      "01 'k' 'd' C000000000000000"
      "01 'l' 'D' 02 0000013A"
      "01 'm' 'S' 00000002 'hi'"
      "01 'n' 'A' 00000005 'I' 00000001"
      "01 'o' 'T' 0000000000000010"
      "01 'p' 'F' 00000003 01 'x' 'V'"
      "01 'q' 'V'"
      "01 'r' 'x' 00000001 00"
      "00 't' 00");
  CHECK(table.size() == 19);
  CHECK(*table.find("a") == FieldValue(true));
  CHECK(*table.find("b") == FieldValue(std::int8_t{-1}));
  CHECK(*table.find("c") == FieldValue(std::uint8_t{255}));
  CHECK(*table.find("d") == FieldValue(std::int16_t{-2}));
  CHECK(*table.find("e") == FieldValue(std::uint16_t{65534}));
  CHECK(*table.find("f") == FieldValue(std::int32_t{-3}));
  CHECK(*table.find("g") == FieldValue(std::uint32_t{4294967293}));
  CHECK(*table.find("h") == FieldValue(std::int64_t{-4}));
  CHECK(*table.find("i") == FieldValue(std::int64_t{-4}));
  CHECK(*table.find("j") == FieldValue(1.5f));
  CHECK(*table.find("k") == FieldValue(-2.0));
  CHECK(*table.find("l") == FieldValue(Decimal{2, 314}));
  CHECK(*table.find("m") == FieldValue("hi"));
  CHECK(*table.find("n") == FieldValue(FieldArray{}.add(std::int32_t{1})));
  CHECK(*table.find("o") == FieldValue(Timestamp{16}));
  CHECK(*table.find("p") == FieldValue(FieldTable{}.set("x", Void{})));
  CHECK(*table.find("q") == FieldValue(Void{}));
  CHECK(*table.find("r") == FieldValue(Binary{std::string(1, '\0')}));
  CHECK(*table.find("") == FieldValue(false));
  CHECK(table.find("z") == nullptr);
}

TEST_CASE("encode and decode give the same table") {
  const FieldTable table = sample();
  const Buffer bytes = to_buffer(table.encode());
  const auto again = FieldTable::decode(bytes);
  REQUIRE(again);
  CHECK(*again == table);
  CHECK(to_buffer(again->encode()) == bytes);
  CHECK(to_buffer(FieldTable{}.set("k", std::int32_t{-2}).encode()) == wire("01 'k' 'I' FFFFFFFE"));
  CHECK(FieldTable{}.encode().empty());
  CHECK(FieldTable::decode({})->empty());
}

TEST_CASE("type names") {
  const FieldTable all = sample();
  for (const FieldEntry& entry : all.entries()) {
    CHECK(std::string(type_name(entry.value)) == entry.name);
  }
}

TEST_CASE("cutting a valid table anywhere") {
  // Only behind a whole entry is the front of a table a table.
  const Buffer bytes = to_buffer(sample().encode());
  int valid = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Buffer part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    valid += validate_table(part);
    CHECK(FieldTable::decode(part).has_value() == validate_table(part));
    find_in_table(part, "no such name");
  }
  CHECK(valid == 17);
}

TEST_CASE("malformed tables are refused") {
  for (const char* text : {
           "01 'a'",      // no value
           "02 'a' 'V'",  // name longer than the table
           "01 'a' '?'",  // no such type
           "01 'a' 00",
           "01 'a' 'I' 000000",  // value cut short
           "01 'a' 'D' 02 000000",
           "01 'a' 'S' 00000003 'hi'",  // longer than the table
           "01 'a' 'S' FFFFFFFF 'hi'",
           "01 'a' 'S' 0000",
           "01 'a' 'x' 80000000",
           "01 'a' 'F' 00000001 01",  // malformed inside
           "01 'a' 'A' 00000002 'I' 00",
           "01 'a' 'A' FFFFFFFB 'I' 00000000",
           "01 'a' 'F' 00000004 01 'b' 'S' 00",  // inner string reaches outside of the inner table
           "00",
       }) {
    CAPTURE(text);
    CHECK_FALSE(validate_table(wire(text)));
    CHECK_FALSE(FieldTable::decode(wire(text)));
  }
}

TEST_CASE("nesting has a limit") {
  for (const bool tables : {true, false}) {
    CHECK(validate_table(nested(runtime::kTableDepthMax, tables)));
    CHECK_FALSE(validate_table(nested(runtime::kTableDepthMax + 1, tables)));
    CHECK_FALSE(validate_table(nested(10000, tables)));
  }
  const Buffer deepest = nested(runtime::kTableDepthMax, true);
  const auto table = FieldTable::decode(deepest);
  REQUIRE(table);
  CHECK(to_buffer(table->encode()) == deepest);
}

TEST_CASE("values in place") {
  const Buffer bytes = to_buffer(sample().encode());
  CHECK(find_in_table(bytes, "bool")->as_bool() == true);
  CHECK(find_in_table(bytes, "byte")->as_int() == -5);
  CHECK(find_in_table(bytes, "unsignedbyte")->as_int() == 250);
  CHECK(find_in_table(bytes, "short")->as_int() == -300);
  CHECK(find_in_table(bytes, "unsignedshort")->as_int() == 65000);
  CHECK(find_in_table(bytes, "signedint")->as_int() == -70000);
  CHECK(find_in_table(bytes, "unsignedint")->as_int() == 4000000000);
  CHECK(find_in_table(bytes, "long")->as_int() == -5000000000);
  CHECK(find_in_table(bytes, "float")->as_double() == 1.5);
  CHECK(find_in_table(bytes, "double")->as_double() == -0.25);
  CHECK(find_in_table(bytes, "longstr")->as_text() == "text");
  CHECK(find_in_table(bytes, "timestamp")->as_timestamp() == 1700000000u);
  CHECK(find_in_table(*find_in_table(bytes, "table")->as_table(), "inner").has_value());
  // Of another kind.
  CHECK_FALSE(find_in_table(bytes, "longstr")->as_int());
  CHECK_FALSE(find_in_table(bytes, "timestamp")->as_int());
  CHECK_FALSE(find_in_table(bytes, "decimal")->as_int());
  CHECK_FALSE(find_in_table(bytes, "bool")->as_int());
  CHECK_FALSE(find_in_table(bytes, "binary")->as_text());
  CHECK_FALSE(find_in_table(bytes, "long")->as_double());
  CHECK_FALSE(find_in_table(bytes, "array")->as_table());
  CHECK_FALSE(find_in_table(bytes, "byte")->as_bool());
  CHECK_FALSE(find_in_table(bytes, "nothing").has_value());

  // Each decodes to what the whole table has.
  const FieldTable all = sample();
  for (const FieldEntry& entry : all.entries()) {
    CHECK(find_in_table(bytes, entry.name)->decode() == entry.value);
    CHECK(find_in_table(bytes, entry.name)->as_int() == entry.value.as_int());
    CHECK(find_in_table(bytes, entry.name)->as_bool() == entry.value.as_bool());
    CHECK(find_in_table(bytes, entry.name)->as_double() == entry.value.as_double());
    CHECK(find_in_table(bytes, entry.name)->as_text() == entry.value.as_text());
  }
}

TEST_CASE("walks") {
  const Buffer bytes = wire("01 'a' 't' 01 01 'b' 'A' 00000004 't' 00 'b' 07");
  TableWalk walk(bytes);
  std::string_view name;
  ValueView value;
  REQUIRE(walk.next(name, value));
  CHECK(name == "a");
  REQUIRE(walk.next(name, value));
  CHECK(name == "b");
  ArrayWalk items(*value.as_array());
  REQUIRE(items.next(value));
  CHECK(value.as_bool() == false);
  REQUIRE(items.next(value));
  CHECK(value.as_int() == 7);
  CHECK_FALSE(items.next(value));
  CHECK(items.ok());
  CHECK_FALSE(walk.next(name, value));
  CHECK(walk.ok());

  const Buffer broken = wire("01 'a' 't' 01 01 'b' '?'");
  TableWalk other(broken);
  CHECK(other.next(name, value));
  CHECK_FALSE(other.next(name, value));
  CHECK_FALSE(other.ok());
}

TEST_CASE("a repeated name: the first counts") {
  const Buffer bytes = wire("01 'a' 'b' 01 01 'a' 'b' 02");
  CHECK(find_in_table(bytes, "a")->as_int() == 1);
  const FieldTable table = *FieldTable::decode(bytes);
  CHECK(table.size() == 2);
  CHECK(table.find("a")->as_int() == 1);
}

TEST_CASE("building and changing") {
  FieldTable table;
  table.set("a", std::int32_t{1}).set("b", "x").set("a", "changed");
  CHECK(table.size() == 2);
  CHECK(table.entries()[0].name == "a");
  CHECK(table.find("a")->as_text() == "changed");
  table.prepend("first", true);
  CHECK(table.entries()[0].name == "first");
  CHECK(table.erase("b"));
  CHECK_FALSE(table.erase("b"));
  CHECK(table.size() == 2);

  FieldTable copy = table;
  CHECK(copy == table);
  copy.set("a", false);
  CHECK_FALSE(copy == table);
  const FieldTable moved = std::move(copy);
  CHECK(moved.size() == 2);
}

TEST_CASE("NaN equals itself, so that a table can be compared with its copy") {
  const FieldTable table =
      FieldTable{}.set("n", std::numeric_limits<double>::quiet_NaN()).set("f", 0.0f);
  CHECK(*FieldTable::decode(to_buffer(table.encode())) == table);
  CHECK_FALSE(FieldValue(0.0) == FieldValue(0.0f));
}

}  // namespace field_table_test
