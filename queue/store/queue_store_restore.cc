// What a restart finds of a queue: its index, what the journals add to it, and, where they removed
// messages from the midst of a segment, that segment.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/store/queue_store.h"
#include "queue/store/segment_format.h"

namespace ringtail::queue::store {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

void QueueStore::restore(JournaledQueue journaled, std::function<void(Restored&)> done) {
  former_ = !journaled.empty();
  restoring_ = std::make_unique<Restoring>();
  restoring_->journaled = std::move(journaled);
  restoring_->done = std::move(done);
  // The journals may say little, but of a queue with nothing in its directory they say all.
  if (!files_.holds_nothing()) {
    read_own_journal();
  } else if (restoring_->journaled.damage.empty()) {
    apply_removals();
  } else {
    end_restore({Code::kCorrupt, restoring_->journaled.damage});
  }
}

// One is there when the queue was damaged at a former start.
void QueueStore::read_own_journal() {
  files_.read_small(kOwnJournal, true,
                    [this](const Status& status, std::vector<std::uint8_t>& content) {
                      if (status.ok()) {
                        take_own_journal(content);
                      } else if (status.code() != Code::kNotFound) {
                        return end_restore(status);
                      }
                      if (!restoring_->journaled.damage.empty()) {
                        return end_restore({Code::kCorrupt, restoring_->journaled.damage});
                      }
                      read_name();
                    });
}

void QueueStore::take_own_journal(std::span<const std::uint8_t> content) {
  JournaledQueue own =
      store::read_own_journal(content, fmt::format("{}/{}", files_.directory(), kOwnJournal), qid_);
  own.merge(std::move(restoring_->journaled));
  restoring_->journaled = std::move(own);
  former_ = true;
  has_own_journal_ = true;
}

// What the journals say of a queue that is damaged is lost with them otherwise.
void QueueStore::keep_own_journal() {
  const JournaledQueue& journaled = *not_restored_;
  ByteBuffer out;
  const std::uint64_t salt = shared_.shard().env().rng().next();
  put_journal_header(out, {shared_.shard().id().value, 0, salt});
  BatchWriter batch;
  batch.begin(salt, 1, out.size());
  if (!journaled.published.empty()) {
    batch.begin_publish(qid_);
    for (const StoredMessage& one : journaled.published) {
      batch.add(one.position, *one.message, one.expires_at_ms, one.delivered);
    }
    batch.end_publish();
  }
  for (const auto& [lane, numbers] : journaled.removed) {
    std::vector<PositionRange> ranges;
    for (const auto& [first, last] : numbers.ranges()) {
      ranges.push_back({position_at(lane, first), position_at(lane, last)});
    }
    batch.remove(qid_, ranges);
  }
  for (const auto& [lane, up_to] : journaled.delivered) {
    batch.delivered(qid_, position_at(lane, up_to));
  }
  if (!batch.empty()) out.append(batch.finish());
  files_.write_small(kOwnJournal, std::move(out), [this](const Status& status) {
    if (status.ok()) {
      not_restored_.reset();
      former_left();
    } else {
      log(LogLevel::kError, "storage",
          "the journals of former starts are kept, since this failed: {}", status.text());
    }
  });
}

void QueueStore::read_name() {
  files_.read_small(
      "queue", false, [this](const Status& status, std::vector<std::uint8_t>& content) {
        if (status.code() == Code::kNotFound) {
          apply_removals();  // it has no directory yet
          return;
        }
        if (!status.ok()) return end_restore(status);
        const auto identity = read_identity(content, files_.directory() + "/queue");
        // One that is damaged was made in passing and never relied on; the index says it, too.
        if (!identity.ok() || identity.value().qid == qid_) return read_index();
        set_aside(fmt::format("it belongs to a queue '{}' in vhost '{}' with the number {}",
                              identity.value().name, identity.value().vhost,
                              identity.value().qid.value));
        apply_removals();
      });
}

// Nothing of it is used, nothing of it is lost.
void QueueStore::set_aside(const std::string& why) {
  runtime::Disk& disk = shared_.shard().env().disk();
  const std::string& from = files_.directory();
  const std::string to =
      fmt::format("{}/{}-{}", shared_.set_aside(), from.substr(from.rfind('/') + 1), qid_.value);
  Status status = disk.make_directory(shared_.set_aside());
  if (status.ok()) status = disk.rename(from, to);
  log(LogLevel::kWarning, "storage", "directory {} is set aside as {}: {}{}", from, to, why,
      status.ok() ? "" : "; that failed: " + status.text());
}

void QueueStore::read_index() {
  files_.read_small("index", true,
                    [this](const Status& status, std::vector<std::uint8_t>& content) {
                      if (status.code() == Code::kNotFound) {
                        apply_removals();  // it never had a segment
                        return;
                      }
                      files_.directory_exists();
                      Status result = status.ok() ? take_index(content) : status;
                      if (result.ok()) result = files_.sync_directory();
                      if (!result.ok()) {
                        end_restore(result);
                      } else {
                        apply_removals();
                      }
                    });
}

Status QueueStore::take_index(std::span<const std::uint8_t> content) {
  const auto scan = scan_index(content, files_.index_path());
  if (!scan.ok()) return scan.status();
  const IndexScan& found = scan.value();
  if (found.header.qid != qid_) {
    return {Code::kCorrupt, files_.index_path() + ": belongs to another queue"};
  }
  if (found.torn > 0) {
    log(LogLevel::kWarning, "storage", "{}: {} bytes at offset {} are of a write that was cut off",
        files_.index_path(), found.torn, found.end);
  }
  index_salt_ = found.header.salt;
  files_.restore_index_size(found.end);
  segments_.restore(found.state);
  covered_ = written_ = assigned_ = found.state.covered;
  delivered_before_ = found.state.delivered;
  restoring_->next = found.state.next;
  return {};
}

// A message that a journal removed is in a segment or was never in one; how much of a segment is
// alive then, only the segment tells.
void QueueStore::apply_removals() {
  JournaledQueue& journaled = restoring_->journaled;
  for (const auto& [lane, up_to] : journaled.delivered) {
    std::uint64_t& known = delivered_before_[lane];
    marks_changed_ |= known < up_to;
    known = std::max(known, up_to);
    restoring_->next = std::max(restoring_->next, up_to + 1);
  }
  for (const auto& [lane, numbers] : journaled.removed) {
    for (const auto& [first, last] : numbers.ranges()) {
      restoring_->next = std::max(restoring_->next, last + 1);
    }
  }
  segments_.for_each([&](Segment& segment) {
    const auto at = journaled.removed.find(segment.state.lane);
    if (at == journaled.removed.end()) return;
    std::uint64_t removed = 0;
    for (const auto& [first, last] : at->second.ranges()) {
      if (first > segment.state.last || last < segment.state.first) continue;
      removed += segment.state.removed.add(std::max(first, segment.state.first),
                                           std::min(last, segment.state.last));
    }
    if (removed == 0) return;
    const auto& ranges = segment.state.removed.ranges();
    if (ranges.size() == 1 && ranges.begin()->first <= segment.state.first &&
        ranges.begin()->second >= segment.state.last) {
      segments_.recounted(segment, 0, 0, 0);
    } else {
      restoring_->to_count.push_back(segment.state.number);
    }
  });
  count_next();
}

void QueueStore::count_next() {
  if (restoring_->to_count.empty()) {
    end_restore({});
    return;
  }
  const std::uint64_t number = restoring_->to_count.back();
  restoring_->to_count.pop_back();
  Segment* segment = segments_.find(number);
  files_.read_segment(number, 0, static_cast<std::size_t>(segment->state.bytes),
                      [this, segment](const Status& status, std::vector<std::uint8_t>& bytes) {
                        Status result = status.ok() ? count(*segment, bytes) : status;
                        if (result.ok()) {
                          count_next();
                        } else {
                          end_restore(result);
                        }
                      });
}

Status QueueStore::count(Segment& segment, std::span<const std::uint8_t> content) {
  const std::string name = files_.segment_path(segment.state.number);
  const auto header = read_segment_header(content, name);
  if (!header.ok()) return header.status();
  SegmentWalk walk(header.value(), content.subspan(kSegmentHeaderSize), kSegmentHeaderSize, name);
  std::uint64_t live = 0;
  std::uint64_t bytes = 0;
  std::uint64_t expiring = 0;
  for (;;) {
    const SegmentWalk::Next next = walk.next();
    if (next == SegmentWalk::Next::kDamaged) return walk.status();
    if (next == SegmentWalk::Next::kPartial) break;
    if (segment.state.removed.contains(number_of(walk.position()))) continue;
    const auto message = walk.message();
    if (!message.ok()) return message.status();
    if (!message.value().message->traits().persistent) continue;
    ++live;
    bytes += message.value().message->body_size();
    if (message.value().expires_at_ms != kNoExpiration) ++expiring;
  }
  if (walk.offset() != segment.state.bytes) {
    return {Code::kCorrupt, fmt::format("{}: ends at offset {}, the index says {}", name,
                                        walk.offset(), segment.state.bytes)};
  }
  segments_.recounted(segment, live, bytes, expiring);
  return {};
}

void QueueStore::end_restore(const Status& damage) {
  const std::unique_ptr<Restoring> restoring = std::move(restoring_);
  Restored restored;
  restored.damage = damage;
  restored.next = restoring->next;
  if (damage.ok()) {
    segments_.for_each([&](const Segment& segment) {
      Restored::Lane& lane = restored.lanes[segment.state.lane];
      lane.count += segment.state.live;
      lane.bytes += segment.state.live_bytes;
      lane.expiring += segment.state.expiring;
      restored.next = std::max(restored.next, segment.state.last + 1);
    });
    for (const auto& [lane, found] : restored.lanes) {
      if (found.count > 0) cursors_[lane] = Cursor{.next = position_at(lane, 1)};
    }
    for (StoredMessage& one : restoring->journaled.published) {
      restored.next = std::max(restored.next, number_of(one.position) + 1);
      if (number_of(one.position) <= covered_) continue;
      one.delivered = one.delivered || was_delivered(one.position);
      restored.messages.push_back(std::move(one));
    }
  } else {
    failure_ = damage;
    if (former_) {
      not_restored_ = std::make_unique<JournaledQueue>(std::move(restoring->journaled));
    }
  }
  files_.close_when_idle();
  restoring->done(restored);
}

}  // namespace ringtail::queue::store
