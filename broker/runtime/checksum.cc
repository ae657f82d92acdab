#include "broker/runtime/checksum.h"

#include <libdeflate.h>

namespace ringtail::runtime {

std::uint32_t checksum(std::uint32_t so_far, std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return so_far;  // libdeflate takes a null pointer for a wish to begin
  return libdeflate_crc32(so_far, bytes.data(), bytes.size());
}

}  // namespace ringtail::runtime
