// Clock of a libuv loop.
#pragma once

#include <cstdint>

#include "broker/runtime/clock.h"
#include "broker/runtime/uv/uv_loop.h"

namespace ringtail::runtime {

class UvClock final : public Clock {
 public:
  explicit UvClock(UvLoop& loop) : loop_(loop) {}
  std::uint64_t monotonic_ms() const override { return loop_.now_ms(); }
  std::uint64_t monotonic_ns() const override { return uv_hrtime(); }
  std::uint64_t boot_ms() const override;
  std::uint64_t wall_ms() const override;

 private:
  UvLoop& loop_;
};

}  // namespace ringtail::runtime
