#include "broker/auth.h"

#include <algorithm>

#include "broker/amqp/field_table.h"
#include "broker/runtime/bytes.h"

namespace ringtail::broker {

namespace {

struct Credentials {
  bool well_formed = false;
  std::string user;
  std::string password;
};

// RFC 4616: [authorization identity] NUL user NUL password.
Credentials parse_plain(std::string_view response) {
  const std::size_t first = response.find('\0');
  if (first == std::string_view::npos) return {};
  const std::size_t second = response.find('\0', first + 1);
  if (second == std::string_view::npos) return {};
  return {true, std::string(response.substr(first + 1, second - first - 1)),
          std::string(response.substr(second + 1))};
}

// A field table without its length, with the long strings LOGIN and PASSWORD.
Credentials parse_amqplain(std::string_view response) {
  const auto entries = runtime::as_bytes(response);
  if (!amqp::validate_table(entries)) return {};
  const auto user = amqp::find_in_table(entries, "LOGIN");
  const auto password = amqp::find_in_table(entries, "PASSWORD");
  if (!user || !password || !user->as_text() || !password->as_text()) return {};
  return {true, std::string(*user->as_text()), std::string(*password->as_text())};
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  // The length of the secret may show, its content not.
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto other = b.empty() ? 0U : static_cast<unsigned char>(b[i % b.size()]);
    difference |= static_cast<unsigned char>(a[i]) ^ other;
  }
  return difference == 0;
}

LoginResult login(const runtime::Config& config, std::string_view mechanism,
                  std::string_view response, bool peer_is_loopback) {
  using Verdict = LoginResult::Verdict;
  Credentials given;
  if (mechanism == "PLAIN") {
    given = parse_plain(response);
  } else if (mechanism == "AMQPLAIN") {
    given = parse_amqplain(response);
  } else {
    return {Verdict::kUnknownMechanism, "", "unknown mechanism"};
  }
  if (!given.well_formed) return {Verdict::kMalformed, "", "malformed response"};

  // Both are always compared, so that the time tells nothing about which was wrong.
  const bool user_matches = equal_in_constant_time(given.user, config.default_user);
  const bool password_matches = equal_in_constant_time(given.password, config.default_pass);
  if (!user_matches || !password_matches) {
    return {Verdict::kRefused, given.user, "invalid credentials"};
  }
  const bool loopback_only = std::find(config.loopback_users.begin(), config.loopback_users.end(),
                                       given.user) != config.loopback_users.end();
  if (loopback_only && !peer_is_loopback) {
    return {Verdict::kRefused, given.user, "user can only connect via localhost"};
  }
  return {Verdict::kAccepted, given.user, ""};
}

}  // namespace ringtail::broker
