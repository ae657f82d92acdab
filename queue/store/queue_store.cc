#include "queue/store/queue_store.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::queue::store {

using cluster::metadata::QueueRecord;
using runtime::Status;

namespace {

void add_range(std::vector<PositionRange>& ranges, Position position) {
  if (!ranges.empty() && ranges.back().last + 1 == position) {
    ranges.back().last = position;
  } else {
    ranges.push_back({position, position});
  }
}

void sort_ranges(std::vector<PositionRange>& ranges) {
  if (ranges.size() < 2) return;
  std::sort(ranges.begin(), ranges.end(),
            [](const PositionRange& left, const PositionRange& right) {
              return left.first < right.first;
            });
  std::size_t last = 0;
  for (std::size_t at = 1; at < ranges.size(); ++at) {
    if (ranges[last].last + 1 == ranges[at].first) {
      ranges[last].last = ranges[at].last;
    } else {
      ranges[++last] = ranges[at];
    }
  }
  ranges.resize(last + 1);
}

}  // namespace

QueueStore::QueueStore(StoreShard& shared, const QueueRecord& record, StoreOwner& owner)
    : shared_(shared),
      owner_(&owner),
      qid_(record.qid),
      durable_(record.durable && !record.exclusive()),
      files_(shared.shard().env(), shared.calls(),
             shared.directory_of(record.vhost, record.name, durable_),
             {record.qid, record.vhost, record.name}, durable_) {}

QueueStore::~QueueStore() {
  if (compaction_ != nullptr) shared_.end_compaction();
  shared_.give_light(light_);
  shared_.journal().forget(*this);
}

std::uint64_t QueueStore::expires_wall(Terms terms) const {
  return terms.expires() ? shared_.wall_of(terms.expires_at_ms()) : kNoExpiration;
}

void QueueStore::publish(Position position, const Message& message, Terms terms, bool delivered) {
  if (!open_record_) {
    write_removals();  // what is kept of a queue is kept in its order
    shared_.journal().begin_publish(*this, qid_);
    open_record_ = true;
  }
  shared_.journal().add(position, message, expires_wall(terms), delivered);
}

void QueueStore::end_publish() {
  if (std::exchange(open_record_, false)) published_ = shared_.journal().end_publish();
}

void QueueStore::removed(Position position, const Message& message, Terms terms) {
  const bool persistent = message.traits().persistent;
  if (durable_ && persistent) add_range(removing_, position);
  if (number_of(position) <= assigned_) {
    segments_.removed(position, {message.body_size(), persistent, terms.expires()});
  }
}

void QueueStore::purged(std::uint64_t number, std::size_t lanes,
                        std::vector<SegmentTable::Kept> kept) {
  end_turn();
  segments_.removed_all_but(kept);
  cursors_.clear();
  std::map<std::uint8_t, std::vector<std::uint64_t>> by_lane;
  for (std::size_t lane = 0; lane < lanes; ++lane) by_lane[static_cast<std::uint8_t>(lane)];
  for (const SegmentTable::Kept& one : kept) {
    by_lane[lane_of(one.position)].push_back(number_of(one.position));
  }
  for (auto& [lane, numbers] : by_lane) {
    std::sort(numbers.begin(), numbers.end());
    std::uint64_t from = 1;
    for (const std::uint64_t one : numbers) {
      if (one > from) removing_.push_back({position_at(lane, from), position_at(lane, one - 1)});
      from = one + 1;
    }
    if (from <= number) {
      removing_.push_back({position_at(lane, from), position_at(lane, number)});
    }
  }
  end_turn();
}

void QueueStore::write_removals() {
  if (removing_.empty()) return;
  if (durable_) {
    sort_ranges(removing_);
    shared_.journal().remove(*this, qid_, removing_);
  }
  removing_.clear();
}

void QueueStore::end_turn() {
  write_removals();
  if (restoring_ != nullptr) return;
  if (segments_.has_dead()) reap();
  if (segments_.may_be_sparse()) compact();
}

void QueueStore::await() {
  awaiting_ = true;
  if (!in_journal_call_) shared_.journal().await(*this);
}

// --- marks --------------------------------------------------------------------------------------

bool QueueStore::may_deliver(Position position) {
  if (!durable_) return true;
  // A broken disk does not keep messages from consumers; but a node that ends, and whose full disk
  // is waited for no longer, delivers nothing without a mark.
  if (!failure_.ok()) return !shared_.closing();
  const std::uint8_t lane = lane_of(position);
  const std::uint64_t number = number_of(position);
  Mark& mark = marks_[lane];
  const bool asked = mark.asked > mark.kept;
  if (number <= mark.kept) {
    // Early enough that nobody waits.
    if (!asked && number + mark.step / 2 > mark.kept) ask_for_mark(mark, lane, number);
    return true;
  }
  if (!asked) ask_for_mark(mark, lane, number);
  return false;
}

void QueueStore::ask_for_mark(Mark& mark, std::uint8_t lane, std::uint64_t number) {
  const std::uint64_t last = owner_->last_number();
  if (last <= mark.asked) return;
  mark.step =
      std::clamp(mark.step * 2, shared_.options().mark_step_min, shared_.options().mark_step_max);
  mark.asked = std::min(last, std::max(number, mark.asked) + mark.step);
  marks_changed_ = true;
  mark.position = shared_.journal().delivered(*this, qid_, position_at(lane, mark.asked));
  await();
}

bool QueueStore::was_delivered(Position position) const {
  const auto at = delivered_before_.find(lane_of(position));
  return at != delivered_before_.end() && number_of(position) <= at->second;
}

// --- the journal's calls ------------------------------------------------------------------------

bool QueueStore::journal_kept(JournalPosition kept) noexcept {
  in_journal_call_ = true;
  awaiting_ = false;
  for (auto& [lane, mark] : marks_) {
    if (mark.asked <= mark.kept) continue;
    if (mark.position <= kept) {
      mark.kept = mark.asked;
    } else {
      awaiting_ = true;
    }
  }
  if (leaving_.written_again != 0) {
    if (leaving_.written_again <= kept) {
      left();
    } else {
      awaiting_ = true;
    }
  }
  owner_->store_kept();
  in_journal_call_ = false;
  return awaiting_;
}

void QueueStore::journal_failed(const Status& why) noexcept { fail(why); }

void QueueStore::fail(const Status& status) {
  if (!failure_.ok()) return;
  failure_ = status;
  owner_->store_failed(status);
}

// What is in memory can still be written, so that the journal is left like any other queue's.
void QueueStore::damaged(const Status& status) {
  if (status.code() != runtime::Code::kCorrupt) return fail(status);
  if (!failure_.ok() || !damage_.ok()) return;
  damage_ = status;
  owner_->store_failed(status);
}

void QueueStore::leave_journal(JournalFileNumber) noexcept {
  leaving_.needed = shared_.journal().current_file();
  leaving_.up_to = owner_->last_number();
  leaving_.wanted = true;
  leaving_.written_again = 0;
  leaving_.committing = false;
  continue_leaving();
}

void QueueStore::leave_former_journals(std::function<void()> done) {
  former_left_ = std::move(done);
  if (not_restored_ != nullptr) {
    // A node that ends begins nothing on the disk; the next start finds the same journals.
    if (!shared_.closing()) keep_own_journal();
    return;
  }
  leaving_.up_to = std::max(leaving_.up_to, owner_->last_number());
  leaving_.wanted = true;
  leaving_.written_again = 0;
  leaving_.committing = false;
  continue_leaving();
}

void QueueStore::former_left() {
  if (former_left_) std::exchange(former_left_, nullptr)();
}

void QueueStore::erase() {
  shared_.journal().forget(*this);
  if (durable_) shared_.journal().deleted(qid_);
  shared_.remove_directory(files_.directory());
  former_left();
}

}  // namespace ringtail::queue::store
