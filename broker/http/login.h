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

// Makes guessing slow without making a thread wait: each user at each address has some failed
// logins, and the address some more for all users together, which come back with time; where none
// is left a login is refused before its password is looked at. So who mistypes one user's password
// does not lock out another's behind the same proxy. Credentials that were right from that address
// a while ago stay welcome, so that a guesser cannot lock out the monitoring beside it. Any thread.
class LoginThrottle {
 public:
  static constexpr int kBurst = 30;                    // of a user at an address
  static constexpr std::uint64_t kMsPerFailure = 200;  // what one more costs in the long run
  static constexpr int kUsers = 10;  // an address may fail as often as so many users may
  // Counts and credentials remembered; the ones longest unused make room.
  static constexpr std::size_t kCountsKept = 4096;
  static constexpr std::size_t kCredentialsKept = 1024;

  // `now_ms` of a clock that never goes back.
  bool may_try(std::string_view address, const Credentials& credentials, std::uint64_t now_ms);
  void failed(std::string_view address, std::string_view user, std::uint64_t now_ms);
  void succeeded(std::string_view address, const Credentials& credentials);

 private:
  // Failures of one address, or of one user there.
  struct Count {
    std::string name;
    int burst = kBurst;
    std::uint64_t ms_per_failure = kMsPerFailure;
    int left = kBurst;
    std::uint64_t since_ms = 0;  // up to when the refill has been counted
  };
  using Counts = std::list<Count>;  // most recently used first

  // Users and addresses apart: inventing users must not make an address forgotten.
  struct Table {
    Counts counts;
    std::map<std::string, Counts::iterator, std::less<>> by_name;
  };
  Table users_;
  Table addresses_;
  std::list<std::string> known_;  // digests, so that no password is kept
  std::map<std::string, std::list<std::string>::iterator, std::less<>> by_digest_;
  std::mutex mutex_;

  static void refill(Count& count, std::uint64_t now_ms);
  static bool has_left(Table& table, std::string_view name, std::uint64_t now_ms);
  static void take(Table& table, std::string_view name, int users, std::uint64_t now_ms);
};

}  // namespace ringtail::broker::http
