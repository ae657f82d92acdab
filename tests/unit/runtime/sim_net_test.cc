#include "broker/runtime/sim/sim_net.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/runtime/limits.h"
#include "broker/runtime/sim/sim_client.h"
#include "broker/runtime/sim/sim_env.h"

namespace sim_net_test {

using namespace ringtail::runtime;

namespace {

// The accepting side of a connection: keeps what it reads, answers when told.
class Peer final : public StreamEvents {
 public:
  explicit Peer(std::unique_ptr<Stream> own_stream) : stream(std::move(own_stream)) {
    stream->start(*this);
  }
  void send(std::string_view text) {
    OutChain chain;
    chain.append_copy(text.data(), text.size());
    sent_at_once = stream->write(chain);
    CHECK(chain.empty());
  }

  std::unique_ptr<Stream> stream;
  std::string read;
  std::vector<std::size_t> sizes;
  bool sent_at_once = false;
  int written = 0;
  int closed = 0;
  Status why;
  bool echo = false;
  bool close_on_read = false;
  std::function<void()> on_data;

 private:
  void on_read(std::span<std::uint8_t> data) noexcept override {
    CHECK(closed == 0);
    CHECK_FALSE(data.empty());
    // The room in front is writable.
    std::memset(data.data() - kReadHeadroom, 0x55, kReadHeadroom);
    read.append(as_text(data));
    sizes.push_back(data.size());
    if (echo && !stream->pending_write()) send(as_text(data));
    if (close_on_read) stream->close();
    if (on_data) on_data();
  }
  void on_written() noexcept override {
    CHECK(closed == 0);
    CHECK_FALSE(stream->pending_write());
    ++written;
  }
  void on_closed(const Status& status) noexcept override {
    ++closed;
    why = status;
  }
};

// A host that accepts on 127.0.0.1:5672 on one loop and serves on another.
struct Server {
  explicit Server(SimWorld& own_world)
      : world(own_world), host(own_world), acceptor(host), worker(host) {
    Result<std::unique_ptr<Listener>> made =
        acceptor.net().listen("127.0.0.1", 5672, [this](std::unique_ptr<AcceptedSocket> socket) {
          if (refuse) return;
          Result<std::unique_ptr<Stream>> stream = worker.net().adopt(std::move(socket));
          REQUIRE(stream.ok());
          peers.push_back(std::make_unique<Peer>(std::move(stream).value()));
        });
    REQUIRE(made.ok());
    listener = std::move(made).value();
  }
  Peer& peer() {
    REQUIRE(world.run_until([this] { return !peers.empty(); }));
    return *peers.front();
  }

  SimWorld& world;
  SimHost host;
  SimEnv acceptor;
  SimEnv worker;
  std::unique_ptr<Listener> listener;
  std::vector<std::unique_ptr<Peer>> peers;
  bool refuse = false;
};

std::string pattern(std::size_t size, std::uint64_t seed) {
  SimRng rng(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('a' + rng.below(26));
  return text;
}

void use_defaults_without_chance(SimWorld& world) {
  SimNetOptions& options = world.network().options();
  options.tiny_read = options.part_read = options.short_write = 0;
}

}  // namespace

TEST_CASE("a connection has names, and carries bytes both ways") {
  SimWorld world(1);
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  client.send("hello");
  Peer& peer = server.peer();
  REQUIRE(world.run_until([&] { return peer.read == "hello"; }));
  CHECK(client.connected());
  CHECK(peer.stream->local_name() == "127.0.0.1:5672");
  CHECK(peer.stream->peer_name() == client.local_name());
  CHECK(peer.stream->peer_name().starts_with("127.0.0.1:"));
  CHECK(peer.stream->peer_is_loopback());
  peer.send("world");
  REQUIRE(world.run_until([&] { return client.received().size() == 5; }));
  CHECK(as_text(client.received()) == "world");
}

TEST_CASE("all bytes arrive in order, whatever the pieces, in both directions at once") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    SimWorld world(seed);
    SimNetOptions& options = world.network().options();
    options.tiny_read = static_cast<double>(seed % 3) / 2;
    options.part_read = 0.5;
    options.short_write = 0.3;
    options.kernel_buffer_min = 1 + seed % 5;
    options.kernel_buffer_max = 1 + seed * 100;
    Server server(world);
    SimClient client(server.host);
    client.connect("127.0.0.1", 5672);
    Peer& peer = server.peer();
    const std::string there = pattern(3000, seed);
    const std::string back = pattern(2000, seed + 100);
    peer.send(back);
    for (std::size_t at = 0; at < there.size(); at += 700) client.send(there.substr(at, 700));
    REQUIRE(world.run_until_idle());
    CHECK(peer.read == there);
    CHECK(as_text(client.received()) == back);
    CHECK(peer.written == (peer.sent_at_once ? 0 : 1));
    CHECK(client.unsent() == 0);
    CHECK(peer.closed == 0);
  }
}

TEST_CASE("reads come in pieces down to one byte, and up to all there is") {
  SimWorld world(3);
  world.network().options().tiny_read = 0.5;
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  Peer& peer = server.peer();
  for (int i = 0; i < 100; ++i) {
    client.send(pattern(1000, 1));
    world.run_for(10 * kMillisecondNs);
  }
  CHECK(peer.read.size() == 100000);
  CHECK(std::count(peer.sizes.begin(), peer.sizes.end(), 1) > 0);
  CHECK(std::count(peer.sizes.begin(), peer.sizes.end(), 1000) > 0);
}

TEST_CASE("a reader that stops makes the writer pend, and reading on ends that") {
  SimWorld world(5);
  use_defaults_without_chance(world);
  world.network().options().kernel_buffer_min = 1000;
  world.network().options().kernel_buffer_max = 1000;
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  client.pause();
  Peer& peer = server.peer();
  peer.send(std::string(1000, 'x'));
  CHECK(peer.sent_at_once);
  peer.send("yz");
  CHECK_FALSE(peer.sent_at_once);
  CHECK(peer.stream->pending_write());
  world.run_for(kSecondNs);
  CHECK(peer.written == 0);
  CHECK(client.received().empty());
  client.resume();
  REQUIRE(world.run_until_idle());
  CHECK(peer.written == 1);
  CHECK_FALSE(peer.stream->pending_write());
  CHECK(as_text(client.received()) == std::string(1000, 'x') + "yz");
}

TEST_CASE("a pending write ends when the last byte has room, not before") {
  SimWorld world(5);
  world.network().options().kernel_buffer_min = 1000;
  world.network().options().kernel_buffer_max = 1000;
  world.network().options().tiny_read = 1;
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  Peer& peer = server.peer();
  peer.send(std::string(5000, 'x'));
  REQUIRE(world.run_until([&] { return peer.written == 1; }));
  CHECK(client.total_received() >= 4000);
  CHECK(client.total_received() < 5000);
}

TEST_CASE("a write of which nothing is taken at first goes out all the same") {
  SimWorld world(5);
  world.network().options().kernel_buffer_min = 1;
  world.network().options().kernel_buffer_max = 1;
  world.network().options().short_write = 1;
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  for (int i = 0; i < 50; ++i) {
    client.send("x");
    REQUIRE(world.run_until_idle());
  }
  CHECK(server.peer().read.size() == 50);
}

TEST_CASE("pausing holds events back; nothing is lost") {
  SimWorld world(6);
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  Peer& peer = server.peer();
  peer.stream->pause_reading();
  client.send("abc");
  client.close();
  world.run_for(kSecondNs);
  CHECK(peer.read.empty());
  CHECK(peer.closed == 0);
  peer.stream->resume_reading();
  REQUIRE(world.run_until_idle());
  CHECK(peer.read == "abc");
  CHECK(peer.closed == 1);
  CHECK(peer.why.code() == Code::kClosed);
}

TEST_CASE("close: own event says ok, the other side reads to the end and hears it") {
  SimWorld world(7);
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  Peer& peer = server.peer();
  peer.send("goodbye");
  REQUIRE(world.run_until([&] { return !peer.stream->pending_write(); }));
  peer.stream->close();
  peer.stream->close();
  CHECK(peer.closed == 0);  // never inside the call
  REQUIRE(world.run_until_idle());
  CHECK(peer.closed == 1);
  CHECK(peer.why.ok());
  CHECK(as_text(client.received()) == "goodbye");
  CHECK(client.closed());
  CHECK(client.why().code() == Code::kClosed);
}

TEST_CASE("a closed side takes input for a while, then resets the other one") {
  SimWorld world(8);
  use_defaults_without_chance(world);
  world.network().options().kernel_buffer_max = 100000;
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  Peer& peer = server.peer();
  peer.stream->pause_reading();
  client.close();
  world.run_for(kSecondNs / 4);
  CHECK(peer.closed == 0);  // does not read, so does not know
  peer.send(std::string(300000, 'x'));
  CHECK_FALSE(peer.sent_at_once);
  world.run_for(kSecondNs / 4);
  CHECK(peer.written == 1);
  world.run_for(kSecondNs);
  peer.send("into the void");
  world.run_for(kSecondNs);
  CHECK(peer.closed == 0);
  peer.send("again");
  CHECK(peer.closed == 0);
  REQUIRE(world.run_until_idle());
  CHECK(peer.closed == 1);
  CHECK(peer.why.code() == Code::kClosed);
  CHECK(peer.why.text() == "write: connection reset by peer");
}

TEST_CASE(
    "a reset ends a pending write: at once where nobody reads, else behind what came before") {
  SimWorld world(8);
  use_defaults_without_chance(world);
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  client.pause();
  Peer& peer = server.peer();
  peer.send(std::string(1024 * 1024, 'x'));
  CHECK_FALSE(peer.sent_at_once);
  client.send("last words");
  client.abort();
  REQUIRE(world.run_until_idle());
  CHECK(peer.read == "last words");
  CHECK(peer.closed == 1);
  CHECK(peer.written == 0);
  CHECK(peer.why.text() == "read: connection reset by peer");
  CHECK(client.why().ok());

  SimClient other(server.host);
  other.connect("127.0.0.1", 5672);
  other.pause();
  REQUIRE(world.run_until([&] { return server.peers.size() == 2; }));
  Peer& deaf = *server.peers.back();
  deaf.stream->pause_reading();
  deaf.send(std::string(1024 * 1024, 'x'));
  CHECK_FALSE(deaf.sent_at_once);
  other.abort();
  REQUIRE(world.run_until_idle());
  CHECK(deaf.closed == 1);
  CHECK(deaf.why.text() == "write: connection reset by peer");
  CHECK_FALSE(deaf.stream->pending_write());
}

TEST_CASE("closing inside of on_read ends the reading there; the other side sees the end") {
  SimWorld world(9);
  world.network().options().tiny_read = 1;
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  Peer& peer = server.peer();
  peer.close_on_read = true;
  client.send(pattern(100, 1));
  REQUIRE(world.run_until_idle());
  CHECK(peer.sizes.size() == 1);
  CHECK(peer.closed == 1);
  CHECK(client.why().text() == "closed by the peer");
}

TEST_CASE("a detached connection goes on elsewhere: every byte once, in order") {
  std::set<std::size_t> read_before;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    SimWorld world(seed);
    Server server(world);
    SimEnv target(server.host);
    SimClient client(server.host);
    client.connect("127.0.0.1", 5672);
    const std::string there = pattern(300000, seed);
    client.send(there);
    Peer& peer = server.peer();
    peer.send("before");
    std::unique_ptr<AcceptedSocket> taken;
    std::string first;
    if (seed % 2 == 0) {
      // From within on_read, and the stream dies there.
      peer.on_data = [&] {
        taken = peer.stream->detach();
        CHECK(peer.stream->detach() == nullptr);
        first = peer.read;
        peer.stream.reset();
      };
    } else {
      REQUIRE(world.run_until([&] { return !peer.read.empty(); }));
      peer.stream->pause_reading();
      taken = peer.stream->detach();
      first = peer.read;
    }
    REQUIRE(world.run_until([&] { return taken != nullptr; }));
    read_before.insert(first.size());
    world.run_for(5 * kMillisecondNs);  // more arrives while nobody has it
    CHECK(peer.read == first);
    Result<std::unique_ptr<Stream>> adopted = target.net().adopt(std::move(taken));
    REQUIRE(adopted.ok());
    CHECK(adopted.value()->peer_name() == client.local_name());
    Peer next(std::move(adopted).value());
    if (seed % 4 == 1) peer.stream.reset();
    next.send("after");
    REQUIRE(world.run_until([&] {
      return first.size() + next.read.size() == there.size() && client.total_received() == 11;
    }));
    CHECK(first + next.read == there);
    CHECK(as_text(client.received()) == "beforeafter");
    client.close();
    REQUIRE(world.run_until([&] { return next.closed == 1; }));
    CHECK(peer.closed == 0);
  }
  CHECK(read_before.size() > 5);
}

TEST_CASE("a detached connection that nobody adopts is closed; one that has ended gives none") {
  SimWorld world(3);
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  Peer& peer = server.peer();
  peer.stream->pause_reading();
  peer.stream->detach().reset();
  REQUIRE(world.run_until([&] { return client.closed(); }));
  CHECK(client.why().code() == Code::kClosed);
  SimClient second(server.host);
  second.connect("127.0.0.1", 5672);
  REQUIRE(world.run_until([&] { return server.peers.size() == 2; }));
  Peer& closing = *server.peers.back();
  closing.stream->close();
  CHECK(closing.stream->detach() == nullptr);
  REQUIRE(world.run_until([&] { return closing.closed == 1; }));
  CHECK(closing.why.ok());
}

TEST_CASE("refused: nobody listens, nobody is there, or chance says so") {
  SimWorld world(10);
  Server server(world);
  SimHost far(world, {"10.0.0.2"});
  const auto attempt = [&](SimHost& from, const std::string& address, std::uint16_t port) {
    SimClient client(from);
    client.connect(address, port);
    REQUIRE(world.run_until_idle());
    return client.closed() ? client.why().text() : std::string("connected");
  };
  CHECK(attempt(server.host, "127.0.0.1", 5672) == "connected");
  CHECK(attempt(server.host, "127.0.0.1", 5673) ==
        "cannot connect to 127.0.0.1:5673: connection refused");
  CHECK(attempt(server.host, "::1", 5672) == "cannot connect to [::1]:5672: connection refused");
  // Loopback is each host's own.
  CHECK(attempt(far, "127.0.0.1", 5672) == "cannot connect to 127.0.0.1:5672: connection refused");
  CHECK(attempt(server.host, "10.0.0.9", 5672) ==
        "cannot connect to 10.0.0.9:5672: connection refused");
  world.network().options().refuse = 1;
  CHECK(attempt(server.host, "127.0.0.1", 5672) ==
        "cannot connect to 127.0.0.1:5672: connection refused");
  world.network().options().refuse = 0;
  server.listener.reset();
  CHECK(attempt(server.host, "127.0.0.1", 5672) ==
        "cannot connect to 127.0.0.1:5672: connection refused");
}

TEST_CASE("a socket that nobody adopts is closed") {
  SimWorld world(11);
  Server server(world);
  server.refuse = true;
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  client.send("x");
  REQUIRE(world.run_until_idle());
  CHECK(client.closed());
}

TEST_CASE("connections are reset by chance, and both sides hear it") {
  SimWorld world(12);
  world.network().options().reset = 1;
  Server server(world);
  SimClient client(server.host);
  client.connect("127.0.0.1", 5672);
  client.send("x");
  Peer& peer = server.peer();
  REQUIRE(world.run_until_idle());
  CHECK(peer.read.empty());
  CHECK(peer.closed == 1);
  CHECK(client.closed());
}

TEST_CASE("listening: ports in use, foreign addresses, any free port, wildcards") {
  SimWorld world(13);
  SimHost host(world, {"10.0.0.1", "fd00::1"});
  SimHost client_host(world, {"10.0.0.2", "fd00::2"});
  SimEnv env(host);
  int accepted = 0;
  const auto listen = [&](const std::string& address, std::uint16_t port) {
    return env.net().listen(address, port, [&](std::unique_ptr<AcceptedSocket>) { ++accepted; });
  };
  auto any = listen("0.0.0.0", 5672);
  REQUIRE(any.ok());
  CHECK(any.value()->local_name() == "0.0.0.0:5672");
  CHECK(any.value()->port() == 5672);
  CHECK(listen("127.0.0.1", 5672).status().code() == Code::kBusy);
  CHECK(listen("0.0.0.0", 5672).status().code() == Code::kBusy);
  auto six = listen("::", 5672);  // IPv6 only: no collision
  CHECK(six.ok());
  CHECK(listen("10.0.0.7", 5673).status().code() == Code::kInvalid);
  auto free = listen("::1", 0);
  auto other = listen("::1", 0);
  REQUIRE(free.ok());
  REQUIRE(other.ok());
  CHECK(free.value()->port() != 0);
  CHECK(free.value()->port() != other.value()->port());

  SimClient client(client_host);
  client.connect("10.0.0.1", 5672);
  SimClient client6(client_host);
  client6.connect("fd00::1", 5672);
  REQUIRE(world.run_until_idle());
  CHECK(accepted == 2);
  CHECK(client6.local_name().starts_with("[fd00::2]:"));
  any.value().reset();
  CHECK(listen("127.0.0.1", 5672).ok());
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  const auto run = [](std::uint64_t seed) {
    SimWorld world(seed);
    Server server(world);
    SimClient client(server.host);
    client.connect("127.0.0.1", 5672);
    Peer& peer = server.peer();
    peer.echo = true;
    client.send(pattern(20000, 4));
    REQUIRE(world.run_until_idle());
    CHECK(peer.read == pattern(20000, 4));
    return world.digest();
  };
  CHECK(run(1) == run(1));
  CHECK(run(2) == run(2));
  CHECK(run(1) != run(2));
}

TEST_CASE("whatever is under way when a loop dies is forgotten") {
  SimWorld world(14);
  Server server(world);
  {
    SimClient client(server.host);
    client.connect("127.0.0.1", 5672);
    client.send("x");
    // The attempt has arrived; its answer has not.
    REQUIRE(world.run_until([&] { return !server.peers.empty(); }));
  }
  REQUIRE(world.run_until_idle());
  CHECK(server.peer().closed == 1);
}

}  // namespace sim_net_test
