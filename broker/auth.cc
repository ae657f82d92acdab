#include "broker/auth.h"

#include <algorithm>
#include <array>

#include "broker/amqp/field_table.h"
#include "broker/passwords.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/limits.h"

namespace ringtail::broker {

using runtime::CertLogin;
using runtime::Config;
using Verdict = LoginResult::Verdict;

namespace {

// In the order in which they are offered, whatever the order of the configuration.
constexpr std::array<std::string_view, 3> kMechanisms = {"AMQPLAIN", "PLAIN", "EXTERNAL"};

struct Credentials {
  bool well_formed = false;
  std::string user;
  std::string password;
};

bool is_offered(const Config& config, std::string_view mechanism, bool over_tls) {
  const auto& configured = config.auth_mechanisms;
  if (std::find(configured.begin(), configured.end(), mechanism) == configured.end()) return false;
  return mechanism != "EXTERNAL" || over_tls;
}

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

LoginResult by_password(const cluster::metadata::View& view, Credentials given) {
  if (!given.well_formed) return {Verdict::kMalformed, "", "malformed response"};
  const auto user = view.user(given.user);
  // An empty password is none, whatever hash an import may have brought.
  const bool right = user != nullptr && !given.password.empty()
                         ? password_matches(*user, given.password)
                         : no_password_matches(given.password);
  if (!right) return {Verdict::kRefused, std::move(given.user), "invalid credentials"};
  return {Verdict::kAccepted, std::move(given.user), ""};
}

std::string name_in_certificate(const runtime::TlsInfo& tls, CertLogin which) {
  switch (which) {
    case CertLogin::kDistinguishedName:
      return tls.peer_subject;
    case CertLogin::kCommonName:
      return tls.peer_common_name;
    case CertLogin::kSubjectAltName:
      return tls.peer_alternative_name;
  }
  return {};
}

// The TLS handshake has verified the certificate; the response says nothing.
LoginResult by_certificate(const Config& config, const cluster::metadata::View& view,
                           const runtime::TlsInfo& tls) {
  if (!tls.has_peer_certificate) {
    return {Verdict::kRefused, "", "the client showed no certificate that was verified"};
  }
  std::string name = name_in_certificate(tls, config.cert_login);
  if (name.empty()) {
    return {Verdict::kRefused, "", "the client's certificate lacks the name that logs in"};
  }
  if (view.user(name) == nullptr) return {Verdict::kRefused, std::move(name), "no such user"};
  return {Verdict::kAccepted, std::move(name), ""};
}

}  // namespace

std::string offered_mechanisms(const Config& config, bool over_tls) {
  std::string out;
  for (const std::string_view mechanism : kMechanisms) {
    if (!is_offered(config, mechanism, over_tls)) continue;
    if (!out.empty()) out += ' ';
    out += mechanism;
  }
  return out;
}

LoginResult login(const Config& config, const cluster::metadata::View& view,
                  const LoginAttempt& attempt) {
  if (!is_offered(config, attempt.mechanism, attempt.tls != nullptr)) {
    return {Verdict::kUnknownMechanism, "", "unknown mechanism"};
  }
  LoginResult result;
  if (attempt.mechanism == "PLAIN") {
    result = by_password(view, parse_plain(attempt.response));
  } else if (attempt.mechanism == "AMQPLAIN") {
    result = by_password(view, parse_amqplain(attempt.response));
  } else if (attempt.mechanism == "EXTERNAL") {
    result = by_certificate(config, view, *attempt.tls);
  } else {
    return {Verdict::kUnknownMechanism, "", "unknown mechanism"};
  }
  if (result.verdict != Verdict::kAccepted || attempt.peer_is_loopback) return result;
  const auto& local = config.loopback_users;
  if (std::find(local.begin(), local.end(), result.user) != local.end()) {
    return {Verdict::kRefused, result.user, "user can only connect via localhost"};
  }
  return result;
}

std::string for_log(std::string_view text) {
  std::string out(text.substr(0, runtime::kShortStringMax));
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return out;
}

}  // namespace ringtail::broker
