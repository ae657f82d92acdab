#include "broker/runtime/checksum.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <vector>

namespace ringtail::runtime::checksum_test {

TEST_CASE("checksums are zlib's, whole and in parts, at each size and alignment") {
  std::vector<std::uint8_t> bytes(5000);
  std::uint32_t value = 1;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>((value *= 2654435761U) >> 24);
  const std::span<const std::uint8_t> all = bytes;
  for (std::size_t size = 0; size < 4096; size += size < 300 ? 1 : 97) {
    const auto part = all.subspan(size % 64, size);
    const auto expected = static_cast<std::uint32_t>(crc32_z(7, part.data(), part.size()));
    CHECK(checksum(7, part) == expected);
    CHECK(checksum(checksum(7, part.first(size / 3)), part.subspan(size / 3)) == expected);
  }
}

TEST_CASE("a checksum goes on over nothing") {
  CHECK(checksum(0, {}) == 0);
  CHECK(checksum(0xCBF43926, {}) == 0xCBF43926);
}

}  // namespace ringtail::runtime::checksum_test
