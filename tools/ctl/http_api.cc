#include "tools/ctl/http_api.h"

#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>

#include <algorithm>
#include <chrono>

namespace ringtail::ctl {

using runtime::Code;
using runtime::Result;
using runtime::Status;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPause{250};
constexpr milliseconds kForever = std::chrono::hours(24);
constexpr milliseconds kConnectTimeout{5000};

class HttpApi final : public Api {
 public:
  HttpApi(const Url& url, double timeout_s)
      : url_(url), client_(url.host, url.port), deadline_(Clock::time_point::max()) {
    if (timeout_s > 0) {
      deadline_ = Clock::now() + milliseconds(static_cast<std::int64_t>(timeout_s * 1000));
    }
    client_.set_keep_alive(true);
    client_.set_url_encode(false);  // paths come encoded
  }

  Result<Reply> call(const Request& request) override {
    const milliseconds left = time_left();
    if (left <= milliseconds::zero()) return timed_out();
    client_.set_connection_timeout(std::min(left, kConnectTimeout));
    client_.set_read_timeout(left);
    client_.set_write_timeout(left);
    const auto result = client_.send(httplib_request(request));
    if (result) return Reply{result->status, result->body};
    if (result.error() == httplib::Error::Read && time_left() <= milliseconds::zero()) {
      return timed_out();
    }
    return Status{Code::kUnavailable, failure_text(httplib::to_string(result.error()))};
  }

  bool connects(const std::string& host, std::uint16_t port) override {
    httplib::Error error = httplib::Error::Success;
    const std::string& where = host.empty() ? url_.host : host;
    const socket_t socket = httplib::detail::create_client_socket(
        where, "", port, AF_UNSPEC, true, nullptr, kConnectTimeout.count() / 1000, 0, 5, 0, 5, 0,
        "", error);
    if (socket == INVALID_SOCKET) return false;
    httplib::detail::close_socket(socket);
    return true;
  }

  bool pause() override {
    const milliseconds left = time_left();
    if (left <= milliseconds::zero()) return false;
    ::poll(nullptr, 0, static_cast<int>(std::min(left, kPause).count()));
    return true;
  }

  std::string where() const override {
    return fmt::format("http://{}:{}{}",
                       url_.host.find(':') == std::string::npos ? url_.host : "[" + url_.host + "]",
                       url_.port, url_.prefix);
  }

 private:
  milliseconds time_left() const {
    if (deadline_ == Clock::time_point::max()) return kForever;
    return std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
  }

  Status timed_out() const {
    return {Code::kTimeout,
            fmt::format("no answer from {} in the time given by --timeout", where())};
  }

  std::string failure_text(const std::string& why) const {
    return fmt::format(
        "unable to perform an operation on the node at {}: nobody answers ({}).\n\n"
        "Most common reasons for this are:\n\n"
        " * the node is not running\n"
        " * its management port is another one, or off: --url http://user:password@host:port names "
        "it\n"
        " * host name, network or firewall keep this machine from it\n\n"
        "attempted to contact: {}",
        where(), why, where());
  }

  httplib::Request httplib_request(const Request& request) const {
    httplib::Request out;
    out.method = request.method;
    out.path = url_.prefix + "/api/" + request.path;
    const auto& [user, password] = request.login.value_or(std::pair(url_.user, url_.password));
    out.headers.insert(httplib::make_basic_authentication_header(user, password));
    for (const auto& [name, value] : request.headers) out.headers.emplace(name, value);
    if (request.body) {
      out.body = *request.body;
      out.headers.emplace("Content-Type", "application/json");
    }
    return out;
  }

  const Url url_;
  httplib::Client client_;
  Clock::time_point deadline_;
};

}  // namespace

std::unique_ptr<Api> make_http_api(const Url& url, double timeout_s) {
  return std::make_unique<HttpApi>(url, timeout_s);
}

}  // namespace ringtail::ctl
