// Timers of a libuv loop.
#pragma once

#include <functional>
#include <memory>

#include "broker/runtime/timer.h"
#include "broker/runtime/uv/uv_loop.h"

namespace ringtail::runtime {

// Every timer it made is destroyed before the loop ends. Delays count from the loop's cached time:
// a timer may fire early by as much as the current turn has lasted.
class UvTimers final : public Timers {
 public:
  explicit UvTimers(UvLoop& loop) : loop_(loop) {}
  std::unique_ptr<Timer> make(std::function<void()> fired) override;

 private:
  UvLoop& loop_;
};

}  // namespace ringtail::runtime
