#include "broker/runtime/uv/uv_program.h"

#include <netdb.h>
#include <sys/resource.h>
#include <uv.h>

#include <csignal>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/uv/uv_alarm.h"
#include "broker/runtime/uv/uv_env.h"
#include "broker/runtime/uv/uv_error.h"

namespace ringtail::runtime {

struct UvProgram::Impl {
  explicit Impl(std::function<void(int)> signalled) : received(std::move(signalled)) {
    const int error = uv_loop_init(&loop);
    RT_CHECK(error == 0, "no event loop: out of descriptors or memory");
    env = std::make_unique<UvEnv>(loop);
    take(interrupt, SIGINT);
    take(term, SIGTERM);
  }

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

  std::function<void(int)> received;
  uv_loop_t loop{};
  uv_signal_t interrupt{};
  uv_signal_t term{};
  std::unique_ptr<UvEnv> env;
};

UvProgram::UvProgram(std::function<void(int)> received) {
  std::signal(SIGPIPE, SIG_IGN);
  impl_ = std::make_unique<Impl>(std::move(received));
}

UvProgram::~UvProgram() {
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->interrupt), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->term), nullptr);
  impl_->env->finish();
  impl_->env.reset();
  uv_loop_close(&impl_->loop);
}

Env& UvProgram::env() { return *impl_->env; }

std::unique_ptr<Alarm> UvProgram::make_alarm(std::function<void()> rung) {
  Result<std::unique_ptr<Alarm>> alarm = make_uv_alarm(impl_->loop, std::move(rung));
  RT_CHECK(alarm.ok(), "no alarm: out of descriptors");
  return std::move(alarm).value();
}

void UvProgram::run() { uv_run(&impl_->loop, UV_RUN_DEFAULT); }
void UvProgram::stop() { uv_stop(&impl_->loop); }

Result<std::string> UvProgram::resolve(const std::string& host) {
  uv_loop_t loop;
  if (const int error = uv_loop_init(&loop); error != 0) return uv_status(error, "no event loop");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  uv_getaddrinfo_t request;
  // Without a callback libuv answers at once.
  const int error = uv_getaddrinfo(&loop, &request, nullptr, host.c_str(), nullptr, &hints);
  uv_loop_close(&loop);
  if (error != 0) return uv_status(error, "cannot resolve " + host);
  char text[NI_MAXHOST] = {};
  const int named = ::getnameinfo(request.addrinfo->ai_addr, request.addrinfo->ai_addrlen, text,
                                  sizeof text, nullptr, 0, NI_NUMERICHOST);
  uv_freeaddrinfo(request.addrinfo);
  if (named != 0) return Status(Code::kNotFound, "cannot resolve " + host);
  return std::string(text);
}

std::uint64_t UvProgram::raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace ringtail::runtime
