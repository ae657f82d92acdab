// Who a client is: the SASL exchanges of connection.start-ok and the users they are checked
// against. This version knows one user, the configured default user; vhosts are open to it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broker/runtime/config.h"

namespace ringtail::broker {

// The mechanisms offered in connection.start, separated by spaces.
inline constexpr std::string_view kMechanisms = "AMQPLAIN PLAIN";

struct LoginResult {
  enum class Verdict : std::uint8_t { kAccepted, kRefused, kUnknownMechanism, kMalformed };
  Verdict verdict = Verdict::kRefused;
  std::string user;    // as the client gave it; for the log when refused
  std::string reason;  // for the log only: a client is never told which part was wrong
};

// Checks a start-ok response. Passwords are compared in constant time.
LoginResult login(const runtime::Config& config, std::string_view mechanism,
                  std::string_view response, bool peer_is_loopback);

// Equal, in a time that does not depend on where the two differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace ringtail::broker
