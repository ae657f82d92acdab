// Listening sockets on a libuv loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/runtime/net.h"
#include "broker/runtime/uv/uv_loop.h"

namespace ringtail::runtime {

// A connected descriptor on its way from the loop that accepted it to the one that adopts it.
class UvAcceptedSocket final : public AcceptedSocket {
 public:
  explicit UvAcceptedSocket(int fd) : fd_(fd) {}
  UvAcceptedSocket(const UvAcceptedSocket&) = delete;
  UvAcceptedSocket& operator=(const UvAcceptedSocket&) = delete;
  ~UvAcceptedSocket() override;

  int fd() const { return fd_; }
  // The descriptor has another owner now.
  void released() { fd_ = -1; }

 private:
  int fd_;
};

// See Net::listen. Accepts by itself instead of through uv_listen, so that a descriptor can go to
// another loop without a copy, and so that running out of descriptors can be waited out.
Result<std::unique_ptr<Listener>> uv_listen_on(
    UvLoop& loop, const std::string& address, std::uint16_t port,
    std::function<void(std::unique_ptr<AcceptedSocket>)> accepted, int backlog);

// The numeric address as a sockaddr; kInvalid names it.
Status parse_address(const std::string& address, std::uint16_t port, sockaddr_storage& out);

}  // namespace ringtail::runtime
