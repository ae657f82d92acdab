// Recent history (RabbitMQ's plug-in): a fanout that remembers its last messages for what is bound
// to it later (recent_history.h keeps them).
#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/routing/erlang_text.h"
#include "broker/routing/exchange.h"
#include "broker/routing/recent_history_rules.h"
#include "broker/runtime/bytes.h"

namespace ringtail::broker {

using amqp::FieldType;

namespace {

constexpr std::string_view kLength = "x-recent-history-length";
constexpr std::uint64_t kDefaultLength = 20;

bool is_count(const amqp::ValueView& value) {
  switch (value.type) {
    case FieldType::kByte:
    case FieldType::kShort:
    case FieldType::kSignedInt:
    case FieldType::kLong:
      return value.as_int().value_or(0) > 0;
    default:
      return false;
  }
}

// The value as Erlang prints it with ~p.
std::string erlang_text(const amqp::ValueView& value) {
  if (const auto text = value.as_text()) return erlang_binary(*text);
  if (value.type == FieldType::kVoid) return "undefined";
  return amqp::to_text(value.decode());
}

}  // namespace

Fault fault_of_recent_history(std::string_view arguments) {
  const auto length = amqp::find_in_table(runtime::as_bytes(arguments), kLength);
  if (!length || is_count(*length)) return std::nullopt;
  return "Invalid argument " + erlang_text(*length) + ", '" + std::string(kLength) +
         "' must be a positive integer";
}

std::uint64_t history_length(std::string_view arguments) {
  const auto length = amqp::find_in_table(runtime::as_bytes(arguments), kLength);
  return length && is_count(*length) ? static_cast<std::uint64_t>(*length->as_int())
                                     : kDefaultLength;
}

bool may_be_remembered(std::span<const std::uint8_t> properties) {
  const auto headers = amqp::PropertiesView(properties).headers();
  if (!headers) return true;
  const auto no_store = amqp::find_in_table(*headers, "x-recent-history-no-store");
  return !no_store || no_store->as_bool() != true;
}

}  // namespace ringtail::broker
