#include "broker/passwords.h"

#include <openssl/evp.h>

#include <array>

#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

using cluster::metadata::PasswordHashing;
using cluster::metadata::UserRecord;

namespace {

// A digest that no password has: its salt is no byte string that hash_password() was given.
constexpr std::string_view kNobodysSalt = "none";

const EVP_MD* digest_of(PasswordHashing hashing) {
  switch (hashing) {
    case PasswordHashing::kSha256:
      return EVP_sha256();
    case PasswordHashing::kSha512:
      return EVP_sha512();
    case PasswordHashing::kMd5:
      return EVP_md5();
  }
  return EVP_sha256();
}

}  // namespace

std::string hash_password(PasswordHashing hashing, std::string_view password,
                          std::string_view salt) {
  std::string salted(salt);
  salted += password;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  const int done =
      EVP_Digest(salted.data(), salted.size(), digest.data(), &size, digest_of(hashing), nullptr);
  RT_CHECK(done == 1, "OpenSSL lacks a digest that passwords need");
  std::string out(salt);
  out.append(reinterpret_cast<const char*>(digest.data()), size);
  return out;
}

std::string make_salt(runtime::Rng& rng) {
  std::array<std::uint8_t, kPasswordSaltSize> bytes{};
  rng.fill_secure(bytes);
  return std::string(runtime::as_text(bytes));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  // The length of the secret may show, its content not.
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto other = b.empty() ? 0U : static_cast<unsigned char>(b[i % b.size()]);
    difference |= static_cast<unsigned char>(a[i]) ^ other;
  }
  return difference == 0;
}

bool password_matches(const UserRecord& user, std::string_view password) {
  const std::string_view kept = user.password_hash;
  if (kept.size() <= kPasswordSaltSize) return no_password_matches(password);
  const std::string given =
      hash_password(user.hashing, password, kept.substr(0, kPasswordSaltSize));
  return equal_in_constant_time(given, kept);
}

bool no_password_matches(std::string_view password) {
  const std::string given = hash_password(PasswordHashing::kSha256, password, kNobodysSalt);
  // Compared as a known user's would be, with something that differs from it for certain.
  std::string other = given;
  other.back() = static_cast<char>(~other.back());
  return equal_in_constant_time(given, other);
}

}  // namespace ringtail::broker
