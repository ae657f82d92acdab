#include "broker/runtime/uv/uv_clock.h"

namespace ringtail::runtime {

std::uint64_t UvClock::wall_ms() const {
  uv_timeval64_t now{};
  uv_gettimeofday(&now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_usec) / 1000;
}

}  // namespace ringtail::runtime
