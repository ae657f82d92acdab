// Base64 (RFC 4648, section 4): password hashes, HTTP credentials, payloads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ringtail::broker {

std::string base64_encode(std::string_view bytes);
// None when it is not Base64: another character, a wrong length or padding. Line ends count as
// other characters.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace ringtail::broker
