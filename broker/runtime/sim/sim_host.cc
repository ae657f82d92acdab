#include "broker/runtime/sim/sim_host.h"

#include <cmath>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

namespace {

constexpr std::uint16_t kFirstEphemeralPort = 32768;
constexpr std::uint16_t kLastEphemeralPort = 60999;
constexpr std::int64_t kMillion = 1'000'000;
// How long a machine needs from its power switch to its first process.
constexpr std::uint64_t kBootMinNs = kSecondNs;
constexpr std::uint64_t kBootMaxNs = 20 * kSecondNs;

}  // namespace

std::uint64_t SimHostClock::passed_ns() const {
  const auto passed = static_cast<std::int64_t>(world_.now_ns() - since_ns_);
  const std::int64_t error =
      passed / kMillion * rate_error_ppm_ + passed % kMillion * rate_error_ppm_ / kMillion;
  return static_cast<std::uint64_t>(passed + error);
}

std::uint64_t SimHostClock::world_ns(std::uint64_t host_ns) const {
  if (rate_error_ppm_ == 0) return host_ns;
  const double rate = 1 + static_cast<double>(rate_error_ppm_) / static_cast<double>(kMillion);
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(host_ns) / rate));
}

void SimHostClock::settle() {
  monotonic_ns_ = monotonic_ns();
  boot_ns_ = boot_ns();
  wall_ns_ = wall_ns();
  since_ns_ = world_.now_ns();
}

void SimHostClock::set_rate_error_ppm(std::int64_t ppm) {
  RT_CHECK(ppm > -kMillion && ppm <= 100 * kMillion, "a clock goes forward");
  settle();
  rate_error_ppm_ = ppm;
}

void SimHostClock::set_uptime_ns(std::uint64_t uptime_ns) {
  settle();
  monotonic_ns_ = boot_ns_ = uptime_ns;
}

void SimHostClock::set_stands(bool stands) {
  settle();
  stands_ = stands;
}

SimHost::SimHost(SimWorld& world, std::vector<std::string> addresses)
    : world_(world),
      drive_(world),
      clock_(world),
      number_(world.network().add(*this)),
      addresses_(std::move(addresses)) {
  addresses_.push_back("127.0.0.1");
  addresses_.push_back("::1");
}

SimHost::~SimHost() { world_.network().remove(*this); }

std::uint16_t SimHost::next_ephemeral_port() {
  last_ephemeral_port_ = last_ephemeral_port_ >= kLastEphemeralPort
                             ? kFirstEphemeralPort
                             : static_cast<std::uint16_t>(last_ephemeral_port_ + 1);
  return last_ephemeral_port_;
}

void SimHost::pause() {
  for (SimEnv* env : envs_) env->pause();
}

void SimHost::resume() {
  for (SimEnv* env : envs_) env->resume();
}

void SimHost::kill_processes() {
  for (SimEnv* env : envs_) env->kill();
  drive_.kill_processes();
}

void SimHost::power_off() {
  // First: its kernel says nothing about the processes that end.
  world_.network().paths().set_silent(number_, true);
  kill_processes();
  drive_.crash();
}

void SimHost::power_on() {
  clock_.set_stands(false);
  clock_.set_uptime_ns(world_.rng().between(kBootMinNs, kBootMaxNs));
  world_.network().paths().set_silent(number_, false);
}

void SimHost::suspend() {
  pause();
  clock_.set_stands(true);
  world_.network().paths().set_silent(number_, true);
}

void SimHost::wake() {
  clock_.set_stands(false);
  world_.network().paths().set_silent(number_, false);
  resume();
}

}  // namespace ringtail::runtime
