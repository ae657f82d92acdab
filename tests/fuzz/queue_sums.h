// Checksums keep random bytes from everything behind them. So the targets for the files of queues
// take an octet that says which of them to make right, and the file.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ringtail::fuzz {

using File = std::vector<std::uint8_t>;

enum : std::uint8_t { kFixHeader = 1, kFixHeads = 2, kFixRecords = 4, kCutSizes = 8 };

inline std::uint32_t word(const File& file, std::size_t at) {
  return std::uint32_t{file[at]} << 24 | std::uint32_t{file[at + 1]} << 16 |
         std::uint32_t{file[at + 2]} << 8 | file[at + 3];
}

inline void put_word(File& file, std::size_t at, std::uint32_t number) {
  for (int i = 3; i >= 0; --i, number >>= 8) {
    file[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(number);
  }
}

inline std::uint32_t sum(std::uint32_t so_far, const File& file, std::size_t at, std::size_t size) {
  return size == 0 ? so_far : static_cast<std::uint32_t>(crc32_z(so_far, file.data() + at, size));
}

// The size that stands at `at`, made to fit into what is left if the mode says so.
inline std::size_t size_at(File& file, std::size_t at, std::size_t left, std::uint8_t mode) {
  if (word(file, at) > left && (mode & kCutSizes) != 0) {
    put_word(file, at, static_cast<std::uint32_t>(left));
  }
  return std::min<std::size_t>(word(file, at), left);
}

inline void fix_header(File& file, std::size_t size, std::uint8_t mode) {
  if ((mode & kFixHeader) != 0 && file.size() >= size) {
    put_word(file, size - 4, sum(0, file, 0, size - 4));
  }
}

}  // namespace ringtail::fuzz
