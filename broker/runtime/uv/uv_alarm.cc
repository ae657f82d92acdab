#include "broker/runtime/uv/uv_alarm.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/uv/uv_error.h"

namespace ringtail::runtime {

namespace {

class UvAlarm final : public Alarm {
 public:
  UvAlarm(uv_loop_t& loop, int fd, std::function<void()> rung)
      : state_(new State{{}, {}, fd, 2, std::move(rung)}) {
    const int error = uv_poll_init(&loop, &state_->poll, fd);
    RT_CHECK(error == 0, "a new timerfd can be polled");
    uv_idle_init(&loop, &state_->idle);
    state_->poll.data = state_;
    state_->idle.data = state_;
    uv_poll_start(&state_->poll, UV_READABLE, on_expired);
  }
  ~UvAlarm() override {
    stop();
    uv_poll_stop(&state_->poll);
    uv_close(reinterpret_cast<uv_handle_t*>(&state_->poll), on_closed);
    uv_close(reinterpret_cast<uv_handle_t*>(&state_->idle), on_closed);
  }

  void set(std::uint64_t monotonic_ns) override {
    if (monotonic_ns <= uv_hrtime()) {
      if (armed_ns_ != 0) arm(0);
      // An idle handle keeps the loop from blocking and runs in each iteration, after the timers
      // and before the next poll.
      uv_idle_start(&state_->idle, on_idle);
      return;
    }
    uv_idle_stop(&state_->idle);
    if (armed_ns_ != monotonic_ns || !state_->pending) arm(monotonic_ns);
  }
  void stop() override {
    uv_idle_stop(&state_->idle);
    if (armed_ns_ != 0) arm(0);
  }

 private:
  // Outlives the alarm until libuv has let go of both handles; so does `rung`, which may be running
  // when it destroys the alarm.
  struct State {
    uv_poll_t poll;
    uv_idle_t idle;
    int fd;
    int open_handles;
    std::function<void()> rung;
    bool pending = false;  // the timerfd is armed and has not expired
  };

  static void on_expired(uv_poll_t* poll, int, int) noexcept {
    auto* state = static_cast<State*>(poll->data);
    std::uint64_t expirations = 0;
    // Nothing to read: it was set again after the poll had seen it expire.
    if (::read(state->fd, &expirations, sizeof expirations) != sizeof expirations) return;
    if (!std::exchange(state->pending, false)) return;
    state->rung();
  }
  static void on_idle(uv_idle_t* idle) noexcept {
    uv_idle_stop(idle);
    static_cast<State*>(idle->data)->rung();
  }
  static void on_closed(uv_handle_t* handle) noexcept {
    auto* state = static_cast<State*>(handle->data);
    if (--state->open_handles != 0) return;
    ::close(state->fd);
    delete state;
  }

  // 0 disarms.
  void arm(std::uint64_t monotonic_ns) {
    itimerspec time{};
    time.it_value.tv_sec = static_cast<time_t>(monotonic_ns / 1000000000);
    time.it_value.tv_nsec = static_cast<long>(monotonic_ns % 1000000000);
    ::timerfd_settime(state_->fd, TFD_TIMER_ABSTIME, &time, nullptr);
    armed_ns_ = monotonic_ns;
    state_->pending = monotonic_ns != 0;
  }

  State* state_;
  std::uint64_t armed_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Alarm>> make_uv_alarm(uv_loop_t& loop, std::function<void()> rung) {
  const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) return errno_status(errno, "cannot make a timerfd");
  return std::unique_ptr<Alarm>(std::make_unique<UvAlarm>(loop, fd, std::move(rung)));
}

}  // namespace ringtail::runtime
