#include "broker/runtime/sim/sim_net.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_host.h"

namespace ringtail::runtime {

namespace {

constexpr std::uint16_t kFirstFreePort = 40000;
// When nobody answers, Linux asks again after 1, 2, 4 ... seconds.
constexpr std::uint64_t kAskAgainNs = kSecondNs;
// tcp_syn_retries: what an attempt without a limit of its own takes.
constexpr std::uint64_t kKernelTimeoutNs = 127 * kSecondNs;

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

bool is_wildcard(const std::string& address) { return address == "0.0.0.0" || address == "::"; }

bool is_loopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

std::string name_of(const std::string& address, std::uint16_t port) {
  const std::string host = is_ipv6(address) ? "[" + address + "]" : address;
  return host + ":" + std::to_string(port);
}

bool has_address(const SimHost& host, const std::string& address) {
  if (is_loopback(address)) return true;
  const auto& addresses = host.addresses();
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

}  // namespace

// --- the network ---

SimHost* SimNetwork::host_of(const std::string& address, SimHost& from) const {
  if (is_loopback(address)) return &from;
  for (SimHost* host : hosts_) {
    if (has_address(*host, address)) return host;
  }
  return nullptr;
}

SimListener* SimNetwork::listener_of(const SimHost& host, const std::string& address,
                                     std::uint16_t port) const {
  for (SimListener* listener : listeners_) {
    if (listener->dead() || &listener->host() != &host || listener->port() != port) continue;
    if (listener->address() == address) return listener;
    if (is_wildcard(listener->address()) && is_ipv6(listener->address()) == is_ipv6(address)) {
      return listener;
    }
  }
  return nullptr;
}

bool SimNetwork::in_use(const SimHost& host, const std::string& address, std::uint16_t port) const {
  for (const SimListener* listener : listeners_) {
    if (listener->dead() || &listener->host() != &host || listener->port() != port) continue;
    if (is_ipv6(listener->address()) != is_ipv6(address)) continue;
    if (listener->address() == address || is_wildcard(address) ||
        is_wildcard(listener->address())) {
      return true;
    }
  }
  return false;
}

std::uint64_t SimNetwork::latency_ns(SimHostNumber from, SimHostNumber to) {
  return world_.rng().between(options_.latency_min_ns, options_.latency_max_ns) +
         paths_.delay_ns(from, to);
}

// --- one side of a connection ---

SimStream::SimStream(SimEnv& env, std::shared_ptr<SimConnection> connection, int side)
    : env_(env), connection_(std::move(connection)), side_(side) {
  own().stream = this;
  static_cast<SimNet&>(env_.net()).add(connection_, side_);
}

SimStream::~SimStream() {
  close();
  if (own().stream == this) own().stream = nullptr;  // after detach() it may be another one's
  cancel_events();
}

void SimStream::cancel_events() {
  for (SimEventId* event : {&read_event_, &write_event_, &closed_event_}) {
    env_.cancel(std::exchange(*event, {}));
  }
}

void SimStream::die() {
  finished_ = true;
  pending_.clear();
  pending_write_ = false;
  cancel_events();
}

void SimStream::start(StreamEvents& events) {
  events_ = &events;
  resume_reading();
}

void SimStream::pause_reading() {
  paused_ = true;
  if (write_failed_) finish(Status(Code::kClosed, "write: connection reset by peer"));
}

void SimStream::resume_reading() {
  paused_ = false;
  something_arrived();
}

void SimStream::something_arrived() {
  if (finished_ || events_ == nullptr) return;
  const SimConnection::End& end = own();
  if (end.reset_arrived && pending_write_) fail_write();
  if (finished_ || paused_ || read_event_ != SimEventId{}) return;
  if (end.arrived.empty() && !end.end_arrived && !end.reset_arrived) return;
  read_event_ = env_.schedule(0, SimEventKind::kWork, [this] {
    read_event_ = {};
    read_once();
  });
}

// A side that reads ends by what its reads report, behind what the other side sent before it went.
void SimStream::fail_write() {
  pending_.clear();
  pending_write_ = false;
  write_failed_ = true;
  if (paused_) finish(Status(Code::kClosed, "write: connection reset by peer"));
}

std::size_t SimStream::next_read_size() {
  SimRng& rng = env_.world().rng();
  const SimNetOptions& options = env_.world().network().options();
  const std::size_t available = std::min(own().arrived.size(), kReadBufferSize);
  if (rng.chance(options.tiny_read)) return std::min(available, 1 + rng.below(8));
  if (rng.chance(options.part_read)) return 1 + rng.below(available);
  return available;
}

void SimStream::read_once() {
  if (finished_ || paused_) return;
  const SimConnection::End& end = own();
  if (end.arrived.empty()) {
    return finish(Status(Code::kClosed, end.reset_arrived ? "read: connection reset by peer"
                                                          : "closed by the peer"));
  }
  const std::size_t size = next_read_size();
  std::uint8_t* const data = static_cast<SimNet&>(env_.net()).read_buffer() + kReadHeadroom;
  std::memcpy(data, end.arrived.data(), size);
  connection_->read(side_, size);
  env_.world().trace(size);
  const std::shared_ptr<SimConnection> connection = connection_;
  const int side = side_;
  events_->on_read({data, size});
  // What was read is valid during the call only: whoever keeps a pointer to it shall notice.
  std::memset(data, 0xDD, size);
  if (connection->end(side).stream == this) something_arrived();
}

bool SimStream::write(OutChain& chain) {
  RT_CHECK(!pending_write_, "write() while a write is pending");
  if (!finished_ && own().reset_arrived) fail_write();
  if (finished_ || write_failed_) {
    chain.clear();
    return true;
  }
  pending_.splice(chain);
  std::size_t limit = connection_->room(side_);
  SimRng& rng = env_.world().rng();
  if (rng.chance(env_.world().network().options().short_write)) limit = rng.below(limit + 1);
  pump(limit);
  if (pending_.empty()) return true;
  pending_write_ = true;
  // Nothing is under way whose arrival would make us go on.
  if (own().in_flight == 0) {
    write_event_ = env_.schedule(50 * kMicrosecondNs, SimEventKind::kWork, [this] {
      write_event_ = {};
      room_made();
    });
  }
  return false;
}

void SimStream::pump(std::size_t limit) {
  limit = std::min(limit, pending_.size());
  if (limit == 0) return;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(limit);
  while (bytes.size() < limit) {
    std::array<OutChain::Piece, 16> pieces;
    const std::size_t count = pending_.peek(pieces);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count && bytes.size() < limit; ++i) {
      const std::size_t size = std::min(pieces[i].size, limit - bytes.size());
      bytes.insert(bytes.end(), pieces[i].data, pieces[i].data + size);
      taken += size;
    }
    pending_.consume(taken);
  }
  connection_->send(side_, std::move(bytes));
}

void SimStream::room_made() {
  if (finished_ || !pending_write_ || pending_.empty()) return;
  if (env_.stands()) {
    // What is not in the kernel yet waits for its process.
    if (write_event_ != SimEventId{}) return;
    write_event_ = env_.schedule(0, SimEventKind::kWork, [this] {
      write_event_ = {};
      room_made();
    });
    return;
  }
  pump(connection_->room(side_));
  if (!pending_.empty()) return;
  write_event_ = env_.schedule(0, SimEventKind::kWork, [this] {
    write_event_ = {};
    written();
  });
}

void SimStream::written() {
  if (finished_ || !pending_write_) return;
  pending_write_ = false;
  if (events_ != nullptr) events_->on_written();
}

void SimStream::close() {
  if (pending_write_ || write_failed_) connection_->abort(side_);
  finish(Status());
}

std::unique_ptr<AcceptedSocket> SimStream::detach() {
  RT_CHECK(!pending_write_, "a stream detached with a write pending");
  if (finished_) return nullptr;
  finished_ = true;
  own().stream = nullptr;
  cancel_events();
  static_cast<SimNet&>(env_.net()).remove(*connection_, side_);
  return std::make_unique<SimSocket>(connection_, side_);
}

void SimStream::abort() {
  connection_->abort(side_);
  finish(Status());
}

void SimStream::finish(const Status& status) {
  if (finished_) return;
  finished_ = true;
  pending_.clear();
  pending_write_ = false;
  connection_->close(side_);
  if (events_ == nullptr) return;
  closed_event_ = env_.schedule(0, SimEventKind::kWork, [this, status] {
    closed_event_ = {};
    events_->on_closed(status);
  });
}

// --- listening and connecting ---

SimListener::SimListener(SimEnv& env, std::string address, std::uint16_t port,
                         std::function<void(std::unique_ptr<AcceptedSocket>)> accepted)
    : env_(env), address_(std::move(address)), port_(port), accepted_(std::move(accepted)) {
  env_.world().network().add(*this);
}

SimListener::~SimListener() { env_.world().network().remove(*this); }

std::string SimListener::local_name() const { return name_of(address_, port_); }

SimHost& SimListener::host() const { return env_.host(); }

bool SimListener::dead() const { return env_.dead(); }

void SimListener::accept(std::unique_ptr<AcceptedSocket> socket) {
  if (!env_.stands()) return env_.enter([&] { hand_over(std::move(socket)); });
  // A function that waits must be one that could be copied.
  auto waiting = std::make_shared<std::unique_ptr<AcceptedSocket>>(std::move(socket));
  env_.schedule(0, SimEventKind::kWork, [this, alive = std::weak_ptr<bool>(alive_), waiting] {
    if (!alive.expired()) hand_over(std::move(*waiting));
  });
}

void SimListener::hand_over(std::unique_ptr<AcceptedSocket> socket) {
  // A copy: the callback may destroy the listener.
  const auto accepted = accepted_;
  accepted(std::move(socket));
}

Result<std::unique_ptr<Listener>> SimNet::listen(
    const std::string& address, std::uint16_t port,
    std::function<void(std::unique_ptr<AcceptedSocket>)> accepted, int) {
  SimNetwork& network = env_.world().network();
  if (!is_wildcard(address) && !has_address(env_.host(), address)) {
    return Status(Code::kInvalid, name_of(address, port) + ": not an address of this machine");
  }
  if (port == 0) {
    for (port = kFirstFreePort; network.in_use(env_.host(), address, port);) ++port;
  } else if (network.in_use(env_.host(), address, port)) {
    return Status(Code::kBusy, name_of(address, port) + ": address already in use");
  }
  return std::unique_ptr<Listener>(
      std::make_unique<SimListener>(env_, address, port, std::move(accepted)));
}

Result<std::unique_ptr<Stream>> SimNet::adopt(std::unique_ptr<AcceptedSocket> socket) {
  return std::unique_ptr<Stream>(static_cast<SimSocket&>(*socket).adopt(env_));
}

// An attempt to connect.
struct SimNet::Dial {
  std::string address;
  std::uint16_t port;
  Connected done;
  std::uint64_t until_ns;
  std::uint64_t wait_ns = kAskAgainNs;
  bool asked_twice = false;
  bool ended = false;
};

void SimNet::connect(const std::string& address, std::uint16_t port, Connected done,
                     std::uint64_t timeout_ms) {
  const std::uint64_t limit_ns = timeout_ms == 0
                                     ? kKernelTimeoutNs
                                     : env_.host().clock().world_ns(timeout_ms * kMillisecondNs);
  ask(std::make_shared<Dial>(
      Dial{address, port, std::move(done), env_.world().now_ns() + limit_ns}));
}

void SimNet::ask(const DialRef& dial) {
  SimNetwork& network = env_.world().network();
  const SimHost* const host = network.host_of(dial->address, env_.host());
  const SimHostNumber own = env_.host().number();
  env_.schedule_kernel(network.latency_ns(own, host == nullptr ? own : host->number()),
                       SimEventKind::kWork, [this, dial] { arrive(dial); });
}

void SimNet::arrive(const DialRef& dial) {
  if (dial->ended) return;
  SimNetwork& network = env_.world().network();
  const SimHostNumber own = env_.host().number();
  SimHost* const host = network.host_of(dial->address, env_.host());
  if (host != nullptr && (network.paths().blocked(own, host->number()) ||
                          network.paths().blocked(host->number(), own))) {
    return ask_again(dial);
  }
  SimListener* const listener =
      host == nullptr ? nullptr : network.listener_of(*host, dial->address, dial->port);
  if (listener == nullptr || env_.world().rng().chance(network.options().refuse)) {
    const SimHostNumber from = host == nullptr ? own : host->number();
    return end(dial, Code::kRefused, "connection refused", network.latency_ns(from, own));
  }
  dial->ended = true;
  establish(dial, *host, *listener);
}

void SimNet::ask_again(const DialRef& dial) {
  const std::uint64_t now_ns = env_.world().now_ns();
  if (!dial->asked_twice) {
    dial->asked_twice = true;
    env_.schedule_kernel(dial->until_ns - std::min(dial->until_ns, now_ns), SimEventKind::kTimer,
                         [this, dial] { end(dial, Code::kTimeout, "connection timed out", 0); });
  }
  env_.schedule_kernel(dial->wait_ns, SimEventKind::kTimer, [this, dial] {
    if (!dial->ended) ask(dial);
  });
  dial->wait_ns *= 2;
}

void SimNet::end(const DialRef& dial, Code code, const std::string& reason,
                 std::uint64_t delay_ns) {
  if (dial->ended) return;
  dial->ended = true;
  const Status status(code,
                      "cannot connect to " + name_of(dial->address, dial->port) + ": " + reason);
  env_.schedule(delay_ns, SimEventKind::kWork, [dial, status] { dial->done(status); });
}

void SimNet::establish(const DialRef& dial, SimHost& host, SimListener& listener) {
  SimNetwork& network = env_.world().network();
  // On loopback both ends have the same address; otherwise ours is the first of that family.
  std::string own_address = dial->address;
  if (!is_loopback(dial->address)) {
    for (const std::string& candidate : env_.host().addresses()) {
      if (is_ipv6(candidate) != is_ipv6(dial->address)) continue;
      own_address = candidate;
      break;
    }
  }
  auto connection = std::make_shared<SimConnection>(network);
  SimConnection::End& ours = connection->end(0);
  ours.name = name_of(own_address, env_.host().next_ephemeral_port());
  ours.loopback = is_loopback(own_address);
  ours.host = env_.host().number();
  SimConnection::End& theirs = connection->end(1);
  theirs.name = name_of(dial->address, dial->port);
  theirs.loopback = is_loopback(dial->address);
  theirs.host = host.number();
  auto socket = std::make_shared<SimSocket>(connection, 0);
  env_.schedule(network.latency_ns(theirs.host, ours.host), SimEventKind::kWork,
                [this, socket, dial] { dial->done(std::unique_ptr<Stream>(socket->adopt(env_))); });
  listener.accept(std::make_unique<SimSocket>(std::move(connection), 1));
}

void SimNet::add(const std::shared_ptr<SimConnection>& connection, int side) {
  if (open_.size() >= sweep_at_) {
    std::erase_if(open_, [](const Open& one) { return one.connection.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * open_.size());
  }
  open_.push_back({connection, side});
}

void SimNet::remove(const SimConnection& connection, int side) {
  std::erase_if(open_, [&](const Open& one) {
    return one.side == side && one.connection.lock().get() == &connection;
  });
}

void SimNet::kill() {
  for (const Open& one : std::exchange(open_, {})) {
    const std::shared_ptr<SimConnection> connection = one.connection.lock();
    if (connection == nullptr) continue;
    SimConnection::End& end = connection->end(one.side);
    if (end.stream != nullptr && end.stream->is_of(env_)) end.stream->die();
    connection->drop(one.side);
  }
}

std::uint8_t* SimNet::read_buffer() {
  if (buffer_.empty()) buffer_.resize(kReadHeadroom + kReadBufferSize);
  return buffer_.data();
}

}  // namespace ringtail::runtime
