// How the broker's letters cross to another node (broker/letters.proto): direct replies. All others
// stay within their node. Stateless; called on any shard.
#pragma once

#include "broker/runtime/envelope.h"

namespace ringtail::broker {

void add_codecs(runtime::LetterCodecs& codecs);

}  // namespace ringtail::broker
