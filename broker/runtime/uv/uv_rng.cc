#include "broker/runtime/uv/uv_rng.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstddef>

#include "broker/runtime/check.h"

namespace ringtail::runtime {

UvRng::UvRng() {
  fill_secure({reinterpret_cast<std::uint8_t*>(state_.data()), sizeof(state_)});
  state_[0] |= 1;  // the generator must not start from all zeros
}

// xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021).
std::uint64_t UvRng::next() {
  auto& [a, b, c, d] = state_;
  const std::uint64_t result = std::rotl(a + d, 23) + a;
  const std::uint64_t shifted = b << 17;
  c ^= a;
  d ^= b;
  b ^= c;
  a ^= d;
  c ^= shifted;
  d = std::rotl(d, 45);
  return result;
}

void UvRng::fill_secure(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    RT_CHECK(count > 0, "the kernel gives no random bytes");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace ringtail::runtime
