#include "broker/http/listen_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "broker/http/limits.h"

namespace ringtail::broker::http {

using runtime::Code;
using runtime::Status;

namespace {

std::string name_of(const std::string& address, std::uint16_t port) {
  const bool six = address.find(':') != std::string::npos;
  return six ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

// The size of what was filled in; 0: no numeric address.
socklen_t fill(const std::string& address, std::uint16_t port, sockaddr_storage& name) {
  auto& four = reinterpret_cast<sockaddr_in&>(name);
  auto& six = reinterpret_cast<sockaddr_in6&>(name);
  if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    return sizeof four;
  }
  if (inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    return sizeof six;
  }
  return 0;
}

Status listen_failure(const std::string& address, std::uint16_t port, int error) {
  const std::string name = name_of(address, port);
  if (error == EADDRINUSE) {
    return {Code::kBusy, fmt::format("HTTP listener {}: the port is in use", name)};
  }
  if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
    return {Code::kInvalid, fmt::format("HTTP listener {}: not an address of this machine", name)};
  }
  return {Code::kIo, fmt::format("HTTP listener {}: {}", name, std::strerror(error))};
}

}  // namespace

runtime::Result<ListenSocket> ListenSocket::open(const std::string& address, std::uint16_t port) {
  sockaddr_storage name{};
  socklen_t size = fill(address, port, name);
  if (size == 0) return listen_failure(address, port, EADDRNOTAVAIL);
  const int socket =
      ::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (socket < 0) return listen_failure(address, port, errno);
  ListenSocket listening(socket, address);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (name.ss_family == AF_INET6) {
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(socket, reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      ::listen(socket, kBacklog) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return listen_failure(address, port, errno);
  }
  listening.port_ =
      ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(name).sin_port);
  return listening;
}

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      address_(std::move(other.address_)),
      port_(other.port_) {}

ListenSocket& ListenSocket::operator=(ListenSocket&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(address_, other.address_);
  std::swap(port_, other.port_);
  return *this;
}

ListenSocket::~ListenSocket() {
  if (socket_ >= 0) ::close(socket_);
}

std::string ListenSocket::name() const { return name_of(address_, port_); }

}  // namespace ringtail::broker::http
