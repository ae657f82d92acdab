// Field tables: what is valid decodes, encodes and decodes to the same; looking up in place agrees
// with the decoded table; nothing that is not valid gets through.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/amqp/field_table.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"

namespace {

using namespace ringtail::amqp;

void check_value(const FieldValue& value, const ValueView& view) {
  RT_CHECK(view.type == value.type(), "the view has another type");
  RT_CHECK(view.decode() == value, "the view decodes to another value");
  RT_CHECK(view.as_int() == value.as_int(), "another integer");
  RT_CHECK(view.as_bool() == value.as_bool(), "another bool");
  RT_CHECK(view.as_text() == value.as_text(), "another text");
  RT_CHECK(equivalent(value, value), "not equivalent to itself");
  to_text(value);
}

void check_valid(std::span<const std::uint8_t> entries) {
  const auto table = FieldTable::decode(entries);
  RT_CHECK(table.has_value(), "valid, but does not decode");
  const std::string encoded = table->encode();
  RT_CHECK(encoded.size() == entries.size(), "encodes to another size");
  const auto again = FieldTable::decode(ringtail::runtime::as_bytes(encoded));
  RT_CHECK(again.has_value(), "does not decode again");
  RT_CHECK(*again == *table, "decodes to another table");
  RT_CHECK(again->encode() == encoded, "encodes to something else");

  TableWalk walk(entries);
  std::string_view name;
  ValueView view;
  std::vector<std::string_view> names;
  for (const FieldEntry& entry : table->entries()) {
    RT_CHECK(walk.next(name, view) && name == entry.name, "the walk misses an entry");
    check_value(entry.value, view);
    const auto found = find_in_table(entries, entry.name);
    RT_CHECK(found && found->decode() == *table->find(entry.name), "the lookup finds another");
    names.push_back(entry.name);
  }
  RT_CHECK(!walk.next(name, view) && walk.ok(), "the walk finds more");
  RT_CHECK(!inequivalent_argument(*again, *table, names, "queue"), "not equivalent to itself");
  inequivalent_argument(*table, FieldTable(), names, "queue");
}

void check_invalid(std::span<const std::uint8_t> entries) {
  RT_CHECK(!FieldTable::decode(entries), "not valid, but decodes");
  TableWalk walk(entries);
  std::string_view name;
  ValueView view;
  std::size_t seen = 0;
  while (walk.next(name, view)) seen += 2 + name.size() + view.data.size();
  RT_CHECK(seen <= entries.size(), "the walk left the table");
  find_in_table(entries, "x-match");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> entries(data, size);
  if (validate_table(entries)) {
    check_valid(entries);
  } else {
    check_invalid(entries);
  }
  const auto array = FieldArray::decode(entries);
  if (array) {
    const std::string encoded = array->encode();
    RT_CHECK(encoded.size() == size, "the array encodes to another size");
    RT_CHECK(*FieldArray::decode(ringtail::runtime::as_bytes(encoded)) == *array,
             "the array decodes to another");
  }
  return 0;
}
