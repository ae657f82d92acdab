// What all who declare and bind do alike with names and argument tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "broker/amqp/field_table.h"
#include "broker/runtime/bytes.h"

namespace ringtail::broker {

// Names lose carriage returns and line feeds, as in RabbitMQ.
inline std::string clean_name(std::string_view name) {
  std::string cleaned(name);
  std::erase_if(cleaned, [](char c) { return c == '\r' || c == '\n'; });
  return cleaned;
}

inline std::string arguments_of(std::span<const std::uint8_t> table) {
  return std::string(runtime::as_text(table));
}

inline amqp::FieldTable decoded(const std::string& arguments) {
  return amqp::FieldTable::decode(runtime::as_bytes(arguments)).value_or(amqp::FieldTable());
}

}  // namespace ringtail::broker
