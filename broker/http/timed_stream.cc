#include "broker/http/timed_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "broker/http/limits.h"

namespace ringtail::broker::http {

namespace {

constexpr int kLookMs = 50;     // how often one who waits looks whether the server stops
constexpr int kLingerMs = 500;  // how long finish() throws away input, or a stopping server waits
constexpr std::size_t kReadSize = 16 * 1024;
constexpr std::size_t kChunksRoom = 4096;  // what the framing of a chunked body may add

void name_of(const sockaddr_storage& address, std::string& host, int& port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
    port = ntohs(six.sin6_port);
  } else {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
    port = ntohs(four.sin_port);
  }
  host = text.data();
}

}  // namespace

TimedStream::TimedStream(int socket, std::string received, const std::atomic<bool>& stopping)
    : socket_(socket), stopping_(stopping), buffer_(std::move(received)), end_(buffer_.size()) {
  if (buffer_.size() < kReadSize) buffer_.resize(kReadSize);
  allow(kHeadMax, kHeadTimeoutMs);
}

TimedStream::~TimedStream() {
  if (socket_ >= 0) ::close(socket_);
}

int TimedStream::release() { return std::exchange(socket_, -1); }

std::string TimedStream::unread() const { return buffer_.substr(at_, end_ - at_); }

void TimedStream::allow(std::size_t bytes, int milliseconds) {
  bytes_left_ = bytes;
  deadline_ = Clock::now() + std::chrono::milliseconds(milliseconds);
}

void TimedStream::body_follows() { allow(kBodyMax + kChunksRoom, kBodyTimeoutMs); }

void TimedStream::answer_follows() { allow(0, kAnswerTimeoutMs); }

void TimedStream::finish() {
  ::shutdown(socket_, SHUT_WR);
  allow(kBodyMax, kLingerMs);
  while (read(buffer_.data(), buffer_.size()) > 0) at_ = end_ = 0;
}

bool TimedStream::peer_is_loopback() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
  }
  return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
}

bool TimedStream::await(short events) const {
  auto deadline = deadline_;
  bool hurried = false;
  while (true) {
    if (stopping_ && !hurried) {
      hurried = true;
      deadline = std::min(deadline, Clock::now() + std::chrono::milliseconds(kLingerMs));
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd poll_this{socket_, events, 0};
    const int ready = ::poll(&poll_this, 1, std::min(static_cast<int>(left), kLookMs));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool TimedStream::is_readable() const { return at_ < end_ || await(POLLIN); }

bool TimedStream::is_writable() const { return await(POLLOUT); }

ssize_t TimedStream::read(char* data, std::size_t size) {
  if (at_ == end_) {
    if (!await(POLLIN)) return -1;
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got <= 0) return got;
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
  }
  const std::size_t taken = std::min({size, end_ - at_, bytes_left_});
  if (taken == 0) {
    overran_ = bytes_left_ == 0;
    return -1;
  }
  std::memmove(data, buffer_.data() + at_, taken);
  at_ += taken;
  bytes_left_ -= taken;
  return static_cast<ssize_t>(taken);
}

ssize_t TimedStream::write(const char* data, std::size_t size) {
  while (true) {
    const ssize_t sent = ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    if ((errno != EAGAIN && errno != EWOULDBLOCK) || !await(POLLOUT)) return -1;
  }
}

void TimedStream::get_remote_ip_and_port(std::string& address, int& port) const {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(socket_, reinterpret_cast<sockaddr*>(&name), &size) == 0) {
    name_of(name, address, port);
  }
}

void TimedStream::get_local_ip_and_port(std::string& address, int& port) const {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &size) == 0) {
    name_of(name, address, port);
  }
}

}  // namespace ringtail::broker::http
