#include "broker/runtime/copy_bytes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace copy_bytes_test {

using ringtail::runtime::copy_bytes;
using ringtail::runtime::kCopyAtOnceMax;

TEST_CASE("copy_bytes copies all of it and nothing else, whatever the size and place") {
  std::vector<std::uint8_t> source(4 * kCopyAtOnceMax);
  std::uint32_t value = 1;
  for (std::uint8_t& byte : source) {
    value = value * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(value >> 24);
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, kCopyAtOnceMax - 1, kCopyAtOnceMax,
        kCopyAtOnceMax + 1, 2 * kCopyAtOnceMax, 3 * kCopyAtOnceMax + 77}) {
    for (const std::size_t from : {0, 5, 64}) {
      for (const std::size_t to : {0, 13, 80}) {
        CAPTURE(size);
        std::vector<std::uint8_t> target(to + size + 100, 0);
        std::vector<std::uint8_t> expected = target;
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        copy_bytes(target.data() + to, source.data() + from, size);
        CHECK(target == expected);
      }
    }
  }
  copy_bytes(nullptr, nullptr, 0);
}

}  // namespace copy_bytes_test
