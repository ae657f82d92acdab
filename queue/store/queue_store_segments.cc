// A queue's way from memory and the journal into segments.
#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/store/queue_store.h"
#include "queue/store/segment_format.h"

namespace ringtail::queue::store {

using runtime::Status;

namespace {

// An index is written anew when it is so long, and so much longer than it need be.
constexpr std::uint64_t kIndexBytesMin = 256 * 1024;
constexpr std::uint64_t kIndexBytesPerSegment = 512;

bool comes_before(const StoredMessage& left, const StoredMessage& right) {
  return number_of(left.position) < number_of(right.position);
}

}  // namespace

// --- writing ------------------------------------------------------------------------------------

// The messages above written() in the order of their numbers, and up to which number that is all.
std::vector<StoredMessage> QueueStore::collect(std::uint64_t& up_to) const {
  std::map<std::uint8_t, std::size_t> lane_bytes;
  std::vector<StoredMessage> messages;
  up_to = owner_->last_number();
  owner_->visit_above(assigned_, [&](const Entry& entry, Terms terms, Whereabouts where) {
    StoredMessage& one = messages.emplace_back();
    one.position = entry.position();
    one.message = entry.message();
    one.expires_at_ms = expires_wall(terms);
    one.delivered = where == Whereabouts::kHandedOut || entry.redelivered();
    if (where != Whereabouts::kWaiting) return true;
    std::size_t& bytes = lane_bytes[lane_of(entry.position())];
    bytes += entry.message()->footprint();
    if (bytes < shared_.options().write_bytes) return true;
    up_to = std::min(up_to, number_of(entry.position()));
    return false;
  });
  std::sort(messages.begin(), messages.end(), comes_before);
  while (!messages.empty() && number_of(messages.back().position) > up_to) messages.pop_back();
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    bytes += messages[at].message->footprint();
    if (bytes < 2 * shared_.options().write_bytes || at + 1 == messages.size()) continue;
    up_to = number_of(messages[at].position);
    messages.resize(at + 1);
    break;
  }
  return messages;
}

void QueueStore::write_some() {
  if (writing_ || committing_ || !failure_.ok() || shared_.closing()) return;
  std::uint64_t up_to = 0;
  const std::vector<StoredMessage> messages = collect(up_to);
  assigned_ = up_to;
  if (messages.empty()) {
    written_ = up_to;
    continue_leaving();
    return;
  }
  writing_ = true;
  encode(messages);
}

void QueueStore::encode(const std::vector<StoredMessage>& messages) {
  std::map<std::uint8_t, Outgoing> lanes;
  std::size_t room = 0;
  for (const StoredMessage& one : messages) room += segment_record_size_max(*one.message);
  ++writes_under_way_;  // as long as there may come another one
  for (const StoredMessage& one : messages) {
    const std::uint8_t lane = lane_of(one.position);
    Outgoing& out = lanes[lane];
    Segment* segment = segments_.open(lane);
    if (segment == nullptr || segment->state.bytes >= shared_.options().segment_bytes) {
      send(out);
      std::uint64_t salt = shared_.shard().env().rng().next();
      segment = &segments_.begin(lane, salt);
      out.segment = segment->state.number;
      out.offset = 0;
      put_segment_header(out.bytes, {qid_, lane, segment->state.number, salt});
      segment->state.bytes = out.bytes.size();
    } else if (out.bytes.empty()) {
      out.segment = segment->state.number;
      out.offset = segment->state.bytes;
    }
    // Bodies are not copied once more because a buffer grows: all that may come has room in it.
    if (lanes.size() == 1) out.bytes.reserve(room);
    const std::size_t before = out.bytes.size();
    room -= segment_record_size_max(*one.message);
    put_segment_record(out.bytes, segment->salt, one.position, *one.message, one.expires_at_ms,
                       one.delivered);
    segments_.added(lane, number_of(one.position),
                    {one.message->body_size(), one.message->traits().persistent,
                     one.expires_at_ms != kNoExpiration},
                    out.bytes.size() - before);
  }
  for (auto& [lane, out] : lanes) send(out);
  if (--writes_under_way_ == 0) write_done(failure_);
}

void QueueStore::send(Outgoing& outgoing) {
  if (outgoing.bytes.empty()) return;
  ++writes_under_way_;
  files_.write_segment(outgoing.segment, outgoing.offset, std::move(outgoing.bytes),
                       [this](const Status& status) {
                         if (!status.ok()) fail(status);
                         if (--writes_under_way_ == 0) write_done(failure_);
                       });
  outgoing.bytes = ByteBuffer();
}

void QueueStore::write_done(const Status& status) {
  if (!status.ok()) return;  // nothing more is written, and nothing leaves memory
  writing_ = false;
  written_ = assigned_;
  continue_leaving();
  commit_if_due();
  owner_->store_moved();
}

// --- leaving a journal file ---------------------------------------------------------------------

void QueueStore::continue_leaving() {
  if (!leaving_.wanted || leaving_.written_again != 0 || writing_ || committing_ ||
      !failure_.ok() || shared_.closing()) {
    return;
  }
  if (leave_lightly()) return;
  if (written_ < leaving_.up_to) {
    write_some();
  } else {
    cover();
  }
}

// A queue that has next to nothing: true, that is how it goes.
bool QueueStore::leave_lightly() {
  if (!durable_ || has_own_journal_ || written_ != covered_ || segments_.has_dirty() ||
      !gone_.empty())
    return false;
  std::vector<StoredMessage> messages;
  std::size_t bytes = 0;
  bool all = true;
  owner_->visit_above(covered_, [&](const Entry& entry, Terms terms, Whereabouts where) {
    if (!all || !entry.message()->traits().persistent) return all;
    bytes += entry.message()->footprint();
    all = messages.size() < shared_.options().light_messages &&
          bytes <= shared_.options().light_bytes;
    if (!all) return false;
    const Mark& mark = marks_[lane_of(entry.position())];
    messages.push_back({entry.position(), expires_wall(terms),
                        where == Whereabouts::kHandedOut || entry.redelivered() ||
                            number_of(entry.position()) <= mark.asked,
                        entry.message()});
    return true;
  });
  // Messages that are in segments need the marks in the index.
  if (!all || (!segments_.empty() && marks_changed_)) return false;
  if (!shared_.take_light(light_, bytes)) return false;
  light_ = bytes;
  if (messages.empty()) {
    left();
    return true;
  }
  std::sort(messages.begin(), messages.end(), comes_before);
  Journal& journal = shared_.journal();
  journal.begin_publish(*this, qid_);
  for (const StoredMessage& one : messages) {
    journal.add(one.position, *one.message, one.expires_at_ms, one.delivered);
  }
  leaving_.written_again = journal.end_publish();
  await();
  return true;
}

void QueueStore::cover() {
  if (!durable_ || committing_ || shared_.closing()) return;
  committing_ = true;
  files_.sync([this, covered = written_](const Status& status) {
    if (!status.ok()) {
      fail(status);
      return;
    }
    commit_index(covered);
  });
}

void QueueStore::commit_index(std::uint64_t covered) {
  IndexState state;
  state.covered = covered;
  state.next = owner_->last_number() + 1;
  state.next_segment = segments_.next_number();
  state.delivered = delivered_before_;
  for (const auto& [lane, mark] : marks_) {
    std::uint64_t& known = state.delivered[lane];
    known = std::max(known, mark.asked);
  }
  marks_changed_ = false;
  // Only what was asked for before this may be left after it.
  leaving_.committing = leaving_.wanted && leaving_.written_again == 0 && covered >= leaving_.up_to;
  ByteBuffer out;
  const bool whole =
      files_.index_size() == 0 ||
      files_.index_size() > kIndexBytesMin + kIndexBytesPerSegment * segments_.size();
  if (index_salt_ == 0 || whole) index_salt_ = shared_.shard().env().rng().next() | 1;
  std::vector<const SegmentState*> changed = segments_.take_dirty();
  if (whole) {
    put_index_header(out, {qid_, index_salt_});
    changed = segments_.all();
  }
  std::erase_if(changed, [](const SegmentState* segment) { return segment->first == 0; });
  const std::vector<std::uint64_t> gone = std::exchange(gone_, {});
  put_index_commit(out, index_salt_, changed, whole ? std::span<const std::uint64_t>() : gone,
                   state);
  files_.write_index(std::move(out), whole, [this, covered, gone](const Status& status) {
    if (status.ok()) {
      for (const std::uint64_t number : gone) files_.remove_segment(number);
    }
    committed(covered, status);
  });
}

void QueueStore::committed(std::uint64_t covered, const Status& status) {
  if (!status.ok()) {
    fail(status);
    return;
  }
  committing_ = false;
  covered_ = covered;
  shared_.give_light(std::exchange(light_, 0));
  if (leaving_.committing) left();
  if (segments_.has_dead()) reap();
  continue_leaving();
  commit_if_due();
  owner_->store_moved();
}

void QueueStore::left() {
  const Leaving leaving = std::exchange(leaving_, {});
  if (leaving.needed != 0) shared_.journal().left(*this, leaving.needed);
  if (std::exchange(has_own_journal_, false)) files_.remove_small(kOwnJournal);
  former_left();
  files_.close_when_idle();
}

// --- what is dead -------------------------------------------------------------------------------

void QueueStore::reap() {
  if (committing_ || shared_.closing()) return;  // the end of a commit looks again
  for (const std::unique_ptr<Segment>& segment : segments_.take_dead(!writing_)) {
    if (durable_ && segment->in_index) {
      gone_.push_back(segment->state.number);
    } else {
      files_.remove_segment(segment->state.number);
    }
  }
  commit_if_due();
}

// Segments that are no longer needed go when the index has forgotten them.
void QueueStore::commit_if_due() {
  if (!gone_.empty() && !writing_ && !committing_ && failure_.ok()) cover();
}

}  // namespace ringtail::queue::store
