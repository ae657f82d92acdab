#include "broker/runtime/uv/uv_signals.h"

#include <uv.h>

#include <csignal>
#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::runtime {

struct UvSignals::Impl {
  std::function<void(int)> received;
  uv_loop_t loop{};
  uv_signal_t term{};
  uv_signal_t interrupt{};
  uv_signal_t hang_up{};
  uv_async_t stop{};

  void take(uv_signal_t& handle, int number) {
    uv_signal_init(&loop, &handle);
    handle.data = this;
    const int error = uv_signal_start(
        &handle,
        [](uv_signal_t* signal, int received_number) noexcept {
          static_cast<Impl*>(signal->data)->received(received_number);
        },
        number);
    RT_CHECK(error == 0, "cannot take a signal");
  }
};

UvSignals::UvSignals(std::function<void(int)> received) : impl_(std::make_unique<Impl>()) {
  std::signal(SIGPIPE, SIG_IGN);
  impl_->received = std::move(received);
  int error = uv_loop_init(&impl_->loop);
  RT_CHECK(error == 0, "no event loop: out of descriptors or memory");
  error = uv_async_init(&impl_->loop, &impl_->stop,
                        [](uv_async_t* async) noexcept { uv_stop(async->loop); });
  RT_CHECK(error == 0, "no wake-up for an event loop: out of descriptors");
  impl_->take(impl_->term, SIGTERM);
  impl_->take(impl_->interrupt, SIGINT);
  static_assert(kReloadSignal == SIGHUP);
  impl_->take(impl_->hang_up, SIGHUP);
}

UvSignals::~UvSignals() {
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->term), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->interrupt), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->hang_up), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->stop), nullptr);
  uv_run(&impl_->loop, UV_RUN_DEFAULT);
  uv_loop_close(&impl_->loop);
}

void UvSignals::run() { uv_run(&impl_->loop, UV_RUN_DEFAULT); }
void UvSignals::stop() { uv_async_send(&impl_->stop); }

}  // namespace ringtail::runtime
