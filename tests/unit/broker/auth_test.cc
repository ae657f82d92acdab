#include "broker/auth.h"

#include <doctest/doctest.h>

#include <string>

#include "broker/amqp/field_table.h"

using ringtail::amqp::FieldTable;
using ringtail::broker::equal_in_constant_time;
using ringtail::broker::login;
using ringtail::broker::LoginResult;
using Verdict = ringtail::broker::LoginResult::Verdict;

namespace {

std::string plain(const std::string& identity, const std::string& user,
                  const std::string& password) {
  return identity + '\0' + user + '\0' + password;
}

std::string amqplain(const std::string& user, const std::string& password) {
  return FieldTable().set("LOGIN", user).set("PASSWORD", password).encode();
}

Verdict verdict(const std::string& mechanism, const std::string& response, bool loopback = true) {
  return login(ringtail::runtime::Config{}, mechanism, response, loopback).verdict;
}

}  // namespace

TEST_CASE("PLAIN") {
  CHECK(verdict("PLAIN", plain("", "guest", "guest")) == Verdict::kAccepted);
  CHECK(verdict("PLAIN", plain("somebody", "guest", "guest")) == Verdict::kAccepted);
  CHECK(verdict("PLAIN", plain("", "guest", "wrong")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "guest", "guestguest")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "guest", "")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "", "guest")) == Verdict::kRefused);
  CHECK(verdict("PLAIN", plain("", "nobody", "guest")) == Verdict::kRefused);
  // A password may hold what it likes, a NUL too: it is what follows the second one.
  CHECK(verdict("PLAIN", plain("", "guest", std::string("guest\0x", 7))) == Verdict::kRefused);
  const auto accepted =
      login(ringtail::runtime::Config{}, "PLAIN", plain("", "guest", "guest"), true);
  CHECK(accepted.user == "guest");
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
}

TEST_CASE("a loopback user comes in over loopback only") {
  CHECK(verdict("PLAIN", plain("", "guest", "guest"), false) == Verdict::kRefused);
  ringtail::runtime::Config config;
  config.loopback_users.clear();
  CHECK(login(config, "PLAIN", plain("", "guest", "guest"), false).verdict == Verdict::kAccepted);
  config.loopback_users = {"guest"};
  config.default_user = "app";
  config.default_pass = "secret";
  CHECK(login(config, "PLAIN", plain("", "app", "secret"), false).verdict == Verdict::kAccepted);
  CHECK(login(config, "PLAIN", plain("", "guest", "guest"), true).verdict == Verdict::kRefused);
}

TEST_CASE("comparing without a hurry") {
  CHECK(equal_in_constant_time("", ""));
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abd"));
  CHECK_FALSE(equal_in_constant_time("abc", "abcabc"));
  CHECK_FALSE(equal_in_constant_time("abcabc", "abc"));
  CHECK_FALSE(equal_in_constant_time("a", ""));
  CHECK_FALSE(equal_in_constant_time("", "a"));
  CHECK_FALSE(equal_in_constant_time(std::string_view("\0", 1), ""));
}
