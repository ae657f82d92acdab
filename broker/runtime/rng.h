// Chance; one of the five doors to the outside (env.h). Under libuv seeded from the kernel, under
// the simulator from the run's seed.
#pragma once

#include <cstdint>
#include <span>

namespace ringtail::runtime {

class Rng {
 public:
  virtual ~Rng() = default;
  virtual std::uint64_t next() = 0;
  // Unpredictable bytes, fit for names that must not be guessed and for secrets.
  virtual void fill_secure(std::span<std::uint8_t> bytes) = 0;
  // Uniform in [0, bound); bound is at least 1.
  std::uint64_t below(std::uint64_t bound) {
    // Multiply-shift (Lemire 2019); its bias of at most bound / 2^64 does not matter here.
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
};

}  // namespace ringtail::runtime
