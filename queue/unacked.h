// What one queue has handed out and not got settled: finds a delivery by its token in O(1), and all
// deliveries of one channel when that channel ends.
//
// A token is a slot's index and the number of the attempt that filled it, so that a token of an
// earlier attempt, or one that never was, finds nothing.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "queue/entry.h"
#include "queue/letters.h"
#include "queue/terms.h"

namespace ringtail::queue {

class Consumer;
struct ChannelLink;

// A place for one delivery; on the list of its channel while held, else on the free list.
struct UnackedSlot : boost::intrusive::list_base_hook<> {
  Entry entry;
  Terms terms;
  Consumer* consumer = nullptr;  // none: the message was got (basic.get)
  const ChannelLink* link = nullptr;
  DeliveryToken token = 0;  // of the attempt; a free slot's still tells its index
};

using UnackedList =
    boost::intrusive::list<UnackedSlot, boost::intrusive::constant_time_size<false>>;

// Lives in its queue, on the queue's shard.
class Unacked {
 public:
  // A delivery that was settled.
  struct Held {
    Entry entry;  // none: there was no such delivery
    Terms terms;
    Consumer* consumer = nullptr;
  };

  Unacked() = default;
  Unacked(const Unacked&) = delete;
  Unacked& operator=(const Unacked&) = delete;
  ~Unacked();

  // Keeps an entry for a channel (and its consumer, if it was not got). The token is never 0.
  DeliveryToken hold(Entry entry, Terms terms, ChannelLink& link, Consumer* consumer);
  // Ends a delivery. Nothing happens when the token is unknown, old, or another channel's.
  Held release(DeliveryToken token, ChannelLink& link);
  // Ends the channel's oldest delivery.
  Held release_first(ChannelLink& link);

  std::size_t count() const { return count_; }
  // Every delivery that is held, in no useful order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const std::unique_ptr<Chunk>& chunk : chunks_) {
      for (const UnackedSlot& slot : *chunk) {
        if (slot.link != nullptr) visit(slot.entry, slot.terms);
      }
    }
  }
  // Gives back the slots' memory, but for a little, when nothing is held.
  void trim();

 private:
  static constexpr unsigned kChunkBits = 6;
  static constexpr std::size_t kChunkSlots = std::size_t{1} << kChunkBits;
  using Chunk = std::array<UnackedSlot, kChunkSlots>;

  Held release(UnackedSlot& slot, ChannelLink& link);
  void grow();

  std::vector<std::unique_ptr<Chunk>> chunks_;
  UnackedList free_;
  std::uint64_t attempts_ = 0;
  std::size_t count_ = 0;
};

}  // namespace ringtail::queue
