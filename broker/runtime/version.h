// What this program calls itself: --version, the log's first line, connection.start's properties.
#pragma once

#include <string_view>

namespace ringtail::runtime {

inline constexpr std::string_view kProductName = "Ringtail";
// The same as project(VERSION) in CMakeLists.txt.
inline constexpr std::string_view kVersion = "0.1.0";
inline constexpr std::string_view kVersionLine =
    "Ringtail 0.1.0 (AMQP 0-9-1, with RabbitMQ's extensions)";

}  // namespace ringtail::runtime
