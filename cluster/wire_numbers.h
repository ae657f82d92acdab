// Numbers as they stand between nodes: unsigned, most significant byte first (docs/FORMATS.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ringtail::cluster {

// Writes all bytes of `number` at `to`; returns the place behind them.
template <typename Number>
std::uint8_t* put_number(std::uint8_t* to, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    to[i] = static_cast<std::uint8_t>(number >> (8 * (sizeof(Number) - 1 - i)));
  }
  return to + sizeof(Number);
}

template <typename Number>
void append_number(std::string& to, Number number) {
  std::uint8_t bytes[sizeof(Number)];
  put_number(bytes, number);
  to.append(reinterpret_cast<const char*>(bytes), sizeof(Number));
}

// `from` has that many bytes.
template <typename Number>
Number get_number(const std::uint8_t* from) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number << 8 | from[i]);
  }
  return number;
}

template <>
inline std::uint8_t get_number<std::uint8_t>(const std::uint8_t* from) {
  return *from;
}

}  // namespace ringtail::cluster
