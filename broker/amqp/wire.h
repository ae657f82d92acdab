// Big-endian numbers and strings as they lie on the wire (AMQP 0-9-1, 4.2.5). Nothing here checks
// bounds: the caller has seen that the bytes are there, or has made the room.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace ringtail::amqp {

static_assert(std::endian::native == std::endian::little, "the loads and stores swap bytes");

inline std::uint16_t load_u16(const std::uint8_t* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap16(value);
}
inline std::uint32_t load_u32(const std::uint8_t* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}
inline std::uint64_t load_u64(const std::uint8_t* at) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap64(value);
}

// Each store returns the place behind what it wrote.
inline std::uint8_t* store_u8(std::uint8_t* at, std::uint8_t value) {
  *at = value;
  return at + 1;
}
inline std::uint8_t* store_u16(std::uint8_t* at, std::uint16_t value) {
  value = __builtin_bswap16(value);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}
inline std::uint8_t* store_u32(std::uint8_t* at, std::uint32_t value) {
  value = __builtin_bswap32(value);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}
inline std::uint8_t* store_u64(std::uint8_t* at, std::uint64_t value) {
  value = __builtin_bswap64(value);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}
inline std::uint8_t* store_bytes(std::uint8_t* at, const void* data, std::size_t size) {
  if (size != 0) std::memcpy(at, data, size);  // memcpy must not see a null pointer
  return at + size;
}

// Bytes of text that a short string carries: its length is one octet, so the rest is cut.
inline std::size_t short_string_size(std::string_view text) {
  return text.size() < 255 ? text.size() : 255;
}
inline std::uint8_t* store_short_string(std::uint8_t* at, std::string_view text) {
  const std::size_t size = short_string_size(text);
  *at = static_cast<std::uint8_t>(size);
  return store_bytes(at + 1, text.data(), size);
}
// A long string, or a table given as its entries. At most 4 GiB - 1.
inline std::uint8_t* store_long_bytes(std::uint8_t* at, std::span<const std::uint8_t> bytes) {
  at = store_u32(at, static_cast<std::uint32_t>(bytes.size()));
  return store_bytes(at, bytes.data(), bytes.size());
}

inline std::string_view text_at(const std::uint8_t* at, std::size_t size) {
  return {reinterpret_cast<const char*>(at), size};
}

}  // namespace ringtail::amqp
