// Segments that hold little any more are put together into one: read, and what is alive in them
// written to a new one that takes their place. A segment is looked at when all of it has been read
// into memory (or was when the node started), so that nobody is in the midst of it.
#include <algorithm>
#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/store/queue_store.h"
#include "queue/store/segment_format.h"

namespace ringtail::queue::store {

using runtime::Code;
using runtime::Status;

void QueueStore::compact() {
  if (compaction_ != nullptr || !failure_.ok() || !damage_.ok() || shared_.closing() ||
      !shared_.begin_compaction()) {
    return;
  }
  const auto unread = [this](std::uint8_t lane) {
    const auto at = cursors_.find(lane);
    return at == cursors_.end() ? std::numeric_limits<std::uint64_t>::max()
                                : number_of(at->second.next);
  };
  std::vector<std::uint64_t> run = segments_.sparse_run(shared_.options().segment_bytes,
                                                        shared_.options().compact_bytes, unread);
  if (run.empty()) {
    shared_.end_compaction();
    return;
  }
  compaction_ = std::make_unique<Compaction>();
  compaction_->from = std::move(run);
  compaction_->made = std::make_unique<Segment>();
  Segment& made = *compaction_->made;
  made.state.lane = segments_.find(compaction_->from.front())->state.lane;
  made.state.number = segments_.take_number();
  made.salt = shared_.shard().env().rng().next();
  put_segment_header(compaction_->bytes, {qid_, made.state.lane, made.state.number, made.salt});
  compact_next();
}

void QueueStore::compact_next() {
  if (shared_.closing()) return end_compaction();
  Compaction& work = *compaction_;
  if (work.read == work.from.size()) {
    compacted();
    return;
  }
  const std::uint64_t number = work.from[work.read++];
  const Segment* segment = segments_.find(number);
  if (segment == nullptr) {  // it has died
    compact_next();
    return;
  }
  files_.read_segment(number, 0, static_cast<std::size_t>(segment->state.bytes),
                      [this, number](const Status& status, std::vector<std::uint8_t>& bytes) {
                        const Segment* read = segments_.find(number);
                        Status result = status;
                        if (read != nullptr && result.ok()) result = take_alive(*read, bytes);
                        if (read == nullptr || result.ok()) {
                          compact_next();
                        } else {
                          end_compaction();
                          damaged(result);
                        }
                      });
}

Status QueueStore::take_alive(const Segment& segment, std::span<const std::uint8_t> content) {
  const std::string name = files_.segment_path(segment.state.number);
  const auto header = read_segment_header(content, name);
  if (!header.ok()) return header.status();
  Compaction& work = *compaction_;
  SegmentState& made = work.made->state;
  SegmentWalk walk(header.value(), content.subspan(kSegmentHeaderSize), kSegmentHeaderSize, name);
  for (;;) {
    const SegmentWalk::Next next = walk.next();
    if (next == SegmentWalk::Next::kDamaged) return walk.status();
    if (next == SegmentWalk::Next::kPartial) break;
    const std::uint64_t number = number_of(walk.position());
    if (segment.state.removed.contains(number)) continue;
    auto message = walk.message();
    if (!message.ok()) return message.status();
    const StoredMessage& one = message.value();
    const bool persistent = one.message->traits().persistent;
    if (segment.restored && !persistent) continue;
    put_segment_record(work.bytes, work.made->salt, one.position, *one.message, one.expires_at_ms,
                       one.delivered || was_delivered(one.position));
    work.kept.emplace_back(number, MessageFacts{one.message->body_size(), persistent,
                                                one.expires_at_ms != kNoExpiration});
    if (made.first == 0) made.first = number;
    made.last = number;
  }
  if (walk.offset() != segment.state.bytes) {
    return {Code::kCorrupt, name + ": ends before the messages that the index names"};
  }
  return {};
}

void QueueStore::compacted() {
  Compaction& work = *compaction_;
  if (work.kept.empty()) {  // all of it died meanwhile
    end_compaction();
    return;
  }
  work.made->state.bytes = work.bytes.size();
  const std::uint64_t number = work.made->state.number;
  files_.write_segment(number, 0, std::move(work.bytes), [this](const Status& status) {
    if (!status.ok()) {
      end_compaction();
      fail(status);
      return;
    }
    const std::unique_ptr<Compaction> done = std::move(compaction_);
    shared_.end_compaction();
    Segment& made = *done->made;
    for (const auto& [one, facts] : done->kept) {
      ++made.records;
      // What has left while this was written, too.
      if (!segments_.is_alive(position_at(made.state.lane, one))) {
        made.state.removed.add(one, one);
        continue;
      }
      ++made.alive;
      if (!facts.persistent) continue;
      ++made.state.live;
      made.state.live_bytes += facts.body_size;
      if (facts.expires) ++made.state.expiring;
    }
    std::vector<std::uint64_t> unknown;
    segments_.replace(done->from, std::move(done->made), gone_, unknown);
    if (!durable_) unknown.insert(unknown.end(), gone_.begin(), gone_.end());
    if (!durable_) gone_.clear();
    for (const std::uint64_t old : unknown) files_.remove_segment(old);
    commit_if_due();
    if (segments_.has_dead()) reap();
  });
}

void QueueStore::end_compaction() {
  compaction_.reset();
  shared_.end_compaction();
}

}  // namespace ringtail::queue::store
