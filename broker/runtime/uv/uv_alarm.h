// An Alarm of a libuv loop, by a timerfd: libuv's own timers count milliseconds.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "broker/runtime/alarm.h"
#include "broker/runtime/status.h"

namespace ringtail::runtime {

// `rung` must not throw. Every alarm is destroyed before its loop ends.
Result<std::unique_ptr<Alarm>> make_uv_alarm(uv_loop_t& loop, std::function<void()> rung);

}  // namespace ringtail::runtime
