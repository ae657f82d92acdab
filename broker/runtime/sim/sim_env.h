// The simulated side of env.h: the Env of one shard, or of one test client, on a simulated host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "broker/runtime/env.h"
#include "broker/runtime/sim/sim_disk.h"
#include "broker/runtime/sim/sim_host.h"
#include "broker/runtime/sim/sim_world.h"

namespace ringtail::runtime {

class SimNet;

// One event loop's view of the world. Its owner is a SimShardDriver or a SimClient. Destroying it
// kills it first, and forgets whatever it had under way.
class SimEnv final : public Env {
 public:
  explicit SimEnv(SimHost& host);
  ~SimEnv() override;
  SimEnv(const SimEnv&) = delete;
  SimEnv& operator=(const SimEnv&) = delete;

  Clock& clock() override;
  Timers& timers() override;
  Rng& rng() override { return rng_; }
  Disk& disk() override;
  Net& net() override;

  SimHost& host() { return host_; }
  SimWorld& world() { return host_.world(); }

  // The loop stands (SIGSTOP): what would run is held back, and runs in its order when it goes on.
  void pause() { paused_ = true; }
  void resume();
  // From now on nothing runs here any more, and the kernel closes all that was open. The objects
  // on this loop do nothing when they are destroyed. Idempotent.
  void kill();
  bool dead() const { return alive_ == nullptr; }
  // Paused, or not yet through with what was held back.
  bool stands() const { return paused_ || !held_.empty(); }

  // What happens after each callback on this loop: the driver asks for a turn.
  void set_after_callback(std::function<void()> hook) { after_callback_ = std::move(hook); }
  // Runs a callback as the loop would. For the parts of the simulation; tests use the driver.
  void enter(const std::function<void()>& callback);
  // Enters the loop with `callback` after a delay, unless this Env is dead by then.
  SimEventId schedule(std::uint64_t delay_ns, SimEventKind kind, std::function<void()> callback);
  // Forgets it, also one that is held back.
  void cancel(SimEventId id);
  // For what a kernel does by itself: runs outside of the loop, unless this Env is dead by then.
  void schedule_kernel(std::uint64_t delay_ns, SimEventKind kind, std::function<void()> run);

 private:
  class SimClock;
  class SimTimers;
  class SimTimer;

  void let_next_run();

  SimHost& host_;
  SimRng rng_;
  std::function<void()> after_callback_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // null: dead
  bool paused_ = false;
  bool letting_run_ = false;  // one of held_ is about to run
  std::map<SimEventId, std::function<void()>> held_;
  std::unique_ptr<SimClock> clock_;
  std::unique_ptr<SimTimers> timers_;
  std::unique_ptr<SimDisk> disk_;
  std::unique_ptr<SimNet> net_;
};

}  // namespace ringtail::runtime
