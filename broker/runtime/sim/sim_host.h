// A simulated machine: its addresses, its drive, its clocks, and what can befall it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_disk.h"
#include "broker/runtime/sim/sim_paths.h"
#include "broker/runtime/sim/sim_world.h"

namespace ringtail::runtime {

class SimEnv;

// A host's clocks. They run as the world's time does, or by some parts in a million faster or
// slower; the monotonic one stands while the host is suspended, the others do not.
class SimHostClock {
 public:
  explicit SimHostClock(SimWorld& world) : world_(world) {}

  std::uint64_t monotonic_ns() const { return monotonic_ns_ + (stands_ ? 0 : passed_ns()); }
  std::uint64_t boot_ns() const { return boot_ns_ + passed_ns(); }
  // Since the beginning of the world, without skew.
  std::uint64_t wall_ns() const { return wall_ns_ + passed_ns(); }
  // How much of the world's time it takes until so much of this clock's has passed.
  std::uint64_t world_ns(std::uint64_t host_ns) const;

  // 100 ppm is a bad quartz; tests may take far more. Above -1,000,000.
  void set_rate_error_ppm(std::int64_t ppm);
  // The monotonic and the boot clock say this now: machines were not switched on together.
  void set_uptime_ns(std::uint64_t uptime_ns);
  void jump_boot_ns(std::uint64_t jump_ns) { boot_ns_ += jump_ns; }
  void set_stands(bool stands);

 private:
  std::uint64_t passed_ns() const;
  // Goes on from what the clocks say now.
  void settle();

  SimWorld& world_;
  std::int64_t rate_error_ppm_ = 0;
  bool stands_ = false;
  std::uint64_t since_ns_ = 0;  // of the world: when the three below were right
  std::uint64_t monotonic_ns_ = 0;
  std::uint64_t boot_ns_ = 0;
  std::uint64_t wall_ns_ = 0;
};

// It survives the processes that run on it. Owned by the test; outlives its Envs.
class SimHost {
 public:
  // `addresses` are numeric, beside 127.0.0.1 and ::1, which every host has for itself.
  explicit SimHost(SimWorld& world, std::vector<std::string> addresses = {});
  ~SimHost();
  SimHost(const SimHost&) = delete;
  SimHost& operator=(const SimHost&) = delete;

  SimWorld& world() { return world_; }
  SimDrive& drive() { return drive_; }
  SimHostClock& clock() { return clock_; }
  SimHostNumber number() const { return number_; }
  const std::vector<std::string>& addresses() const { return addresses_; }
  // How far this host's wall clock is ahead of the world's.
  void set_wall_skew_ms(std::int64_t skew_ms) { wall_skew_ms_ = skew_ms; }
  std::int64_t wall_skew_ms() const { return wall_skew_ms_; }
  // This host was suspended for so long, all at once: its boot clock has gone on, its monotonic
  // clock has not.
  void jump_boot_ms(std::uint64_t jump_ms) { clock_.jump_boot_ns(jump_ms * kMillisecondNs); }
  // The local port of the next connection that goes out.
  std::uint16_t next_ephemeral_port();

  // --- all processes of the host; SimNode has the same for one ---
  // As SIGSTOP and SIGCONT: nothing runs, but the kernel goes on: it accepts connections for who
  // listens, takes input until its buffers are full, and sends what it was given.
  void pause();
  void resume();
  // As kill -9. The objects are destroyed by their owners afterwards, and do nothing more.
  void kill_processes();

  // --- the machine ---
  // The processes are gone without a word, and so is what was not synced (SimDrive::crash()). Who
  // connects gets no answer. Connections of before stall, and are reset when something arrives
  // after power_on(); which starts the clocks anew.
  void power_off();
  void power_on();
  // Stands still, kernel and all; only the boot clock and the wall clock go on.
  void suspend();
  void wake();

  // --- for the parts of the simulation ---
  void add(SimEnv& env) { envs_.push_back(&env); }
  void remove(SimEnv& env) { std::erase(envs_, &env); }

 private:
  SimWorld& world_;
  SimDrive drive_;
  SimHostClock clock_;
  const SimHostNumber number_;
  std::vector<std::string> addresses_;
  std::vector<SimEnv*> envs_;
  std::int64_t wall_skew_ms_ = 0;
  std::uint16_t last_ephemeral_port_ = 32767;
};

}  // namespace ringtail::runtime
