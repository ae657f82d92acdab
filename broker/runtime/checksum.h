// CRC-32, zlib's (ISO 3309, polynomial 0xEDB88320), of everything that lies on the disk.
//
// Computed by libdeflate: every message is summed at least once on its way to the disk, and zlib
// takes five to eight times as long (docs/decisions/0010-libdeflate.md).
#pragma once

#include <cstdint>
#include <span>

namespace ringtail::runtime {

// Of what `so_far` is the checksum of (0: of nothing), followed by `bytes`.
std::uint32_t checksum(std::uint32_t so_far, std::span<const std::uint8_t> bytes);

}  // namespace ringtail::runtime
