// What actors send each other. A letter is a plain struct, moved as a whole: on one shard by
// pointer through the run queue, between shards by pointer through a mailbox. Letters carry
// batches, so that the cost of a letter is shared by many messages.
#pragma once

#include <cstdint>
#include <memory>

#include "broker/runtime/ids.h"

namespace ringtail::runtime {

// Each layer numbers its letters from a base of its own.
using LetterKind = std::uint16_t;
inline constexpr LetterKind kRuntimeLetters = 0x0000;
inline constexpr LetterKind kQueueLetters = 0x0100;
inline constexpr LetterKind kMetadataLetters = 0x0200;
inline constexpr LetterKind kBrokerLetters = 0x0300;
inline constexpr LetterKind kClusterLetters = 0x0400;
inline constexpr LetterKind kRingLetters = 0x0500;

struct Letter {
  explicit Letter(LetterKind letter_kind) : kind(letter_kind) {}
  Letter(const Letter&) = delete;
  Letter& operator=(const Letter&) = delete;
  virtual ~Letter() = default;

  const LetterKind kind;
  Address from;  // set by Shard::post()
};

using LetterPtr = std::unique_ptr<Letter>;

// A letter of kind K is a `Derived`: letter_cast<Publish>(*letter).
template <typename Derived>
Derived& letter_cast(Letter& letter) {
  return static_cast<Derived&>(letter);
}

// Something that lives at an address: a channel, a queue, the metadata owner. Acts on one letter at
// a time, to the end, without re-entry.
class Actor {
 public:
  virtual ~Actor() = default;
  virtual void receive(LetterPtr letter) noexcept = 0;
};

}  // namespace ringtail::runtime
