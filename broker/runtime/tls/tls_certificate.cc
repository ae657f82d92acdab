#include "broker/runtime/tls/tls_certificate.h"

#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string_view>

#include "broker/runtime/tls/tls_context.h"

namespace ringtail::runtime {

namespace {

struct AttributeName {
  int nid;
  const char* text;
};

// RFC 4514, section 3, and those that RabbitMQ adds.
constexpr std::array kAttributeNames = {
    AttributeName{NID_commonName, "CN"},
    AttributeName{NID_countryName, "C"},
    AttributeName{NID_localityName, "L"},
    AttributeName{NID_stateOrProvinceName, "ST"},
    AttributeName{NID_organizationName, "O"},
    AttributeName{NID_organizationalUnitName, "OU"},
    AttributeName{NID_domainComponent, "DC"},
    AttributeName{NID_userId, "UID"},
    AttributeName{NID_streetAddress, "STREET"},
    AttributeName{NID_pkcs9_emailAddress, "EMAILADDRESS"},
    AttributeName{NID_serialNumber, "SERIALNUMBER"},
    AttributeName{NID_surname, "SN"},
    AttributeName{NID_givenName, "GIVENNAME"},
    AttributeName{NID_initials, "INITIALS"},
    AttributeName{NID_generationQualifier, "GENERATIONQUALIFIER"},
    AttributeName{NID_title, "TITLE"},
    AttributeName{NID_pseudonym, "PSEUDONYM"},
};

std::string attribute_name(const ASN1_OBJECT* object) {
  const int nid = OBJ_obj2nid(object);
  for (const AttributeName& name : kAttributeNames) {
    if (name.nid == nid) return name.text;
  }
  char dotted[80] = {};
  OBJ_obj2txt(dotted, sizeof dotted, object, 1);
  return dotted;
}

std::string utf8(const ASN1_STRING* value) {
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, value);
  if (size < 0) {
    ERR_clear_error();
    return {};
  }
  std::string result(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return result;
}

std::string escaped(std::string_view value) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool first = i == 0;
    const bool last = i + 1 == value.size();
    if (byte < 0x20 || byte > 0x7d) {
      text += '\\';
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
      continue;
    }
    const bool special = std::string_view("\"+,;<>\\").find(c) != std::string_view::npos;
    if (special || (first && (c == ' ' || c == '#')) || (last && c == ' ')) text += '\\';
    text += c;
  }
  return text;
}

// Several are joined by commas, as RabbitMQ has it.
std::string common_name(const X509_NAME* name) {
  std::string text;
  int at = -1;
  bool first = true;
  while ((at = X509_NAME_get_index_by_NID(name, NID_commonName, at)) >= 0) {
    if (!first) text += ',';
    first = false;
    text += utf8(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  }
  return text;
}

std::string alternative_name(const X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string mail;
  std::string dns;
  for (int i = 0; i < sk_GENERAL_NAME_num(names) && dns.empty(); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) dns = utf8(name->d.dNSName);
    if (name->type == GEN_EMAIL && mail.empty()) mail = utf8(name->d.rfc822Name);
  }
  GENERAL_NAMES_free(names);
  ERR_clear_error();
  return dns.empty() ? mail : dns;
}

}  // namespace

std::string distinguished_name(const X509_NAME* name) {
  std::string text;
  // Entries of one set are neighbours; the sets are turned round, the entries of a set are not.
  int end = X509_NAME_entry_count(name);
  while (end > 0) {
    int begin = end - 1;
    const int set = X509_NAME_ENTRY_set(X509_NAME_get_entry(name, begin));
    while (begin > 0 && X509_NAME_ENTRY_set(X509_NAME_get_entry(name, begin - 1)) == set) --begin;
    for (int i = begin; i < end; ++i) {
      const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
      if (!text.empty()) text += i == begin ? ',' : '+';
      text += attribute_name(X509_NAME_ENTRY_get_object(entry)) + "=" +
              escaped(utf8(X509_NAME_ENTRY_get_data(entry)));
    }
    end = begin;
  }
  return text;
}

std::string time_text(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    ERR_clear_error();
    return {};
  }
  const auto digits = [](int value, std::size_t width) {
    std::string text = std::to_string(value);
    if (text.size() < width) text.insert(0, width - text.size(), '0');
    return text;
  };
  return digits(parts.tm_year + 1900, 4) + "-" + digits(parts.tm_mon + 1, 2) + "-" +
         digits(parts.tm_mday, 2) + "T" + digits(parts.tm_hour, 2) + ":" + digits(parts.tm_min, 2) +
         ":" + digits(parts.tm_sec, 2) + "Z";
}

TlsInfo describe_session(const SSL* ssl) {
  TlsInfo info;
  info.protocol = SSL_get_version(ssl);
  info.cipher = SSL_get_cipher_name(ssl);
  const std::unique_ptr<X509, void (*)(X509*)> peer(SSL_get1_peer_certificate(ssl), X509_free);
  const bool verified =
      (SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) != 0 && SSL_get_verify_result(ssl) == X509_V_OK;
  if (peer == nullptr || !verified) return info;
  info.has_peer_certificate = true;
  const X509_NAME* subject = X509_get_subject_name(peer.get());
  info.peer_subject = distinguished_name(subject);
  info.peer_common_name = common_name(subject);
  info.peer_alternative_name = alternative_name(peer.get());
  info.peer_issuer = distinguished_name(X509_get_issuer_name(peer.get()));
  info.peer_validity = time_text(X509_get0_notBefore(peer.get())) + " - " +
                       time_text(X509_get0_notAfter(peer.get()));
  return info;
}

std::string openssl_reason(const char* fallback) {
  unsigned long error = ERR_get_error();
  if (error == 0) return fallback;
  // What a session makes of the failure of a part, "certificate verify failed", says more.
  while (const unsigned long next = ERR_get_error()) {
    if (ERR_GET_LIB(next) == ERR_LIB_SSL) error = next;
  }
  const char* reason = ERR_reason_error_string(error);
  return reason == nullptr ? "error " + std::to_string(error) : std::string(reason);
}

}  // namespace ringtail::runtime
