#include "broker/runtime/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <vector>

#include "broker/runtime/config.h"
#include "broker/runtime/tls/tls_certificate.h"

namespace ringtail::runtime {

namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(ASN1_TIME* time) const { ASN1_TIME_free(time); }
  void operator()(STACK_OF(X509_NAME) * names) const {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
  }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Status wrong(const std::string& what, const std::string& why) {
  return Status(Code::kInvalid, what + ": " + why);
}

Owned<BIO> memory_bio(std::string_view text) {
  const std::size_t size = std::min<std::size_t>(text.size(), INT_MAX);
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(size)));
}

// Never asks anybody at a terminal.
int give_password(char* buffer, int size, int, void* password) {
  const auto* text = static_cast<const std::string*>(password);
  if (text == nullptr || text->empty() || text->size() > static_cast<std::size_t>(size)) return -1;
  std::copy(text->begin(), text->end(), buffer);
  return static_cast<int>(text->size());
}

Result<std::vector<Owned<X509>>> read_certificates(std::string_view pem, const std::string& name) {
  ERR_clear_error();
  std::vector<Owned<X509>> certificates;
  const Owned<BIO> bio = memory_bio(pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, give_password, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // Running out of certificates is an error like any other to OpenSSL.
  const unsigned long error = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (!at_end) return wrong(name, openssl_reason("is not a PEM file"));
  ERR_clear_error();
  if (certificates.empty()) return wrong(name, "there is no certificate in PEM form in it");
  return certificates;
}

Status use_certificate(SSL_CTX* context, const TlsConfig& config, const TlsFiles& files) {
  const std::string name = "certificate file '" + config.cert_file + "'";
  auto certificates = read_certificates(files.certificate, name);
  RT_TRY(certificates.status());
  bool leaf = true;
  for (const Owned<X509>& certificate : certificates.value()) {
    const int used = leaf ? SSL_CTX_use_certificate(context, certificate.get())
                          : static_cast<int>(SSL_CTX_add1_chain_cert(context, certificate.get()));
    if (used != 1) return wrong(name, openssl_reason("cannot be used"));
    leaf = false;
  }
  return {};
}

Status use_key(SSL_CTX* context, const TlsConfig& config, const TlsFiles& files) {
  const std::string name = "key file '" + config.key_file + "'";
  const Owned<BIO> bio = memory_bio(files.key);
  auto* password = const_cast<std::string*>(&config.key_password);
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, give_password, password));
  if (key == nullptr) {
    const bool encrypted = files.key.find("ENCRYPTED") != std::string::npos;
    const std::string reason = openssl_reason("it cannot be read");
    if (!encrypted)
      return wrong(name, "there is no private key in PEM form in it (" + reason + ")");
    return wrong(name, config.key_password.empty()
                           ? "it is encrypted; set " + config.keys + ".password"
                           : config.keys + ".password does not open it (" + reason + ")");
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return wrong(name, "does not belong to the certificate in '" + config.cert_file + "' (" +
                           openssl_reason("another key") + ")");
  }
  return {};
}

// Trusts them, and names them to clients that are asked for a certificate.
Status use_authorities(SSL_CTX* context, std::string_view pem, const std::string& name,
                       bool tell_clients) {
  auto certificates = read_certificates(pem, name);
  RT_TRY(certificates.status());
  Owned<STACK_OF(X509_NAME)> names(sk_X509_NAME_new_null());
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const Owned<X509>& certificate : certificates.value()) {
    if (X509_STORE_add_cert(store, certificate.get()) != 1) {
      return wrong(name, openssl_reason("cannot be used"));
    }
    X509_NAME* subject = X509_NAME_dup(X509_get_subject_name(certificate.get()));
    if (subject != nullptr) sk_X509_NAME_push(names.get(), subject);
  }
  if (tell_clients) SSL_CTX_set_client_CA_list(context, names.release());
  return {};
}

Status use_versions(SSL_CTX* context, const TlsConfig& config) {
  int lowest = TLS1_2_VERSION;
  int highest = TLS1_3_VERSION;
  if (!config.versions.empty()) {
    const auto has = [&config](std::string_view version) {
      return std::find(config.versions.begin(), config.versions.end(), version) !=
             config.versions.end();
    };
    if (!has("tlsv1.2")) lowest = TLS1_3_VERSION;
    if (!has("tlsv1.3")) highest = TLS1_2_VERSION;
  }
  if (lowest > highest) return wrong("ssl_options.versions", "none is left to speak");
  SSL_CTX_set_min_proto_version(context, lowest);
  SSL_CTX_set_max_proto_version(context, highest);
  return {};
}

// OpenSSL keeps the suites of TLS 1.3 apart from the ciphers of the versions before it; a list that
// names none of one kind leaves the versions of the other.
Status use_ciphers(SSL_CTX* context, const TlsConfig& config) {
  if (config.ciphers.empty()) {
    // OpenSSL's own, but AES-128 before AES-256: as good for what passes here, and the faster.
    SSL_CTX_set_ciphersuites(
        context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
    SSL_CTX_set_cipher_list(
        context,
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256:"
        "ALL:!COMPLEMENTOFDEFAULT:!eNULL");
    return {};
  }
  std::string suites;
  std::string ciphers;
  for (const std::string& cipher : config.ciphers) {
    std::string& list = cipher.starts_with("TLS_") ? suites : ciphers;
    list += (list.empty() ? "" : ":") + cipher;
    ERR_clear_error();
    const int known = cipher.starts_with("TLS_") ? SSL_CTX_set_ciphersuites(context, cipher.c_str())
                                                 : SSL_CTX_set_cipher_list(context, cipher.c_str());
    if (known != 1) {
      ERR_clear_error();
      return wrong("ssl_options.ciphers", "'" + cipher + "' is not a cipher of OpenSSL");
    }
  }
  if (suites.empty()) {
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  } else {
    SSL_CTX_set_ciphersuites(context, suites.c_str());
  }
  if (ciphers.empty()) {
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  } else {
    SSL_CTX_set_cipher_list(context, ciphers.c_str());
  }
  if (SSL_CTX_get_min_proto_version(context) > SSL_CTX_get_max_proto_version(context)) {
    return wrong("ssl_options.ciphers",
                 "none of them belongs to a version of ssl_options.versions");
  }
  return {};
}

void use_verification(SSL_CTX* context, const TlsConfig& config) {
  int mode = SSL_VERIFY_NONE;
  if (config.verify_peer) {
    mode = SSL_VERIFY_PEER;
    if (config.fail_if_no_peer_cert) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
  SSL_CTX_set_verify(context, mode, nullptr);
  SSL_CTX_set_verify_depth(context, static_cast<int>(config.depth));
}

// A client that reconnects may show a ticket instead of the whole handshake; the node keeps
// nothing. Not where clients show certificates: a ticket would outlive the certificate.
void use_sessions(SSL_CTX* context, bool tickets) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  static constexpr unsigned char kContextId[] = "ringtail";
  SSL_CTX_set_session_id_context(context, kContextId, sizeof kContextId - 1);
  SSL_CTX_set_num_tickets(context, tickets ? 1 : 0);
  if (!tickets) SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
}

Owned<SSL_CTX> new_context(const SSL_METHOD* method) {
  ERR_clear_error();
  Owned<SSL_CTX> context(SSL_CTX_new(method));
  RT_CHECK(context != nullptr, "OpenSSL makes no context: out of memory");
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

}  // namespace

TlsContext::TlsContext(const TlsContext& other) : context_(other.context_) {
  if (context_ != nullptr) SSL_CTX_up_ref(context_);
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<TlsContext> TlsContext::server(const TlsConfig& config, const TlsFiles& files) {
  Owned<SSL_CTX> context = new_context(TLS_server_method());
  if (config.honor_cipher_order) {
    SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  }
  SSL_CTX_set_dh_auto(context.get(), 1);
  RT_TRY(use_versions(context.get(), config));
  RT_TRY(use_ciphers(context.get(), config));
  RT_TRY(use_certificate(context.get(), config, files));
  RT_TRY(use_key(context.get(), config, files));
  if (!config.ca_file.empty()) {
    RT_TRY(use_authorities(context.get(), files.authorities,
                           "certificate authorities file '" + config.ca_file + "'",
                           config.verify_peer));
  }
  use_verification(context.get(), config);
  use_sessions(context.get(), !config.verify_peer);
  return TlsContext(context.release());
}

Result<TlsContext> TlsContext::client(bool verify, std::string_view authorities) {
  Owned<SSL_CTX> context = new_context(TLS_client_method());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (verify) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (authorities.empty()) {
      SSL_CTX_set_default_verify_paths(context.get());
    } else {
      RT_TRY(use_authorities(context.get(), authorities, "certificate authorities", false));
    }
  }
  return TlsContext(context.release());
}

Result<TlsContext> TlsContext::peer(const TlsConfig& config, const TlsFiles& files) {
  Owned<SSL_CTX> context = new_context(TLS_client_method());
  RT_TRY(use_versions(context.get(), config));
  RT_TRY(use_ciphers(context.get(), config));
  RT_TRY(use_certificate(context.get(), config, files));
  RT_TRY(use_key(context.get(), config, files));
  RT_TRY(use_authorities(context.get(), files.authorities,
                         "certificate authorities file '" + config.ca_file + "'", false));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_verify_depth(context.get(), static_cast<int>(config.depth));
  return TlsContext(context.release());
}

std::string describe_certificate(std::string_view pem) {
  const Owned<BIO> bio = memory_bio(pem);
  const Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, give_password, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) return {};
  return distinguished_name(X509_get_subject_name(certificate.get())) + ", valid until " +
         time_text(X509_get0_notAfter(certificate.get()));
}

namespace {

bool seconds_of(const ASN1_TIME* time, std::int64_t& seconds) {
  const Owned<ASN1_TIME> epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int rest = 0;
  if (epoch == nullptr || ASN1_TIME_diff(&days, &rest, epoch.get(), time) != 1) return false;
  seconds = std::int64_t{days} * 86400 + rest;
  return true;
}

}  // namespace

Result<std::vector<CertificateTimes>> certificate_times(std::string_view pem) {
  const Owned<BIO> bio = memory_bio(pem);
  std::vector<CertificateTimes> times;
  while (true) {
    const Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, give_password, nullptr));
    ERR_clear_error();
    if (certificate == nullptr) break;
    CertificateTimes& one = times.emplace_back();
    if (!seconds_of(X509_get0_notBefore(certificate.get()), one.begin_s) ||
        !seconds_of(X509_get0_notAfter(certificate.get()), one.end_s)) {
      ERR_clear_error();
      return Status(Code::kInvalid, "a certificate does not say until when it is valid");
    }
  }
  if (times.empty()) return Status(Code::kInvalid, "there is no certificate in PEM form");
  return times;
}

}  // namespace ringtail::runtime
