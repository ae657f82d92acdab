// What TLS sessions of one kind have in common: certificate, key, trusted authorities, versions,
// ciphers (OpenSSL's SSL_CTX).
//
// OpenSSL's headers are included in this folder only (tools/lint_layers.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/runtime/status.h"

struct ssl_ctx_st;

namespace ringtail::runtime {

struct TlsConfig;

// What the files of a TlsConfig hold, in PEM form.
struct TlsFiles {
  std::string certificate;  // and the intermediate certificates behind it
  std::string key;
  std::string authorities;  // empty: none

  bool operator==(const TlsFiles&) const = default;
};

// Reads the files that are named. An error names the file and the reason. Blocks, for a moment.
Result<TlsFiles> read_tls_files(const TlsConfig& config);

// Immutable once made, and so shared by all shards: a copy is one more reference to the same thing,
// which any thread may take and use.
class TlsContext {
 public:
  TlsContext() = default;  // none
  TlsContext(const TlsContext& other);
  TlsContext(TlsContext&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
  TlsContext& operator=(TlsContext other) noexcept {
    std::swap(context_, other.context_);
    return *this;
  }
  ~TlsContext();

  // For accepted connections. An error says which of the files is wrong and why.
  static Result<TlsContext> server(const TlsConfig& config, const TlsFiles& files);
  // For outgoing ones. With `verify` the server's certificate must lead to one of `authorities`
  // (PEM; empty: those that the system trusts).
  static Result<TlsContext> client(bool verify, std::string_view authorities);
  // For outgoing ones between nodes: shows the certificate of `config`, and verifies the other's by
  // its authorities. Whose name is in it does not matter.
  static Result<TlsContext> peer(const TlsConfig& config, const TlsFiles& files);

  explicit operator bool() const { return context_ != nullptr; }
  ssl_ctx_st* get() const { return context_; }

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  ssl_ctx_st* context_ = nullptr;
};

// When the certificate (the first of the text) ceases to be valid, and who it is, for the log:
// "CN=node1,O=Example, valid until 2025-01-01T00:00:00Z". Empty when it cannot be read.
std::string describe_certificate(std::string_view pem);

// From when to when a certificate is valid, in seconds since 1970.
struct CertificateTimes {
  std::int64_t begin_s = 0;
  std::int64_t end_s = 0;
};
// Of every certificate in the text, in order. kInvalid: there is none, or a time that is none.
Result<std::vector<CertificateTimes>> certificate_times(std::string_view pem);

}  // namespace ringtail::runtime
