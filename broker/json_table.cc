#include "broker/json_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "broker/amqp/utf8.h"
#include "broker/base64.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/limits.h"

namespace ringtail::broker {

using amqp::FieldArray;
using amqp::FieldEntry;
using amqp::FieldTable;
using amqp::FieldValue;
using cluster::metadata::PolicyDefinition;
using cluster::metadata::PolicyValue;
using runtime::Code;
using runtime::Result;
using runtime::Status;

namespace {

constexpr auto kReplace = Json::error_handler_t::replace;

// How deep brackets are nested in the text; those in strings do not count. It need not be JSON.
int nesting_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// "line 3, column 7" of the byte at `position`, counted from 1 (0: the beginning).
std::string place_of(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  std::size_t line = 1;
  std::size_t column = 0;
  for (const char c : before) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 0;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

// What the library found, without its own prefix: "[json.exception...] parse error at ...: WHAT".
std::string_view reason_of(std::string_view what) {
  const std::size_t colon = what.find(": ");
  return colon == std::string_view::npos ? what : what.substr(colon + 2);
}

Status refused(std::string_view name, std::string_view why) {
  return {Code::kInvalid, fmt::format("{} {}", name, why)};
}

Result<FieldValue> number_of_json(const Json& json, std::string_view name) {
  if (json.is_number_float()) return FieldValue(json.get<double>());
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return refused(name, fmt::format("is {}: numbers go up to 9223372036854775807",
                                     json.get<std::uint64_t>()));
  }
  return FieldValue(json.get<std::int64_t>());
}

Result<FieldValue> list_of_json(const Json& json, std::string_view name) {
  FieldArray array;
  for (std::size_t i = 0; i < json.size(); ++i) {
    auto item = value_of_json(json[i], fmt::format("{}[{}]", name, i));
    if (!item.ok()) return item.status();
    array.add(std::move(item).value());
  }
  return FieldValue(std::move(array));
}

// `place` is what stands in front of a member's name in an error.
Result<FieldTable> members_of_json(const Json& json, std::string_view place) {
  FieldTable table;
  for (const auto& member : json.items()) {
    const std::string name = fmt::format("{}{}", place, member.key());
    if (member.key().size() > runtime::kShortStringMax) {
      return refused(name, "is too long: names have at most 255 bytes");
    }
    auto value = value_of_json(member.value(), name);
    if (!value.ok()) return value.status();
    table.entries().push_back(FieldEntry{member.key(), std::move(value).value()});
  }
  return table;
}

Json text_or_base64(const std::string& bytes) {
  return amqp::valid_utf8(bytes) ? Json(bytes) : Json(base64_encode(bytes));
}

Json decimal_json(const amqp::Decimal& decimal) {
  double value = decimal.value;
  for (unsigned i = 0; i < decimal.scale; ++i) value /= 10;
  return value;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (const int depth = nesting_of(text); depth > runtime::kTableDepthMax) {
    return Status{Code::kInvalid, fmt::format("the JSON is nested {} deep: at most {} is read",
                                              depth, runtime::kTableDepthMax)};
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Status{Code::kInvalid, fmt::format("not JSON at {}: {}", place_of(text, error.byte),
                                              reason_of(error.what()))};
  } catch (const Json::exception& error) {  // a number out of range
    return Status{Code::kInvalid, fmt::format("not JSON: {}", error.what())};
  }
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, kReplace); }

std::string json_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Result<FieldValue> value_of_json(const Json& json, std::string_view name) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return FieldValue(json.get<bool>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return number_of_json(json, name);
    case Json::value_t::string:
      return FieldValue(json.get_ref<const std::string&>());
    case Json::value_t::array:
      return list_of_json(json, name);
    case Json::value_t::object: {
      auto table = members_of_json(json, fmt::format("{}.", name));
      if (!table.ok()) return table.status();
      return FieldValue(std::move(table).value());
    }
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return refused(name, "is null: arguments have values");
}

Result<FieldTable> table_of_json(const Json& object) {
  // An empty list is what some RabbitMQ versions write for no arguments.
  if (object.is_array() && object.empty()) return FieldTable();
  if (!object.is_object()) {
    return refused("arguments", fmt::format("have to be an object, not {}", json_text(object)));
  }
  return members_of_json(object, "");
}

Json json_of_value(const FieldValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, amqp::Void>) {
          return "undefined";  // as RabbitMQ writes it
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return text_or_base64(held);
        } else if constexpr (std::is_same_v<Held, amqp::Binary>) {
          return text_or_base64(held.bytes);
        } else if constexpr (std::is_same_v<Held, amqp::Decimal>) {
          return decimal_json(held);
        } else if constexpr (std::is_same_v<Held, amqp::Timestamp>) {
          return held.seconds;
        } else if constexpr (std::is_same_v<Held, FieldTable>) {
          return json_of_table(held);
        } else if constexpr (std::is_same_v<Held, FieldArray>) {
          Json items = Json::array();
          for (const FieldValue& item : held.items()) items.push_back(json_of_value(item));
          return items;
        } else {
          return held;
        }
      },
      value.variant());
}

Json json_of_table(const FieldTable& table) {
  Json object = Json::object();
  for (const FieldEntry& entry : table.entries()) {
    object.emplace(entry.name, json_of_value(entry.value));  // the first of a name counts
  }
  return object;
}

Result<std::string> arguments_of_json(const Json& object) {
  auto table = table_of_json(object);
  if (!table.ok()) return table.status();
  return table.value().encode();
}

Json json_of_arguments(std::string_view entries) {
  const auto table = FieldTable::decode(runtime::as_bytes(entries));
  return table ? json_of_table(*table) : Json::object();
}

Result<PolicyDefinition> policy_definition_of_json(const Json& object) {
  if (!object.is_object()) {
    return refused("definition", fmt::format("has to be an object, not {}", json_text(object)));
  }
  PolicyDefinition definition;
  for (const auto& member : object.items()) {
    const Json& value = member.value();
    if (value.is_boolean()) {
      definition[member.key()] = value.get<bool>();
    } else if (value.is_number()) {
      auto number = number_of_json(value, member.key());
      if (!number.ok()) return number.status();
      const auto whole = number.value().as_int();
      definition[member.key()] = whole ? PolicyValue(*whole) : PolicyValue(value.get<double>());
    } else if (value.is_string()) {
      definition[member.key()] = value.get<std::string>();
    } else if (value.is_array() && std::all_of(value.begin(), value.end(),
                                               [](const Json& i) { return i.is_string(); })) {
      definition[member.key()] = value.get<std::vector<std::string>>();
    } else {
      return refused(member.key(), fmt::format("is {}: a policy has numbers, text, true, false and "
                                               "lists of text",
                                               json_text(value)));
    }
  }
  return definition;
}

Json json_of_policy_definition(const PolicyDefinition& definition) {
  Json object = Json::object();
  for (const auto& [key, value] : definition) {
    object[key] = std::visit([](const auto& held) { return Json(held); }, value);
  }
  return object;
}

}  // namespace ringtail::broker
