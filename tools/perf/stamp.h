// What every message carries in the first 16 bytes of its body, big-endian:
//
//   stamp    = identity due
//   identity = run:10 producer:14 number:40     bits, the run's in the highest
//   due      = u64                              monotonic ns at which it was to be published
//
// The rest of the body is filler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "broker/amqp/wire.h"

namespace ringtail::perf {

inline constexpr std::size_t kStampSize = 16;
inline constexpr int kMaxProducers = 1 << 14;
inline constexpr std::uint64_t kMaxNumber = (std::uint64_t{1} << 40) - 1;

struct Identity {
  std::uint16_t run = 0;  // below 1024
  std::uint16_t producer = 0;
  std::uint64_t number = 0;  // of this producer's messages, from 0

  friend bool operator==(const Identity&, const Identity&) = default;
};

struct Stamp {
  Identity identity;
  std::uint64_t due_ns = 0;
};

inline void write_stamp(std::uint8_t* at, const Identity& id, std::uint64_t due_ns) {
  const std::uint64_t packed =
      std::uint64_t{id.run} << 54 | std::uint64_t{id.producer} << 40 | (id.number & kMaxNumber);
  amqp::store_u64(at, packed);
  amqp::store_u64(at + 8, due_ns);
}

inline Stamp read_stamp(const std::uint8_t* at) {
  const std::uint64_t packed = amqp::load_u64(at);
  Stamp stamp;
  stamp.identity.run = static_cast<std::uint16_t>(packed >> 54);
  stamp.identity.producer = static_cast<std::uint16_t>(packed >> 40 & 0x3fff);
  stamp.identity.number = packed & kMaxNumber;
  stamp.due_ns = amqp::load_u64(at + 8);
  return stamp;
}

// Gathers the stamp of a message whose body comes in parts.
class StampCollector {
 public:
  // A header frame has come.
  void begin(std::uint64_t body_size) {
    size_ = body_size;
    got_ = 0;
  }
  // Part of the body has come. True: the message is complete.
  bool add(std::span<const std::uint8_t> part) {
    if (got_ < kStampSize) {
      const std::size_t wanted = kStampSize - static_cast<std::size_t>(got_);
      std::memcpy(bytes_.data() + got_, part.data(), part.size() < wanted ? part.size() : wanted);
    }
    got_ += part.size();
    return got_ >= size_;
  }
  std::uint64_t body_size() const { return size_; }
  // Of a complete message of at least kStampSize bytes.
  Stamp stamp() const { return read_stamp(bytes_.data()); }

 private:
  std::array<std::uint8_t, kStampSize> bytes_{};
  std::uint64_t size_ = 0;
  std::uint64_t got_ = 0;
};

}  // namespace ringtail::perf
