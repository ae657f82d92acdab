// Files with something wrong in them, for the tests of queue/store.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace ringtail::queue::store::test {

// How many octets two files have in common at their beginning.
inline std::size_t common(const std::vector<std::uint8_t>& one,
                          const std::vector<std::uint8_t>& other) {
  std::size_t at = 0;
  while (at < one.size() && at < other.size() && one[at] == other[at]) ++at;
  return at;
}

// Calls `look` with a copy of `content` for each way in which one octet of it can be wrong in one
// bit, or altogether, and with where that is.
template <typename Look>
void flip_everything(const std::vector<std::uint8_t>& content, const Look& look) {
  constexpr std::uint8_t kFlips[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
  for (std::size_t at = 0; at < content.size(); ++at) {
    for (const std::uint8_t flip : kFlips) {
      std::vector<std::uint8_t> bad = content;
      bad[at] ^= flip;
      CAPTURE(at);
      CAPTURE(flip);
      look(bad, at);
    }
  }
}

}  // namespace ringtail::queue::store::test
