#include "broker/runtime/uv/uv_timer.h"

#include <utility>

namespace ringtail::runtime {

namespace {

class UvTimer final : public Timer {
 public:
  UvTimer(UvLoop& loop, std::function<void()> fired) : state_(new State{{}, std::move(fired)}) {
    uv_timer_init(loop.handle(), &state_->handle);
    state_->handle.data = state_;
  }
  ~UvTimer() override {
    uv_timer_stop(&state_->handle);
    uv_close(reinterpret_cast<uv_handle_t*>(&state_->handle),
             [](uv_handle_t* handle) noexcept { delete static_cast<State*>(handle->data); });
  }
  void start(std::uint64_t delay_ms, std::uint64_t repeat_ms) override {
    uv_timer_start(
        &state_->handle,
        [](uv_timer_t* handle) noexcept { static_cast<State*>(handle->data)->fired(); }, delay_ms,
        repeat_ms);
  }
  void stop() override { uv_timer_stop(&state_->handle); }

 private:
  // Outlives the timer until libuv has let go of the handle; so does `fired`, which may be running
  // when it destroys the timer.
  struct State {
    uv_timer_t handle;
    std::function<void()> fired;
  };
  State* state_;
};

}  // namespace

std::unique_ptr<Timer> UvTimers::make(std::function<void()> fired) {
  return std::make_unique<UvTimer>(loop_, std::move(fired));
}

}  // namespace ringtail::runtime
