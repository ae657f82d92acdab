// Passwords as RabbitMQ keeps them: 4 bytes of salt, then the digest of salt and password
// (UserRecord::password_hash, not encoded). Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "broker/runtime/rng.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker {

inline constexpr std::size_t kPasswordSaltSize = 4;

// What UserRecord::password_hash holds for this password. `salt` is kPasswordSaltSize bytes:
// make_salt().
std::string hash_password(cluster::metadata::PasswordHashing hashing, std::string_view password,
                          std::string_view salt);

std::string make_salt(runtime::Rng& rng);

// Whether the user may log in with this password. Never with an empty hash, nor with one that is
// not of the size that its hashing has. The time tells nothing of how much of it was right.
bool password_matches(const cluster::metadata::UserRecord& user, std::string_view password);

// Costs what password_matches() costs and is never true: for a user that is not there.
bool no_password_matches(std::string_view password);

// Equal, in a time that does not depend on where the two differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace ringtail::broker
