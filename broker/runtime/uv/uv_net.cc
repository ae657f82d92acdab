#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/uv/uv_error.h"
#include "broker/runtime/uv/uv_listener.h"
#include "broker/runtime/uv/uv_tcp.h"

namespace ringtail::runtime {

SocketAddress SocketAddress::from(const sockaddr* address) {
  SocketAddress result;
  if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    result.v6 = true;
    result.port = ntohs(v6->sin6_port);
    std::memcpy(result.ip, &v6->sin6_addr, 16);
  } else if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    result.port = ntohs(v4->sin_port);
    std::memcpy(result.ip, &v4->sin_addr, 4);
  }
  return result;
}

std::string SocketAddress::name() const {
  char text[INET6_ADDRSTRLEN] = {};
  uv_inet_ntop(v6 ? AF_INET6 : AF_INET, ip, text, sizeof(text));
  const std::string host = v6 ? "[" + std::string(text) + "]" : std::string(text);
  return host + ":" + std::to_string(port);
}

bool SocketAddress::loopback() const {
  if (!v6) return ip[0] == 127;
  in6_addr address{};
  std::memcpy(&address, ip, 16);
  return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && ip[12] == 127);
}

UvNet::UvNet(UvLoop& loop) : loop_(loop) {
  uv_timer_init(loop.handle(), &linger_timer_);
  linger_timer_.data = this;
  uv_timer_init(loop.handle(), &connect_timer_);
  connect_timer_.data = this;
}

UvNet::~UvNet() { RT_CHECK(open_timers_ == 0, "destroyed before its handles were closed"); }

Result<std::unique_ptr<Listener>> UvNet::listen(
    const std::string& address, std::uint16_t port,
    std::function<void(std::unique_ptr<AcceptedSocket>)> accepted, int backlog) {
  return uv_listen_on(loop_, address, port, std::move(accepted), backlog);
}

Result<std::unique_ptr<Stream>> UvNet::adopt(std::unique_ptr<AcceptedSocket> socket) {
  auto* accepted = static_cast<UvAcceptedSocket*>(socket.get());  // all listeners here are ours
  TcpSocket* tcp = TcpSocket::create(*this);
  const int error = uv_tcp_open(tcp->handle(), accepted->fd());
  if (error != 0) {
    tcp->close_handle();
    return uv_status(error, "cannot adopt a connection");
  }
  accepted->released();
  tcp->opened();
  return make_stream(tcp);
}

void UvNet::connect(const std::string& address, std::uint16_t port,
                    std::function<void(Result<std::unique_ptr<Stream>>)> done,
                    std::uint64_t timeout_ms) {
  sockaddr_storage target{};
  if (Status parsed = parse_address(address, port, target); !parsed.ok()) {
    loop_.defer([parsed, done = std::move(done)] { done(parsed); });
    return;
  }
  const auto* const target_address = reinterpret_cast<const sockaddr*>(&target);
  auto attempt = std::make_unique<ConnectAttempt>();
  attempt->request.data = attempt.get();
  attempt->socket = TcpSocket::create(*this);
  attempt->name = SocketAddress::from(target_address).name();
  attempt->done = std::move(done);
  const int error =
      uv_tcp_connect(&attempt->request, attempt->socket->handle(), target_address, on_connected);
  if (error != 0) {
    attempt->socket->close_handle();
    loop_.defer([failed = uv_status(error, "cannot connect to " + attempt->name),
                 asked = std::move(attempt->done)] { asked(failed); });
    return;
  }
  ConnectAttempt& under_way = *attempt.release();
  if (timeout_ms != 0) under_way.until_ms = loop_.now_ms() + timeout_ms;
  connecting_.push_back(under_way);
  watch_attempts();
}

void UvNet::on_connected(uv_connect_t* request, int error) noexcept {
  const std::unique_ptr<ConnectAttempt> own(static_cast<ConnectAttempt*>(request->data));
  UvNet& net = own->socket->net();
  if (own->is_linked()) {
    net.connecting_.erase(net.connecting_.iterator_to(*own));
    net.watch_attempts();
  }
  if (own->late) {
    own->done(uv_status(UV_ETIMEDOUT, "cannot connect to " + own->name));
  } else if (error == UV_ECANCELED) {
    return;  // the loop is ending, and so is whoever asked
  } else if (error != 0) {
    own->socket->close_handle();
    own->done(uv_status(error, "cannot connect to " + own->name));
  } else {
    own->socket->opened();
    own->done(make_stream(own->socket));
  }
}

void UvNet::watch_attempts() {
  std::uint64_t first = kNoLimit;
  for (const ConnectAttempt& attempt : connecting_) first = std::min(first, attempt.until_ms);
  if (first == kNoLimit) {
    uv_timer_stop(&connect_timer_);
    return;
  }
  const std::uint64_t now = loop_.now_ms();
  uv_timer_start(
      &connect_timer_,
      [](uv_timer_t* timer) noexcept { static_cast<UvNet*>(timer->data)->end_late_attempts(); },
      first > now ? first - now : 0, 0);
}

// The end of each is told from the loop, when its socket has been closed.
void UvNet::end_late_attempts() noexcept {
  const std::uint64_t now = loop_.now_ms();
  connecting_.remove_and_dispose_if(
      [now](const ConnectAttempt& attempt) { return attempt.until_ms <= now; },
      [](ConnectAttempt* attempt) {
        attempt->late = true;
        attempt->socket->close_handle();
      });
  watch_attempts();
}

void UvNet::give_up_connecting() {
  for (ConnectAttempt& attempt : connecting_) attempt.socket->close_handle();
}

void UvNet::add_lingering(TcpSocket& socket) {
  if (lingering_.size() >= kLingeringMax) lingering_.front().close_handle();
  lingering_.push_back(socket);
  if (uv_is_active(reinterpret_cast<uv_handle_t*>(&linger_timer_))) return;
  uv_timer_start(
      &linger_timer_,
      [](uv_timer_t* timer) noexcept { static_cast<UvNet*>(timer->data)->end_lingering(); },
      kLingerMs, 0);
}

void UvNet::remove_lingering(TcpSocket& socket) {
  lingering_.erase(lingering_.iterator_to(socket));
  if (lingering_.empty()) uv_timer_stop(&linger_timer_);
}

void UvNet::end_lingering() noexcept {
  const std::uint64_t now = loop_.now_ms();
  while (!lingering_.empty() && lingering_.front().linger_until_ms() <= now) {
    lingering_.front().close_handle();
  }
  if (lingering_.empty()) return;
  uv_timer_start(
      &linger_timer_,
      [](uv_timer_t* timer) noexcept { static_cast<UvNet*>(timer->data)->end_lingering(); },
      lingering_.front().linger_until_ms() - now, 0);
}

void UvNet::close_handles() {
  // Every TCP handle of the loop is a TcpSocket of ours.
  uv_walk(
      loop_.handle(),
      [](uv_handle_t* handle, void*) noexcept {
        if (handle->type == UV_TCP) static_cast<TcpSocket*>(handle->data)->close_handle();
      },
      nullptr);
  for (uv_timer_t* timer : {&linger_timer_, &connect_timer_}) {
    uv_close(reinterpret_cast<uv_handle_t*>(timer), [](uv_handle_t* handle) noexcept {
      --static_cast<UvNet*>(handle->data)->open_timers_;
    });
  }
}

}  // namespace ringtail::runtime
