// Messages of a queue's backlog on their way back into memory.
#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "queue/store/queue_store.h"
#include "queue/store/segment_format.h"

namespace ringtail::queue::store {

using runtime::Code;
using runtime::Status;

bool QueueStore::loading(std::uint8_t lane) const {
  const auto at = cursors_.find(lane);
  return at != cursors_.end() && at->second.loading;
}

void QueueStore::load(std::uint8_t lane, std::size_t octets, std::uint64_t limit) {
  if (!failure_.ok() || !damage_.ok() || limit == 0 || shared_.closing()) return;
  const auto at = cursors_.find(lane);
  RT_CHECK(at != cursors_.end(), "a load from a lane that has nothing paged out");
  Cursor& cursor = at->second;
  if (cursor.loading) return;
  Segment* segment =
      cursor.segment != 0 ? segments_.find(cursor.segment) : segments_.at_or_behind(cursor.next);
  if (segment == nullptr) {
    // What is left of it died meanwhile, or its numbers lie further on.
    segment = segments_.at_or_behind(cursor.next);
    cursor.segment = 0;
  }
  if (segment == nullptr) {
    damaged({Code::kCorrupt, files_.directory() +
                                 ": the segments hold fewer messages than the index "
                                 "says"});
    return;
  }
  if (cursor.segment == 0) {
    cursor.segment = segment->state.number;
    cursor.offset = 0;
  }
  cursor.loading = true;
  cursor.limit = limit;
  const std::uint64_t left = segment->state.bytes - std::min(segment->state.bytes, cursor.offset);
  const std::uint64_t wanted = std::max<std::uint64_t>(octets, cursor.needs);
  files_.read_segment(cursor.segment, cursor.offset,
                      static_cast<std::size_t>(std::min(wanted, left)),
                      [this, lane, number = cursor.segment](const Status& status,
                                                            std::vector<std::uint8_t>& bytes) {
                        read_done(lane, number, status, bytes);
                      });
}

void QueueStore::read_done(std::uint8_t lane, std::uint64_t number, const Status& status,
                           std::vector<std::uint8_t>& bytes) {
  const auto at = cursors_.find(lane);
  if (at == cursors_.end() || !at->second.loading || at->second.segment != number) return;
  Cursor& cursor = at->second;
  cursor.loading = false;
  std::vector<StoredMessage> messages;
  Status result = status;
  if (Segment* segment = segments_.find(number)) {
    if (result.ok()) result = take_records(cursor, *segment, bytes, messages);
  } else {
    cursor.segment = 0;  // all of it has died
    result = {};
  }
  if (!result.ok()) {
    damaged(result);
    return;
  }
  owner_->store_loaded(lane, messages);
}

void QueueStore::next_segment(Cursor& cursor, const Segment& segment) {
  cursor.next = position_at(segment.state.lane, segment.state.last + 1);
  cursor.segment = 0;
  cursor.offset = 0;
  cursor.needs = 0;
}

Status QueueStore::take_records(Cursor& cursor, Segment& segment,
                                std::span<const std::uint8_t> bytes,
                                std::vector<StoredMessage>& messages) {
  const std::string name = files_.segment_path(segment.state.number);
  SegmentHeader header{qid_, segment.state.lane, segment.state.number, segment.salt};
  std::span<const std::uint8_t> part = bytes;
  if (cursor.offset == 0) {
    const auto read = read_segment_header(bytes, name);
    if (!read.ok()) return read.status();
    if (read.value().qid != qid_ || read.value().number != segment.state.number) {
      return {Code::kCorrupt, name + ": belongs to another queue or segment"};
    }
    header = read.value();
    segment.salt = header.salt;
    part = bytes.subspan(kSegmentHeaderSize);
    cursor.offset = kSegmentHeaderSize;
  }
  SegmentWalk walk(header, part, cursor.offset, name);
  for (;;) {
    if (messages.size() == cursor.limit) {
      // What follows is in memory, and perhaps still being written.
      cursor.offset = walk.offset();
      return {};
    }
    const SegmentWalk::Next next = walk.next();
    if (next == SegmentWalk::Next::kDamaged) return walk.status();
    if (next == SegmentWalk::Next::kPartial) break;
    const Position position = walk.position();
    if (position < cursor.next || segment.state.removed.contains(number_of(position))) continue;
    auto message = walk.message();
    if (!message.ok()) return message.status();
    StoredMessage& one = message.value();
    // What was transient ended with the run of the node that wrote it.
    if (segment.restored && !one.message->traits().persistent) continue;
    one.delivered = one.delivered || was_delivered(position);
    cursor.next = position + 1;
    messages.push_back(std::move(one));
  }
  const bool progress = walk.offset() > cursor.offset;
  cursor.offset = walk.offset();
  cursor.needs = static_cast<std::size_t>(walk.needs());
  if (cursor.offset >= segment.state.bytes) {
    next_segment(cursor, segment);
  } else if (!progress && cursor.needs <= part.size()) {
    return {Code::kCorrupt, name + ": ends before the messages that the index names"};
  }
  return {};
}

}  // namespace ringtail::queue::store
