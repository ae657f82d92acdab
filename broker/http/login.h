// Who sends a request: HTTP Basic (RFC 7617), and how often an address may be wrong about it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ringtail::broker::http {

struct Credentials {
  std::string user;
  std::string password;
};
// None: no "Basic" header, or one that is not well formed.
std::optional<Credentials> basic_credentials(std::string_view authorization);

// What a user's record holds for a new password: SHA-256, with a salt that nobody can guess.
std::string hash_new_password(std::string_view password);

// Whose guesses count together: an IPv4 address, the first 64 bits of an IPv6 one, of which one
// client has as many as it likes.
std::string guessing_source(const std::string& address);

// Makes guessing slow without making a thread wait: each address has some failed logins, which come
// back with time; who has none left is refused before his password is looked at. Credentials that
// were right from that address a while ago stay welcome, so that a guesser cannot lock out the
// monitoring beside it. Any thread.
class LoginThrottle {
 public:
  static constexpr int kBurst = 30;
  static constexpr std::uint64_t kMsPerFailure = 200;  // what one more costs in the long run
  // Addresses and credentials remembered; the ones longest unused make room.
  static constexpr std::size_t kAddressesKept = 4096;
  static constexpr std::size_t kCredentialsKept = 1024;

  // `now_ms` of a clock that never goes back.
  bool may_try(std::string_view address, const Credentials& credentials, std::uint64_t now_ms);
  void failed(std::string_view address, std::uint64_t now_ms);
  void succeeded(std::string_view address, const Credentials& credentials);

 private:
  struct Address {
    std::string name;
    int left = kBurst;
    std::uint64_t since_ms = 0;  // up to when the refill has been counted
  };
  // Most recently used first.
  std::list<Address> addresses_;
  std::map<std::string, std::list<Address>::iterator, std::less<>> by_name_;
  std::list<std::string> known_;  // digests, so that no password is kept
  std::map<std::string, std::list<std::string>::iterator, std::less<>> by_digest_;
  std::mutex mutex_;

  void refill(Address& address, std::uint64_t now_ms) const;
};

}  // namespace ringtail::broker::http
