#include "tools/ctl/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace ringtail::ctl {

using runtime::Code;
using runtime::Result;
using runtime::Status;

namespace {

struct Option {
  std::string_view name;
  char letter;  // 0: none
  bool has_value;
  bool common;  // every command takes it
};

// RabbitMQ's names. What has no meaning here (cookies, long names) is taken and not looked at.
constexpr std::array kOptions = {
    Option{"url", 'u', true, true},
    Option{"node", 'n', true, true},
    Option{"quiet", 'q', false, true},
    Option{"silent", 's', false, true},
    Option{"timeout", 't', true, true},
    Option{"longnames", 'l', false, true},
    Option{"formatter", 0, true, true},
    Option{"help", '?', false, true},
    Option{"version", 0, false, true},
    Option{"no-table-headers", 0, false, true},
    Option{"table-headers", 0, false, true},
    Option{"erlang-cookie", 0, true, true},
    Option{"print-stacktrace", 0, false, true},
    Option{"script-name", 0, true, true},
    Option{"dry-run", 0, false, true},
    Option{"vhost", 'p', true, false},
    Option{"priority", 0, true, false},
    Option{"apply-to", 0, true, false},
    Option{"description", 0, true, false},
    Option{"tags", 0, true, false},
    Option{"default-queue-type", 0, true, false},
    Option{"pre-hashed-password", 0, false, false},
    Option{"global", 0, false, false},
    Option{"user", 0, true, false},
    Option{"online", 0, false, false},
    Option{"offline", 0, false, false},
    Option{"local", 0, false, false},
    Option{"disc", 0, false, false},
    Option{"disk", 0, false, false},
    Option{"ram", 0, false, false},
    Option{"find", 0, true, false},
    Option{"directory", 0, true, false},
    Option{"if-empty", 'e', false, false},
    Option{"if-unused", 0, false, false},
    Option{"per-connection-delay", 0, true, false},
    Option{"limit", 0, true, false},
    Option{"format", 0, true, false},
    Option{"skip-if-unchanged", 0, false, false},
    Option{"address", 0, true, false},
    Option{"unit", 0, true, false},
    Option{"dedicated", 0, false, false},
    Option{"pid", 0, true, false},
};

constexpr std::array<std::pair<std::string_view, Formatter>, 4> kFormatters = {
    std::pair{std::string_view("table"), Formatter::kTable},
    std::pair{std::string_view("json"), Formatter::kJson},
    std::pair{std::string_view("csv"), Formatter::kCsv},
    std::pair{std::string_view("pretty_table"), Formatter::kPrettyTable}};

Status invalid(std::string text) { return {Code::kInvalid, std::move(text)}; }

const Option* find_option(std::string_view name) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == kOptions.end() ? nullptr : &*found;
}

const Option* find_letter(char letter) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(), [&](const Option& option) {
    return letter != 0 && option.letter == letter;
  });
  return found == kOptions.end() ? nullptr : &*found;
}

std::optional<double> seconds_of(std::string_view text) {
  if (text == "infinity") return 0;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && seconds >= 0 && seconds < 1e9 ? std::optional(seconds) : std::nullopt;
}

Status check_values(const CommandLine& line) {
  if (line.has("formatter") && !line.formatter()) {
    return invalid(fmt::format("there is no formatter '{}': table, json, csv and pretty_table are",
                               line.value("formatter", "")));
  }
  if (line.has("timeout") && !line.timeout_s()) {
    return invalid(fmt::format("the timeout '{}' is no number of seconds and not infinity",
                               line.value("timeout", "")));
  }
  return {};
}

// The arguments of main(), one after the other.
class Parser {
 public:
  Parser(int argc, const char* const* argv) : words_(argv + 1, argv + argc) {
    line_.program = argc > 0 ? argv[0] : "";
    line_.program.erase(0, line_.program.rfind('/') + 1);
    for (const std::string& word : words_) {
      line_.given += line_.given.empty() ? word : " " + word;
    }
  }

  Result<CommandLine> run() {
    for (next_ = 0; next_ < words_.size();) {
      const std::string& word = words_[next_++];
      if (only_arguments_ || word.size() < 2 || word.front() != '-') {
        add_argument(word);
      } else if (word == "--") {
        only_arguments_ = true;
      } else if (word.starts_with("--")) {
        RT_TRY(long_option(word));
      } else {
        RT_TRY(short_options(word));
      }
    }
    RT_TRY(check_values(line_));
    return line_;
  }

 private:
  void add_argument(const std::string& word) {
    if (line_.command.empty()) {
      line_.command = word;
    } else {
      line_.arguments.push_back(word);
    }
  }

  Status long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const Option* option = find_option(name);
    if (option == nullptr) return invalid(fmt::format("there is no option --{}", name));
    if (equals != std::string::npos) {
      if (!option->has_value) return invalid(fmt::format("option --{} takes no value", name));
      line_.options[name] = word.substr(equals + 1);
      return {};
    }
    return take_value(*option);
  }

  // -q, -qs, -p v, -pv.
  Status short_options(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Option* option = find_letter(word[i]);
      // delete_queue's -u is --if-unused.
      if (word[i] == 'u' && line_.command == "delete_queue") option = find_option("if-unused");
      if (option == nullptr) return invalid(fmt::format("there is no option -{}", word[i]));
      if (option->has_value && i + 1 < word.size()) {
        line_.options[std::string(option->name)] = word.substr(i + 1);
        return {};
      }
      RT_TRY(take_value(*option));
    }
    return {};
  }

  Status take_value(const Option& option) {
    std::string& value = line_.options[std::string(option.name)];
    if (!option.has_value) return {};
    if (next_ == words_.size()) {
      return invalid(fmt::format("option --{} lacks its value", option.name));
    }
    value = words_[next_++];
    return {};
  }

  const std::vector<std::string> words_;
  CommandLine line_;
  std::size_t next_ = 0;
  bool only_arguments_ = false;
};

// %41 -> A; what is no such pair stays as it is.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* end = text.data() + std::min(i + 3, text.size());
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, end, byte, 16).ptr == end) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string CommandLine::value(std::string_view option, std::string_view fallback) const {
  const auto found = options.find(option);
  return found == options.end() ? std::string(fallback) : found->second;
}

std::optional<Formatter> CommandLine::formatter() const {
  const std::string name = value("formatter", "table");
  for (const auto& [known, formatter] : kFormatters) {
    if (known == name) return formatter;
  }
  return std::nullopt;
}

std::optional<double> CommandLine::timeout_s() const {
  const auto found = options.find("timeout");
  return found == options.end() ? std::nullopt : seconds_of(found->second);
}

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  return Parser(argc, argv).run();
}

bool is_common_option(std::string_view name) {
  const Option* option = find_option(name);
  return option != nullptr && option->common;
}

Result<Url> parse_url(const std::string& text) {
  const auto refused = [&](std::string_view why) {
    return invalid(fmt::format("--url {}: {}", text, why));
  };
  std::string_view left = text;
  if (!left.starts_with("http://")) return refused("has to begin with http://");
  left.remove_prefix(7);
  Url url;
  if (const std::size_t slash = left.find('/'); slash != std::string_view::npos) {
    url.prefix = left.substr(slash);
    while (url.prefix.ends_with('/')) url.prefix.pop_back();
    left = left.substr(0, slash);
  }
  if (const std::size_t at = left.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = left.substr(0, at);
    const std::size_t colon = login.find(':');
    url.user = decoded(login.substr(0, colon));
    url.password = colon == std::string_view::npos ? "" : decoded(login.substr(colon + 1));
    left.remove_prefix(at + 1);
  }
  const std::size_t colon = left.rfind(':');
  // The colons of [::1] are its own.
  if (colon != std::string_view::npos && left.find(']', colon) == std::string_view::npos) {
    const std::string_view port = left.substr(colon + 1);
    const char* end = port.data() + port.size();
    const auto [stopped, error] = std::from_chars(port.data(), end, url.port);
    if (error != std::errc() || stopped != end || url.port == 0) {
      return refused("the port has to be a number from 1 to 65535");
    }
    left = left.substr(0, colon);
  }
  if (left.starts_with('[') && left.ends_with(']')) left = left.substr(1, left.size() - 2);
  if (left.empty()) return refused("the host is missing");
  url.host = left;
  return url;
}

}  // namespace ringtail::ctl
