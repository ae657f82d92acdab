#include "broker/runtime/sim/sim_paths.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/sim/sim_connection.h"
#include "broker/runtime/sim/sim_host.h"
#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

namespace {

// The shortest time after which Linux sends again what was not acknowledged.
constexpr std::uint64_t kRetransmitMinNs = 200 * kMillisecondNs;

}  // namespace

void SimPaths::cut(const SimHost& from, const SimHost& to) {
  if (from.number() != to.number()) cuts_.insert({from.number(), to.number()});
}

void SimPaths::heal(const SimHost& from, const SimHost& to) {
  if (cuts_.erase({from.number(), to.number()}) > 0) reopened();
}

void SimPaths::set_delay(const SimHost& from, const SimHost& to, std::uint64_t min_ns,
                         std::uint64_t max_ns) {
  delays_[{from.number(), to.number()}] = {min_ns, max_ns};
}

void SimPaths::cut_both(const SimHost& one, const SimHost& other) {
  cut(one, other);
  cut(other, one);
}

void SimPaths::heal_both(const SimHost& one, const SimHost& other) {
  heal(one, other);
  heal(other, one);
}

void SimPaths::cut_between(const SimHosts& left, const SimHosts& right) {
  for (const SimHost* one : left) {
    for (const SimHost* other : right) cut_both(*one, *other);
  }
}

void SimPaths::heal_between(const SimHosts& left, const SimHosts& right) {
  for (const SimHost* one : left) {
    for (const SimHost* other : right) heal_both(*one, *other);
  }
}

void SimPaths::isolate(SimHost& host) { cut_between({&host}, network_.hosts()); }

void SimPaths::split(const std::vector<SimHosts>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    heal_between(groups[i], groups[i]);
    for (std::size_t j = i + 1; j < groups.size(); ++j) cut_between(groups[i], groups[j]);
  }
}

void SimPaths::heal_all() {
  cuts_.clear();
  reopened();
}

bool SimPaths::blocked(SimHostNumber from, SimHostNumber to) const {
  if (cuts_.empty() && silent_.empty()) return false;
  return silent_.contains(from) || silent_.contains(to) || cuts_.contains({from, to});
}

std::uint64_t SimPaths::delay_ns(SimHostNumber from, SimHostNumber to) {
  const auto delay = delays_.find({from, to});
  if (delay == delays_.end()) return 0;
  return network_.world().rng().between(delay->second.first, delay->second.second);
}

void SimPaths::set_silent(SimHostNumber host, bool silent) {
  if (silent) {
    silent_.insert(host);
  } else if (silent_.erase(host) > 0) {
    reopened();
  }
}

void SimPaths::stalled(const std::shared_ptr<SimConnection>& connection, int side) {
  waiting_.push_back(
      std::make_shared<Stalled>(Stalled{connection, side, network_.world().now_ns()}));
}

void SimPaths::reopened() {
  for (const std::shared_ptr<Stalled>& waiting : waiting_) {
    const std::shared_ptr<SimConnection> connection = waiting->connection.lock();
    if (connection == nullptr || waiting->trying || connection->blocked(waiting->side)) continue;
    try_later(waiting);
  }
}

// The kernel doubles the time between its attempts: the longer the way was cut, the longer it may
// take until the next one.
void SimPaths::try_later(const std::shared_ptr<Stalled>& waiting) {
  waiting->trying = true;
  SimWorld& world = network_.world();
  const SimNetOptions& options = network_.options();
  const std::uint64_t cut_ns = std::clamp(world.now_ns() - waiting->since_ns, kRetransmitMinNs,
                                          std::max(kRetransmitMinNs, options.retransmit_max_ns));
  world.after(world.rng().between(options.latency_min_ns, cut_ns), SimEventKind::kWork,
              [this, waiting] { try_again(waiting); });
}

void SimPaths::try_again(const std::shared_ptr<Stalled>& waiting) {
  waiting->trying = false;
  const std::shared_ptr<SimConnection> connection = waiting->connection.lock();
  if (connection != nullptr && connection->blocked(waiting->side)) return;
  std::erase(waiting_, waiting);
  if (connection == nullptr) return;
  if (network_.world().rng().chance(network_.options().reset_on_heal)) {
    connection->reset_both();
  } else {
    connection->go_on(waiting->side);
  }
}

SimFlapping::SimFlapping(SimWorld& world, SimHosts left, SimHosts right, const Times& times)
    : world_(world), left_(std::move(left)), right_(std::move(right)), times_(times) {
  wait();
}

SimFlapping::~SimFlapping() {
  world_.cancel(event_);
  if (cut_) world_.network().paths().heal_between(left_, right_);
}

void SimFlapping::wait() {
  const std::uint64_t wait_ns = cut_ ? world_.rng().between(times_.cut_min_ns, times_.cut_max_ns)
                                     : world_.rng().between(times_.open_min_ns, times_.open_max_ns);
  event_ = world_.after(wait_ns, SimEventKind::kTimer, [this] { change(); });
}

void SimFlapping::change() {
  SimPaths& paths = world_.network().paths();
  cut_ = !cut_;
  if (cut_) {
    paths.cut_between(left_, right_);
    ++cuts_;
  } else {
    paths.heal_between(left_, right_);
  }
  wait();
}

}  // namespace ringtail::runtime
