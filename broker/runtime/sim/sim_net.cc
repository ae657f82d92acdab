#include "broker/runtime/sim/sim_net.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/sim/sim_env.h"

namespace ringtail::runtime {

namespace {

constexpr std::uint16_t kFirstFreePort = 40000;

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
    if (&listener->host() != &host || listener->port() != port) continue;
    if (listener->address() == address) return listener;
    if (is_wildcard(listener->address()) && is_ipv6(listener->address()) == is_ipv6(address)) {
      return listener;
    }
  }
  return nullptr;
}

bool SimNetwork::in_use(const SimHost& host, const std::string& address, std::uint16_t port) const {
  for (const SimListener* listener : listeners_) {
    if (&listener->host() != &host || listener->port() != port) continue;
    if (is_ipv6(listener->address()) != is_ipv6(address)) continue;
    if (listener->address() == address || is_wildcard(address) ||
        is_wildcard(listener->address())) {
      return true;
    }
  }
  return false;
}

std::uint64_t SimNetwork::latency_ns() {
  return world_.rng().between(options_.latency_min_ns, options_.latency_max_ns);
}

// --- one connection ---

void SimByteQueue::consume(std::size_t size) {
  at_ += size;
  if (at_ == bytes_.size()) {
    bytes_.clear();
    at_ = 0;
  } else if (at_ > bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
  }
}

SimConnection::SimConnection(SimNetwork& network) : network_(network) {
  const SimNetOptions& options = network.options();
  for (End& end : ends_) {
    end.capacity =
        network.world().rng().between(options.kernel_buffer_min, options.kernel_buffer_max);
  }
}

std::uint64_t SimConnection::arrival_ns(int side) {
  End& end = ends_[side];
  end.last_arrival = std::max(end.last_arrival, network_.world().now_ns() + network_.latency_ns());
  return end.last_arrival;
}

void SimConnection::send(int side, std::vector<std::uint8_t> bytes) {
  ends_[side].in_flight += bytes.size();
  network_.world().at(
      arrival_ns(side), SimEventKind::kWork,
      [self = shared_from_this(), side, sent = std::move(bytes)] { self->arrive(1 - side, sent); });
}

void SimConnection::arrive(int side, std::span<const std::uint8_t> bytes) {
  End& end = ends_[side];
  if (end.gone && network_.world().now_ns() < end.linger_until) {
    return acknowledge(side, bytes.size());
  }
  if (end.gone) return reset_later(1 - side);
  if (end.reset_arrived) return;  // nothing follows a reset: what it took is missing before this
  if (network_.world().rng().chance(network_.options().reset)) {
    reset_now(side);
    return reset_later(1 - side);
  }
  end.arrived.append(bytes);
  if (end.stream != nullptr) end.stream->something_arrived();
}

void SimConnection::reset_now(int side) {
  End& end = ends_[side];
  end.reset_arrived = true;
  if (end.stream != nullptr) end.stream->something_arrived();
}

void SimConnection::reset_later(int side) {
  network_.world().after(network_.latency_ns(), SimEventKind::kWork,
                         [self = shared_from_this(), side] { self->reset_now(side); });
}

void SimConnection::read(int side, std::size_t size) {
  ends_[side].arrived.consume(size);
  acknowledge(side, size);
}

void SimConnection::acknowledge(int side, std::size_t size) {
  network_.world().after(network_.latency_ns(), SimEventKind::kWork,
                         [self = shared_from_this(), side, size] {
                           End& sender = self->ends_[1 - side];
                           sender.in_flight -= size;
                           if (sender.stream != nullptr) sender.stream->room_made();
                         });
}

void SimConnection::close(int side) {
  End& end = ends_[side];
  if (end.gone) return;
  end.gone = true;
  end.linger_until = network_.world().now_ns() + network_.options().linger_ns;
  if (!end.arrived.empty()) acknowledge(side, end.arrived.size());
  end.arrived.consume(end.arrived.size());
  network_.world().at(arrival_ns(side), SimEventKind::kWork, [self = shared_from_this(), side] {
    End& other = self->ends_[1 - side];
    other.end_arrived = true;
    if (other.stream != nullptr) other.stream->something_arrived();
  });
}

void SimConnection::abort(int side) {
  if (ends_[side].gone) return;
  ends_[side].gone = true;
  network_.world().at(arrival_ns(side), SimEventKind::kWork,
                      [self = shared_from_this(), side] { self->reset_now(1 - side); });
}

SimSocket::~SimSocket() {
  if (connection_ != nullptr) connection_->close(side_);
}

std::unique_ptr<SimStream> SimSocket::adopt(SimEnv& env) {
  RT_CHECK(connection_ != nullptr, "a socket is adopted once");
  return std::make_unique<SimStream>(env, std::exchange(connection_, nullptr), side_);
}

// --- one side of it ---

SimStream::SimStream(SimEnv& env, std::shared_ptr<SimConnection> connection, int side)
    : env_(env), connection_(std::move(connection)), side_(side) {
  own().stream = this;
}

SimStream::~SimStream() {
  close();
  own().stream = nullptr;
  for (const SimEventId event : {read_event_, write_event_, closed_event_}) {
    env_.world().cancel(event);
  }
}

void SimStream::start(StreamEvents& events) {
  RT_CHECK(events_ == nullptr, "a stream is started once");
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

void SimListener::accept(std::unique_ptr<AcceptedSocket> socket) {
  // A copy: the callback may destroy the listener.
  const auto accepted = accepted_;
  SimEnv& env = env_;
  env.enter([&] { accepted(std::move(socket)); });
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

void SimNet::connect(const std::string& address, std::uint16_t port, Connected done) {
  env_.schedule(env_.world().network().latency_ns(), SimEventKind::kWork,
                [this, address, port, done = std::move(done)] { arrive(address, port, done); });
}

void SimNet::arrive(const std::string& address, std::uint16_t port, const Connected& done) {
  SimNetwork& network = env_.world().network();
  SimHost* const host = network.host_of(address, env_.host());
  SimListener* const listener =
      host == nullptr ? nullptr : network.listener_of(*host, address, port);
  if (listener == nullptr || env_.world().rng().chance(network.options().refuse)) {
    env_.schedule(network.latency_ns(), SimEventKind::kWork, [done, address, port] {
      done(Status(Code::kUnavailable, name_of(address, port) + ": connection refused"));
    });
    return;
  }
  // On loopback both ends have the same address; otherwise ours is the first of that family.
  std::string own_address = address;
  if (!is_loopback(address)) {
    for (const std::string& candidate : env_.host().addresses()) {
      if (is_ipv6(candidate) != is_ipv6(address)) continue;
      own_address = candidate;
      break;
    }
  }
  auto connection = std::make_shared<SimConnection>(network);
  connection->end(0).name = name_of(own_address, env_.host().next_ephemeral_port());
  connection->end(0).loopback = is_loopback(own_address);
  connection->end(1).name = name_of(address, port);
  connection->end(1).loopback = is_loopback(address);
  auto ours = std::make_shared<SimSocket>(connection, 0);
  env_.schedule(network.latency_ns(), SimEventKind::kWork,
                [this, ours, done] { done(std::unique_ptr<Stream>(ours->adopt(env_))); });
  listener->accept(std::make_unique<SimSocket>(std::move(connection), 1));
}

std::uint8_t* SimNet::read_buffer() {
  if (buffer_.empty()) buffer_.resize(kReadHeadroom + kReadBufferSize);
  return buffer_.data();
}

}  // namespace ringtail::runtime
