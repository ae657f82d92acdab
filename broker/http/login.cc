#include "broker/http/login.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "broker/base64.h"
#include "broker/passwords.h"
#include "broker/runtime/check.h"

namespace ringtail::broker::http {

namespace {

// Of address and credentials, with a secret of this process: worthless to who reads the memory.
std::string digest_of(std::string_view address, const Credentials& credentials) {
  static const std::string secret = [] {
    std::array<unsigned char, 32> bytes{};
    RT_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "no randomness");
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  std::string text = secret;
  text.append(address).append(1, '\0').append(credentials.user).append(1, '\0');
  text += credentials.password;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  RT_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
           "a digest failed");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

// A name that is no user's may be of any length, and is remembered.
std::string user_at(std::string_view address, std::string_view user) {
  constexpr std::size_t kMostOfName = 255;
  std::string name(address);
  name.append(1, '\0').append(user.substr(0, kMostOfName));
  return name;
}

}  // namespace

std::optional<Credentials> basic_credentials(std::string_view authorization) {
  constexpr std::string_view kScheme = "basic ";
  const bool basic =
      authorization.size() > kScheme.size() &&
      std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char a, char b) {
        return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
      });
  if (!basic) return std::nullopt;
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  while (authorization.ends_with(' ')) authorization.remove_suffix(1);
  const auto decoded = base64_decode(authorization);
  if (!decoded) return std::nullopt;
  const std::size_t colon = decoded->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return Credentials{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

std::string hash_new_password(std::string_view password) {
  std::array<unsigned char, kPasswordSaltSize> salt{};
  RT_CHECK(RAND_bytes(salt.data(), static_cast<int>(salt.size())) == 1, "no randomness");
  return hash_password(cluster::metadata::PasswordHashing::kSha256, password,
                       {reinterpret_cast<const char*>(salt.data()), salt.size()});
}

std::string guessing_source(const std::string& address) {
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) != 1 || IN6_IS_ADDR_V4MAPPED(&six)) {
    return address;
  }
  std::fill(std::begin(six.s6_addr) + 8, std::end(six.s6_addr), std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &six, text.data(), text.size());
  return text.data();
}

void LoginThrottle::refill(Count& count, std::uint64_t now_ms) {
  const std::uint64_t passed = now_ms > count.since_ms ? now_ms - count.since_ms : 0;
  const std::uint64_t back = passed / count.ms_per_failure;
  if (back == 0) return;
  count.since_ms += back * count.ms_per_failure;
  const auto most = static_cast<std::uint64_t>(count.burst);
  count.left = static_cast<int>(
      std::min(most, static_cast<std::uint64_t>(count.left) + std::min(back, most)));
}

bool LoginThrottle::has_left(Table& table, std::string_view name, std::uint64_t now_ms) {
  const auto found = table.by_name.find(name);
  if (found == table.by_name.end()) return true;
  refill(*found->second, now_ms);
  return found->second->left > 0;
}

void LoginThrottle::take(Table& table, std::string_view name, int users, std::uint64_t now_ms) {
  const auto found = table.by_name.find(name);
  if (found == table.by_name.end()) {
    const int burst = kBurst * users;
    const std::uint64_t ms_per_failure = kMsPerFailure / static_cast<std::uint64_t>(users);
    table.counts.push_front({std::string(name), burst, ms_per_failure, burst, now_ms});
    table.by_name.emplace(name, table.counts.begin());
    if (table.counts.size() > kCountsKept) {
      table.by_name.erase(table.counts.back().name);
      table.counts.pop_back();
    }
  } else {
    table.counts.splice(table.counts.begin(), table.counts, found->second);
    refill(table.counts.front(), now_ms);
  }
  Count& count = table.counts.front();
  if (count.left == count.burst) count.since_ms = now_ms;
  if (count.left > 0) --count.left;
}

bool LoginThrottle::may_try(std::string_view address, const Credentials& credentials,
                            std::uint64_t now_ms) {
  const std::lock_guard lock(mutex_);
  if (has_left(addresses_, address, now_ms) &&
      has_left(users_, user_at(address, credentials.user), now_ms)) {
    return true;
  }
  return by_digest_.contains(digest_of(address, credentials));
}

void LoginThrottle::failed(std::string_view address, std::string_view user, std::uint64_t now_ms) {
  const std::lock_guard lock(mutex_);
  take(addresses_, address, kUsers, now_ms);
  take(users_, user_at(address, user), 1, now_ms);
}

void LoginThrottle::succeeded(std::string_view address, const Credentials& credentials) {
  std::string digest = digest_of(address, credentials);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_digest_.find(digest); found != by_digest_.end()) {
    known_.splice(known_.begin(), known_, found->second);
    return;
  }
  known_.push_front(digest);
  by_digest_.emplace(std::move(digest), known_.begin());
  if (known_.size() > kCredentialsKept) {
    by_digest_.erase(known_.back());
    known_.pop_back();
  }
}

}  // namespace ringtail::broker::http
