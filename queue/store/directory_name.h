// How a queue's directory is called.
#pragma once

#include <string>
#include <string_view>

#include "broker/runtime/status.h"

namespace ringtail::queue::store {

// The MD5 of the Erlang external term {resource, VHost, queue, Name} (131; SMALL_TUPLE_EXT 104 of
// arity 4; the atoms as ATOM_EXT 100 with a 16-bit length, the strings as BINARY_EXT 109 with a
// 32-bit length) as one number in base 36, upper case, without padding: what RabbitMQ 2.x to 3.6
// called it. ("myvhost_rhu", "archive") gives EUVCFMQ3KCK9L8KMFN5Q0WBQR. kInvalid: a vhost that is
// empty, or a string of more than 255 bytes.
runtime::Result<std::string> directory_name(std::string_view vhost, std::string_view queue);

}  // namespace ringtail::queue::store
