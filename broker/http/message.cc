#include "broker/http/message.h"

#include <algorithm>

namespace ringtail::broker::http {

namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

// In a query, unlike in a path, '+' is a space.
bool read_query(std::string_view query, Request& request) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    std::string pair(query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
    std::replace(pair.begin(), pair.end(), '+', ' ');
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decode(std::string_view(pair).substr(0, equals));
    const auto value =
        percent_decode(std::string_view(pair).substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return false;
    if (!name->empty()) request.query[*name] = *value;
  }
  return true;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : found->second;
}

std::string_view Request::parameter(std::string_view name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string_view() : found->second;
}

bool Request::flag(std::string_view name) const {
  std::string value(parameter(name));
  std::transform(value.begin(), value.end(), value.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return value == "true";
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit_of(text[i + 1]);
    const int low = digit_of(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (unreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHexDigits[byte >> 4];
    encoded += kHexDigits[byte & 15];
  }
  return encoded;
}

bool read_target(std::string_view target, Request& request) {
  target = target.substr(0, target.find('#'));
  const std::size_t question = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(0, question);
  request.path = path;
  request.segments.clear();
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      auto segment = percent_decode(path.substr(0, end));
      if (!segment || segment->find('\0') != std::string::npos) return false;
      request.segments.push_back(std::move(*segment));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return read_query(target.substr(std::min(question + 1, target.size())), request);
}

Response json_response(const Json& json, int status) {
  Response response;
  response.status = status;
  response.body = json_text(json);
  return response;
}

Response failure(int status, std::string_view error, const Json& reason) {
  return json_response({{"error", std::string(error)}, {"reason", reason}}, status);
}

Response bad_request(const Json& reason) { return failure(400, "bad_request", reason); }

Response not_authorised(std::string_view reason) {
  Response response = failure(401, "not_authorised", std::string(reason));
  response.headers.emplace_back("WWW-Authenticate", "Basic realm=\"RabbitMQ Management\"");
  return response;
}

Response not_found() { return failure(404, "Object Not Found", "Not Found"); }

Response created() {
  Response response;
  response.status = 201;
  return response;
}

Response no_content() {
  Response response;
  response.status = 204;
  return response;
}

}  // namespace ringtail::broker::http
