#include "broker/runtime/uv/uv_clock.h"

#include <time.h>

namespace ringtail::runtime {

std::uint64_t UvClock::boot_ms() const {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

std::uint64_t UvClock::wall_ms() const {
  uv_timeval64_t now{};
  uv_gettimeofday(&now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_usec) / 1000;
}

}  // namespace ringtail::runtime
