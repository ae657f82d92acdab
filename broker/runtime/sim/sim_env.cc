#include "broker/runtime/sim/sim_env.h"

#include <utility>

#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

namespace {

// Virtual time 0 on the wall clock: 2026-01-01 00:00:00 UTC.
constexpr std::uint64_t kEpochMs = 1767225600000ULL;

}  // namespace

class SimEnv::SimClock final : public Clock {
 public:
  explicit SimClock(SimHost& host) : host_(host) {}
  std::uint64_t monotonic_ms() const override { return monotonic_ns() / kMillisecondNs; }
  std::uint64_t monotonic_ns() const override { return host_.clock().monotonic_ns(); }
  std::uint64_t boot_ms() const override { return host_.clock().boot_ns() / kMillisecondNs; }
  std::uint64_t wall_ms() const override {
    return kEpochMs + host_.clock().wall_ns() / kMillisecondNs +
           static_cast<std::uint64_t>(host_.wall_skew_ms());
  }

 private:
  SimHost& host_;
};

class SimEnv::SimTimer final : public Timer {
 public:
  SimTimer(SimEnv& env, std::function<void()> fired)
      : env_(env), fired_(std::make_shared<std::function<void()>>(std::move(fired))) {}
  ~SimTimer() override { stop(); }

  void start(std::uint64_t delay_ms, std::uint64_t repeat_ms) override {
    stop();
    repeat_ms_ = repeat_ms;
    arm(delay_ms);
  }
  void stop() override { env_.cancel(std::exchange(event_, SimEventId{})); }

 private:
  void arm(std::uint64_t delay_ms) {
    due_ns_ = env_.host().clock().monotonic_ns() + delay_ms * kMillisecondNs;
    wait(delay_ms * kMillisecondNs);
  }
  void wait(std::uint64_t host_ns) {
    event_ = env_.schedule(env_.host().clock().world_ns(host_ns), SimEventKind::kTimer,
                           [this] { fire(); });
  }
  void fire() {
    event_ = {};
    // The host's clock may have stood, or goes slower than it did.
    const std::uint64_t now_ns = env_.host().clock().monotonic_ns();
    if (now_ns < due_ns_) return wait(due_ns_ - now_ns);
    if (repeat_ms_ != 0) arm(repeat_ms_);
    // The callback may destroy this timer, and with it the only other owner of the function.
    const std::shared_ptr<std::function<void()>> fired = fired_;
    (*fired)();
  }

  SimEnv& env_;
  std::shared_ptr<std::function<void()>> fired_;
  std::uint64_t repeat_ms_ = 0;
  std::uint64_t due_ns_ = 0;  // of the host's monotonic clock
  SimEventId event_;
};

class SimEnv::SimTimers final : public Timers {
 public:
  explicit SimTimers(SimEnv& env) : env_(env) {}
  std::unique_ptr<Timer> make(std::function<void()> fired) override {
    return std::make_unique<SimTimer>(env_, std::move(fired));
  }

 private:
  SimEnv& env_;
};

SimEnv::SimEnv(SimHost& host)
    : host_(host),
      rng_(host.world().rng().next()),
      clock_(std::make_unique<SimClock>(host)),
      timers_(std::make_unique<SimTimers>(*this)),
      disk_(std::make_unique<SimDisk>(*this)),
      net_(std::make_unique<SimNet>(*this)) {
  host_.add(*this);
}

SimEnv::~SimEnv() {
  kill();
  host_.remove(*this);
}

Clock& SimEnv::clock() { return *clock_; }
Timers& SimEnv::timers() { return *timers_; }
Disk& SimEnv::disk() { return *disk_; }
Net& SimEnv::net() { return *net_; }

void SimEnv::kill() {
  if (dead()) return;
  alive_.reset();
  net_->kill();
  // What they hold may go with them, and say goodbye to a loop that does nothing any more.
  const auto forgotten = std::exchange(held_, {});
}

void SimEnv::enter(const std::function<void()>& callback) {
  callback();
  if (after_callback_ && !dead()) after_callback_();
}

SimEventId SimEnv::schedule(std::uint64_t delay_ns, SimEventKind kind,
                            std::function<void()> callback) {
  if (dead()) return {};
  return world().after(delay_ns, kind,
                       [this, alive = std::weak_ptr<bool>(alive_), run = std::move(callback)] {
                         if (alive.expired()) return;
                         if (stands()) {
                           held_.emplace(world().current_event(), run);
                         } else {
                           enter(run);
                         }
                       });
}

void SimEnv::schedule_kernel(std::uint64_t delay_ns, SimEventKind kind, std::function<void()> run) {
  if (dead()) return;
  world().after(delay_ns, kind, [alive = std::weak_ptr<bool>(alive_), call = std::move(run)] {
    if (!alive.expired()) call();
  });
}

void SimEnv::cancel(SimEventId id) {
  if (held_.erase(id) == 0) world().cancel(id);
}

void SimEnv::resume() {
  paused_ = false;
  if (held_.empty() || letting_run_) return;
  letting_run_ = true;
  schedule_kernel(0, SimEventKind::kWork, [this] { let_next_run(); });
}

void SimEnv::let_next_run() {
  letting_run_ = false;
  if (paused_ || held_.empty()) return;
  const auto next = held_.extract(held_.begin());
  const std::weak_ptr<bool> alive(alive_);
  enter(next.mapped());
  if (!alive.expired() && !paused_) resume();
}

}  // namespace ringtail::runtime
