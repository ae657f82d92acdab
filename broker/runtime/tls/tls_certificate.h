// Private to this folder: what certificates say, as text; OpenSSL's reasons, as text.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <string>

#include "broker/runtime/net.h"

namespace ringtail::runtime {

// A distinguished name in the form of RFC 4514, last part first, with RabbitMQ's names of
// attributes and its escapes (what is not printable ASCII is \XX of its UTF-8).
std::string distinguished_name(const X509_NAME* name);

// "2024-01-01T00:00:00Z"; empty when it is no time.
std::string time_text(const ASN1_TIME* time);

// The session's facts; of the peer's certificate only where it was verified.
TlsInfo describe_session(const SSL* ssl);

// The reason in OpenSSL's queue of errors, which is emptied; `fallback` when there is none.
std::string openssl_reason(const char* fallback);

}  // namespace ringtail::runtime
