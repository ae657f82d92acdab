#include "broker/auth.h"

#include <doctest/doctest.h>

#include <string>

#include "broker/amqp/field_table.h"
#include "broker/passwords.h"
#include "cluster/metadata/store.h"

namespace auth_test {

using ringtail::amqp::FieldTable;
using ringtail::broker::for_log;
using ringtail::broker::hash_password;
using ringtail::broker::login;
using ringtail::broker::LoginResult;
using ringtail::broker::offered_mechanisms;
using ringtail::cluster::metadata::PasswordHashing;
using ringtail::cluster::metadata::PutUser;
using ringtail::cluster::metadata::Store;
using ringtail::runtime::CertLogin;
using ringtail::runtime::Config;
using ringtail::runtime::TlsInfo;
using Verdict = ringtail::broker::LoginResult::Verdict;

namespace {

std::string plain(const std::string& identity, const std::string& user,
                  const std::string& password) {
  return identity + '\0' + user + '\0' + password;
}

std::string amqplain(const std::string& user, const std::string& password) {
  return FieldTable().set("LOGIN", user).set("PASSWORD", password).encode();
}

// guest with the password guest, app with secret, certonly with none.
struct Users {
  Store store{1};
  Users() {
    add("guest", hash_password(PasswordHashing::kSha256, "guest", "salt"));
    add("app", hash_password(PasswordHashing::kSha512, "secret", "salt"), PasswordHashing::kSha512);
    add("certonly", "");
    add("blank", hash_password(PasswordHashing::kSha256, "", "salt"));
  }
  void add(const std::string& name, const std::string& hash,
           PasswordHashing hashing = PasswordHashing::kSha256) {
    store.apply(PutUser{{.name = name, .password_hash = hash, .hashing = hashing}});
  }
};

LoginResult attempt(const Config& config, const std::string& mechanism, const std::string& response,
                    bool loopback = true, const TlsInfo* tls = nullptr) {
  const Users users;
  return login(
      config, users.store,
      {.mechanism = mechanism, .response = response, .tls = tls, .peer_is_loopback = loopback});
}

Verdict verdict(const std::string& mechanism, const std::string& response, bool loopback = true) {
  return attempt(Config{}, mechanism, response, loopback).verdict;
}

Config with_external() {
  Config config;
  config.auth_mechanisms = {"EXTERNAL", "PLAIN"};
  return config;
}

}  // namespace

TEST_CASE("PLAIN") {
  CHECK(verdict("PLAIN", plain("", "guest", "guest")) == Verdict::kAccepted);
  CHECK(verdict("PLAIN", plain("somebody", "guest", "guest")) == Verdict::kAccepted);
  CHECK(verdict("PLAIN", plain("", "app", "secret")) == Verdict::kAccepted);
  CHECK(verdict("PLAIN", plain("", "guest", "wrong")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "guest", "secret")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "guest", "guestguest")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "guest", "")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "", "guest")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "nobody", "guest")) == Verdict::kRefused);
  // A password may hold what it likes, a NUL too: it is what follows the second one.
  CHECK(verdict("PLAIN", plain("", "guest", std::string("guest\0x", 7))) == Verdict::kRefused);
  CHECK(attempt({}, "PLAIN", plain("", "guest", "guest")).user == "guest");
}

TEST_CASE("nobody gets in without a password") {
  CHECK(verdict("PLAIN", plain("", "certonly", "")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "certonly", "x")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "blank", "")) == Verdict::kRefused);
  CHECK(verdict("AMQPLAIN", amqplain("blank", "")) == Verdict::kRefused);
}

TEST_CASE("a refusal names the user and never tells apart what was wrong") {
  const auto unknown = attempt({}, "PLAIN", plain("", "nobody", "geheim"));
  const auto wrong = attempt({}, "PLAIN", plain("", "guest", "geheim"));
  CHECK(unknown.reason == wrong.reason);
  CHECK(unknown.user == "nobody");
  CHECK(wrong.user == "guest");
  CHECK(wrong.reason.find("geheim") == std::string::npos);
}

TEST_CASE("malformed PLAIN responses") {
  CHECK(verdict("PLAIN", "") == Verdict::kMalformed);
  CHECK(verdict("PLAIN", "guest") == Verdict::kMalformed);
  CHECK(verdict("PLAIN", std::string("\0guest", 6)) == Verdict::kMalformed);
  CHECK(verdict("PLAIN", std::string("\0", 1)) == Verdict::kMalformed);
  CHECK(verdict("PLAIN", std::string("\0\0", 2)) == Verdict::kRefused);
}

TEST_CASE("AMQPLAIN") {
  CHECK(verdict("AMQPLAIN", amqplain("guest", "guest")) == Verdict::kAccepted);
  CHECK(verdict("AMQPLAIN", amqplain("guest", "wrong")) == Verdict::kRefused);
  CHECK(verdict("AMQPLAIN", amqplain("nobody", "guest")) == Verdict::kRefused);
  const std::string more =
      FieldTable().set("X", true).set("PASSWORD", "guest").set("LOGIN", "guest").encode();
  CHECK(verdict("AMQPLAIN", more) == Verdict::kAccepted);
}

TEST_CASE("malformed AMQPLAIN responses") {
  CHECK(verdict("AMQPLAIN", "") == Verdict::kMalformed);
  CHECK(verdict("AMQPLAIN", FieldTable().set("LOGIN", "guest").encode()) == Verdict::kMalformed);
  CHECK(verdict("AMQPLAIN", FieldTable().set("LOGIN", "guest").set("PASSWORD", true).encode()) ==
        Verdict::kMalformed);
  const std::string whole = amqplain("guest", "guest");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(verdict("AMQPLAIN", whole.substr(0, size)) == Verdict::kMalformed);
  }
  CHECK(verdict("AMQPLAIN", whole + "x") == Verdict::kMalformed);
}

TEST_CASE("only the mechanisms that are offered") {
  CHECK(verdict("", plain("", "guest", "guest")) == Verdict::kUnknownMechanism);
  CHECK(verdict("plain", plain("", "guest", "guest")) == Verdict::kUnknownMechanism);
  CHECK(verdict("EXTERNAL", "") == Verdict::kUnknownMechanism);
  CHECK(offered_mechanisms({}, false) == "AMQPLAIN PLAIN");
  CHECK(offered_mechanisms({}, true) == "AMQPLAIN PLAIN");
  CHECK(offered_mechanisms(with_external(), false) == "PLAIN");
  CHECK(offered_mechanisms(with_external(), true) == "PLAIN EXTERNAL");
  CHECK(attempt(with_external(), "AMQPLAIN", amqplain("guest", "guest")).verdict ==
        Verdict::kUnknownMechanism);
  CHECK(attempt(with_external(), "EXTERNAL", "").verdict == Verdict::kUnknownMechanism);
  Config odd;
  odd.auth_mechanisms = {"SCRAM"};
  CHECK(offered_mechanisms(odd, true).empty());
  CHECK(attempt(odd, "SCRAM", "").verdict == Verdict::kUnknownMechanism);
}

TEST_CASE("a loopback user comes in over loopback only") {
  CHECK(verdict("PLAIN", plain("", "guest", "guest"), false) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "app", "secret"), false) == Verdict::kAccepted);
  Config config;
  config.loopback_users.clear();
  CHECK(attempt(config, "PLAIN", plain("", "guest", "guest"), false).verdict == Verdict::kAccepted);
  config.loopback_users = {"app"};
  CHECK(attempt(config, "PLAIN", plain("", "app", "secret"), false).verdict == Verdict::kRefused);
  CHECK(attempt(config, "PLAIN", plain("", "app", "secret"), true).verdict == Verdict::kAccepted);
}

TEST_CASE("EXTERNAL takes the name from the certificate") {
  Config config = with_external();
  TlsInfo tls;
  tls.has_peer_certificate = true;
  tls.peer_subject = "CN=app,O=Example";
  tls.peer_common_name = "app";
  tls.peer_alternative_name = "certonly";
  const auto result = [&](bool loopback = true) {
    return attempt(config, "EXTERNAL", "", loopback, &tls);
  };
  config.cert_login = CertLogin::kCommonName;
  CHECK(result().verdict == Verdict::kAccepted);
  CHECK(result().user == "app");
  config.cert_login = CertLogin::kSubjectAltName;
  CHECK(result().user == "certonly");
  CHECK(result().verdict == Verdict::kAccepted);  // no password is no obstacle here
  config.cert_login = CertLogin::kDistinguishedName;
  CHECK(result().verdict == Verdict::kRefused);  // no user of that name
  CHECK(result().user == "CN=app,O=Example");
  config.cert_login = CertLogin::kCommonName;
  config.loopback_users = {"app"};
  CHECK(result(false).verdict == Verdict::kRefused);
  tls.peer_common_name.clear();
  CHECK(result().verdict == Verdict::kRefused);
  tls.peer_common_name = "app";
  tls.has_peer_certificate = false;
  CHECK(result().verdict == Verdict::kRefused);
}

TEST_CASE("a name from a client cannot forge a line of the log") {
  CHECK(for_log("guest") == "guest");
  CHECK(for_log("a\nb\r\x1b[2J\x7f") == "a?b??[2J?");
  CHECK(for_log(std::string(1000, 'x')).size() == 255);
}

}  // namespace auth_test
