// TCP by libuv: streams (uv_tcp.cc) and the Net that makes them (uv_net.cc).
#pragma once

#include <uv.h>

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/net.h"
#include "broker/runtime/uv/uv_loop.h"

struct sockaddr;

namespace ringtail::runtime {

class UvNet;

// How long a closed stream waits for its peer to close too. A peer that lives answers within a
// round trip; one that floods us is cut off.
inline constexpr std::uint64_t kLingerMs = 1000;
// Sockets of one loop that may wait so; the oldest gives way.
inline constexpr std::size_t kLingeringMax = 1024;

// An address and a port in little space; a stream keeps two of them, to be named after its end too.
struct SocketAddress {
  std::uint8_t ip[16] = {};  // four bytes are used of an IPv4 address
  std::uint16_t port = 0;
  bool v6 = false;

  static SocketAddress from(const sockaddr* address);
  std::string name() const;
  bool loopback() const;
};

// The libuv side of one stream. It lives on the heap until everyone has let go: the open handle,
// the stream object, and calls that were put off. An idle one holds no buffer (about 450 bytes).
//
// Ending. By the peer or by an error: the handle is closed at once and the owner told. By the
// owner, with all output written: the socket lingers. The kernel answers a close() with unread
// input by a reset, which can destroy, at the peer, the reply that we wrote last; so our half is
// shut down, and what comes is read and thrown away until the peer has closed its half or kLingerMs
// have passed. The owner hears of none of it: it is told "closed" in the next iteration.
class TcpSocket : public boost::intrusive::list_base_hook<> {
 public:
  // With one hold, the handle's.
  static TcpSocket* create(UvNet& net);
  uv_tcp_t* handle() { return &handle_; }
  UvNet& net() { return net_; }

  void hold() { ++holds_; }
  // May destroy it.
  void release() {
    if (--holds_ == 0) delete this;
  }
  // Connected: learns its addresses, sets its options.
  void opened();

  void start(StreamEvents& events);
  void pause_reading();
  void resume_reading();
  bool write(OutChain& chain);
  bool pending_write() const { return write_request_ != nullptr; }
  void close();
  // See Stream::set_peer_timeouts().
  void set_user_timeout(std::uint64_t timeout_ms);
  // See Stream::detach(). A descriptor of the connection that the caller has to close; -1: none.
  int detach();
  // The stream object is going away: no event from here on.
  void abandon();
  // Closes the handle now, whatever it is doing.
  void close_handle();

  const SocketAddress& peer() const { return peer_; }
  const SocketAddress& local() const { return local_; }
  std::uint64_t linger_until_ms() const { return linger_until_ms_; }

 private:
  enum class Written : unsigned char { kAll, kBlocked, kFailed };

  explicit TcpSocket(UvNet& net) : net_(net) {}
  ~TcpSocket() = default;

  static void on_alloc(uv_handle_t* handle, std::size_t suggested, uv_buf_t* buffer) noexcept;
  static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) noexcept;
  static void on_written(uv_write_t* request, int status) noexcept;
  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&handle_); }

  void read_on();
  Written try_write(OutChain& chain);
  Written queue_write();
  void write_failed(int error);
  void end_from_loop(const Status& status);
  void end(const Status& status);
  void linger();

  UvNet& net_;
  uv_tcp_t handle_{};
  StreamEvents* events_ = nullptr;
  OutChain unwritten_;                         // what write() could not write at once
  std::unique_ptr<uv_write_t> write_request_;  // there while unwritten_ is on its way
  std::size_t requested_ = 0;                  // bytes of unwritten_ that it covers
  std::uint64_t read_iteration_ = 0;           // the last in which it was given the read buffer
  std::uint64_t linger_until_ms_ = 0;
  SocketAddress peer_;
  SocketAddress local_;
  std::uint32_t holds_ = 1;
  int write_error_ = 0;  // of libuv
  bool reading_ = false;
  bool ended_ = false;  // no more events but on_closed, and that one is sent or on its way
};

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// An attempt to connect, which owns itself until libuv reports its end.
struct ConnectAttempt : boost::intrusive::list_base_hook<> {
  uv_connect_t request{};
  TcpSocket* socket = nullptr;
  std::string name{};
  std::function<void(Result<std::unique_ptr<Stream>>)> done{};
  std::uint64_t until_ms = kNoLimit;  // of the loop's clock
  bool late = false;                  // its time was up, and its socket is being closed
};

// Owned by a UvEnv. close_handles() and a run of the loop come before its end.
class UvNet final : public Net {
 public:
  explicit UvNet(UvLoop& loop);
  ~UvNet() override;

  Result<std::unique_ptr<Listener>> listen(
      const std::string& address, std::uint16_t port,
      std::function<void(std::unique_ptr<AcceptedSocket>)> accepted,
      int backlog = kListenBacklog) override;
  Result<std::unique_ptr<Stream>> adopt(std::unique_ptr<AcceptedSocket> socket) override;
  void resolve(const std::string& host,
               std::function<void(Result<std::vector<std::string>>)> done) override;
  void connect(const std::string& address, std::uint16_t port,
               std::function<void(Result<std::unique_ptr<Stream>>)> done,
               std::uint64_t timeout_ms = kConnectTimeoutMs) override;

  UvLoop& loop() { return loop_; }
  // The socket has shut its half down and waits for the peer to do the same.
  void add_lingering(TcpSocket& socket);
  void remove_lingering(TcpSocket& socket);
  // Attempts to connect end, and nobody is told.
  void give_up_connecting();
  // Closes every socket of the loop that is still open, and its own handle.
  void close_handles();

 private:
  void end_lingering() noexcept;
  static void on_connected(uv_connect_t* request, int error) noexcept;
  void end_late_attempts() noexcept;
  void watch_attempts();

  UvLoop& loop_;
  uv_timer_t linger_timer_{};
  uv_timer_t connect_timer_{};
  int open_timers_ = 2;
  boost::intrusive::list<ConnectAttempt> connecting_;
  boost::intrusive::list<TcpSocket> lingering_;  // by the time they began
};

// A stream object over a connected socket; adds a hold.
std::unique_ptr<Stream> make_stream(TcpSocket* socket);

}  // namespace ringtail::runtime
