// How commands reach the broker: requests to its HTTP interface. Behind an interface, so that tests
// answer in the broker's place.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/status.h"

namespace ringtail::ctl {

using Json = nlohmann::ordered_json;  // members stay in the order in which the broker sent them

struct Request {
  std::string method;
  std::string path;  // below /api/, encoded
  std::optional<std::string> body = {};
  std::map<std::string, std::string> headers = {};
  // In the place of those of the URL.
  std::optional<std::pair<std::string, std::string>> login = {};
};

struct Reply {
  int status = 0;
  std::string body;

  bool good() const { return status >= 200 && status < 300; }
  // Null (a JSON null) when the body is none.
  Json json() const;
  // What the broker says was wrong, as far as it says so.
  std::string reason() const;
};

class Api {
 public:
  virtual ~Api() = default;
  // kUnavailable: nobody answers; kTimeout: not in time. The text says what was tried.
  virtual runtime::Result<Reply> call(const Request& request) = 0;
  // Whether a connection to the port is taken; an empty host is that of the URL.
  virtual bool connects(const std::string& host, std::uint16_t port) = 0;
  // Lets some time pass between two attempts. False: there is none left.
  virtual bool pause() = 0;
  // "http://host:port", without the password.
  virtual std::string where() const = 0;
};

// The member of an object; null when there is none, or it is no object.
const Json& field(const Json& object, const char* name);

// "shop front/a" -> "shop%20front%2Fa": one segment of a path.
std::string encoded(std::string_view segment);
// The segments, encoded, with slashes between them: path_of({"queues", "/", "q"}).
std::string path_of(const std::vector<std::string>& segments);

}  // namespace ringtail::ctl
