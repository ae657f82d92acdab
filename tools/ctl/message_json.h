// A stored message as an object for people and programs.
#pragma once

#include "queue/store/message_codec.h"
#include "tools/ctl/api.h"

namespace ringtail::ctl {

// number, redelivered, exchange, routing_key, properties, payload_bytes, payload, payload_encoding
// ("string", or "base64" where it is no UTF-8), and expires_at (milliseconds since 1970) and bcc
// (keys that no receiver sees) where there are such. Properties are named and written as the
// management API does; those that cannot be decoded stand as base64 in "raw".
Json json_of_message(const queue::store::StoredMessage& stored);

}  // namespace ringtail::ctl
