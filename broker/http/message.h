// An HTTP request and its answer as the routes see them: nothing of the HTTP library, so that tests
// need no socket.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/json_table.h"

namespace ringtail::broker::http {

struct Request {
  std::string method;                 // "GET"; HEAD is one
  std::string path;                   // as it came, still encoded, without the query
  std::vector<std::string> segments;  // of the path, decoded; empty ones are left out
  std::map<std::string, std::string, std::less<>> query;    // the last of a name counts
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;
  std::string peer;  // numeric address
  bool peer_is_loopback = false;

  // Empty when there is none.
  std::string_view header(std::string_view name) const;
  std::string_view parameter(std::string_view name) const;
  // "true" in any case.
  bool flag(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
};

// Splits "/api/queues/%2F?page=1" into `request`. False: a percent sign without two digits, or a
// zero byte.
bool read_target(std::string_view target, Request& request);
// %XX becomes its byte; none: cut short, or no digits. '+' stays as it is.
std::optional<std::string> percent_decode(std::string_view text);
// All but letters, digits, '-', '_', '.' and '~'.
std::string percent_encode(std::string_view text);

Response json_response(const Json& json, int status = 200);
// {"error":..., "reason":...}, as RabbitMQ's.
Response failure(int status, std::string_view error, const Json& reason);
Response bad_request(const Json& reason);
// 401, with the header that makes a browser ask.
Response not_authorised(std::string_view reason);
Response not_found();
Response created();     // 201
Response no_content();  // 204

}  // namespace ringtail::broker::http
