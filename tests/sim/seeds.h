// How many seeds a simulation runs: more on request (RINGTAIL_SIM_FACTOR), or from a given one on
// (RINGTAIL_SIM_SEED).
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ringtail::sim {

inline std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
inline std::uint64_t seeds(std::uint64_t usual) {
  const std::uint64_t factor = environment_number("RINGTAIL_SIM_FACTOR", 1);
  return factor == 0 ? 1 : usual * factor;  // 0: one alone
}
inline std::uint64_t first_seed() { return environment_number("RINGTAIL_SIM_SEED", 1); }

}  // namespace ringtail::sim
