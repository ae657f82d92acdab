// Numbers in the files of Raft, in network order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "broker/runtime/checksum.h"

namespace ringtail::cluster::raft {

template <typename Number>
void put(std::string& out, Number number) {
  for (int shift = static_cast<int>(sizeof(Number)) * 8 - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<unsigned char>(number >> shift));
  }
}

// The caller has seen that there is so much.
template <typename Number>
Number get(std::string_view bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number << 8) | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

inline std::uint32_t checksum(std::uint32_t so_far, std::string_view bytes) {
  return runtime::checksum(so_far,
                           {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace ringtail::cluster::raft
