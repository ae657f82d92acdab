#include "broker/runtime/sim/sim_shard.h"

#include "broker/runtime/buggify.h"

namespace ringtail::runtime {

namespace {

// How long it takes until a woken loop runs, and how long a turn does.
constexpr std::uint64_t kWakeMinNs = 1 * kMicrosecondNs;
constexpr std::uint64_t kWakeMaxNs = 20 * kMicrosecondNs;
constexpr std::uint64_t kWakeLateNs = 30 * kMillisecondNs;
constexpr std::uint64_t kTurnNs = 2 * kMicrosecondNs;

}  // namespace

SimShardDriver::SimShardDriver(SimHost& host, NodeId node, ShardId id, Mailboxes& mailboxes)
    : env_(host), shard_(node, id, env_, mailboxes) {
  mailboxes.set_waker(id, this);
  env_.set_after_callback([this] { turn_after(0); });
}

SimShardDriver::~SimShardDriver() { env_.world().cancel(turn_event_); }

void SimShardDriver::wake() noexcept {
  // At times the kernel lets a thread wait that was woken.
  const std::uint64_t most_ns = RT_BUGGIFY(0.05) ? kWakeLateNs : kWakeMaxNs;
  turn_after(env_.world().rng().between(kWakeMinNs, most_ns));
}

void SimShardDriver::turn_after(std::uint64_t delay_ns) {
  SimWorld& world = env_.world();
  if (turn_event_ != SimEventId{}) {
    if (turn_event_.time_ns <= world.now_ns() + delay_ns) return;
    world.cancel(turn_event_);
  }
  turn_event_ = world.after(delay_ns, SimEventKind::kWork, [this] {
    turn_event_ = {};
    turn();
  });
}

void SimShardDriver::turn() {
  if (env_.dead()) return;
  if (env_.stands()) {
    if (turn_held_) return;
    turn_held_ = true;
    // Held back like the rest; a turn follows it, as it follows each callback.
    env_.schedule(0, SimEventKind::kWork, [this] { turn_held_ = false; });
    return;
  }
  if (shard_.run_turn()) turn_after(kTurnNs);
}

SimNode::SimNode(SimHost& host, NodeId node, std::size_t shards) : mailboxes_(shards) {
  for (std::size_t i = 0; i < shards; ++i) {
    drivers_.push_back(std::make_unique<SimShardDriver>(
        host, node, ShardId{static_cast<std::uint16_t>(i)}, mailboxes_));
  }
}

void SimNode::pause() {
  for (const auto& driver : drivers_) driver->env().pause();
}

void SimNode::resume() {
  for (const auto& driver : drivers_) driver->env().resume();
}

void SimNode::kill() {
  for (const auto& driver : drivers_) driver->env().kill();
  drivers_.front()->env().host().drive().kill_processes();
}

}  // namespace ringtail::runtime
