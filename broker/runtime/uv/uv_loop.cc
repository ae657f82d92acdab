#include "broker/runtime/uv/uv_loop.h"

#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"

namespace ringtail::runtime {

UvLoop::UvLoop(uv_loop_t& loop) : loop_(loop) {
  uv_check_init(&loop_, &check_);
  check_.data = this;
  uv_check_start(
      &check_, [](uv_check_t* check) noexcept { ++static_cast<UvLoop*>(check->data)->iteration_; });
  uv_unref(reinterpret_cast<uv_handle_t*>(&check_));
  uv_idle_init(&loop_, &idle_);
  idle_.data = this;
}

UvLoop::~UvLoop() { RT_CHECK(open_handles_ == 0, "destroyed before its handles were closed"); }

std::uint8_t* UvLoop::read_buffer() {
  if (read_memory_ == nullptr) {
    read_memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(kReadHeadroom + kReadBufferSize);
  }
  return read_memory_.get() + kReadHeadroom;
}

void UvLoop::defer(std::function<void()> call) {
  if (deferred_.empty()) {
    uv_idle_start(
        &idle_, [](uv_idle_t* idle) noexcept { static_cast<UvLoop*>(idle->data)->run_deferred(); });
  }
  deferred_.push_back(std::move(call));
}

void UvLoop::run_deferred() noexcept {
  std::vector<std::function<void()>> calls;
  calls.swap(deferred_);
  for (const std::function<void()>& call : calls) call();
  if (deferred_.empty()) uv_idle_stop(&idle_);
}

void UvLoop::close_handles() {
  const auto closed = [](uv_handle_t* handle) noexcept {
    --static_cast<UvLoop*>(handle->data)->open_handles_;
  };
  uv_close(reinterpret_cast<uv_handle_t*>(&check_), closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&idle_), closed);
}

}  // namespace ringtail::runtime
