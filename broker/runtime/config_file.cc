// rabbitmq.conf's form (sysctl style): lines of `key = value`; # begins a comment, at the start of
// a line or behind a value; a value may stand in '...' or "..." and then holds anything but the
// quote. $(NAME) in a value is that variable of the environment.
#include "broker/runtime/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ringtail::runtime {

namespace {

// Far beyond any file written by hand; a device or a mistaken path must not fill the memory.
constexpr std::size_t kFileSizeMax = 4 * 1024 * 1024;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Takes quotes and a comment off what follows the '='. Returns what is wrong with it, or nothing.
std::string unquote(std::string_view& value) {
  value = trimmed(value);
  if (value.empty() || (value.front() != '\'' && value.front() != '"')) {
    value = trimmed(value.substr(0, value.find('#')));
    return {};
  }
  const std::size_t end = value.find(value.front(), 1);
  if (end == std::string_view::npos) return "the quote is not closed";
  const std::string_view rest = trimmed(value.substr(end + 1));
  if (!rest.empty() && rest.front() != '#') return "there is text behind the closing quote";
  value = value.substr(1, end - 1);
  return {};
}

// Puts the environment's values in the place of $(NAME), once. Returns what is wrong, or nothing.
std::string expand(std::string_view value, std::string& expanded) {
  while (true) {
    const std::size_t begin = value.find("$(");
    expanded += value.substr(0, begin);
    if (begin == std::string_view::npos) return {};
    const std::size_t end = value.find(')', begin);
    if (end == std::string_view::npos) return "has a $( without its )";
    const std::string name(value.substr(begin + 2, end - begin - 2));
    const char* found = std::getenv(name.c_str());
    if (found == nullptr) return "refers to " + name + ", which is not in the environment";
    expanded += found;
    value.remove_prefix(end + 1);
  }
}

std::string as_flag(std::string_view key) {
  std::string flag(key);
  for (char& c : flag) {
    if (c == '_') c = '-';
  }
  return flag;
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

// Returns what is wrong, or nothing.
std::string apply_key(ConfigDraft& draft, std::string_view key, std::string_view value) {
  const std::string flag = key.find('-') == std::string_view::npos ? as_flag(key) : "";
  std::string rule;
  for (const Setting& setting : settings()) {
    if (flag != setting.flag) continue;
    rule = setting.apply(draft, value);
    return rule.empty() ? rule : std::string(key) + ": " + in_quotes(value) + " " + rule;
  }
  switch (apply_rabbitmq_key(draft, key, value, rule)) {
    case KeyKind::kActs:
      return rule.empty() ? rule : std::string(key) + ": " + in_quotes(value) + " " + rule;
    case KeyKind::kHasNoEffect:
      draft.config.warnings.push_back("key " + in_quotes(key) +
                                      " is known but has no effect in this version");
      return {};
    case KeyKind::kUnknown:
      break;
  }
  if (is_flag_of_later_version(flag)) {
    return "key " + in_quotes(key) + " belongs to a later version of Ringtail";
  }
  return "unknown key " + in_quotes(key);
}

// Returns what is wrong, or nothing.
std::string apply_line(ConfigDraft& draft, std::string_view line) {
  line = trimmed(line);
  if (line.empty() || line.front() == '#') return {};
  const std::size_t equals = line.find('=');
  const std::string_view key = trimmed(line.substr(0, equals));
  if (equals == std::string_view::npos || key.empty() ||
      key.find_first_of(" \t#'\"") != std::string_view::npos) {
    return in_quotes(line) + " is not of the form key = value";
  }
  std::string_view value = line.substr(equals + 1);
  if (const std::string wrong = unquote(value); !wrong.empty()) {
    return std::string(key) + ": " + wrong;
  }
  std::string expanded;
  if (const std::string wrong = expand(value, expanded); !wrong.empty()) {
    return std::string(key) + ": " + in_quotes(value) + " " + wrong;
  }
  return apply_key(draft, key, expanded);
}

}  // namespace

Status apply_config_lines(ConfigDraft& draft, std::string_view text, const std::string& name) {
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string wrong = apply_line(draft, text.substr(0, end)); !wrong.empty()) {
      return Status(Code::kInvalid, name + " line " + std::to_string(number) + ": " + wrong);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

Status apply_config_text(Config& config, const std::string& text, const std::string& name) {
  ConfigDraft draft;
  draft.config = config;
  RT_TRY(apply_config_lines(draft, text, name));
  file_done(draft);
  RT_TRY(all_done(draft));
  config = std::move(draft.config);
  return {};
}

Result<std::vector<std::string>> config_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  const fs::path folder = fs::path(path).parent_path() / "conf.d";
  std::error_code error;
  if (fs::is_directory(folder, error)) {
    // Not the range loop: its steps throw.
    fs::directory_iterator at(folder, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      if (at->path().extension() == ".conf") files.push_back(at->path().string());
    }
    if (error) {
      return Status(Code::kNotFound,
                    "config directory " + in_quotes(folder.string()) + ": " + error.message());
    }
  }
  std::sort(files.begin(), files.end());
  files.insert(files.begin(), path);
  return files;
}

Result<std::string> read_config_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text(kFileSizeMax + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad() || (in.fail() && !in.eof())) {
    const std::string reason = errno == 0 ? "it cannot be read" : std::strerror(errno);
    return Status(Code::kNotFound, "config file " + in_quotes(path) + ": " + reason);
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kFileSizeMax) {
    return Status(Code::kInvalid, "config file " + in_quotes(path) + " is larger than 4 MiB");
  }
  return text;
}

}  // namespace ringtail::runtime
