// Who a client is: the SASL exchanges of connection.start-ok, checked against the users of the
// metadata. What the user may do then is access_control.h's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/runtime/config.h"
#include "broker/runtime/net.h"
#include "cluster/metadata/view.h"

namespace ringtail::broker {

// Mechanisms offered in connection.start, separated by spaces: those of the configuration,
// EXTERNAL only where the client speaks TLS.
std::string offered_mechanisms(const runtime::Config& config, bool over_tls);

struct LoginResult {
  enum class Verdict : std::uint8_t { kAccepted, kRefused, kUnknownMechanism, kMalformed };
  Verdict verdict = Verdict::kRefused;
  std::string user;    // as the client gave it; for the log when refused
  std::string reason;  // for the log only: a client is never told which part was wrong
};

// A start-ok, and what is known of the connection that it came on.
struct LoginAttempt {
  std::string_view mechanism;
  std::string_view response;
  const runtime::TlsInfo* tls = nullptr;  // null: no TLS
  bool peer_is_loopback = false;
};

// Checks it. Passwords are compared in constant time; a user that is not there, or has no password,
// costs the same hash as one that has.
LoginResult login(const runtime::Config& config, const cluster::metadata::View& view,
                  const LoginAttempt& attempt);

// A name that came from a client, for a line of the log: control characters (a line break would
// forge a line) become '?', what is longer than 255 bytes is cut.
std::string for_log(std::string_view text);

}  // namespace ringtail::broker
