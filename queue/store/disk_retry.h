// For everything in the store that writes.
#pragma once

#include <cstdint>

namespace ringtail::queue::store {

// How long a full disk is left alone.
inline constexpr std::uint64_t kDiskRetryMs = 1000;

}  // namespace ringtail::queue::store
