#include "broker/runtime/sim/sim_connection.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

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

// --- the way there ---

std::uint64_t SimConnection::soon_ns(int side) {
  return network_.world().now_ns() + network_.latency_ns(ends_[side].host, ends_[1 - side].host);
}

std::uint64_t SimConnection::arrival_ns(int side) {
  End& end = ends_[side];
  end.last_arrival = std::max(end.last_arrival, soon_ns(side));
  return end.last_arrival;
}

bool SimConnection::blocked(int side) const {
  return network_.paths().blocked(ends_[side].host, ends_[1 - side].host);
}

void SimConnection::transmit(int side, std::uint64_t arrival_ns, Packet packet) {
  network_.world().at(arrival_ns, SimEventKind::kWork,
                      [self = shared_from_this(), side, sent = std::move(packet)]() mutable {
                        self->reached(side, std::move(sent));
                      });
}

void SimConnection::reached(int side, Packet packet) {
  const bool cut = blocked(side);
  if (packet.kind == Packet::Kind::kReset) {
    if (!cut) deliver(side, packet);
    return;
  }
  if (ends_[side].forgotten && packet.kind != Packet::Kind::kAnswer) return;
  if (!cut && waiting_[side].empty()) return deliver(side, packet);
  waiting_[side].push_back(std::move(packet));
  if (waiting_[side].size() == 1) network_.paths().stalled(shared_from_this(), side);
}

void SimConnection::go_on(int side) {
  const std::deque<Packet> packets = std::exchange(waiting_[side], {});
  for (const Packet& packet : packets) deliver(side, packet);
}

void SimConnection::reset_both() {
  for (const int side : {0, 1}) {
    waiting_[side].clear();
    reset_now(side);
  }
}

void SimConnection::deliver(int side, const Packet& packet) {
  End& other = ends_[1 - side];
  switch (packet.kind) {
    case Packet::Kind::kData:
      return arrive(1 - side, packet.bytes);
    case Packet::Kind::kRead:
      other.in_flight -= packet.size;
      if (other.stream != nullptr) other.stream->room_made();
      return;
    case Packet::Kind::kEnd:
      other.end_arrived = true;
      if (other.stream != nullptr) other.stream->something_arrived();
      return;
    case Packet::Kind::kReset:
    case Packet::Kind::kAnswer:
      return reset_now(1 - side);
  }
}

// --- what the sides do ---

void SimConnection::send(int side, std::vector<std::uint8_t> bytes) {
  ends_[side].in_flight += bytes.size();
  transmit(side, arrival_ns(side), {Packet::Kind::kData, std::move(bytes)});
}

void SimConnection::arrive(int side, std::span<const std::uint8_t> bytes) {
  End& end = ends_[side];
  if (end.gone && network_.world().now_ns() < end.linger_until) {
    return acknowledge(side, bytes.size());
  }
  if (end.gone) return send_reset(side);
  if (end.reset_arrived) return;  // nothing follows a reset: what it took is missing before this
  if (network_.world().rng().chance(network_.options().reset)) {
    reset_now(side);
    return send_reset(side);
  }
  end.arrived.append(bytes);
  if (end.stream != nullptr) end.stream->something_arrived();
}

void SimConnection::reset_now(int side) {
  End& end = ends_[side];
  end.reset_arrived = true;
  if (end.stream != nullptr) end.stream->something_arrived();
}

void SimConnection::send_reset(int side) { transmit(side, soon_ns(side), {Packet::Kind::kAnswer}); }

void SimConnection::read(int side, std::size_t size) {
  ends_[side].arrived.consume(size);
  acknowledge(side, size);
}

void SimConnection::acknowledge(int side, std::size_t size) {
  transmit(side, soon_ns(side), {Packet::Kind::kRead, {}, size});
}

void SimConnection::close(int side) {
  End& end = ends_[side];
  if (end.gone) return;
  end.gone = true;
  end.linger_until = network_.world().now_ns() + network_.options().linger_ns;
  if (!end.arrived.empty()) acknowledge(side, end.arrived.size());
  end.arrived.consume(end.arrived.size());
  transmit(side, arrival_ns(side), {Packet::Kind::kEnd});
}

void SimConnection::drop(int side) {
  End& end = ends_[side];
  end.linger_until = 0;
  if (end.gone) return;
  // A kernel without power says nothing, and has forgotten everything when it is back.
  if (network_.paths().silent(end.host)) {
    end.gone = end.forgotten = true;
    waiting_[side].clear();
    return;
  }
  if (!end.arrived.empty()) return abort(side);
  end.gone = true;
  transmit(side, arrival_ns(side), {Packet::Kind::kEnd});
}

void SimConnection::abort(int side) {
  if (ends_[side].gone) return;
  ends_[side].gone = true;
  transmit(side, arrival_ns(side), {Packet::Kind::kReset});
}

SimSocket::~SimSocket() {
  if (connection_ != nullptr) connection_->drop(side_);
}

std::unique_ptr<SimStream> SimSocket::adopt(SimEnv& env) {
  RT_CHECK(connection_ != nullptr, "a socket is adopted once");
  return std::make_unique<SimStream>(env, std::exchange(connection_, nullptr), side_);
}

}  // namespace ringtail::runtime
