// Streams and listeners over loopback sockets.
#include "broker/runtime/uv/uv_tcp.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/log.h"
#include "broker/runtime/memory_gauge.h"
#include "broker/runtime/uv/uv_listener.h"
#include "tests/unit/runtime/uv_fixture.h"

namespace uv_tcp_test {

using namespace ringtail::runtime;

namespace {

// The owner of one stream, which it records and, where a test says so, reacts to.
struct Owner : StreamEvents {
  explicit Owner(std::unique_ptr<Stream> owned) : stream(std::move(owned)) { stream->start(*this); }

  void on_read(std::span<std::uint8_t> data) noexcept override {
    ++reads;
    received += data.size();
    if (read) read(data);
  }
  void on_written() noexcept override {
    CHECK_FALSE(stream->pending_write());
    ++writes_done;
    if (written) written();
  }
  void on_closed(const Status& status) noexcept override {
    ++closes;
    end = status;
    if (closed) closed();
  }
  bool send(std::string_view text) {
    OutChain chain;
    chain.append_copy(text.data(), text.size());
    const bool all = stream->write(chain);
    CHECK(chain.empty());
    return all;
  }

  std::unique_ptr<Stream> stream;
  std::size_t reads = 0;
  std::uint64_t received = 0;
  int writes_done = 0;
  int closes = 0;
  Status end;
  std::function<void(std::span<std::uint8_t>)> read;
  std::function<void()> written;
  std::function<void()> closed;
};

// A client by plain blocking calls: it connects although nobody has accepted yet.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    timeval limit{30, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(); }

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  // As much of `size` bytes as the kernel takes.
  std::size_t send_some(std::size_t size) {
    const std::string text(size, 's');
    const ssize_t sent = send(fd_, text.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  // What recv gives, or -errno.
  ssize_t receive(std::string& into) {
    char buffer[4096];
    const ssize_t count = recv(fd_, buffer, sizeof(buffer), 0);
    if (count < 0) return -errno;
    into.append(buffer, static_cast<std::size_t>(count));
    return count;
  }
  void reset_on_close() {
    const linger option{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &option, sizeof(option));
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
  bool connected_ = false;
};

struct Server {
  explicit Server(UvFixture& uv, const std::string& address = "127.0.0.1") {
    auto result = uv.net().listen(address, 0, [this, &uv](std::unique_ptr<AcceptedSocket> socket) {
      auto stream = uv.net().adopt(std::move(socket));
      REQUIRE(stream.ok());
      accepted.push_back(std::make_unique<Owner>(std::move(stream).value()));
      if (on_accept) on_accept(*accepted.back());
    });
    REQUIRE_MESSAGE(result.ok(), result.status().text());
    listener = std::move(result).value();
  }
  std::uint16_t port() const { return listener->port(); }

  std::unique_ptr<Listener> listener;
  std::vector<std::unique_ptr<Owner>> accepted;
  std::function<void(Owner&)> on_accept;
};

std::unique_ptr<Owner> connect_to(UvFixture& uv, const std::string& address, std::uint16_t port) {
  std::unique_ptr<Owner> owner;
  bool called = false;
  uv.net().connect(address, port, [&](Result<std::unique_ptr<Stream>> result) {
    REQUIRE_MESSAGE(result.ok(), result.status().text());
    owner = std::make_unique<Owner>(std::move(result).value());
  });
  called = owner != nullptr;
  CHECK_FALSE(called);  // never inside the call
  uv.run_until([&] { return owner != nullptr; });
  return owner;
}

// The bytes that a pump sends, over and over. Its length is no power of two, so that bytes at the
// wrong place do not look right.
const std::string& sequence() {
  static const std::string bytes = [] {
    std::string made(99991, '\0');
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(i * 131 + (i >> 8));
    return made;
  }();
  return bytes;
}

// Calls `part(text)` for the parts of the endless sequence that make up [position, position +
// size).
template <typename Part>
void each_part(std::uint64_t position, std::uint64_t size, Part part) {
  while (size > 0) {
    const std::uint64_t at = position % sequence().size();
    const std::uint64_t length = std::min<std::uint64_t>(size, sequence().size() - at);
    part(std::string_view(sequence()).substr(at, length));
    position += length;
    size -= length;
  }
}

// Sends a known sequence of bytes in pieces of changing sizes and checks the sequence that comes
// back, pausing its reading now and then.
class Pump {
 public:
  Pump(Owner& owner, std::uint64_t total) : owner_(owner), total_(total) {
    owner_.read = [this](std::span<std::uint8_t> data) { take(data); };
    owner_.written = [this] { send_more(); };
  }
  void send_more() {
    while (sent_ < total_) {
      if (owner_.stream->pending_write()) return;
      OutChain chain;
      for (int i = 0; i < 40 && sent_ < total_; ++i) add_piece(chain);
      if (!owner_.stream->write(chain)) ++blocked;
    }
  }
  bool complete() const { return checked_ == total_; }
  bool right() const { return right_; }

  int blocked = 0;
  int paused = 0;

 private:
  static constexpr std::uint64_t kSizes[] = {1, 7, 700, 13, 65536, 3, 200000, 8, 4096, 1000000};

  void add_piece(OutChain& chain) {
    const std::uint64_t size = std::min(kSizes[step_++ % std::size(kSizes)], total_ - sent_);
    Block* block = Block::create(size);
    std::uint8_t* to = block->data();
    each_part(sent_, size,
              [&to](std::string_view part) { to = std::copy(part.begin(), part.end(), to); });
    if (step_ % 3 == 0) {
      chain.append(Bytes::adopt(block, block->data(), size));
    } else {
      chain.append_copy(block->data(), size);
      block->unref();
    }
    sent_ += size;
  }
  void take(std::span<const std::uint8_t> data) {
    std::string_view left = as_text(data);
    each_part(checked_, data.size(), [&](std::string_view part) {
      right_ = right_ && left.starts_with(part);
      left.remove_prefix(part.size());
    });
    checked_ += data.size();
    if (owner_.reads % 5 == 0) {
      owner_.stream->pause_reading();
      owner_.stream->resume_reading();
      ++paused;
    }
  }

  Owner& owner_;
  const std::uint64_t total_;
  std::uint64_t sent_ = 0;
  std::uint64_t checked_ = 0;
  std::size_t step_ = 0;
  bool right_ = true;
};

}  // namespace

TEST_CASE("tcp: 10 MB there and back at the same time, in tiny and large pieces") {
  const std::int64_t before = MemoryGauge::total();
  {
    UvFixture uv;
    Server server(uv);
    constexpr std::uint64_t kTotal = 10 * 1024 * 1024;
    std::unique_ptr<Pump> left;
    server.on_accept = [&](Owner& owner) { left = std::make_unique<Pump>(owner, kTotal); };
    const std::unique_ptr<Owner> client = connect_to(uv, "127.0.0.1", server.port());
    Pump right(*client, kTotal);
    uv.run_until([&] { return left != nullptr; });
    left->send_more();
    right.send_more();
    uv.run_until([&] { return left->complete() && right.complete(); });
    CHECK(left->right());
    CHECK(right.right());
    CHECK(left->blocked + right.blocked > 0);
    CHECK(left->paused + right.paused > 0);
    CHECK_FALSE(client->stream->pending_write());
  }
  CHECK(MemoryGauge::total() == before);
}

TEST_CASE("tcp: the bytes in front of what was read are writable") {
  UvFixture uv;
  Server server(uv);
  std::string joined;
  server.on_accept = [&](Owner& owner) {
    owner.read = [&](std::span<std::uint8_t> data) {
      std::memset(data.data() - kReadHeadroom, 'h', kReadHeadroom);
      joined.assign(reinterpret_cast<const char*>(data.data()) - 1, data.size() + 1);
    };
  };
  const std::unique_ptr<Owner> client = connect_to(uv, "127.0.0.1", server.port());
  CHECK(client->send("ello"));
  uv.run_until([&] { return !joined.empty(); });
  CHECK(joined == "hello");
}

TEST_CASE("tcp: one buffer of input for each stream in an iteration of the loop") {
  UvFixture uv;
  Server server(uv);
  RawClient clients[2] = {RawClient(server.port()), RawClient(server.port())};
  uv.run_until([&] { return server.accepted.size() == 2; });
  for (auto& owner : server.accepted) owner->stream->pause_reading();
  std::uint64_t sent = 0;
  for (RawClient& client : clients) {
    for (std::size_t more = 1; more > 0; sent += more) more = client.send_some(1024 * 1024);
  }
  REQUIRE(sent > 6 * kReadBufferSize);
  for (auto& owner : server.accepted) owner->stream->resume_reading();
  const auto received = [&] { return server.accepted[0]->received + server.accepted[1]->received; };
  while (received() < sent) {
    const std::uint64_t before[] = {server.accepted[0]->received, server.accepted[1]->received};
    uv_run(&uv.loop(), UV_RUN_ONCE);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(server.accepted[i]->received - before[i] <= kReadBufferSize);
    }
  }
  CHECK(server.accepted[0]->reads >= 3);
}

TEST_CASE("tcp: closing while the peer still sends does not destroy what was written last") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  REQUIRE(client.connected());
  bool inside = true;
  server.on_accept = [&](Owner& owner) {
    owner.read = [&](std::span<std::uint8_t>) {
      CHECK(owner.send("close-ok"));
      owner.stream->close();
      owner.stream->close();
      inside = owner.closes > 0;
    };
  };
  REQUIRE(client.send_some(3 * kReadBufferSize) > kReadBufferSize);  // one read leaves some of it
  uv.run_until([&] { return server.accepted.size() == 1 && server.accepted[0]->closes == 1; });
  CHECK_FALSE(inside);
  CHECK(server.accepted[0]->end.ok());
  CHECK(server.accepted[0]->reads == 1);
  server.accepted.clear();  // the owner is gone, the socket lingers

  CHECK(client.send_some(100000) == 100000);
  uv_run(&uv.loop(), UV_RUN_NOWAIT);
  std::string text;
  while (client.receive(text) > 0) {
  }
  CHECK(text == "close-ok");
  CHECK(client.receive(text) == 0);  // an orderly end, not ECONNRESET
  CHECK(client.send_some(10) == 10);
  client.close();
  server.listener.reset();
  uv.finish();
}

TEST_CASE("tcp: a peer that never closes is cut off in the end") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  server.accepted.clear();
  server.listener.reset();
  uv.finish();  // asserts that nothing is left open, and returns
  std::string text;
  CHECK(client.receive(text) == 0);
  client.send_some(1);
  pollfd poll_fd{client.fd(), POLLIN, 0};
  CHECK(poll(&poll_fd, 1, 30000) == 1);
  CHECK((poll_fd.revents & (POLLERR | POLLHUP)) != 0);
}

TEST_CASE("tcp: the peer closes") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  client.send_some(10);
  client.close();
  uv.run_until([&] { return server.accepted.size() == 1 && server.accepted[0]->closes == 1; });
  Owner& owner = *server.accepted[0];
  CHECK(owner.received == 10);
  CHECK(owner.end.code() == Code::kClosed);
  CHECK(owner.send("into the void"));
  owner.stream->close();
  CHECK(owner.stream->peer_name().starts_with("127.0.0.1:"));
  owner.stream.reset();
  CHECK(owner.closes == 1);
}

TEST_CASE("tcp: a peer that resets; writes to it are dropped, the end is told once") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  Owner& owner = *server.accepted[0];
  client.send_some(1000);
  client.reset_on_close();
  client.close();
  CHECK(owner.send("first"));  // fails inside
  CHECK(owner.send("second"));
  CHECK(owner.closes == 0);
  uv.run_until([&] { return owner.closes == 1; });
  CHECK_FALSE(owner.end.ok());
}

TEST_CASE("tcp: a paused stream hears of its end by a write") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  Owner& owner = *server.accepted[0];
  owner.stream->pause_reading();
  client.reset_on_close();
  client.close();
  // On a busy machine the reset may be under way still, and the first writes go through.
  const auto writes = uv.env().timers().make([&] { CHECK(owner.send("fails")); });
  writes->start(0, 1);
  uv.run_until([&] { return owner.closes == 1; });
  CHECK_FALSE(owner.end.ok());
}

TEST_CASE("tcp: a stream closed with output that the peer does not read") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  Owner& owner = *server.accepted[0];
  const std::string large(32 * 1024 * 1024, 'x');
  CHECK_FALSE(owner.send(large));
  CHECK(owner.stream->pending_write());
  owner.stream->close();
  uv.run_until([&] { return owner.closes == 1; });
  CHECK(owner.end.ok());
  CHECK(owner.writes_done == 0);
}

TEST_CASE("tcp: the peer goes while output is on its way") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  Owner& owner = *server.accepted[0];
  CHECK_FALSE(owner.send(std::string(32 * 1024 * 1024, 'x')));
  client.close();
  uv.run_until([&] { return owner.closes == 1; });
  CHECK(owner.end.code() == Code::kClosed);
  CHECK(owner.writes_done == 0);
}

TEST_CASE("tcp: owners may destroy the stream in its last event, or before") {
  UvFixture uv;
  Server server(uv);
  RawClient first(server.port());
  RawClient second(server.port());
  RawClient third(server.port());
  uv.run_until([&] { return server.accepted.size() == 3; });
  Owner& dies_by_peer = *server.accepted[0];
  dies_by_peer.closed = [&] { dies_by_peer.stream.reset(); };
  first.close();
  Owner& dies_by_close = *server.accepted[1];
  dies_by_close.closed = [&] { dies_by_close.stream.reset(); };
  dies_by_close.stream->close();
  server.accepted[2]->stream.reset();
  uv.run_until([&] { return dies_by_peer.closes == 1 && dies_by_close.closes == 1; });
  CHECK(server.accepted[2]->closes == 0);
}

TEST_CASE("tcp: listening on a port in use, and on addresses that are none of ours") {
  UvFixture uv;
  Server server(uv);
  const auto nothing = [](std::unique_ptr<AcceptedSocket>) {};
  const auto busy = uv.net().listen("127.0.0.1", server.port(), nothing);
  REQUIRE_FALSE(busy.ok());
  CHECK(busy.status().code() == Code::kBusy);
  const std::string name = "127.0.0.1:" + std::to_string(server.port());
  CHECK(busy.status().text() == "cannot listen on " + name + ": the port is in use");
  CHECK(server.listener->local_name() == name);
  CHECK(uv.net().listen("192.0.2.1", 0, nothing).status().code() == Code::kInvalid);
  CHECK(uv.net().listen("localhost", 0, nothing).status().code() == Code::kInvalid);
  CHECK(uv.net().listen("", 0, nothing).status().code() == Code::kInvalid);

  const std::uint16_t port = server.port();
  server.listener.reset();
  CHECK(uv.net().listen("127.0.0.1", port, nothing).ok());
}

TEST_CASE("tcp: IPv6, beside IPv4 on the same port") {
  UvFixture uv;
  Server v4(uv, "0.0.0.0");
  auto v6 = uv.net().listen("::", v4.port(), [](std::unique_ptr<AcceptedSocket>) {});
  if (!v6.ok() && v6.status().code() == Code::kInvalid) {
    MESSAGE("no IPv6 on this machine");
    return;
  }
  REQUIRE_MESSAGE(v6.ok(), v6.status().text());
  Server server(uv, "::1");
  CHECK(server.listener->local_name() == "[::1]:" + std::to_string(server.port()));
  const std::unique_ptr<Owner> client = connect_to(uv, "::1", server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  Stream& accepted = *server.accepted[0]->stream;
  CHECK(accepted.local_name() == server.listener->local_name());
  CHECK(accepted.peer_name() == client->stream->local_name());
  CHECK(accepted.peer_is_loopback());
}

TEST_CASE("tcp: what a loopback address is") {
  const auto loopback = [](const char* text) {
    sockaddr_storage address{};
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (uv_ip4_addr(text, 1, reinterpret_cast<sockaddr_in*>(raw)) != 0) {
      uv_ip6_addr(text, 1, reinterpret_cast<sockaddr_in6*>(raw));
    }
    return SocketAddress::from(raw).loopback();
  };
  CHECK(loopback("127.0.0.1"));
  CHECK(loopback("127.9.9.9"));
  CHECK(loopback("::1"));
  CHECK(loopback("::ffff:127.0.0.1"));
  CHECK_FALSE(loopback("10.0.0.1"));
  CHECK_FALSE(loopback("::ffff:10.0.0.1"));
  CHECK_FALSE(loopback("fe80::1"));
}

TEST_CASE("tcp: connecting where nobody listens, and to no address") {
  UvFixture uv;
  std::uint16_t port = 0;
  {
    Server server(uv);
    port = server.port();
  }
  std::vector<Status> results;
  const auto done = [&](Result<std::unique_ptr<Stream>> result) {
    results.push_back(result.status());
  };
  uv.net().connect("127.0.0.1", port, done);
  uv.net().connect("no.address", port, done);
  CHECK(results.empty());
  uv.run_until([&] { return results.size() == 2; });
  CHECK(results[0].code() == Code::kInvalid);
  CHECK(results[1].code() == Code::kRefused);
  CHECK(results[1].text().find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
}

// The kernel answers no attempt to connect here: the listener's queue is full.
class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(fd_, 0) == 0);
    REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    first_ = std::make_unique<RawClient>(port_);  // fills the queue
  }
  ~SilentPort() { close(fd_); }
  std::uint16_t port() const { return port_; }

 private:
  int fd_;
  std::uint16_t port_ = 0;
  std::unique_ptr<RawClient> first_;
};

TEST_CASE("tcp: connecting to who does not answer ends in time, each attempt in its own") {
  UvFixture uv;
  const SilentPort silent;
  auto server = std::make_unique<Server>(uv);
  std::vector<std::string> results;
  const auto done = [&](const std::string& name) {
    return [&results, name](Result<std::unique_ptr<Stream>> result) {
      results.push_back(name + (result.status().code() == Code::kTimeout ? " late" : " other"));
      if (!result.ok()) CHECK(result.status().text().find("127.0.0.1:") != std::string::npos);
    };
  };
  const std::uint64_t start = uv.env().clock().monotonic_ns();
  uv.net().connect("127.0.0.1", silent.port(), done("second"), 200);
  uv.net().connect("127.0.0.1", silent.port(), done("first"), 20);
  uv.net().connect("127.0.0.1", server->port(), done("answered"), 10000);
  uv.net().connect("127.0.0.1", silent.port(), done("never"));  // the loop ends before
  uv.run_until([&] { return results.size() == 3; });
  CHECK(uv.env().clock().monotonic_ns() - start >= 190'000'000);
  std::sort(results.begin(), results.end());
  CHECK(results == std::vector<std::string>{"answered other", "first late", "second late"});
  server.reset();
  uv.finish();  // and gives that one up
  CHECK(results.size() == 3);
}

TEST_CASE("tcp: a limit for unanswered data reaches the kernel") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  Stream& stream = *server.accepted.front()->stream;
  stream.set_peer_timeouts(3000);
  stream.pause_reading();
  const std::unique_ptr<AcceptedSocket> taken = stream.detach();
  unsigned limit = 0;
  socklen_t size = sizeof(limit);
  REQUIRE(getsockopt(static_cast<UvAcceptedSocket&>(*taken).fd(), IPPROTO_TCP, TCP_USER_TIMEOUT,
                     &limit, &size) == 0);
  CHECK(limit == 3000);
  stream.set_peer_timeouts(1);  // nothing to set it on
}

TEST_CASE("tcp: a socket that nobody adopts is closed") {
  UvFixture uv;
  bool dropped = false;
  auto listener = uv.net().listen("127.0.0.1", 0, [&](std::unique_ptr<AcceptedSocket> socket) {
    socket.reset();
    dropped = true;
  });
  RawClient client(listener.value()->port());
  uv.run_until([&] { return dropped; });
  std::string text;
  CHECK(client.receive(text) == 0);
}

TEST_CASE("tcp: a listener without descriptors rests, and accepts when there are some again") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  set_log_level(LogLevel::kNone);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  const int next_fd = dup(0);
  close(next_fd);
  none.rlim_cur = static_cast<rlim_t>(next_fd);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  bool over = false;
  const auto timer = uv.env().timers().make([&] { over = true; });
  timer->start(250);
  int iterations = 0;
  uv.run_until([&] {
    ++iterations;
    return over;
  });
  CHECK(server.accepted.empty());
  CHECK(iterations < 30);
  setrlimit(RLIMIT_NOFILE, &before);
  set_log_level(LogLevel::kInfo);
  uv.run_until([&] { return server.accepted.size() == 1; });
}

TEST_CASE("tcp: a detached connection goes on at another loop: every byte once, in order") {
  for (const bool inside : {true, false}) {
    CAPTURE(inside);
    UvFixture uv;
    UvFixture other;
    Server server(uv);
    const auto client = connect_to(uv, "127.0.0.1", server.port());
    uv.run_until([&] { return server.accepted.size() == 1; });
    Owner& first = *server.accepted.front();
    std::string read;
    std::unique_ptr<AcceptedSocket> taken;
    first.read = [&](std::span<std::uint8_t> data) {
      read.append(as_text(data));
      if (!inside) return first.stream->pause_reading();
      taken = first.stream->detach();
      CHECK(first.stream->detach() == nullptr);
      first.stream.reset();
    };
    first.send("before");
    const std::string there = sequence().substr(0, 90000);
    client->send(there.substr(0, 1000));
    uv.run_until([&] { return !read.empty(); });
    if (!inside) taken = first.stream->detach();
    REQUIRE(taken != nullptr);
    const std::size_t reads = first.reads;
    client->send(there.substr(1000, 50000));  // while nobody has it
    std::string back;
    client->read = [&](std::span<std::uint8_t> data) { back.append(as_text(data)); };
    uv.run_until([&] { return back.size() == 6 || client->received == 6; });

    auto adopted = other.net().adopt(std::move(taken));
    REQUIRE(adopted.ok());
    CHECK(adopted.value()->peer_name() == client->stream->local_name());
    Owner next(std::move(adopted).value());
    next.read = [&](std::span<std::uint8_t> data) { read.append(as_text(data)); };
    first.stream.reset();
    next.send("after");
    uv.run_until([&] { return client->received == 11; });
    client->send(there.substr(51000));
    other.run_until([&] { return read.size() == there.size(); });
    CHECK(read == there);
    CHECK(first.reads == reads);
    client->stream->close();
    other.run_until([&] { return next.closes == 1; });
    CHECK(first.closes == 0);
    next.stream.reset();
    uv.run_until([&] { return client->closes == 1; });
  }
}

TEST_CASE("tcp: a detached connection on its own loop; and none of one that has ended") {
  UvFixture uv;
  Server server(uv);
  RawClient client(server.port());
  uv.run_until([&] { return server.accepted.size() == 1; });
  Owner& first = *server.accepted.front();
  first.stream->pause_reading();
  auto adopted = uv.net().adopt(first.stream->detach());
  REQUIRE(adopted.ok());
  Owner next(std::move(adopted).value());
  client.send_some(100);
  uv.run_until([&] { return next.received == 100; });
  next.stream->pause_reading();
  next.stream->detach().reset();  // nobody adopts it: closed
  std::string nothing;
  CHECK(client.receive(nothing) == 0);

  RawClient second(server.port());
  uv.run_until([&] { return server.accepted.size() == 2; });
  Owner& closing = *server.accepted.back();
  closing.stream->close();
  CHECK(closing.stream->detach() == nullptr);
  second.close();
  uv.run_until([&] { return closing.closes == 1; });
}

TEST_CASE("tcp: an idle stream is small") { CHECK(sizeof(TcpSocket) + 16 < 1024); }

}  // namespace uv_tcp_test
