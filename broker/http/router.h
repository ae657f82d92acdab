// Which route answers a request, and whether its sender may use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/http/call.h"
#include "broker/http/login.h"
#include "broker/http/message.h"

namespace ringtail::broker::http {

// Whom a route lets in.
enum class Access : unsigned char {
  kManagement,     // every user with a tag of the management
  kVhost,          // ... who may enter the vhost, the route's first open part
  kVhostVisible,   // ... or is a monitor
  kPolicymaker,    // as kVhost, and may make policies
  kMonitoring,     // monitors
  kAdministrator,  // administrators
};

using Handler = Response (*)(Call&);

struct Route {
  const char* method;  // GET also answers HEAD
  const char* path;    // "/api/queues/*/*": "*" is an open part
  Access access;
  Handler handler;
};

// Made before the server starts, then read by its threads.
class Router {
 public:
  Router(Gateway& gateway, const NodeFacts& facts) : gateway_(gateway), facts_(facts) {}

  void add(const Route& route);
  // Of a node whose app is stopped: these are all users that there are, and what it has no route
  // for is answered with 503.
  void set_stopped(std::vector<Call::UserPtr> users) {
    stopped_ = true;
    users_ = std::move(users);
  }

  // What a request comes to before its body has been read: who may not go on hears so at once, and
  // costs no more.
  struct Begun {
    std::optional<Response> refused;
    const Route* route = nullptr;
    std::vector<std::string> parts;
    Call::UserPtr user;
  };
  Begun begin(const Request& request, std::uint64_t now_ms);
  Response finish(const Request& request, Begun begun);
  Response answer(const Request& request, std::uint64_t now_ms);

 private:
  struct Compiled {
    Route route;
    std::vector<std::string> segments;
  };

  const Compiled* find(const Request& request, std::string& allowed) const;
  std::optional<Response> log_in(const Request& request, std::uint64_t now_ms, Call& call,
                                 Call::UserPtr& user);
  std::optional<Response> refuse(const Route& route, Call& call) const;
  bool find_user(const std::string& name, Call& call, Call::UserPtr& user) const;

  Gateway& gateway_;
  const NodeFacts& facts_;
  LoginThrottle throttle_;
  std::vector<Compiled> routes_;
  bool stopped_ = false;
  std::vector<Call::UserPtr> users_;
};

}  // namespace ringtail::broker::http
