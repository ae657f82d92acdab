// Time as the program sees it; one of the five doors to the outside (env.h).
#pragma once

#include <cstdint>

namespace ringtail::runtime {

// Owned by the Env of a shard; used on that shard's thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back, counts no wall-clock change. Cheap: it may be the loop's cached time, at most
  // one turn old.
  virtual std::uint64_t monotonic_ms() const = 0;
  // Exact monotonic time, for measuring.
  virtual std::uint64_t monotonic_ns() const = 0;
  // Monotonic like monotonic_ms(), from another beginning, and it goes on while the machine is
  // suspended (CLOCK_BOOTTIME): for what must end in the world's time, such as a lease. Exact.
  virtual std::uint64_t boot_ms() const = 0;
  // Milliseconds since 1970-01-01 UTC.
  virtual std::uint64_t wall_ms() const = 0;
};

}  // namespace ringtail::runtime
