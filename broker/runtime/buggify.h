// Rare branches on demand (FoundationDB's idea): a marked spot takes the branch that hardly ever
// runs (a short batch, a full ring, an early end of a turn) when, and only when, a simulation has
// switched it on. In a real node RT_BUGGIFY is one load of a thread-local null pointer.
//
//   if (RT_BUGGIFY(0.05)) limit = 1;
#pragma once

#include <cstdint>

#include "broker/runtime/rng.h"

namespace ringtail::runtime {

// One simulation's choice of spots. A run switches each spot on or off for its whole length (one in
// four is on), because bugs hide behind combinations; a spot that is on then fires by its
// probability. Which spots are on depends on the seed and the spot's place alone.
class Buggify {
 public:
  // `rng` decides when a spot that is on fires; it outlives this object.
  Buggify(std::uint64_t seed, Rng& rng) : seed_(seed), rng_(rng) {}

  bool fires(const char* file, int line, double probability) {
    if (!spot_is_on(file, line)) return false;
    return static_cast<double>(rng_.next() >> 11) * 0x1.0p-53 < probability;
  }

 private:
  bool spot_is_on(const char* file, int line) const {
    // FNV-1a over the file's last component, so that a build directory changes nothing.
    const char* name = file;
    for (const char* at = file; *at != '\0'; ++at) {
      if (*at == '/') name = at + 1;
    }
    std::uint64_t hash = seed_ ^ 0xcbf29ce484222325ULL;
    for (; *name != '\0'; ++name) {
      hash = (hash ^ static_cast<std::uint8_t>(*name)) * 0x100000001b3ULL;
    }
    hash = (hash ^ static_cast<std::uint64_t>(line)) * 0x9e3779b97f4a7c15ULL;
    return (hash >> 62) == 0;
  }

  std::uint64_t seed_;
  Rng& rng_;
};

// The simulation that runs on this thread; null in a real node.
inline constinit thread_local Buggify* active_buggify = nullptr;

}  // namespace ringtail::runtime

#define RT_BUGGIFY(probability)                                           \
  (__builtin_expect(::ringtail::runtime::active_buggify != nullptr, 0) && \
   ::ringtail::runtime::active_buggify->fires(__FILE__, __LINE__, (probability)))
