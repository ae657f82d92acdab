// Timers; one of the five doors to the outside (env.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace ringtail::runtime {

// One timer of a shard. Destroying it stops it; the callback never runs after stop() or
// destruction, and never inside start().
class Timer {
 public:
  virtual ~Timer() = default;
  // Fires once after `delay_ms`, then every `repeat_ms` if that is not 0. Restarts a running timer.
  virtual void start(std::uint64_t delay_ms, std::uint64_t repeat_ms = 0) = 0;
  virtual void stop() = 0;
};

class Timers {
 public:
  virtual ~Timers() = default;
  // `fired` must not throw and may destroy the timer.
  virtual std::unique_ptr<Timer> make(std::function<void()> fired) = 0;
};

}  // namespace ringtail::runtime
