#include "broker/http/body.h"

#include <algorithm>
#include <charconv>

namespace ringtail::broker::http {

namespace {

bool holds_null(const Json& json) {
  if (json.is_null()) return true;
  return json.is_structured() && std::any_of(json.begin(), json.end(), holds_null);
}

void add_words(std::string_view text, std::vector<std::string>& words) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words.emplace_back(word);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

}  // namespace

Body::Body(const Request& request) {
  if (request.body.empty()) return;
  auto parsed = parse_json(request.body);
  if (!parsed.ok()) {
    fail("not_json");
  } else if (parsed.value().is_object()) {
    json_ = std::move(parsed).value();
  } else if (!parsed.value().is_null()) {
    fail("not_json");
  }
}

void Body::fail(const Json& reason) {
  if (!fault_) fault_ = bad_request(reason);
}

void Body::require(std::initializer_list<std::string_view> keys) {
  std::string missing;
  for (const std::string_view key : keys) {
    if (has(key)) continue;
    missing += missing.empty() ? "[" : ",";
    missing.append("{key_missing,").append(key).append("}");
  }
  if (!missing.empty()) fail(missing + "]");
}

const Json* Body::find(std::string_view key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool Body::boolean(std::string_view key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  if (*value == "true") return true;
  if (*value == "false") return false;
  fail(Json::array({"not_boolean", *value}));
  return fallback;
}

std::int64_t Body::integer(std::string_view key, std::int64_t fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end && !text.empty()) return number;
  }
  fail(Json::array({"not_integer", *value}));
  return fallback;
}

std::string Body::text(std::string_view key, std::string_view fallback) {
  const Json* value = find(key);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  fail(Json::array({"not_a_string", std::string(key), *value}));
  return std::string(fallback);
}

std::vector<std::string> Body::words(std::string_view key) {
  std::vector<std::string> words;
  const Json* value = find(key);
  if (value == nullptr) return words;
  if (value->is_string()) {
    add_words(value->get_ref<const std::string&>(), words);
    return words;
  }
  if (value->is_array() &&
      std::all_of(value->begin(), value->end(), [](const Json& j) { return j.is_string(); })) {
    for (const Json& word : *value) add_words(word.get_ref<const std::string&>(), words);
    return words;
  }
  fail(Json::array({"not_a_list_of_strings", std::string(key), *value}));
  return words;
}

std::string Body::arguments(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (holds_null(*value)) {
    fail("null_not_allowed");
    return {};
  }
  auto encoded = arguments_of_json(*value);
  if (encoded.ok()) return std::move(encoded).value();
  fail(encoded.status().text());
  return {};
}

}  // namespace ringtail::broker::http
