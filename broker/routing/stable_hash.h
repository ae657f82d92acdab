// Hashes that are the same on every shard, node and platform, and in every version: what they
// decide must not change with the program.
#pragma once

#include <cstdint>
#include <string_view>

namespace ringtail::broker {

// Spreads every bit over all 64 (the finalizer of MurmurHash3).
constexpr std::uint64_t mix_hash(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xFF51AFD7ED558CCDULL;
  value ^= value >> 33;
  value *= 0xC4CEB9FE1A85EC53ULL;
  return value ^ (value >> 33);
}

// FNV-1a, mixed: its own high bits are poor. Continues from `seed`.
constexpr std::uint64_t stable_hash(std::string_view text,
                                    std::uint64_t seed = 0xCBF29CE484222325ULL) {
  std::uint64_t hash = seed;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return mix_hash(hash);
}

// Uniform in [0, bound) where the hash is uniform (multiply and shift).
constexpr std::uint64_t reduce_hash(std::uint64_t hash, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(hash) * bound) >> 64);
}

}  // namespace ringtail::broker
