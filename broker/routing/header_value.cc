#include "broker/routing/header_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>

#include "broker/runtime/bytes.h"
#include "broker/runtime/limits.h"

namespace ringtail::broker {

using amqp::FieldType;
using amqp::ValueView;

namespace {

// What can be equal at all.
enum class Kind : std::uint8_t { kNumber, kText, kBool, kVoid, kDecimal, kTable, kArray };

Kind kind_of(FieldType type) {
  switch (type) {
    case FieldType::kBool:
      return Kind::kBool;
    case FieldType::kVoid:
      return Kind::kVoid;
    case FieldType::kDecimal:
      return Kind::kDecimal;
    case FieldType::kTable:
      return Kind::kTable;
    case FieldType::kArray:
      return Kind::kArray;
    case FieldType::kLongString:
    case FieldType::kBinary:
      return Kind::kText;
    case FieldType::kByte:
    case FieldType::kUnsignedByte:
    case FieldType::kShort:
    case FieldType::kUnsignedShort:
    case FieldType::kSignedInt:
    case FieldType::kUnsignedInt:
    case FieldType::kLong:
    case FieldType::kTimestamp:
    case FieldType::kFloat:
    case FieldType::kDouble:
      break;
  }
  return Kind::kNumber;
}

using Wide = __int128;  // holds every integer of a field table, signed and unsigned

// A number; whole where it is mathematically an integer that a field table could also hold as one.
struct Number {
  bool whole = true;
  Wide integer = 0;
  double real = 0;
};

Number number_of(const ValueView& value) {
  if (const auto integer = value.as_int()) return {true, *integer, 0};
  if (const auto seconds = value.as_timestamp()) return {true, static_cast<Wide>(*seconds), 0};
  const double real = value.as_double().value_or(0);
  constexpr double kBeyond = 18446744073709551616.0;  // 2^64
  if (std::abs(real) < kBeyond && std::trunc(real) == real) {
    return {true, static_cast<Wide>(real), 0};
  }
  return {false, 0, real};
}

bool same_number(const Number& a, const Number& b) {
  return a.whole == b.whole && (a.whole ? a.integer == b.integer : a.real == b.real);
}

bool same_value(const ValueView& a, const ValueView& b, int depth);

bool same_typed_value(const ValueView& a, const ValueView& b, int depth) {
  return a.type == b.type && same_value(a, b, depth);
}

bool same_table(const ValueView& a, const ValueView& b, int depth) {
  amqp::TableWalk left(a.data);
  amqp::TableWalk right(b.data);
  std::string_view left_name;
  std::string_view right_name;
  ValueView left_value;
  ValueView right_value;
  for (;;) {
    const bool more = left.next(left_name, left_value);
    if (right.next(right_name, right_value) != more) return false;
    if (!more) return left.ok() && right.ok();
    if (left_name != right_name || !same_typed_value(left_value, right_value, depth)) return false;
  }
}

bool same_array(const ValueView& a, const ValueView& b, int depth) {
  amqp::ArrayWalk left(a.data);
  amqp::ArrayWalk right(b.data);
  ValueView left_value;
  ValueView right_value;
  for (;;) {
    const bool more = left.next(left_value);
    if (right.next(right_value) != more) return false;
    if (!more) return left.ok() && right.ok();
    if (!same_typed_value(left_value, right_value, depth)) return false;
  }
}

bool same_value(const ValueView& a, const ValueView& b, int depth) {
  const Kind kind = kind_of(a.type);
  if (kind != kind_of(b.type)) {
    // Both are lists in Erlang, and there is only one empty list.
    const bool lists = (kind == Kind::kTable || kind == Kind::kArray) &&
                       (kind_of(b.type) == Kind::kTable || kind_of(b.type) == Kind::kArray);
    return lists && a.data.empty() && b.data.empty();
  }
  if (depth > runtime::kTableDepthMax) return false;
  switch (kind) {
    case Kind::kNumber:
      return same_number(number_of(a), number_of(b));
    case Kind::kText:
    case Kind::kDecimal:
      return runtime::as_text(a.data) == runtime::as_text(b.data);
    case Kind::kBool:
      return a.as_bool() == b.as_bool();
    case Kind::kVoid:
      return true;
    case Kind::kTable:
      return same_table(a, b, depth + 1);
    case Kind::kArray:
      return same_array(a, b, depth + 1);
  }
  return false;
}

}  // namespace

bool same_header_value(const ValueView& a, const ValueView& b) { return same_value(a, b, 0); }

std::uint64_t hash_header_value(const ValueView& value) {
  switch (kind_of(value.type)) {
    case Kind::kNumber: {
      const Number number = number_of(value);
      if (number.whole) return static_cast<std::uint64_t>(number.integer) * 0x9E3779B97F4A7C15ULL;
      return std::bit_cast<std::uint64_t>(number.real);
    }
    case Kind::kText:
    case Kind::kDecimal:
      return std::hash<std::string_view>()(runtime::as_text(value.data));
    case Kind::kBool:
      return value.as_bool().value_or(false) ? 3 : 5;
    case Kind::kVoid:
      return 7;
    case Kind::kTable:
    case Kind::kArray:
      return 11;
  }
  return 0;
}

}  // namespace ringtail::broker
