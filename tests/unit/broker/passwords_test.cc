#include "broker/passwords.h"

#include <doctest/doctest.h>

#include <string>

namespace passwords_test {

using ringtail::broker::equal_in_constant_time;
using ringtail::broker::hash_password;
using ringtail::broker::no_password_matches;
using ringtail::broker::password_matches;
using ringtail::cluster::metadata::PasswordHashing;
using ringtail::cluster::metadata::UserRecord;

namespace {

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

UserRecord user(PasswordHashing hashing, std::string hash) {
  UserRecord record;
  record.hashing = hashing;
  record.password_hash = std::move(hash);
  return record;
}

}  // namespace

// The digests are another implementation's (Python's hashlib), of salt and password.
TEST_CASE("the layouts of RabbitMQ: salt, then the digest of salt and password") {
  const std::string salt = from_hex("908dc60a");
  CHECK(hash_password(PasswordHashing::kSha256, "test12", salt) ==
        salt + from_hex("a5b924b3096b8897d65a3b5f80fa5db62a94b83122cdf4f8fead10d515d8f391"));
  CHECK(hash_password(PasswordHashing::kSha512, "test12", salt) ==
        salt + from_hex("1b8db8861ff2545b082c598e08cac2c635f67b3afae14ed33717441180fd7189"
                        "3d80fc396332ec407c4da3a60338cfd9aceff3819b20d6305f670359be031e77"));
  CHECK(hash_password(PasswordHashing::kMd5, "test12", salt) ==
        salt + from_hex("1369b5ed850296055d2725fb474896e9"));
}

TEST_CASE("a password matches what was made of it, and nothing else") {
  for (const auto hashing :
       {PasswordHashing::kSha256, PasswordHashing::kSha512, PasswordHashing::kMd5}) {
    const UserRecord record = user(hashing, hash_password(hashing, "geheim", "salt"));
    CHECK(password_matches(record, "geheim"));
    CHECK_FALSE(password_matches(record, "Geheim"));
    CHECK_FALSE(password_matches(record, ""));
    CHECK_FALSE(password_matches(record, std::string("geheim\0", 7)));
  }
  const UserRecord empty =
      user(PasswordHashing::kSha256, hash_password(PasswordHashing::kSha256, "", "salt"));
  CHECK(password_matches(empty, ""));  // whether an empty password logs in is auth.h's to say
}

TEST_CASE("no login with a hash that is none") {
  CHECK_FALSE(password_matches(user(PasswordHashing::kSha256, ""), ""));
  CHECK_FALSE(password_matches(user(PasswordHashing::kSha256, "salt"), ""));
  const std::string hash = hash_password(PasswordHashing::kSha256, "p", "salt");
  CHECK_FALSE(password_matches(user(PasswordHashing::kSha256, hash.substr(0, 20)), "p"));
  CHECK_FALSE(password_matches(user(PasswordHashing::kSha256, hash + "x"), "p"));
  CHECK_FALSE(password_matches(user(PasswordHashing::kSha512, hash), "p"));
  CHECK_FALSE(no_password_matches(""));
  CHECK_FALSE(no_password_matches("p"));
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

}  // namespace passwords_test
