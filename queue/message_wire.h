// A message between nodes, in two parts (letters.proto): its head, among what a letter's header
// says of each message, and its octets behind the header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/runtime/bytes.h"
#include "queue/message.h"
#include "queue/store/byte_buffer.h"

namespace ringtail::queue {

// What write_message_head() writes at most, and any head has at least.
inline constexpr std::size_t kMessageHeadMax = 2 + 5 * store::ByteBuffer::kVarintMax;
inline constexpr std::size_t kMessageHeadMin = 4;

// Returns what is behind the head.
std::uint8_t* write_message_head(std::uint8_t* at, const Message& message);
// What is small is copied side by side, the pieces of a large body are shared.
void put_message_octets(const Message& message, runtime::OutChain& out);
// None: the next bytes of `heads` are no head, or `octets` has fewer than it says; both may be
// anywhere then, and nothing was allocated.
MessageRef take_message(store::ByteReader& heads, store::ByteReader& octets);

}  // namespace ringtail::queue
