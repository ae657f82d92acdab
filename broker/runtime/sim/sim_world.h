// A simulated world: virtual time, one line of events ordered by (time, sequence), chance from one
// seed. Everything simulated (hosts, shards, sockets, disks, test clients) hangs its events here,
// so that a whole cluster runs in one thread and the same seed gives the same run, event for event.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>

#include "broker/runtime/buggify.h"
#include "broker/runtime/rng.h"

namespace ringtail::runtime {

class SimNetwork;

inline constexpr std::uint64_t kMicrosecondNs = 1000;
inline constexpr std::uint64_t kMillisecondNs = 1000 * kMicrosecondNs;
inline constexpr std::uint64_t kSecondNs = 1000 * kMillisecondNs;

// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and every seed is a good one.
class SimRng final : public Rng {
 public:
  explicit SimRng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;
  void fill_secure(std::span<std::uint8_t> bytes) override;
  // True with this probability (0 to 1).
  bool chance(double probability);
  // Uniform in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high);

 private:
  std::uint64_t state_;
};

// What kind of event is waiting: run_until_idle() waits for work, not for timers, which a node
// always has some of.
enum class SimEventKind : unsigned char { kWork, kTimer };

struct SimEventId {
  std::uint64_t time_ns = 0;
  std::uint64_t sequence = 0;  // 0: no event
  friend auto operator<=>(const SimEventId&, const SimEventId&) = default;
};

// Owned by the test; outlives everything simulated in it. One at a time per thread.
class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  std::uint64_t seed() const { return seed_; }
  std::uint64_t now_ns() const { return now_ns_; }
  SimRng& rng() { return rng_; }
  SimNetwork& network() { return *network_; }

  // Switches RT_BUGGIFY on or off for this world's thread; off at first.
  void set_buggify(bool on);

  // Runs `run` at a time (now, when that is past) or after a delay. Events of one time run in the
  // order in which they were made.
  SimEventId at(std::uint64_t time_ns, SimEventKind kind, std::function<void()> run);
  SimEventId after(std::uint64_t delay_ns, SimEventKind kind, std::function<void()> run);
  // Forgets an event; nothing happens when it has run already.
  void cancel(SimEventId id);

  // The event that is running, or ran last.
  SimEventId current_event() const { return current_event_; }

  // Runs the next event; false when there is none.
  bool step();
  // Runs all events up to that time; the clock ends there.
  void run_until(std::uint64_t time_ns);
  void run_for(std::uint64_t duration_ns) { run_until(now_ns_ + duration_ns); }
  // Runs events until the condition holds (true) or `limit_ns` of virtual time have passed or
  // nothing is left to happen (false).
  bool run_until(const std::function<bool()>& condition, std::uint64_t limit_ns = 60 * kSecondNs);
  // Runs events until only timers are left (true), or `limit_ns` have passed (false).
  bool run_until_idle(std::uint64_t limit_ns = 60 * kSecondNs);

  // A digest of all that happened: every event's time and place, and what parts add with trace().
  // Equal for two runs of the same seed and the same program.
  std::uint64_t digest() const { return digest_; }
  void trace(std::uint64_t value);
  std::uint64_t events_run() const { return events_run_; }

 private:
  struct Event {
    SimEventKind kind;
    std::function<void()> run;
  };

  const std::uint64_t seed_;
  SimRng rng_;
  SimRng buggify_rng_;
  Buggify buggify_;
  std::uint64_t now_ns_ = 0;
  SimEventId current_event_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t events_run_ = 0;
  std::uint64_t work_waiting_ = 0;
  std::uint64_t digest_ = 0;
  bool ending_ = false;  // nothing is made to happen any more
  std::map<SimEventId, Event> events_;
  std::unique_ptr<SimNetwork> network_;
};

}  // namespace ringtail::runtime
