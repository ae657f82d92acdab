// memcpy for what may be large: as fast, wherever the two lie.
//
// From 4 KiB on glibc's memcpy uses `rep movsb`, which on AMD's Zen 3 is twenty times slower when
// the target's offset in its page is up to 63 bytes above the source's: blocks and records do that
// all the time.
#pragma once

#include <cstddef>

namespace ringtail::runtime {

// Larger copies are made in parts of this size.
inline constexpr std::size_t kCopyAtOnceMax = 2048;

// The two do not overlap; they may be null when there is nothing to copy.
void copy_bytes(void* to, const void* from, std::size_t size);

}  // namespace ringtail::runtime
