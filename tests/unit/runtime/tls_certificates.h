// Certificates for tests, made on the spot: authorities and what they sign (EC keys: quick).
#pragma once

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ringtail::runtime {

class TestCertificate {
 public:
  struct Wanted {
    // In the order of the certificate, which is the reverse of how it is printed.
    std::vector<std::pair<std::string, std::string>> subject = {{"O", "Example"}, {"CN", "test"}};
    std::string alternative_names = {};  // "DNS:a,email:b"
    long from_s = -3600;                 // relative to now
    long to_s = 86400;
    bool authority = false;
  };

  // Signed by itself.
  explicit TestCertificate(const Wanted& wanted) { make(wanted, nullptr); }
  TestCertificate(const Wanted& wanted, const TestCertificate& issuer) { make(wanted, &issuer); }

  std::string certificate() const {
    return text([this](BIO* out) { return PEM_write_bio_X509(out, certificate_.get()); });
  }
  std::string key() const {
    return text([this](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  std::string encrypted_key(const std::string& password) const {
    return text([&](BIO* out) {
      return PEM_write_bio_PKCS8PrivateKey(out, key_.get(), EVP_aes_128_cbc(), password.c_str(),
                                           static_cast<int>(password.size()), nullptr, nullptr);
    });
  }

 private:
  struct Free {
    void operator()(X509* x) const { X509_free(x); }
    void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
    void operator()(BIO* b) const { BIO_free(b); }
  };

  template <typename Write>
  static std::string text(Write write) {
    const std::unique_ptr<BIO, Free> out(BIO_new(BIO_s_mem()));
    REQUIRE(write(out.get()) == 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }

  void add_extension(int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate_.get(), certificate_.get(), nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    REQUIRE(extension != nullptr);
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  void make(const Wanted& wanted, const TestCertificate* issuer) {
    static long serial = 1;
    key_.reset(EVP_EC_gen("P-256"));
    certificate_.reset(X509_new());
    X509* x = certificate_.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
    X509_gmtime_adj(X509_getm_notBefore(x), wanted.from_s);
    X509_gmtime_adj(X509_getm_notAfter(x), wanted.to_s);
    X509_set_pubkey(x, key_.get());
    X509_NAME* name = X509_get_subject_name(x);
    for (const auto& [type, value] : wanted.subject) {
      // "+OU": in one set with the one before.
      const bool same_set = type.starts_with('+');
      REQUIRE(X509_NAME_add_entry_by_txt(name, type.c_str() + (same_set ? 1 : 0), MBSTRING_UTF8,
                                         reinterpret_cast<const unsigned char*>(value.data()),
                                         static_cast<int>(value.size()), -1,
                                         same_set ? -1 : 0) == 1);
    }
    X509_set_issuer_name(
        x, issuer == nullptr ? name : X509_get_subject_name(issuer->certificate_.get()));
    if (wanted.authority) add_extension(NID_basic_constraints, "critical,CA:TRUE");
    if (!wanted.alternative_names.empty()) {
      add_extension(NID_subject_alt_name, wanted.alternative_names);
    }
    X509_sign(x, issuer == nullptr ? key_.get() : issuer->key_.get(), EVP_sha256());
  }

  std::unique_ptr<X509, Free> certificate_;
  std::unique_ptr<EVP_PKEY, Free> key_;
};

}  // namespace ringtail::runtime
