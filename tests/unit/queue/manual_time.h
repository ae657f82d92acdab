// An Env with a clock that a test moves, and timers that fire when it does. Counts what is asked of
// it: a plain queue asks for nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "broker/runtime/check.h"
#include "broker/runtime/env.h"

namespace ringtail::queue::test {

class ManualTime final : public runtime::Env, runtime::Clock, runtime::Timers {
 public:
  runtime::Clock& clock() override { return *this; }
  runtime::Timers& timers() override { return *this; }
  runtime::Rng& rng() override { return refuse<runtime::Rng>(); }
  runtime::Disk& disk() override { return refuse<runtime::Disk>(); }
  runtime::Net& net() override { return refuse<runtime::Net>(); }

  // Moves the clock; runs `after` when a timer has fired, and at the end.
  void pass(std::uint64_t ms, const std::function<void()>& after) {
    const std::uint64_t end = now_ms_ + ms;
    while (ManualTimer* next = first_due(end)) {
      now_ms_ = std::max(now_ms_, *next->due);
      next->fire();
      after();
    }
    now_ms_ = end;
    after();
  }

  // The loop is late: no timer fires.
  void pass_without_timers(std::uint64_t ms) { now_ms_ += ms; }

  int clock_reads = 0;
  int timer_starts = 0;
  int running() const {
    return static_cast<int>(
        std::count_if(timers_.begin(), timers_.end(),
                      [](const ManualTimer* timer) { return timer->due != nullptr; }));
  }

 private:
  class ManualTimer final : public runtime::Timer {
   public:
    ManualTimer(ManualTime& time, std::function<void()> fired)
        : time_(time), fired_(std::move(fired)) {
      time_.timers_.push_back(this);
    }
    ~ManualTimer() override { std::erase(time_.timers_, this); }
    void start(std::uint64_t delay_ms, std::uint64_t repeat_ms) override {
      RT_CHECK(repeat_ms == 0, "nothing here repeats");
      ++time_.timer_starts;
      due = std::make_unique<std::uint64_t>(time_.now_ms_ + delay_ms);
    }
    void stop() override { due.reset(); }
    void fire() {
      due.reset();
      const std::function<void()> fired = fired_;
      fired();
    }
    std::unique_ptr<std::uint64_t> due;  // none: not running

   private:
    ManualTime& time_;
    const std::function<void()> fired_;
  };

  std::uint64_t monotonic_ms() const override {
    ++const_cast<ManualTime*>(this)->clock_reads;
    return now_ms_;
  }
  std::uint64_t monotonic_ns() const override { return monotonic_ms() * 1'000'000; }
  std::uint64_t boot_ms() const override { return monotonic_ms(); }
  std::uint64_t wall_ms() const override { return monotonic_ms(); }
  std::unique_ptr<runtime::Timer> make(std::function<void()> fired) override {
    return std::make_unique<ManualTimer>(*this, std::move(fired));
  }
  ManualTimer* first_due(std::uint64_t end) {
    ManualTimer* first = nullptr;
    for (ManualTimer* timer : timers_) {
      if (timer->due == nullptr || *timer->due > end) continue;
      if (first == nullptr || *timer->due < *first->due) first = timer;
    }
    return first;
  }
  template <typename Door>
  static Door& refuse() {
    RT_CHECK(false, "a queue in memory needs nothing but time");
    return *static_cast<Door*>(nullptr);
  }

  std::uint64_t now_ms_ = 5000;
  std::vector<ManualTimer*> timers_;
};

}  // namespace ringtail::queue::test
