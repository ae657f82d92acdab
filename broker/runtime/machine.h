// What the machine gives this process: for defaults only. Read once at the start, before any shard.
#pragma once

#include <cstdint>
#include <string>

namespace ringtail::runtime {

struct Machine {
  std::string short_host;  // the host name up to its first dot
  bool root = false;
  bool system_data_dir = false;    // /var/lib/ringtail exists
  unsigned cores = 1;              // that this process may use: affinity, CPU quota of its cgroup
  std::uint64_t memory_bytes = 0;  // RAM, or the limit of its cgroup where that is less
};

Machine read_machine();

// Limits of the control group this process is in (version 2 or 1), the tightest from the group up
// to the root. `root` is put before /proc and /sys; empty but in tests. 0: no limit.
std::uint64_t cgroup_memory_limit(const std::string& root);
// In cores, 1.5 say.
double cgroup_cpu_limit(const std::string& root);

}  // namespace ringtail::runtime
