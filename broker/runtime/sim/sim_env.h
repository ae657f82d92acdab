// The simulated side of env.h: a host with its addresses and its drive, and the Env of one shard
// (or of one test client) on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/env.h"
#include "broker/runtime/sim/sim_disk.h"
#include "broker/runtime/sim/sim_world.h"

namespace ringtail::runtime {

class SimNet;

// A machine: it survives the processes that run on it. Owned by the test; outlives its Envs.
class SimHost {
 public:
  // `addresses` are numeric, beside 127.0.0.1 and ::1, which every host has for itself.
  explicit SimHost(SimWorld& world, std::vector<std::string> addresses = {});
  ~SimHost();
  SimHost(const SimHost&) = delete;
  SimHost& operator=(const SimHost&) = delete;

  SimWorld& world() { return world_; }
  SimDrive& drive() { return drive_; }
  const std::vector<std::string>& addresses() const { return addresses_; }
  // How far this host's wall clock is ahead of the world's.
  void set_wall_skew_ms(std::int64_t skew_ms) { wall_skew_ms_ = skew_ms; }
  std::int64_t wall_skew_ms() const { return wall_skew_ms_; }
  // The local port of the next connection that goes out.
  std::uint16_t next_ephemeral_port();

 private:
  SimWorld& world_;
  SimDrive drive_;
  std::vector<std::string> addresses_;
  std::int64_t wall_skew_ms_ = 0;
  std::uint16_t last_ephemeral_port_ = 32767;
};

// One event loop's view of the world. Its owner is a SimShardDriver or a SimClient. Destroying it
// forgets whatever it had under way.
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

  // What happens after each callback on this loop: the driver asks for a turn.
  void set_after_callback(std::function<void()> hook) { after_callback_ = std::move(hook); }
  // Runs a callback as the loop would. For the parts of the simulation; tests use the driver.
  void enter(const std::function<void()>& callback);
  // Enters the loop with `callback` after a delay, unless this Env is gone by then.
  SimEventId schedule(std::uint64_t delay_ns, SimEventKind kind, std::function<void()> callback);

 private:
  class SimClock;
  class SimTimers;
  class SimTimer;

  SimHost& host_;
  SimRng rng_;
  std::function<void()> after_callback_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<SimClock> clock_;
  std::unique_ptr<SimTimers> timers_;
  std::unique_ptr<SimDisk> disk_;
  std::unique_ptr<SimNet> net_;
};

}  // namespace ringtail::runtime
