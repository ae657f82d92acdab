// What routes read from a request's JSON body, with RabbitMQ's leniency: true, false and numbers
// may come as text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/http/message.h"
#include "broker/json_table.h"

namespace ringtail::broker::http {

// Reads one body; the first thing that is wrong is kept as the answer to give. Getters after that
// give what they can.
class Body {
 public:
  // An empty body and null are the empty object.
  explicit Body(const Request& request);

  bool ok() const { return !fault_; }
  // 400. Only when !ok().
  const Response& fault() const { return *fault_; }
  void fail(const Json& reason);

  // A fault that names those of `keys` which are missing.
  void require(std::initializer_list<std::string_view> keys);
  // Null: no such key, or null is its value.
  const Json* find(std::string_view key) const;
  bool is_null(std::string_view key) const { return json_.contains(key) && !has(key); }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // `fallback` when it is missing; a fault when it is something else.
  bool boolean(std::string_view key, bool fallback);
  std::int64_t integer(std::string_view key, std::int64_t fallback);
  std::string text(std::string_view key, std::string_view fallback);
  // "a, b", or a list of text.
  std::vector<std::string> words(std::string_view key);
  // A field table's bytes; [] and none are empty.
  std::string arguments(std::string_view key);

  const Json& json() const { return json_; }

 private:
  Json json_ = Json::object();
  std::optional<Response> fault_;
};

}  // namespace ringtail::broker::http
