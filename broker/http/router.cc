#include "broker/http/router.h"

#include <algorithm>

#include "broker/passwords.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/log.h"

namespace ringtail::broker::http {

using cluster::metadata::View;

namespace {

Response login_failed() {
  Response response = not_authorised("Login failed");
  response.body = R"({"error":"not_authorized","reason":"Login failed"})";
  return response;
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& segments) {
  if (pattern.size() != segments.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != "*" && pattern[i] != segments[i]) return false;
  }
  return true;
}

Response unavailable(const runtime::Status& status) {
  Response response = failure(503, "service_unavailable", status.text());
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

// What a PUT makes gets a name that AMQP can say, and every list can show.
std::optional<Response> refuse_long_names(const std::vector<std::string>& parts) {
  constexpr std::size_t kShown = 32;
  for (const std::string& name : parts) {
    if (name.size() <= runtime::kShortStringMax) continue;
    // Not in the middle of a character.
    std::size_t shown = kShown;
    while (shown > 0 && (static_cast<unsigned char>(name[shown]) & 0xC0) == 0x80) --shown;
    return bad_request("the name '" + name.substr(0, shown) + "...' has " +
                       std::to_string(name.size()) + " bytes, it may have up to " +
                       std::to_string(runtime::kShortStringMax));
  }
  return std::nullopt;
}

}  // namespace

void Router::add(const Route& route) {
  Request pattern;
  read_target(route.path, pattern);
  routes_.push_back({route, std::move(pattern.segments)});
}

// A route that names a part comes before one that leaves it open, whatever the order of adding.
const Router::Compiled* Router::find(const Request& request, std::string& allowed) const {
  const std::string_view asked = request.method;
  const std::string_view method = asked == "HEAD" ? "GET" : asked;
  const Compiled* found = nullptr;
  for (const Compiled& compiled : routes_) {
    if (!matches(compiled.segments, request.segments)) continue;
    const std::string_view other = compiled.route.method;
    if (allowed.find(other) == std::string::npos) {
      if (other == "GET") allowed += "HEAD, ";
      allowed.append(other).append(", ");
    }
    if (other != method) continue;
    const auto open_parts = [](const Compiled& one) {
      return std::count(one.segments.begin(), one.segments.end(), "*");
    };
    if (found == nullptr || open_parts(compiled) < open_parts(*found)) found = &compiled;
  }
  if (!allowed.empty()) allowed += "OPTIONS";
  return found;
}

// False: nobody knows.
bool Router::find_user(const std::string& name, Call& call, Call::UserPtr& user) const {
  if (!stopped_) return call.read([&](const View& view) { user = view.user(name); });
  for (const Call::UserPtr& known : users_) {
    if (known->name == name) user = known;
  }
  return true;
}

std::optional<Response> Router::log_in(const Request& request, std::uint64_t now_ms, Call& call,
                                       Call::UserPtr& user) {
  const std::string_view authorization = request.header("authorization");
  if (authorization.empty()) {
    Response response = not_authorised("");
    response.body.clear();
    return response;
  }
  const auto credentials = basic_credentials(authorization);
  if (!credentials) return login_failed();
  const std::string source = guessing_source(request.peer);
  if (!throttle_.may_try(source, *credentials, now_ms)) {
    Response response = failure(429, "too_many_requests",
                                "too many failed logins from this address, try again later");
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }
  if (!find_user(credentials->user, call, user)) return unavailable(call.failure());
  const bool matches = user == nullptr ? no_password_matches(credentials->password)
                                       : password_matches(*user, credentials->password);
  if (!matches) {
    throttle_.failed(source, credentials->user, now_ms);
    runtime::log(runtime::LogLevel::kWarning, "http", "login of user '{}' from {} failed",
                 credentials->user, request.peer);
    return login_failed();
  }
  throttle_.succeeded(source, *credentials);
  const auto& local = facts_.config->loopback_users;
  if (!request.peer_is_loopback && std::find(local.begin(), local.end(), user->name) != local.end())
    return not_authorised("User can only log in via localhost");
  return std::nullopt;
}

std::optional<Response> Router::refuse(const Route& route, Call& call) const {
  if (!call.is_manager()) return not_authorised("Not management user");
  switch (route.access) {
    case Access::kManagement:
      return std::nullopt;
    case Access::kMonitoring:
      if (!call.is_monitor()) return not_authorised("Not monitor user");
      return std::nullopt;
    case Access::kAdministrator:
      if (!call.is_administrator()) return not_authorised("Not administrator user");
      return std::nullopt;
    case Access::kPolicymaker:
      if (!call.is_policymaker()) {
        return not_authorised("User not authorised to access object");
      }
      break;
    case Access::kVhost:
    case Access::kVhostVisible:
      break;
  }
  bool exists = false;
  bool may = false;
  const std::string& vhost = call.part(0);
  const bool read = call.read([&](const View& view) {
    exists = view.has_vhost(vhost);
    may = route.access == Access::kVhostVisible ? call.may_see(view, vhost)
                                                : call.may_enter(view, vhost);
    // What is no client's business needs no permission of a client's.
    may |= route.access == Access::kPolicymaker && call.is_administrator();
  });
  if (!read) return unavailable(call.failure());
  if (!exists) {
    if (std::string_view(route.method) != "PUT") return not_found();
    return failure(404, "not_found", "vhost_not_found");
  }
  if (!may) return not_authorised("User not authorised to access virtual host");
  return std::nullopt;
}

Router::Begun Router::begin(const Request& request, std::uint64_t now_ms) {
  Begun begun;
  std::string allowed;
  const Compiled* found = find(request, allowed);
  if (found == nullptr) {
    begun.refused =
        stopped_ ? failure(503, "app", "the node's app is stopped: start_app") : not_found();
    if (allowed.empty()) return begun;
    begun.refused = Response{};
    begun.refused->status = request.method == "OPTIONS" ? 200 : 405;
    begun.refused->headers.emplace_back("Allow", allowed);
    return begun;
  }
  for (std::size_t i = 0; i < found->segments.size(); ++i) {
    if (found->segments[i] == "*") begun.parts.push_back(request.segments[i]);
  }
  begun.route = &found->route;
  Call call(request, gateway_, facts_);
  call.set_parts(begun.parts);
  begun.refused = log_in(request, now_ms, call, begun.user);
  if (begun.refused) return begun;
  call.set_user(begun.user);
  begun.refused = refuse(found->route, call);
  if (!begun.refused && request.method == "PUT") begun.refused = refuse_long_names(begun.parts);
  return begun;
}

Response Router::finish(const Request& request, Begun begun) {
  if (begun.refused) return *begun.refused;
  Call call(request, gateway_, facts_);
  call.set_parts(std::move(begun.parts));
  call.set_user(std::move(begun.user));
  Response response = begun.route->handler(call);
  return call.failed() ? unavailable(call.failure()) : response;
}

Response Router::answer(const Request& request, std::uint64_t now_ms) {
  return finish(request, begin(request, now_ms));
}

}  // namespace ringtail::broker::http
