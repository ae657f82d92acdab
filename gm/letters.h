// The frames of frames.h as letters: what crosses from the shard of one member to that of another.
// Their receiver is the actor whose id is the ring's number.
#pragma once

#include <cstdint>

#include "broker/runtime/envelope.h"
#include "broker/runtime/letter.h"
#include "gm/frames.h"

namespace ringtail::gm {

enum RingLetterKind : runtime::LetterKind {
  kHandOn = runtime::kRingLetters,
  kReport,
};

struct RingLetter : runtime::Letter {
  RingLetter(RingLetterKind letter_kind, std::uint64_t of_ring)
      : Letter(letter_kind), ring(of_ring) {}
  std::uint64_t ring;
  MemberId sender;
  MemberId receiver;
};

struct HandOnLetter : RingLetter {
  explicit HandOnLetter(std::uint64_t of_ring) : RingLetter(kHandOn, of_ring) {}
  HandOn frame;
};

struct ReportLetter : RingLetter {
  explicit ReportLetter(std::uint64_t of_ring) : RingLetter(kReport, of_ring) {}
  Report frame;
};

// A codec for each kind. Stateless; called on any shard.
void add_codecs(runtime::LetterCodecs& codecs);

}  // namespace ringtail::gm
