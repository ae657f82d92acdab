// A connected socket for the HTTP library, with limits that the library lacks: a deadline for each
// part of a request, and a bound for what a request may bring.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

namespace ringtail::broker::http {

// Owns the socket. On one thread.
class TimedStream final : public httplib::Stream {
 public:
  using httplib::Stream::write;

  // `received`: what has been read of the request, its head (kHeadMax bounds it); `stopping`: the
  // server is.
  TimedStream(int socket, std::string received, const std::atomic<bool>& stopping);
  ~TimedStream() override;
  TimedStream(const TimedStream&) = delete;
  TimedStream& operator=(const TimedStream&) = delete;

  // The head has been read; the body may be so long.
  void body_follows();
  void answer_follows();
  // The peer is told that nothing more comes, and what it still sends is thrown away for a moment:
  // an answer must not be lost because its request was not read.
  void finish();
  // The socket, which is the caller's from here on, and what has come behind the request.
  int release();
  std::string unread() const;

  // A part of the request was longer than it may be.
  bool overran() const { return overran_; }
  bool peer_is_loopback() const;

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* data, std::size_t size) override;
  ssize_t write(const char* data, std::size_t size) override;
  void get_remote_ip_and_port(std::string& address, int& port) const override;
  void get_local_ip_and_port(std::string& address, int& port) const override;
  // Not the true one: the library refuses those above FD_SETSIZE, and uses it for nothing else.
  socket_t socket() const override { return 0; }

 private:
  using Clock = std::chrono::steady_clock;

  // Waits until the socket is ready for `events`, or the deadline. False: the latter.
  bool await(short events) const;
  void allow(std::size_t bytes, int milliseconds);

  int socket_;
  const std::atomic<bool>& stopping_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t bytes_left_ = 0;
  Clock::time_point deadline_{};
  bool overran_ = false;
};

}  // namespace ringtail::broker::http
