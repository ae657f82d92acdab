// How a mirror that joins gets what is older than its first entry of the ring: it asks its donor,
// the master, for a portion at a time, in the order of the messages' numbers, while the queue
// serves.
#pragma once

#include <cstdint>
#include <vector>

#include "broker/runtime/envelope.h"
#include "gm/letters.h"
#include "queue/message.h"
#include "queue/mirror/changes.h"

namespace ringtail::queue {

enum MirrorLetterKind : runtime::LetterKind {
  kMissing = runtime::kRingLetters + 0x10,
  kOlder,
};

struct MirrorLetter : runtime::Letter {
  MirrorLetter(MirrorLetterKind letter_kind, std::uint64_t of_ring)
      : Letter(letter_kind), ring(of_ring) {}
  std::uint64_t ring;
  gm::MemberId sender;
  gm::MemberId receiver;
  gm::Epoch epoch = 0;
};

// Joining mirror -> donor: it has all messages up to `above`.
struct Missing : MirrorLetter {
  explicit Missing(std::uint64_t of_ring) : MirrorLetter(kMissing, of_ring) {}
  std::uint64_t above = 0;
};

// The answer: every message above `above` and up to `up_to` that is alive.
struct Older : MirrorLetter {
  explicit Older(std::uint64_t of_ring) : MirrorLetter(kOlder, of_ring) {}
  struct Message {
    std::uint64_t position = 0;
    std::uint64_t expires_at_ms = kNoExpiration;  // since 1970
    MessageRef message;
  };
  struct Known {
    Producer producer;
    std::uint64_t applied = 0;
  };
  std::uint64_t above = 0;
  std::uint64_t up_to = 0;
  std::vector<Message> messages;
  // There was no more. `next`: the number that the next message got behind `entry` of the ring.
  bool last = false;
  std::uint64_t next = 0;
  std::uint64_t entry = 0;
  std::uint64_t mark = 0;
  std::vector<Known> producers;
};

// A codec for each kind. Stateless; called on any shard.
void add_mirror_codecs(runtime::LetterCodecs& codecs);

}  // namespace ringtail::queue
