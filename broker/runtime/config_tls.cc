// The settings of TLS: ssl_options.*, the listeners for it, who a certificate logs in.
#include <algorithm>
#include <array>
#include <limits>

#include "broker/runtime/config_settings.h"

namespace ringtail::runtime {

namespace {

constexpr unsigned kDepthLargest = 255;

std::string apply_cert_file(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.tls.cert_file, value);
}
std::string apply_key_file(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.tls.key_file, value);
}
std::string apply_ca_file(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.tls.ca_file, value);
}
std::string apply_key_password(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.tls.key_password, value);
}

std::string apply_verify(ConfigDraft& draft, std::string_view value) {
  if (value != "verify_peer" && value != "verify_none") return "is not verify_peer or verify_none";
  draft.config.tls.verify_peer = value == "verify_peer";
  return {};
}

std::string apply_fail_if_none(ConfigDraft& draft, std::string_view value) {
  return apply_boolean(draft.config.tls.fail_if_no_peer_cert, value);
}
std::string apply_cipher_order(ConfigDraft& draft, std::string_view value) {
  return apply_boolean(draft.config.tls.honor_cipher_order, value);
}

std::string depth_value(TlsConfig& tls, std::string_view value) {
  std::uint64_t depth = 0;
  if (!parse_whole_number(value, depth) || depth > kDepthLargest) {
    return "is not a number of intermediate certificates (0 to 255)";
  }
  tls.depth = static_cast<unsigned>(depth);
  return {};
}

std::string apply_depth(ConfigDraft& draft, std::string_view value) {
  return depth_value(draft.config.tls, value);
}

// An old version beside new ones is left out; alone it would leave nothing to speak (tls_done()).
std::string apply_version(ConfigDraft& draft, std::string_view value) {
  auto& versions = draft.config.tls.versions;
  if (value == "tlsv1.1" || value == "tlsv1" || value == "sslv3") {
    draft.config.warnings.push_back("ssl_options.versions: " + std::string(value) +
                                    " is not spoken (tlsv1.2 and tlsv1.3 are)");
  } else if (value != "tlsv1.2" && value != "tlsv1.3") {
    return "is not a TLS version (tlsv1.2, tlsv1.3)";
  }
  if (std::find(versions.begin(), versions.end(), value) == versions.end()) {
    versions.emplace_back(value);
  }
  return {};
}

std::string apply_cipher(ConfigDraft& draft, std::string_view value) {
  // What OpenSSL would take for more than one name has no place here.
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  if (value.empty() || !std::all_of(value.begin(), value.end(), in_name)) {
    return "is not the name of a cipher (as 'openssl ciphers' prints them)";
  }
  draft.config.tls.ciphers.emplace_back(value);
  return {};
}

std::string apply_tls_timeout(ConfigDraft& draft, std::string_view value) {
  constexpr std::uint32_t kLongest = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t time_ms = kLongest;
  if (value != "infinity" &&
      (!parse_whole_number(value, time_ms) || time_ms < 1 || time_ms > kLongest)) {
    return "is not a time (in milliseconds, at least 1; or infinity)";
  }
  draft.config.tls.handshake_timeout_ms = static_cast<std::uint32_t>(time_ms);
  return {};
}

std::string apply_cert_login(ConfigDraft& draft, std::string_view value) {
  if (value == "distinguished_name") {
    draft.config.cert_login = CertLogin::kDistinguishedName;
  } else if (value == "common_name") {
    draft.config.cert_login = CertLogin::kCommonName;
  } else if (value == "subject_alternative_name" || value == "subject_alt_name") {
    draft.config.cert_login = CertLogin::kSubjectAltName;
  } else {
    return "is not distinguished_name, common_name or subject_alternative_name";
  }
  return {};
}

// Options that would be less safe than asked for, were they passed over.
std::string apply_only_false(ConfigDraft&, std::string_view value) {
  return value == "false" ? "" : "is not supported (false is)";
}
std::string apply_only_true(ConfigDraft&, std::string_view value) {
  return value == "true" ? "" : "is not supported (true is)";
}

std::string apply_none_ssl(ConfigDraft& draft, std::string_view value) {
  if (value != "none") return "is not 'none' (ports go to listeners.ssl.default)";
  draft.ssl_none = true;
  return {};
}

struct TlsKey {
  std::string_view key;
  ApplyValue apply;
};

constexpr std::array kTlsKeys = {
    TlsKey{"listeners.ssl", apply_none_ssl},
    TlsKey{"listeners.ssl.default", apply_amqps_port},
    TlsKey{"ssl_options.certfile", apply_cert_file},
    TlsKey{"ssl_options.keyfile", apply_key_file},
    TlsKey{"ssl_options.cacertfile", apply_ca_file},
    TlsKey{"ssl_options.password", apply_key_password},
    TlsKey{"ssl_options.verify", apply_verify},
    TlsKey{"ssl_options.fail_if_no_peer_cert", apply_fail_if_none},
    TlsKey{"ssl_options.depth", apply_depth},
    TlsKey{"ssl_options.honor_cipher_order", apply_cipher_order},
    TlsKey{"ssl_options.client_renegotiation", apply_only_false},
    TlsKey{"ssl_options.secure_renegotiate", apply_only_true},
    TlsKey{"ssl_options.crl_check", apply_only_false},
    TlsKey{"ssl_handshake_timeout", apply_tls_timeout},
    TlsKey{"ssl_cert_login_from", apply_cert_login},
};

bool has_tls_listener(const Config& config) {
  return config.amqps_port != 0 || !config.extra_amqps_listeners.empty();
}

Status needs(const std::string& what, const std::string& missing) {
  return Status(Code::kInvalid, what + " needs " + missing);
}

}  // namespace

bool apply_tls_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                   std::string& rule) {
  for (const TlsKey& known : kTlsKeys) {
    if (known.key != key) continue;
    rule = known.apply(draft, value);
    return true;
  }
  if (!name_behind(key, "listeners.ssl.").empty()) {
    rule = apply_listener_value(draft.extra_tls_ports, draft.config.extra_amqps_listeners, value);
  } else if (!name_behind(key, "ssl_options.versions.").empty()) {
    rule = apply_version(draft, value);
  } else if (!name_behind(key, "ssl_options.ciphers.").empty()) {
    rule = apply_cipher(draft, value);
  } else {
    return false;
  }
  return true;
}

std::string apply_amqps_port(ConfigDraft& draft, std::string_view value) {
  std::uint64_t port = 0;
  if (value != "none" && (!parse_whole_number(value, port) || port > 65535)) {
    return "is not a port (1 to 65535; 0 or none opens none)";
  }
  draft.config.amqps_port = static_cast<std::uint16_t>(port);
  return {};
}

bool apply_link_tls_key(TlsConfig& tls, std::string_view key, std::string_view value,
                        std::string& rule) {
  const std::string_view name = key.substr(key.find('.') + 1);
  if (name == "certfile") {
    rule = apply_text(tls.cert_file, value);
  } else if (name == "keyfile") {
    rule = apply_text(tls.key_file, value);
  } else if (name == "cacertfile") {
    rule = apply_text(tls.ca_file, value);
  } else if (name == "password") {
    rule = apply_text(tls.key_password, value);
  } else if (name == "depth") {
    rule = depth_value(tls, value);
  } else {
    return false;
  }
  return true;
}

Status link_tls_done(const TlsConfig& tls) {
  const bool any = !tls.cert_file.empty() || !tls.key_file.empty() || !tls.ca_file.empty();
  if (!any) return {};
  if (tls.cert_file.empty()) return needs("TLS between nodes", "cluster_ssl_options.certfile");
  if (tls.key_file.empty()) return needs("TLS between nodes", "cluster_ssl_options.keyfile");
  if (tls.ca_file.empty()) {
    return needs("TLS between nodes", "the cluster's authority: cluster_ssl_options.cacertfile");
  }
  return {};
}

Status tls_done(ConfigDraft& draft) {
  Config& config = draft.config;
  for (const std::uint16_t port : draft.extra_tls_ports) {
    for (const std::string& address : config.bind) {
      config.extra_amqps_listeners.push_back({address, port});
    }
  }
  draft.extra_tls_ports.clear();
  if (!has_tls_listener(config)) return {};
  const TlsConfig& tls = config.tls;
  const std::string listener =
      "the TLS listener on port " + std::to_string(config.amqps_port != 0
                                                       ? config.amqps_port
                                                       : config.extra_amqps_listeners.front().port);
  if (tls.cert_file.empty()) return needs(listener, "a certificate: ssl_options.certfile");
  if (tls.key_file.empty()) return needs(listener, "its key: ssl_options.keyfile");
  if (tls.verify_peer && tls.ca_file.empty()) {
    return needs("ssl_options.verify = verify_peer",
                 "the authorities to trust: ssl_options.cacertfile");
  }
  if (tls.fail_if_no_peer_cert && !tls.verify_peer) {
    return needs("ssl_options.fail_if_no_peer_cert = true", "ssl_options.verify = verify_peer");
  }
  const auto spoken = [](const std::string& version) {
    return version == "tlsv1.2" || version == "tlsv1.3";
  };
  if (!tls.versions.empty() && std::none_of(tls.versions.begin(), tls.versions.end(), spoken)) {
    return needs("ssl_options.versions", "tlsv1.2 or tlsv1.3");
  }
  return {};
}

}  // namespace ringtail::runtime
