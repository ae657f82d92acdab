#include "broker/runtime/uv/uv_tcp.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/log.h"
#include "broker/runtime/uv/uv_error.h"
#include "broker/runtime/uv/uv_listener.h"

namespace ringtail::runtime {

namespace {

// Pieces handed to the kernel in one call. Most turns write fewer.
constexpr std::size_t kPiecesPerWrite = 64;

struct WriteBatch {
  uv_buf_t buffers[kPiecesPerWrite];
  unsigned count = 0;
  std::size_t size = 0;

  explicit WriteBatch(OutChain& chain) {
    OutChain::Piece pieces[kPiecesPerWrite];
    count = static_cast<unsigned>(chain.peek(pieces));
    for (unsigned i = 0; i < count; ++i) {
      // libuv only reads from it, but its type is that of a read buffer too.
      buffers[i].base = const_cast<char*>(reinterpret_cast<const char*>(pieces[i].data));
      buffers[i].len = pieces[i].size;
      size += pieces[i].size;
    }
  }
};

}  // namespace

TcpSocket* TcpSocket::create(UvNet& net) {
  auto* socket = new TcpSocket(net);
  const int error = uv_tcp_init(net.loop().handle(), &socket->handle_);
  RT_CHECK(error == 0, "uv_tcp_init without a socket cannot fail");
  socket->handle_.data = socket;
  return socket;
}

void TcpSocket::opened() {
  uv_tcp_nodelay(&handle_, 1);
  sockaddr_storage address{};
  int size = sizeof(address);
  if (uv_tcp_getpeername(&handle_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    peer_ = SocketAddress::from(reinterpret_cast<const sockaddr*>(&address));
  }
  size = sizeof(address);
  if (uv_tcp_getsockname(&handle_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    local_ = SocketAddress::from(reinterpret_cast<const sockaddr*>(&address));
  }
}

void TcpSocket::start(StreamEvents& events) {
  if (ended_) return;
  events_ = &events;
  resume_reading();
}

void TcpSocket::pause_reading() {
  if (ended_ || !reading_) return;
  reading_ = false;
  uv_read_stop(stream());
  if (write_error_ != 0) end_from_loop(uv_status(write_error_, "write"));
}

void TcpSocket::resume_reading() {
  if (ended_ || reading_) return;
  reading_ = true;
  read_on();
}

void TcpSocket::read_on() {
  const int error = uv_read_start(stream(), on_alloc, on_read);
  if (error != 0) end_from_loop(uv_status(error, "read"));
}

// libuv reads on for as long as the buffer fills. A stream gets the buffer once in an iteration of
// the loop, so that one busy peer cannot hold the others; the kernel reports what is left again.
void TcpSocket::on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) noexcept {
  auto* self = static_cast<TcpSocket*>(handle->data);
  UvLoop& loop = self->net_.loop();
  if (self->read_iteration_ == loop.iteration()) {
    *buffer = {};
    return;
  }
  self->read_iteration_ = loop.iteration();
  buffer->base = reinterpret_cast<char*>(loop.read_buffer());
  buffer->len = kReadBufferSize;
}

void TcpSocket::on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) noexcept {
  auto* self = static_cast<TcpSocket*>(stream->data);
  if (count == 0 || count == UV_ENOBUFS) return;  // would block; on_alloc gave nothing
  if (self->ended_) {                             // lingers: what comes is thrown away
    if (count < 0) self->close_handle();
    return;
  }
  if (count > 0) {
    self->events_->on_read(
        {reinterpret_cast<std::uint8_t*>(buffer->base), static_cast<std::size_t>(count)});
  } else if (count == UV_EOF) {
    self->end(Status(Code::kClosed, "closed by the peer"));
  } else {
    self->end(uv_status(static_cast<int>(count), "read"));
  }
}

bool TcpSocket::write(OutChain& chain) {
  RT_CHECK(!pending_write(), "a write while another is pending");
  if (ended_ || write_error_ != 0) {
    chain.clear();
    return true;
  }
  switch (try_write(chain)) {
    case Written::kAll:
      return true;
    case Written::kFailed:
      chain.clear();
      return true;
    case Written::kBlocked:
      break;
  }
  unwritten_.splice(chain);
  write_request_ = std::make_unique<uv_write_t>();
  return queue_write() == Written::kFailed;
}

TcpSocket::Written TcpSocket::try_write(OutChain& chain) {
  while (!chain.empty()) {
    const WriteBatch batch(chain);
    const int written = uv_try_write(stream(), batch.buffers, batch.count);
    if (written == UV_EAGAIN) return Written::kBlocked;
    if (written < 0) {
      write_failed(written);
      return Written::kFailed;
    }
    chain.consume(static_cast<std::size_t>(written));
    // Less than offered: the kernel's buffer is full, another try would only cost a call.
    if (static_cast<std::size_t>(written) < batch.size) return Written::kBlocked;
  }
  return Written::kAll;
}

// The request for the first pieces of unwritten_; on_written() comes from the loop.
TcpSocket::Written TcpSocket::queue_write() {
  const WriteBatch batch(unwritten_);
  requested_ = batch.size;
  write_request_->data = this;
  const int error =
      uv_write(write_request_.get(), stream(), batch.buffers, batch.count, on_written);
  if (error == 0) return Written::kBlocked;
  write_request_.reset();
  unwritten_.clear();
  write_failed(error);
  return Written::kFailed;
}

void TcpSocket::on_written(uv_write_t* request, int status) noexcept {
  auto* self = static_cast<TcpSocket*>(request->data);
  Written written = Written::kFailed;
  if (status == 0 && !self->ended_) {
    self->unwritten_.consume(self->requested_);
    written = self->try_write(self->unwritten_);
  } else if (!self->ended_) {
    self->write_failed(status);
  }
  if (written == Written::kBlocked && self->queue_write() == Written::kBlocked) return;
  self->write_request_.reset();
  self->unwritten_.clear();
  if (written == Written::kAll && self->events_ != nullptr) self->events_->on_written();
}

// What the peer sent before it went is still to be read, so a stream that reads ends by what its
// reads report. One that does not would never hear of it.
void TcpSocket::write_failed(int error) {
  write_error_ = error;
  if (!reading_) end_from_loop(uv_status(error, "write"));
}

void TcpSocket::end_from_loop(const Status& status) {
  hold();
  net_.loop().defer([this, status] {
    end(status);
    release();
  });
}

void TcpSocket::end(const Status& status) {
  if (ended_) return;
  ended_ = true;
  close_handle();
  if (events_ != nullptr) std::exchange(events_, nullptr)->on_closed(status);
}

void TcpSocket::close() {
  if (ended_) return;
  ended_ = true;
  if (reading_) uv_read_stop(stream());
  reading_ = false;
  if (events_ != nullptr) {
    hold();
    net_.loop().defer([this] {
      if (events_ != nullptr) std::exchange(events_, nullptr)->on_closed(Status());
      release();
    });
  }
  if (pending_write() || write_error_ != 0) {
    close_handle();
  } else {
    linger();
  }
}

void TcpSocket::linger() {
  uv_os_fd_t fd = -1;
  const bool open = uv_fileno(reinterpret_cast<uv_handle_t*>(&handle_), &fd) == 0;
  if (!open || ::shutdown(fd, SHUT_WR) != 0 || uv_read_start(stream(), on_alloc, on_read) != 0) {
    close_handle();
    return;
  }
  linger_until_ms_ = net_.loop().now_ms() + kLingerMs;
  net_.add_lingering(*this);
}

void TcpSocket::set_user_timeout(std::uint64_t timeout_ms) {
  uv_os_fd_t fd = -1;
  if (ended_ || uv_fileno(reinterpret_cast<uv_handle_t*>(&handle_), &fd) != 0) return;
  const auto limit = static_cast<unsigned>(std::min<std::uint64_t>(timeout_ms, INT_MAX));
  if (::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit)) == 0) return;
  log(LogLevel::kWarning, "net", "{}: cannot set a limit for unanswered data: {}", peer_.name(),
      uv_strerror(-errno));
}

// libuv gives no descriptor back, so a second one is made and the handle closes the first.
int TcpSocket::detach() {
  RT_CHECK(!pending_write(), "a stream detached with a write pending");
  if (ended_) return -1;
  uv_os_fd_t fd = -1;
  uv_fileno(reinterpret_cast<uv_handle_t*>(&handle_), &fd);
  const int taken = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (taken < 0) {
    const Status failed = errno_status(errno, "cannot detach the connection of " + peer_.name());
    if (reading_) uv_read_stop(stream());
    reading_ = false;
    end_from_loop(failed);
    return -1;
  }
  events_ = nullptr;
  close_handle();
  return taken;
}

void TcpSocket::abandon() {
  events_ = nullptr;
  close();
  release();
}

void TcpSocket::close_handle() {
  auto* handle = reinterpret_cast<uv_handle_t*>(&handle_);
  if (uv_is_closing(handle)) return;
  ended_ = true;
  reading_ = false;
  if (is_linked()) net_.remove_lingering(*this);
  uv_close(handle,
           [](uv_handle_t* closed) noexcept { static_cast<TcpSocket*>(closed->data)->release(); });
}

namespace {

class UvStream final : public Stream {
 public:
  explicit UvStream(TcpSocket* socket) : socket_(socket) { socket_->hold(); }
  ~UvStream() override { socket_->abandon(); }

  void start(StreamEvents& events) override { socket_->start(events); }
  void pause_reading() override { socket_->pause_reading(); }
  void resume_reading() override { socket_->resume_reading(); }
  bool write(OutChain& chain) override { return socket_->write(chain); }
  bool pending_write() const override { return socket_->pending_write(); }
  void close() override { socket_->close(); }
  void set_peer_timeouts(std::uint64_t timeout_ms) override {
    socket_->set_user_timeout(timeout_ms);
  }
  std::unique_ptr<AcceptedSocket> detach() override {
    const int fd = socket_->detach();
    return fd < 0 ? nullptr : std::make_unique<UvAcceptedSocket>(fd);
  }
  std::string peer_name() const override { return socket_->peer().name(); }
  std::string local_name() const override { return socket_->local().name(); }
  bool peer_is_loopback() const override { return socket_->peer().loopback(); }

 private:
  TcpSocket* socket_;
};

}  // namespace

std::unique_ptr<Stream> make_stream(TcpSocket* socket) {
  return std::make_unique<UvStream>(socket);
}

}  // namespace ringtail::runtime
