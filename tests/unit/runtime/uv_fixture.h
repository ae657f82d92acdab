// A libuv loop with its Env, for tests that run on one thread.
#pragma once

#include <doctest/doctest.h>
#include <uv.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>

#include "broker/runtime/uv/uv_env.h"

namespace ringtail::runtime {

class UvFixture {
 public:
  UvFixture() {
    std::signal(SIGPIPE, SIG_IGN);  // as a node does
    uv_loop_init(&loop_);
    env_.emplace(loop_);
  }
  UvFixture(const UvFixture&) = delete;
  UvFixture& operator=(const UvFixture&) = delete;
  ~UvFixture() { finish(); }

  uv_loop_t& loop() { return loop_; }
  UvEnv& env() { return *env_; }
  Net& net() { return env_->net(); }

  // Runs the loop until `done` says so; fails the test when that takes far too long.
  void run_until(const std::function<bool()>& done) {
    bool late = false;
    uv_timer_t limit;
    uv_timer_init(&loop_, &limit);
    limit.data = &late;
    uv_update_time(&loop_);
    uv_timer_start(
        &limit, [](uv_timer_t* timer) { *static_cast<bool*>(timer->data) = true; }, kTooLongMs, 0);
    while (!late && !done()) uv_run(&loop_, UV_RUN_ONCE);
    bool closed = false;
    limit.data = &closed;
    uv_close(reinterpret_cast<uv_handle_t*>(&limit),
             [](uv_handle_t* handle) { *static_cast<bool*>(handle->data) = true; });
    while (!closed) uv_run(&loop_, UV_RUN_NOWAIT);
    REQUIRE_FALSE(late);
  }

  // Everything that lives on the loop is gone: ends it.
  void finish() {
    if (!env_) return;
    env_->finish();
    env_.reset();
    CHECK(uv_loop_close(&loop_) == 0);
  }

 private:
  static constexpr std::uint64_t kTooLongMs = 60000;

  uv_loop_t loop_;
  std::optional<UvEnv> env_;
};

}  // namespace ringtail::runtime
