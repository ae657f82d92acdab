#include "broker/runtime/uv/uv_side_env.h"

#include <uv.h>

#include <optional>

#include "broker/runtime/uv/uv_env.h"

namespace ringtail::runtime {

struct UvSideEnv::Impl {
  uv_loop_t loop;
  std::optional<UvEnv> env;
};

UvSideEnv::UvSideEnv() : impl_(std::make_unique<Impl>()) {
  uv_loop_init(&impl_->loop);
  impl_->env.emplace(impl_->loop);
}

UvSideEnv::~UvSideEnv() {
  impl_->env->finish();
  impl_->env.reset();
  uv_run(&impl_->loop, UV_RUN_DEFAULT);
  uv_loop_close(&impl_->loop);
}

Env& UvSideEnv::env() { return *impl_->env; }

}  // namespace ringtail::runtime
