// A message as bytes: the same in the journal and in the segments (docs/FORMATS.md, "Messages").
//
//   content  = flags:octet [priority:octet] [expiration:varint] route
//              properties-size:varint properties [blind-size:varint blind-keys]
//              body-size:varint body
//   flags    = 1 persistent | 2 has priority | 4 has expiration | 8 has blind keys
//   route    = exchange:short-string routing-key:short-string
//
// `properties` and `blind-keys` are the protocol's own bytes, kept as they came.
#pragma once

#include <cstdint>

#include "queue/entry.h"
#include "queue/message.h"
#include "queue/store/byte_buffer.h"

namespace ringtail::queue::store {

// A position is the place of its level (how far below the highest; 0 where there is one level),
// the lane, above a number that counts the queue's messages from 1.
inline constexpr unsigned kLaneShift = 55;
inline constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kLaneShift) - 1;
inline std::uint8_t lane_of(Position position) {
  return static_cast<std::uint8_t>(position >> kLaneShift);
}
inline std::uint64_t number_of(Position position) { return position & kNumberMask; }
inline Position position_at(std::uint8_t lane, std::uint64_t number) {
  return Position{lane} << kLaneShift | number;
}

// A message of a queue as it comes back from a file.
struct StoredMessage {
  Position position = 0;
  std::uint64_t expires_at_ms = kNoExpiration;  // wall clock, milliseconds since 1970
  bool delivered = false;                       // perhaps delivered before
  MessageRef message;
};

// How many bytes put_content() would write, at most.
std::size_t content_size_max(const Message& message);
void put_content(ByteBuffer& out, const Message& message);
// Null: the bytes are no content; `in` may be anywhere then. Never creates a message whose body is
// longer than what is left in `in`.
MessageRef get_content(ByteReader& in);

}  // namespace ringtail::queue::store
