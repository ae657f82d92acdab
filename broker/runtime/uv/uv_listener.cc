#include "broker/runtime/uv/uv_listener.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "broker/runtime/log.h"
#include "broker/runtime/uv/uv_error.h"
#include "broker/runtime/uv/uv_tcp.h"

namespace ringtail::runtime {

namespace {

// Connections accepted in one go before the loop looks at its other sockets.
constexpr int kAcceptsPerTurn = 64;
// How long a listener rests when the process has no descriptor left.
constexpr std::uint64_t kRestMs = 100;

class UvListener final : public Listener {
 public:
  UvListener(UvLoop& loop, int fd, std::function<void(std::unique_ptr<AcceptedSocket>)> accepted)
      : state_(new State{.fd = fd, .accepted = std::move(accepted)}) {
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
    state_->address = SocketAddress::from(reinterpret_cast<const sockaddr*>(&bound));
    uv_poll_init(loop.handle(), &state_->poll, fd);
    state_->poll.data = state_;
    uv_timer_init(loop.handle(), &state_->rest);
    state_->rest.data = state_;
    state_->listen();
  }

  ~UvListener() override {
    state_->closing = true;
    const auto closed = [](uv_handle_t* handle) noexcept {
      auto* state = static_cast<State*>(handle->data);
      if (--state->open_handles == 0) delete state;
    };
    uv_close(reinterpret_cast<uv_handle_t*>(&state_->poll), closed);
    uv_close(reinterpret_cast<uv_handle_t*>(&state_->rest), closed);
    ::close(state_->fd);  // libuv has forgotten it: uv_close() stops a poll handle at once
  }

  std::string local_name() const override { return state_->address.name(); }
  std::uint16_t port() const override { return state_->address.port; }

 private:
  struct State {
    uv_poll_t poll{};
    uv_timer_t rest{};
    int fd;
    std::function<void(std::unique_ptr<AcceptedSocket>)> accepted;
    SocketAddress address{};
    int open_handles = 2;
    bool closing = false;
    bool complained = false;

    void listen() {
      uv_poll_start(&poll, UV_READABLE, [](uv_poll_t* handle, int, int) noexcept {
        static_cast<State*>(handle->data)->accept_some();
      });
    }

    // `accepted` may destroy the listener.
    void accept_some() noexcept {
      for (int i = 0; i < kAcceptsPerTurn && !closing; ++i) {
        const int connection = ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection >= 0) {
          complained = false;
          accepted(std::make_unique<UvAcceptedSocket>(connection));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
          return;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          rest_from(errno);
          return;
        }
        // Anything else is the fate of one connection that was given up meanwhile (accept(2)).
      }
    }

    // The connections stay in the backlog; the kernel would report them again and again.
    void rest_from(int error) {
      if (!complained) {
        log(LogLevel::kWarning, "listener", "{} cannot accept: {}; trying again every {} ms",
            address.name(), uv_strerror(-error), kRestMs);
      }
      complained = true;
      uv_poll_stop(&poll);
      uv_timer_start(
          &rest, [](uv_timer_t* handle) noexcept { static_cast<State*>(handle->data)->listen(); },
          kRestMs, 0);
    }
  };

  State* state_;  // outlives the listener until libuv has let go of the handles
};

Status listen_status(int error, const std::string& name) {
  switch (error) {
    case EADDRINUSE:
      return {Code::kBusy, "cannot listen on " + name + ": the port is in use"};
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return {Code::kInvalid, "cannot listen on " + name + ": not an address of this machine"};
    default:
      return errno_status(error, "cannot listen on " + name);
  }
}

}  // namespace

UvAcceptedSocket::~UvAcceptedSocket() {
  if (fd_ >= 0) ::close(fd_);
}

Status parse_address(const std::string& address, std::uint16_t port, sockaddr_storage& out) {
  out = {};
  if (uv_ip4_addr(address.c_str(), port, reinterpret_cast<sockaddr_in*>(&out)) == 0) return {};
  if (uv_ip6_addr(address.c_str(), port, reinterpret_cast<sockaddr_in6*>(&out)) == 0) return {};
  return {Code::kInvalid, "'" + address + "' is not a numeric IPv4 or IPv6 address"};
}

Result<std::unique_ptr<Listener>> uv_listen_on(
    UvLoop& loop, const std::string& address, std::uint16_t port,
    std::function<void(std::unique_ptr<AcceptedSocket>)> accepted, int backlog) {
  sockaddr_storage wanted{};
  RT_TRY(parse_address(address, port, wanted));
  const auto* const wanted_address = reinterpret_cast<const sockaddr*>(&wanted);
  const std::string name = SocketAddress::from(wanted_address).name();
  const bool v6 = wanted.ss_family == AF_INET6;

  const int fd = ::socket(wanted.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return listen_status(errno, name);
  const int on = 1;
  // SO_REUSEADDR: not to wait for old connections in TIME_WAIT; a live listener still excludes.
  bool ok = ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0;
  ok = ok && (!v6 || ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0);
  ok = ok && ::bind(fd, wanted_address, v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)) == 0;
  ok = ok && ::listen(fd, backlog) == 0;
  if (!ok) {
    const int error = errno;
    ::close(fd);
    return listen_status(error, name);
  }
  return std::unique_ptr<Listener>(new UvListener(loop, fd, std::move(accepted)));
}

}  // namespace ringtail::runtime
