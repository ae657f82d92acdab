// Listening sockets of the HTTP server.
#pragma once

#include <cstdint>
#include <string>

#include "broker/runtime/status.h"

namespace ringtail::broker::http {

// Owns one listening socket.
class ListenSocket {
 public:
  // `address` numeric; port 0: any free one. kBusy: the port is in use; kInvalid: the address is
  // not this machine's. IPv6 sockets take IPv6 only.
  static runtime::Result<ListenSocket> open(const std::string& address, std::uint16_t port);
  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&& other) noexcept;
  ~ListenSocket();

  int socket() const { return socket_; }
  const std::string& address() const { return address_; }
  std::uint16_t port() const { return port_; }
  std::string name() const;  // "127.0.0.1:15672", "[::1]:15672"

 private:
  ListenSocket(int socket, std::string address) : socket_(socket), address_(std::move(address)) {}

  int socket_ = -1;
  std::string address_;
  std::uint16_t port_ = 0;
};

}  // namespace ringtail::broker::http
