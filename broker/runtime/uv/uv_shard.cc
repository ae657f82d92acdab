#include "broker/runtime/uv/uv_shard.h"

#include <uv.h>

#include <csignal>
#include <cstdlib>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "broker/runtime/check.h"
#include "broker/runtime/fence.h"
#include "broker/runtime/uv/uv_env.h"

namespace ringtail::runtime {

namespace {

// All signals blocked on this thread, and on those it starts, for as long as it lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

class UvShard::Impl final : public Waker {
 public:
  Impl(NodeId node, ShardId id, Mailboxes& mailboxes, Call started, Call stopping);
  ~Impl() override;

  ShardId id() const { return id_; }
  Status start();
  void call(Call call);
  void stop();
  void join();
  void wake() noexcept override {
    // libuv before 1.53 looks at its "already pending" mark with a plain load: what the loop shall
    // find must be visible before that (documentation of uv_async_send).
    store_load_fence();
    uv_async_send(&async_);
  }

 private:
  struct Calls {
    std::vector<Call> calls;
    bool stop = false;
  };

  void run(std::promise<void> is_up);
  void on_wake() noexcept;
  void turn() noexcept;
  void open_handles();
  void close_handles();

  const NodeId node_;
  const ShardId id_;
  Mailboxes& mailboxes_;
  const Call started_;
  const Call stopping_;

  uv_loop_t loop_{};
  uv_async_t async_{};  // open for as long as this object lives: other shards may wake this one
  std::thread thread_;
  std::mutex mutex_;
  Calls calls_;  // guarded by mutex_

  // The thread's own.
  uv_prepare_t prepare_{};
  uv_check_t check_{};
  uv_idle_t idle_{};  // active while the last turn left something to do
  bool idle_active_ = false;
  bool ended_ = false;
  std::optional<UvEnv> env_;
  std::optional<Shard> shard_;
};

UvShard::Impl::Impl(NodeId node, ShardId id, Mailboxes& mailboxes, Call started, Call stopping)
    : node_(node),
      id_(id),
      mailboxes_(mailboxes),
      started_(std::move(started)),
      stopping_(std::move(stopping)) {
  // The pool is made at its first use, of this size. What it does is wait for the disk.
  setenv("UV_THREADPOOL_SIZE", "4", 0);
  // A write to a connection that the peer has closed is an error, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  int error = uv_loop_init(&loop_);
  RT_CHECK(error == 0, "no event loop: out of descriptors or memory");
  error = uv_async_init(&loop_, &async_, [](uv_async_t* async) noexcept {
    static_cast<Impl*>(async->data)->on_wake();
  });
  RT_CHECK(error == 0, "no wake-up for an event loop: out of descriptors");
  async_.data = this;
  mailboxes_.set_waker(id, this);
}

UvShard::Impl::~Impl() {
  RT_CHECK(!thread_.joinable(), "a shard destroyed before join()");
  uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  const int error = uv_loop_close(&loop_);
  RT_CHECK(error == 0, "something outlived the shard that it lives on");
}

Status UvShard::Impl::start() {
  RT_CHECK(!thread_.joinable(), "a shard started twice");
  std::promise<void> is_up;
  std::future<void> up = is_up.get_future();
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread(
        [this, up_promise = std::move(is_up)]() mutable noexcept { run(std::move(up_promise)); });
  } catch (const std::system_error& error) {
    return {Code::kUnavailable, std::string("cannot start a thread: ") + error.what()};
  }
  up.wait();
  return {};
}

void UvShard::Impl::call(Call call) {
  {
    const std::lock_guard lock(mutex_);
    calls_.calls.push_back(std::move(call));
  }
  wake();
}

void UvShard::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    calls_.stop = true;
  }
  wake();
}

void UvShard::Impl::join() {
  if (thread_.joinable()) thread_.join();
}

void UvShard::Impl::run(std::promise<void> is_up) {
  env_.emplace(loop_);
  shard_.emplace(node_, id_, *env_, mailboxes_);
  open_handles();
  if (started_) started_(*shard_);
  is_up.set_value();

  uv_run(&loop_, UV_RUN_DEFAULT);  // until on_wake() says stop

  ended_ = true;
  if (stopping_) stopping_(*shard_);
  close_handles();
  env_->finish();
  shard_.reset();
  env_.reset();
}

void UvShard::Impl::on_wake() noexcept {
  if (ended_) return;  // other shards may go on waking this one while it closes
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    calls.calls.swap(calls_.calls);
    calls.stop = calls_.stop;
  }
  for (const Call& call : calls.calls) call(*shard_);
  if (calls.stop) uv_stop(&loop_);
}

void UvShard::Impl::turn() noexcept {
  const bool more = shard_->run_turn();
  if (more == idle_active_) return;
  idle_active_ = more;
  if (more) {
    uv_idle_start(&idle_, [](uv_idle_t*) noexcept {});
  } else {
    uv_idle_stop(&idle_);
  }
}

// A turn before the poll, so that what timers and put-off calls produced leaves at once, and one
// after it.
void UvShard::Impl::open_handles() {
  uv_prepare_init(&loop_, &prepare_);
  prepare_.data = this;
  uv_prepare_start(
      &prepare_, [](uv_prepare_t* prepare) noexcept { static_cast<Impl*>(prepare->data)->turn(); });
  uv_check_init(&loop_, &check_);
  check_.data = this;
  uv_check_start(&check_,
                 [](uv_check_t* check) noexcept { static_cast<Impl*>(check->data)->turn(); });
  uv_idle_init(&loop_, &idle_);
}

void UvShard::Impl::close_handles() {
  uv_close(reinterpret_cast<uv_handle_t*>(&prepare_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&check_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&idle_), nullptr);
  uv_unref(reinterpret_cast<uv_handle_t*>(&async_));
}

UvShard::UvShard(NodeId node, ShardId id, Mailboxes& mailboxes, Call started, Call stopping)
    : impl_(std::make_unique<Impl>(node, id, mailboxes, std::move(started), std::move(stopping))) {}
UvShard::UvShard(UvShard&&) noexcept = default;
UvShard& UvShard::operator=(UvShard&&) noexcept = default;
UvShard::~UvShard() = default;

ShardId UvShard::id() const { return impl_->id(); }
Status UvShard::start() { return impl_->start(); }
void UvShard::call(Call call) { impl_->call(std::move(call)); }
void UvShard::call_and_wait(const Call& call) {
  std::promise<void> done;
  impl_->call([&](Shard& shard) {
    call(shard);
    done.set_value();
  });
  done.get_future().wait();
}
void UvShard::call_and_await(const std::function<void(Shard&, std::function<void()> done)>& call) {
  std::promise<void> done;
  impl_->call([&](Shard& shard) { call(shard, [&done] { done.set_value(); }); });
  done.get_future().wait();
}
void UvShard::stop() { impl_->stop(); }
void UvShard::join() { impl_->join(); }

}  // namespace ringtail::runtime
