// Exact wake-ups, for load generators: a Timer (timer.h) counts milliseconds. Not a door of Env,
// because the broker needs none and the simulator has none.
#pragma once

#include <cstdint>

namespace ringtail::runtime {

// One alarm of a loop. Destroying it stops it; it never rings after stop() or destruction, and
// never inside set().
class Alarm {
 public:
  virtual ~Alarm() = default;
  // Rings once, at this time of Clock::monotonic_ns() or a few tens of microseconds later. A time
  // that has come already (0, say): when the loop comes round, which then does not block.
  // Replaces an earlier setting.
  virtual void set(std::uint64_t monotonic_ns) = 0;
  virtual void stop() = 0;
};

}  // namespace ringtail::runtime
