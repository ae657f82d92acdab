// Chance from the kernel (getrandom), stretched by a generator of its own for what need not be
// secret.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "broker/runtime/rng.h"

namespace ringtail::runtime {

class UvRng final : public Rng {
 public:
  UvRng();
  std::uint64_t next() override;
  void fill_secure(std::span<std::uint8_t> bytes) override;

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace ringtail::runtime
