#include "tools/ctl/api.h"

#include <fmt/format.h>

namespace ringtail::ctl {

namespace {

// RabbitMQ's pages and this text have some characters in common that only pages need escaped.
std::string unescaped(std::string text) {
  for (const auto& [escaped, plain] : {std::pair<std::string_view, std::string_view>{"&lt;", "<"},
                                       {"&gt;", ">"},
                                       {"&quot;", "\""},
                                       {"&#39;", "'"},
                                       {"&amp;", "&"}}) {
    for (std::size_t at = text.find(escaped); at != std::string::npos;
         at = text.find(escaped, at + plain.size())) {
      text.replace(at, escaped.size(), plain);
    }
  }
  return text;
}

}  // namespace

Json Reply::json() const {
  Json parsed = Json::parse(body, nullptr, false);
  return parsed.is_discarded() ? Json() : parsed;
}

std::string Reply::reason() const {
  const Json parsed = json();
  if (parsed.is_object() && parsed.contains("reason")) {
    const Json& reason = parsed["reason"];
    if (reason.is_string()) return unescaped(reason.get<std::string>());
    return reason.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return fmt::format("the answer was HTTP status {}", status);
}

const Json& field(const Json& object, const char* name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

std::string encoded(std::string_view segment) {
  std::string out;
  for (const char c : segment) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

std::string path_of(const std::vector<std::string>& segments) {
  std::string path;
  for (const std::string& segment : segments) {
    if (!path.empty()) path += '/';
    path += encoded(segment);
  }
  return path;
}

}  // namespace ringtail::ctl
