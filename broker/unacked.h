// Deliveries that a channel has sent and its client has not yet acknowledged, by delivery tag.
//
// Tags rise by one per delivery, so the entries lie in a deque in tag order and a tag is an index
// into it. What is taken out of the middle leaves a hole; when holes outnumber entries they are
// squeezed out, so that one message held for ever does not keep the memory of a billion
// acknowledged ones; from then on a tag in the squeezed part is found by binary search. Lives in
// its channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "queue/letters.h"

namespace ringtail::broker {

struct QueueLink;

class Unacked {
 public:
  struct Entry {
    std::uint64_t tag = 0;
    QueueLink* link = nullptr;  // null: a hole
    queue::DeliveryToken token = 0;
    // The consumer it was sent to; 0: basic.get.
    queue::ConsumerId consumer = 0;
    std::uint32_t stamp = 0;  // when it was sent, as its channel counts time
  };

  void add(const Entry& entry) {
    entries_.push_back(entry);
    ++count_;
  }
  std::size_t count() const { return count_; }

  // Takes the entry of `tag` out; false when there is none (never sent, or acknowledged already).
  bool take(std::uint64_t tag, Entry& out) {
    if (entries_.empty()) return false;
    const std::size_t at = find(tag);
    if (at == kNone) return false;
    out = entries_[at];
    entries_[at].link = nullptr;
    --count_;
    if (at == 0) {
      drop_head_holes();
    } else if (entries_.size() > kSqueezeFrom && entries_.size() > 2 * count_) {
      squeeze();
    }
    return true;
  }

  // Takes out all entries up to and including `tag`, in tag order.
  template <typename Visit>
  std::size_t take_up_to(std::uint64_t tag, Visit visit) {
    std::size_t taken = 0;
    while (!entries_.empty() && entries_.front().tag <= tag) {
      if (entries_.front().link != nullptr) {
        visit(entries_.front());
        ++taken;
        --count_;
      }
      entries_.pop_front();
    }
    return taken;
  }

  // True when `tag` is outstanding.
  bool contains(std::uint64_t tag) const { return !entries_.empty() && find(tag) != kNone; }

  // Visits the entries in tag order while `visit` returns true.
  template <typename Visit>
  void look(Visit visit) const {
    for (const Entry& entry : entries_) {
      if (entry.link != nullptr && !visit(entry)) return;
    }
  }
  // Stamps all there are.
  void stamp(std::uint32_t stamp) {
    for (Entry& entry : entries_) entry.stamp = stamp;
  }

  // Puts entries back that were taken out and not used (tx.rollback); any order of tags.
  void restore(const Entry& entry);

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kSqueezeFrom = 1024;

  std::size_t find(std::uint64_t tag) const {
    const std::uint64_t first = entries_.front().tag;
    if (tag < first || tag > entries_.back().tag) return kNone;
    const std::uint64_t guess = tag - first;
    if (guess < entries_.size() && entries_[guess].tag == tag) {
      return entries_[guess].link != nullptr ? static_cast<std::size_t>(guess) : kNone;
    }
    return search(tag);
  }
  std::size_t search(std::uint64_t tag) const;
  void drop_head_holes() {
    while (!entries_.empty() && entries_.front().link == nullptr) entries_.pop_front();
  }
  void squeeze();

  std::deque<Entry> entries_;
  std::size_t count_ = 0;  // entries that are not holes
};

}  // namespace ringtail::broker
