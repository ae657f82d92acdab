#include "tools/perf/stamp.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "broker/amqp/field_table.h"
#include "tools/perf/arguments.h"

namespace stamp_test {

using namespace ringtail::perf;

TEST_CASE("a stamp comes back as it went, at the limits of its fields") {
  std::uint8_t bytes[kStampSize];
  for (const Identity& identity :
       {Identity{0, 0, 0}, Identity{1023, 16383, kMaxNumber}, Identity{5, 300, 123456789}}) {
    write_stamp(bytes, identity, 0x123456789abcdef0ULL);
    const Stamp stamp = read_stamp(bytes);
    CHECK(stamp.identity == identity);
    CHECK(stamp.due_ns == 0x123456789abcdef0ULL);
  }
}

TEST_CASE("a stamp is gathered from parts of any size") {
  std::vector<std::uint8_t> body(40, 0xee);
  write_stamp(body.data(), {3, 4, 5}, 6);
  for (std::size_t cut = 1; cut < body.size(); ++cut) {
    StampCollector collector;
    collector.begin(body.size());
    CHECK_FALSE(collector.add(std::span(body).subspan(0, cut)));
    CHECK(collector.add(std::span(body).subspan(cut)));
    CHECK(collector.stamp().identity == Identity{3, 4, 5});
    CHECK(collector.stamp().due_ns == 6);
  }
}

TEST_CASE("arguments take their type from their text") {
  using ringtail::amqp::FieldType;
  CHECK(parse_argument("true").type() == FieldType::kBool);
  CHECK(parse_argument("-12").as_int() == -12);
  CHECK(parse_argument("-12").type() == FieldType::kLong);
  CHECK(parse_argument("12x").as_text() == "12x");
  CHECK(parse_argument("").as_text() == "");
  const auto list = parse_argument("[a,b]");
  REQUIRE(list.as_array() != nullptr);
  REQUIRE(list.as_array()->items().size() == 2);
  CHECK(list.as_array()->items()[1].as_text() == "b");
  CHECK_FALSE(check_arguments({{std::string(256, 'n'), "1"}}).ok());
}

}  // namespace stamp_test
