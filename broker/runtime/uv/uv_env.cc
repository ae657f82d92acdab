#include "broker/runtime/uv/uv_env.h"

namespace ringtail::runtime {

namespace {

// Longer than a closed socket lingers.
constexpr std::uint64_t kFinishMs = 2 * kLingerMs;

}  // namespace

void UvEnv::finish() {
  uv_loop_t* const loop = loop_.handle();
  net_.give_up_connecting();
  uv_timer_t deadline{};
  uv_timer_init(loop, &deadline);
  uv_update_time(loop);
  uv_timer_start(
      &deadline, [](uv_timer_t* timer) noexcept { uv_stop(timer->loop); }, kFinishMs, 0);
  uv_unref(reinterpret_cast<uv_handle_t*>(&deadline));
  uv_run(loop, UV_RUN_DEFAULT);

  uv_close(reinterpret_cast<uv_handle_t*>(&deadline), nullptr);
  net_.close_handles();
  loop_.close_handles();
  uv_run(loop, UV_RUN_DEFAULT);
}

}  // namespace ringtail::runtime
