// What the formats of this folder have in common; for their sources only.
#pragma once

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "broker/runtime/checksum.h"
#include "broker/runtime/status.h"
#include "queue/message.h"
#include "queue/store/byte_buffer.h"

namespace ringtail::queue::store {

using runtime::checksum;

// --- writing where room was reserved; each returns what is behind it ---

template <typename Number>
std::uint8_t* write_number(std::uint8_t* at, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    at[i] = static_cast<std::uint8_t>(number >> (8 * (sizeof(Number) - 1 - i)));
  }
  return at + sizeof(Number);
}

inline std::uint8_t* write_varint(std::uint8_t* at, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<std::uint8_t>(number | 0x80);
  *at++ = static_cast<std::uint8_t>(number);
  return at;
}

inline std::uint8_t* write_bytes(std::uint8_t* at, std::span<const std::uint8_t> bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());  // never a null pointer
  return at + bytes.size();
}

// What put_content() puts; content_size_max() says how much room it takes.
std::uint8_t* write_content(std::uint8_t* at, const Message& message);

// --- reading ---

// One load: a search looks at every offset of a file.
template <typename Number>
Number number_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  static_assert(std::endian::native == std::endian::little);
  RT_DCHECK(at + sizeof(Number) <= bytes.size(), "a number behind the end");
  Number number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(Number));
  if constexpr (sizeof(Number) == 8) return __builtin_bswap64(number);
  if constexpr (sizeof(Number) == 4) return __builtin_bswap32(number);
  if constexpr (sizeof(Number) == 2) return __builtin_bswap16(number);
  return number;
}

// Every checksum of a file begins with the file's salt.
inline std::uint32_t checksum_of_salt(std::uint64_t salt) {
  std::array<std::uint8_t, sizeof(salt)> bytes;
  write_number(bytes.data(), salt);
  return checksum(0, bytes);
}

inline runtime::Status corrupt(std::string text) {
  return {runtime::Code::kCorrupt, std::move(text)};
}

inline std::string damage_text(const std::string& name, std::uint64_t offset,
                               std::string_view rule) {
  return fmt::format("{} is damaged at offset {}: {}", name, offset, rule);
}

inline runtime::Status damaged(const std::string& name, std::uint64_t offset,
                               std::string_view rule) {
  return corrupt(damage_text(name, offset, rule));
}

// Whether a file begins with a whole header of this kind: magic (8 octets), version, ..., the
// checksum of what stands before it.
inline runtime::Status check_header(std::span<const std::uint8_t> content, std::string_view magic,
                                    std::size_t size, std::uint32_t version,
                                    const std::string& name) {
  if (content.size() < size || runtime::as_text(content.first(magic.size())) != magic ||
      number_at<std::uint32_t>(content, size - 4) != checksum(0, content.first(size - 4))) {
    return damaged(name, 0, "it does not begin with a whole header");
  }
  const auto found = number_at<std::uint32_t>(content, magic.size());
  if (found == version) return {};
  return corrupt(fmt::format("{} has format version {}; this node reads {}", name, found, version));
}

}  // namespace ringtail::queue::store
