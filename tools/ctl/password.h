// A password's hash as RabbitMQ keeps it: Base64 of 4 bytes of salt and SHA-256 of salt and
// password.
#pragma once

#include <string>
#include <string_view>

namespace ringtail::ctl {

std::string hashed_password(std::string_view password, std::string_view salt);
std::string random_salt();

}  // namespace ringtail::ctl
