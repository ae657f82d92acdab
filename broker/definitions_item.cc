#include "broker/definitions_item.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <utility>

#include "broker/runtime/limits.h"

namespace ringtail::broker {

void DefinitionItem::fail(std::string fault) {
  if (fault_.empty()) fault_ = std::move(fault);
}

const Json* DefinitionItem::find(std::string_view key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::string DefinitionItem::text(std::string_view key) {
  if (find(key) == nullptr) fail(fmt::format("{} is missing", key));
  return text_or(key, "");
}

std::string DefinitionItem::name(std::string_view key) {
  std::string name = text(key);
  if (name.size() > runtime::kShortStringMax) {
    fail(fmt::format("{} has {} bytes: names have at most {}", key, name.size(),
                     runtime::kShortStringMax));
  }
  return name;
}

std::string DefinitionItem::text_or(std::string_view key, std::string_view fallback) {
  const Json* found = find(key);
  if (found == nullptr) return std::string(fallback);
  if (found->is_string()) return found->get<std::string>();
  fail(fmt::format("{} has to be text, not {}", key, json_text(*found)));
  return {};
}

bool DefinitionItem::flag(std::string_view key, std::optional<bool> fallback) {
  const Json* found = find(key);
  if (found == nullptr) {
    if (!fallback) fail(fmt::format("{} is missing", key));
    return fallback.value_or(false);
  }
  if (found->is_boolean()) return found->get<bool>();
  if (*found == "true") return true;
  if (*found == "false") return false;
  fail(fmt::format("{} has to be true or false, not {}", key, json_text(*found)));
  return false;
}

std::int64_t DefinitionItem::number_or(std::string_view key, std::int64_t fallback) {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  if (const auto number = whole_number(*found)) return *number;
  fail(fmt::format("{} has to be a whole number, not {}", key, json_text(*found)));
  return fallback;
}

std::vector<std::string> DefinitionItem::words(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return {};
  if (found->is_string()) return words_of(found->get_ref<const std::string&>());
  std::vector<std::string> words;
  bool all_text = found->is_array();
  if (all_text) {
    for (const Json& word : *found) {
      all_text = all_text && word.is_string();
      if (all_text) words.push_back(word.get<std::string>());
    }
  }
  if (!all_text) {
    fail(fmt::format("{} has to be a list of text, or text with commas, not {}", key,
                     json_text(*found)));
  }
  return words;
}

std::string DefinitionItem::arguments() {
  const Json* found = find("arguments");
  if (found == nullptr) return {};
  auto encoded = arguments_of_json(*found);
  if (encoded.ok()) return std::move(encoded).value();
  const bool of_whole = encoded.status().text().starts_with("arguments ");
  fail((of_whole ? "" : "argument ") + encoded.status().text());
  return {};
}

std::optional<std::int64_t> whole_number(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.get_ref<const std::string&>();
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

}  // namespace ringtail::broker
