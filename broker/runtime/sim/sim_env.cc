#include "broker/runtime/sim/sim_env.h"

#include <utility>

#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

namespace {

// Virtual time 0 on the wall clock: 2026-01-01 00:00:00 UTC.
constexpr std::uint64_t kEpochMs = 1767225600000ULL;
constexpr std::uint16_t kFirstEphemeralPort = 32768;
constexpr std::uint16_t kLastEphemeralPort = 60999;

}  // namespace

SimHost::SimHost(SimWorld& world, std::vector<std::string> addresses)
    : world_(world), drive_(world), addresses_(std::move(addresses)) {
  addresses_.push_back("127.0.0.1");
  addresses_.push_back("::1");
  world_.network().add(*this);
}

SimHost::~SimHost() { world_.network().remove(*this); }

std::uint16_t SimHost::next_ephemeral_port() {
  last_ephemeral_port_ = last_ephemeral_port_ >= kLastEphemeralPort
                             ? kFirstEphemeralPort
                             : static_cast<std::uint16_t>(last_ephemeral_port_ + 1);
  return last_ephemeral_port_;
}

class SimEnv::SimClock final : public Clock {
 public:
  explicit SimClock(SimHost& host) : host_(host) {}
  std::uint64_t monotonic_ms() const override { return monotonic_ns() / kMillisecondNs; }
  std::uint64_t monotonic_ns() const override { return host_.world().now_ns(); }
  std::uint64_t wall_ms() const override {
    return kEpochMs + monotonic_ms() + static_cast<std::uint64_t>(host_.wall_skew_ms());
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
  void stop() override { env_.world().cancel(std::exchange(event_, SimEventId{})); }

 private:
  void arm(std::uint64_t delay_ms) {
    event_ = env_.schedule(delay_ms * kMillisecondNs, SimEventKind::kTimer, [this] { fire(); });
  }
  void fire() {
    event_ = {};
    if (repeat_ms_ != 0) arm(repeat_ms_);
    // The callback may destroy this timer, and with it the only other owner of the function.
    const std::shared_ptr<std::function<void()>> fired = fired_;
    (*fired)();
  }

  SimEnv& env_;
  std::shared_ptr<std::function<void()>> fired_;
  std::uint64_t repeat_ms_ = 0;
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
      net_(std::make_unique<SimNet>(*this)) {}

SimEnv::~SimEnv() = default;

Clock& SimEnv::clock() { return *clock_; }
Timers& SimEnv::timers() { return *timers_; }
Disk& SimEnv::disk() { return *disk_; }
Net& SimEnv::net() { return *net_; }

void SimEnv::enter(const std::function<void()>& callback) {
  callback();
  if (after_callback_) after_callback_();
}

SimEventId SimEnv::schedule(std::uint64_t delay_ns, SimEventKind kind,
                            std::function<void()> callback) {
  return world().after(delay_ns, kind,
                       [this, alive = std::weak_ptr<bool>(alive_), run = std::move(callback)] {
                         if (!alive.expired()) enter(run);
                       });
}

}  // namespace ringtail::runtime
