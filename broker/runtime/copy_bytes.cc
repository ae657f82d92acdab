#include "broker/runtime/copy_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ringtail::runtime {

void copy_bytes(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<std::uint8_t*>(to);
  const auto* source = static_cast<const std::uint8_t*>(from);
  while (size > 0) {
    const std::size_t part = std::min(size, kCopyAtOnceMax);
    // Not memcpy: gcc knows the greatest size and writes a `rep movsq` of its own.
    std::memmove(target, source, part);
    target += part;
    source += part;
    size -= part;
  }
}

}  // namespace ringtail::runtime
