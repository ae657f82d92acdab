#include "broker/runtime/sim/sim_world.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t SimRng::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  return mix(state_);
}

void SimRng::fill_secure(std::span<std::uint8_t> bytes) {
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(next() >> 56);
}

bool SimRng::chance(double probability) {
  if (probability <= 0) return false;
  return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability;
}

std::uint64_t SimRng::between(std::uint64_t low, std::uint64_t high) {
  RT_CHECK(low <= high && high - low < ~std::uint64_t{0}, "not a range");
  return low + below(high - low + 1);
}

SimWorld::SimWorld(std::uint64_t seed)
    : seed_(seed),
      rng_(mix(seed)),
      buggify_rng_(mix(seed + 1)),
      buggify_(mix(seed), buggify_rng_),
      network_(std::make_unique<SimNetwork>(*this)) {}

SimWorld::~SimWorld() {
  set_buggify(false);
  ending_ = true;
  // What events hold (a socket on its way, say) may want to say goodbye: to a world that still
  // stands, but does nothing any more.
  const std::map<SimEventId, Event> rest = std::exchange(events_, {});
}

void SimWorld::set_buggify(bool on) {
  if (on) {
    active_buggify = &buggify_;
  } else if (active_buggify == &buggify_) {
    active_buggify = nullptr;
  }
}

SimEventId SimWorld::at(std::uint64_t time_ns, SimEventKind kind, std::function<void()> run) {
  if (ending_) return {};
  const SimEventId id{std::max(time_ns, now_ns_), ++last_sequence_};
  events_.emplace(id, Event{kind, std::move(run)});
  if (kind == SimEventKind::kWork) ++work_waiting_;
  return id;
}

SimEventId SimWorld::after(std::uint64_t delay_ns, SimEventKind kind, std::function<void()> run) {
  return at(now_ns_ + delay_ns, kind, std::move(run));
}

void SimWorld::cancel(SimEventId id) {
  // Extracted, not erased: what the event holds may make new events as it goes.
  const auto node = events_.extract(id);
  if (!node.empty() && node.mapped().kind == SimEventKind::kWork) --work_waiting_;
}

bool SimWorld::step() {
  if (events_.empty()) return false;
  auto node = events_.extract(events_.begin());
  now_ns_ = node.key().time_ns;
  current_event_ = node.key();
  if (node.mapped().kind == SimEventKind::kWork) --work_waiting_;
  ++events_run_;
  trace(node.key().time_ns);
  trace(node.key().sequence);
  node.mapped().run();
  return true;
}

void SimWorld::run_until(std::uint64_t time_ns) {
  while (!events_.empty() && events_.begin()->first.time_ns <= time_ns) step();
  now_ns_ = std::max(now_ns_, time_ns);
}

bool SimWorld::run_until(const std::function<bool()>& condition, std::uint64_t limit_ns) {
  const std::uint64_t end_ns = now_ns_ + limit_ns;
  while (!condition()) {
    if (events_.empty() || events_.begin()->first.time_ns > end_ns) return false;
    step();
  }
  return true;
}

bool SimWorld::run_until_idle(std::uint64_t limit_ns) {
  return run_until([this] { return work_waiting_ == 0; }, limit_ns);
}

void SimWorld::trace(std::uint64_t value) { digest_ = mix(digest_ * 31 + value); }

}  // namespace ringtail::runtime
