#include "tools/ctl/password.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>

#include "broker/runtime/check.h"

namespace ringtail::ctl {

namespace {

constexpr std::size_t kSaltSize = 4;

}  // namespace

std::string hashed_password(std::string_view password, std::string_view salt) {
  const std::string salted = std::string(salt) + std::string(password);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  RT_CHECK(EVP_Digest(salted.data(), salted.size(), digest.data(), &size, EVP_sha256(), nullptr),
           "SHA-256 is always there");
  std::string bytes(salt);
  bytes.append(reinterpret_cast<const char*>(digest.data()), size);
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string random_salt() {
  std::array<unsigned char, kSaltSize> salt{};
  RT_CHECK(RAND_bytes(salt.data(), static_cast<int>(salt.size())) == 1, "no random bytes");
  return {reinterpret_cast<const char*>(salt.data()), salt.size()};
}

}  // namespace ringtail::ctl
