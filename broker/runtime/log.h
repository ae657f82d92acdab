// The node's log. Lines go to stderr through spdlog, asynchronously enough not to hold a shard; a
// line has a time, a level, a component in brackets and a text:
//   2026-01-31 12:00:00.123 [info] [listener] AMQP on 127.0.0.1:5672
// Nothing is logged per message.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "broker/runtime/status.h"

namespace ringtail::runtime {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarning, kError, kNone };

// "debug", "info", "warning", "error", "none" (and RabbitMQ's "critical", taken as "error");
// anything else is kInvalid.
Result<LogLevel> parse_log_level(std::string_view text);

// Process wide; before threads start.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view component, std::string_view text);

template <typename... Args>
void log(LogLevel level, std::string_view component, fmt::format_string<Args...> format,
         Args&&... args) {
  if (log_enabled(level)) {
    log_line(level, component, fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace ringtail::runtime
