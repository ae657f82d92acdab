// What the segments of one queue hold, in memory: which messages of each are alive, so that a
// segment without any can go. Knows no files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "queue/store/index_format.h"
#include "queue/store/message_codec.h"

namespace ringtail::queue::store {

// What of a message counts for its segment.
struct MessageFacts {
  std::uint64_t body_size = 0;
  bool persistent = false;
  bool expires = false;
};

struct Segment {
  SegmentState state = {};     // what the index says; counts persistent messages alone
  std::uint64_t salt = 0;      // of the file; 0: not read yet
  std::uint64_t alive = 0;     // messages of both kinds
  std::uint64_t records = 0;   // that the file has, at most
  bool has_transient = false;  // of a former run of the node: to be skipped when it is read
  bool restored = false;       // written before this start
  bool dirty = false;          // the index does not say yet what `state` says
  bool in_index = false;       // the index knows it
  bool dead() const { return alive == 0; }
};

// Lives in its queue's store, on its shard.
class SegmentTable {
 public:
  // A new one behind all others of its lane: what is added to the lane goes to it.
  Segment& begin(std::uint8_t lane, std::uint64_t salt);
  // The one that the lane's messages are added to; null: none.
  Segment* open(std::uint8_t lane);
  // Nothing is added to it any more.
  void seal(std::uint8_t lane) { open_.erase(lane); }
  void seal_all() { open_.clear(); }
  // A message was put into the open segment: `bytes` of the file.
  void added(std::uint8_t lane, std::uint64_t number, const MessageFacts& facts,
             std::uint64_t bytes);
  // A message that is in a segment has left the queue. Harmless for one that is in none.
  void removed(Position position, const MessageFacts& facts);
  // It is in a segment and has not left.
  bool is_alive(Position position) {
    const Segment* segment = holder(position);
    return segment != nullptr && !segment->state.removed.contains(number_of(position));
  }
  // All have left but these, in any order.
  struct Kept {
    Position position;
    MessageFacts facts;
  };
  void removed_all_but(std::span<const Kept> kept);

  // The segment that holds this number, or the first one behind it; null: none.
  Segment* at_or_behind(Position position);
  Segment* find(std::uint64_t segment_number);
  bool empty() const { return by_number_.empty(); }
  std::size_t size() const { return by_number_.size(); }

  // Takes out those that hold nothing any more, but not the open ones unless `all`.
  std::vector<std::unique_ptr<Segment>> take_dead(bool all);
  bool has_dead() const { return dead_ > 0; }
  bool has_dirty() const { return dirty_; }
  void mark_dirty(Segment& segment) {
    segment.dirty = true;
    dirty_ = true;
  }
  // Those that the index has to hear of, which it has from here on.
  std::vector<const SegmentState*> take_dirty();
  // All of them, for an index that is written anew.
  std::vector<const SegmentState*> all() const;

  void restore(const IndexState& state);
  // Takes the place of some segments of one lane that follow each other: `made` has what is alive
  // in them. Their numbers that the index knows are added to `gone`, those of others to `unknown`.
  void replace(std::span<const std::uint64_t> old, std::unique_ptr<Segment> made,
               std::vector<std::uint64_t>& gone, std::vector<std::uint64_t>& unknown);
  std::uint64_t take_number() { return next_++; }
  // Segments of one lane, one behind the other, that hold little of what was put into them: whose
  // messages together are about `octets` at most. They are closed, lie before number `before` of
  // their lane, and have at least `least` octets each.
  std::vector<std::uint64_t> sparse_run(std::uint64_t octets, std::uint64_t least,
                                        const std::function<std::uint64_t(std::uint8_t)>& before);
  // Some may have become sparse since the last call of sparse_run().
  bool may_be_sparse() const { return may_be_sparse_; }
  // What counting a restored segment has found to be alive in it.
  void recounted(Segment& segment, std::uint64_t live, std::uint64_t live_bytes,
                 std::uint64_t expiring);
  std::uint64_t next_number() const { return next_; }
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (auto& [number, segment] : by_number_) visit(*segment);
  }

 private:
  // Of one lane, by the first number that they hold.
  using Lane = std::map<std::uint64_t, Segment*>;

  Segment* holder(Position position);
  static bool is_sparse(const Segment& segment) {
    return segment.alive * kSparse < segment.records && segment.alive > 0;
  }

  // A segment is sparse when less than one in so many of its messages is alive.
  static constexpr std::uint64_t kSparse = 4;

  std::map<std::uint64_t, std::unique_ptr<Segment>> by_number_;
  std::map<std::uint8_t, Lane> lanes_;
  std::map<std::uint8_t, Segment*> open_;
  Segment* last_ = nullptr;  // that was found last
  std::uint64_t next_ = 1;
  std::size_t dead_ = 0;
  bool dirty_ = false;
  bool may_be_sparse_ = false;
};

}  // namespace ringtail::queue::store
