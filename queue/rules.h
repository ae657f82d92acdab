// What a queue that is not plain works by: its options (arguments and policies merged) and what it
// remembers because of them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "broker/runtime/timer.h"
#include "cluster/metadata/queue_options.h"
#include "queue/letters.h"

namespace ringtail::queue {

// Messages that one queue drops in one round beyond those that come in it: with dead lettering a
// turn of rounds is some milliseconds.
inline constexpr std::uint64_t kDropsPerRound = 8'000 / runtime::kRoundsPerTurn;

// Lives in its queue from the first option, or the first message with an expiration, on.
struct Rules {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  // Takes over what is asked for now.
  void set(cluster::metadata::QueueOptions asked);

  cluster::metadata::QueueOptions options;
  // The same, ready for use; kNone: no limit.
  std::uint64_t ttl_ms = kNone;
  std::uint64_t max_length = kNone;
  std::uint64_t max_bytes = kNone;
  std::uint64_t delivery_limit = kNone;
  std::uint64_t unused_ms = kNone;
  bool drops_head = false;  // above a limit
  bool refuses = false;     // what would go above a limit
  // Every message is looked at when it comes.
  bool looks_at_publishes() const {
    return ttl_ms != kNone || drops_head || refuses || options.max_priority != 0;
  }

  // The next look at the first message's expiry; kNone: none is due.
  std::unique_ptr<runtime::Timer> head_timer;
  std::uint64_t head_due_ms = kNone;

  // Whether the queue is used.
  std::unique_ptr<runtime::Timer> unused_timer;
  bool unused_running = false;
  std::uint64_t last_used_ms = 0;

  // What may still be dropped in this round; not all was that should be.
  std::uint64_t drops_left = kDropsPerRound;
  bool unfinished = false;
};

}  // namespace ringtail::queue
