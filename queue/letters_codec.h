// How the letters of letters.h cross to another node: headers in letters.proto, the octets of the
// messages behind them. Stateless; called on any shard.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broker/runtime/bytes.h"
#include "broker/runtime/envelope.h"
#include "broker/runtime/status.h"
#include "queue/message.h"

namespace ringtail::queue {

// A codec for every kind of letters of this folder, and of the rings below it.
void add_codecs(runtime::LetterCodecs& codecs);

// One message, for the headers of other layers' letters: the head goes into a field, the octets
// behind the header.
void encode_message(const Message& message, std::string& head, runtime::OutChain& octets);
// kCorrupt: they are not one message, exactly.
runtime::Result<MessageRef> decode_message(std::string_view head,
                                           std::span<const std::uint8_t> octets);

}  // namespace ringtail::queue
