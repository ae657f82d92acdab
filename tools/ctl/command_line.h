// The command line of ringtailctl, and of the RabbitMQ tools whose names it answers to: options
// come before, behind and between the arguments; --name value and --name=value; -- ends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/status.h"

namespace ringtail::ctl {

enum class Formatter : std::uint8_t { kTable, kJson, kCsv, kPrettyTable };

struct CommandLine {
  std::string program;  // the name it was called by, without directories
  std::string command;  // empty: none was given
  std::vector<std::string> arguments;
  // Long names; a switch has the value "".
  std::map<std::string, std::string, std::less<>> options;
  // As they were given, for messages.
  std::string given;

  bool has(std::string_view option) const { return options.contains(option); }
  std::string value(std::string_view option, std::string_view fallback) const;
  std::string vhost() const { return value("vhost", "/"); }
  bool quiet() const { return has("quiet") || has("silent"); }
  bool headers() const { return !has("silent") && !has("no-table-headers"); }
  // Validated by parse_command_line().
  std::optional<Formatter> formatter() const;
  // None: no limit was given; 0: none is wanted.
  std::optional<double> timeout_s() const;
};

// kInvalid: an option is not known, lacks its value or has a wrong one.
runtime::Result<CommandLine> parse_command_line(int argc, const char* const* argv);

// Options that every command takes, by their long names.
bool is_common_option(std::string_view name);

struct Url {
  std::string host = "127.0.0.1";
  std::uint16_t port = 15672;
  std::string user = "guest";
  std::string password = "guest";
  std::string prefix;  // of the path; empty or "/..."
};

// http://user:password@host:port, everything but the host optional.
runtime::Result<Url> parse_url(const std::string& text);

}  // namespace ringtail::ctl
