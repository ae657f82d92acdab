// How RabbitMQ compares and prints arguments: as Erlang terms.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "broker/amqp/field_table.h"

namespace ringtail::amqp {

namespace {

bool is_text(const FieldValue& value) {
  return value.type() == FieldType::kLongString || value.type() == FieldType::kBinary;
}

std::string_view text_of(const FieldValue& value) {
  if (const Binary* binary = std::get_if<Binary>(&value.variant())) return binary->bytes;
  return std::get<std::string>(value.variant());
}

// A number as Erlang sees it: sign and size, since a timestamp may be beyond 63 bits.
struct Integer {
  bool negative;
  std::uint64_t bits;
  bool operator==(const Integer&) const = default;
};

std::optional<Integer> integer_of(const FieldValue& value) {
  if (const Timestamp* time = std::get_if<Timestamp>(&value.variant())) {
    return Integer{false, time->seconds};
  }
  const std::optional<std::int64_t> number = value.as_int();
  if (!number) return std::nullopt;
  return Integer{*number < 0, static_cast<std::uint64_t>(*number)};
}

// Items of a list are {Type, Value} or {Name, Type, Value}: there the type must be the same too.
bool same_item(const FieldValue& a, const FieldValue& b) {
  return a.type() == b.type() && equivalent(a, b);
}

// Tables and arrays are both lists; they are equal across only when both are empty.
bool same_list(const FieldValue& a, const FieldValue& b) {
  const FieldTable* table_a = a.as_table();
  const FieldTable* table_b = b.as_table();
  if (table_a != nullptr && table_b != nullptr) {
    return std::equal(table_a->entries().begin(), table_a->entries().end(),
                      table_b->entries().begin(), table_b->entries().end(),
                      [](const FieldEntry& x, const FieldEntry& y) {
                        return x.name == y.name && same_item(x.value, y.value);
                      });
  }
  const FieldArray* array_a = a.as_array();
  const FieldArray* array_b = b.as_array();
  if (array_a != nullptr && array_b != nullptr) {
    return std::equal(array_a->items().begin(), array_a->items().end(), array_b->items().begin(),
                      array_b->items().end(), same_item);
  }
  return (table_a != nullptr ? table_a->empty() : array_a->items().empty()) &&
         (table_b != nullptr ? table_b->empty() : array_b->items().empty());
}

bool is_list(const FieldValue& value) {
  return value.as_table() != nullptr || value.as_array() != nullptr;
}

// --- printing ---

// The shortest digits that read back as the same number, laid out as OTP's ~p does: plain while
// that is no longer than with an exponent, and always with a point.
std::string float_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::fabs(value),
                                 std::chars_format::scientific);
  const std::string_view shortest(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const std::size_t mark = shortest.find('e');
  std::string digits(1, shortest[0]);
  if (mark > 2) digits += shortest.substr(2, mark - 2);
  int exponent = 0;
  const bool minus = shortest[mark + 1] == '-';
  std::from_chars(shortest.data() + mark + 2, shortest.data() + shortest.size(), exponent);
  if (minus) exponent = -exponent;

  const std::string sign = std::signbit(value) ? "-" : "";
  const std::string exponent_text = std::to_string(exponent);
  const int count = static_cast<int>(digits.size());
  const int place = exponent + 1;  // of the point among the digits
  const int exponent_cost = static_cast<int>(exponent_text.size()) + 1 + (count == 1 ? 2 : 1);
  const bool large = std::fabs(value) >= 9007199254740992.0;  // 2^53
  if (!large && place > 0 && place < count) {
    digits.insert(static_cast<std::size_t>(place), ".");
    return sign + digits;
  }
  if (!large && place <= 0 && (place == 0 || 2 - place <= exponent_cost)) {
    return sign + "0." + std::string(static_cast<std::size_t>(-place), '0') + digits;
  }
  if (!large && place >= count && place - count + 2 <= exponent_cost) {
    return sign + digits + std::string(static_cast<std::size_t>(place - count), '0') + ".0";
  }
  const std::string fraction = count == 1 ? "0" : digits.substr(1);
  return sign + digits[0] + "." + fraction + "e" + exponent_text;
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto octet = static_cast<unsigned char>(c);
    return (octet >= 0x20 && octet < 0x7F) || octet >= 0xA0 || (octet >= 8 && octet <= 13) ||
           octet == 27;
  });
}

// <<"text">>, or <<1,2,3>> for what is no text.
std::string binary_term(std::string_view bytes) {
  std::string out = "<<";
  if (!bytes.empty() && printable(bytes)) {
    out += '"';
    for (const char c : bytes) {
      static constexpr std::string_view kEscaped = "\b\t\n\v\f\r\x1B\"\\";
      static constexpr std::string_view kLetters = "btnvfre\"\\";
      const std::size_t at = kEscaped.find(c);
      if (at != std::string_view::npos) {
        out += '\\';
        out += kLetters[at];
      } else {
        out += c;
      }
    }
    out += '"';
  } else {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i != 0) out += ',';
      out += std::to_string(static_cast<unsigned char>(bytes[i]));
    }
  }
  return out + ">>";
}

// The value as a term inside another: like to_text(), but texts as binaries.
std::string term(const FieldValue& value) {
  return is_text(value) ? binary_term(text_of(value)) : to_text(value);
}

std::string list_text(const FieldValue& value) {
  std::string out = "[";
  if (const FieldTable* table = value.as_table()) {
    for (const FieldEntry& entry : table->entries()) {
      if (out.size() > 1) out += ',';
      out += '{' + binary_term(entry.name) + ',' + type_name(entry.value) + ',' +
             term(entry.value) + '}';
    }
  } else {
    for (const FieldValue& item : value.as_array()->items()) {
      if (out.size() > 1) out += ',';
      out += std::string("{") + type_name(item) + ',' + term(item) + '}';
    }
  }
  return out + ']';
}

// One side of the difference when both sides have the argument: only the value.
std::string value_alone(const FieldValue& value) {
  if (value.type() == FieldType::kVoid) return "none";
  return "'" + to_text(value) + "'";
}

// One side of the difference when the other has none.
std::string value_with_type(const FieldValue* value) {
  if (value == nullptr) return "none";
  return "the value '" + to_text(*value) + "' of type '" + type_name(*value) + "'";
}

bool is_classic(std::string_view name, const FieldValue& value) {
  return name == "x-queue-type" && value.as_text() == std::string_view("classic");
}

std::string difference(std::string_view name, std::string_view resource, std::string_view received,
                       std::string_view current) {
  std::string out = "inequivalent arg '";
  out += name;
  out += "' for ";
  out += resource;
  out += ": received ";
  out += received;
  out += " but current is ";
  out += current;
  return out;
}

}  // namespace

std::string to_text(const FieldValue& value) {
  return std::visit(
      [&value](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, Void>) {
          return "undefined";
        } else if constexpr (std::is_same_v<Held, bool>) {
          return held ? "true" : "false";
        } else if constexpr (std::is_integral_v<Held>) {
          return std::to_string(held);
        } else if constexpr (std::is_floating_point_v<Held>) {
          return float_text(static_cast<double>(held));
        } else if constexpr (std::is_same_v<Held, Decimal>) {
          return "{" + std::to_string(held.scale) + "," + std::to_string(held.value) + "}";
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return held;
        } else if constexpr (std::is_same_v<Held, Binary>) {
          return held.bytes;
        } else if constexpr (std::is_same_v<Held, Timestamp>) {
          return std::to_string(held.seconds);
        } else {
          return list_text(value);
        }
      },
      value.variant());
}

bool equivalent(const FieldValue& a, const FieldValue& b) {
  const std::optional<Integer> integer_a = integer_of(a);
  const std::optional<Integer> integer_b = integer_of(b);
  if (integer_a || integer_b) return integer_a == integer_b;
  const std::optional<double> float_a = a.as_double();
  const std::optional<double> float_b = b.as_double();
  if (float_a || float_b) {
    if (!float_a || !float_b) return false;
    return *float_a == *float_b || (std::isnan(*float_a) && std::isnan(*float_b));
  }
  if (is_text(a) || is_text(b)) return is_text(a) && is_text(b) && text_of(a) == text_of(b);
  if (is_list(a) || is_list(b)) return is_list(a) && is_list(b) && same_list(a, b);
  return a == b;  // bool, decimal, void
}

std::optional<std::string> inequivalent_argument(const FieldTable& received,
                                                 const FieldTable& current,
                                                 std::span<const std::string_view> names,
                                                 std::string_view resource) {
  for (const std::string_view name : names) {
    const FieldValue* theirs = received.find(name);
    const FieldValue* ours = current.find(name);
    if (theirs == nullptr && ours == nullptr) continue;
    if (theirs != nullptr && ours != nullptr) {
      if (equivalent(*theirs, *ours)) continue;
      return difference(name, resource, value_alone(*theirs), value_alone(*ours));
    }
    if (is_classic(name, theirs != nullptr ? *theirs : *ours)) continue;
    return difference(name, resource, value_with_type(theirs), value_with_type(ours));
  }
  return std::nullopt;
}

std::string inequivalent_field(std::string_view field, std::string_view resource,
                               std::string_view received, std::string_view current) {
  return difference(field, resource, "'" + std::string(received) + "'",
                    "'" + std::string(current) + "'");
}

}  // namespace ringtail::amqp
