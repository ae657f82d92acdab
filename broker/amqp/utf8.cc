#include "broker/amqp/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ringtail::amqp {

namespace {

// Length of the character that begins with `first`, 0 when none does; and the range that the second
// octet must lie in (the others lie in 80..BF), from the table of RFC 3629, section 4.
struct Lead {
  std::size_t size;
  std::uint8_t low;
  std::uint8_t high;
};

Lead lead_of(std::uint8_t first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xC2) return {0, 0, 0};
  if (first < 0xE0) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first < 0xF0) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first < 0xF4) return {4, 0x80, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

bool continues(std::uint8_t octet) { return (octet & 0xC0) == 0x80; }

}  // namespace

bool valid_utf8(std::string_view text) {
  std::size_t at = 0;
  const auto octet = [&text](std::size_t index) { return static_cast<std::uint8_t>(text[index]); };
  while (at < text.size()) {
    // Names are ASCII nearly always: eight at once.
    std::uint64_t word = 0;
    if (text.size() - at >= sizeof word) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const Lead lead = lead_of(octet(at));
    if (lead.size == 0 || text.size() - at < lead.size) return false;
    if (lead.size > 1 && (octet(at + 1) < lead.low || octet(at + 1) > lead.high)) return false;
    for (std::size_t i = 2; i < lead.size; ++i) {
      if (!continues(octet(at + i))) return false;
    }
    at += lead.size;
  }
  return true;
}

}  // namespace ringtail::amqp
