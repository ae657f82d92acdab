// Whether bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <string_view>

namespace ringtail::amqp {

bool valid_utf8(std::string_view text);

}  // namespace ringtail::amqp
