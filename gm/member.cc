#include "gm/member.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::gm {

Member::Member(MemberOptions options, MemberOwner& owner, Directory& directory, Log log,
               Number committed, bool complete)
    : options_(std::move(options)),
      owner_(owner),
      directory_(directory),
      log_(std::move(log)),
      committed_(committed),
      stored_(committed),
      complete_(complete) {
  RT_CHECK(committed_ <= log_.last().number, "more is committed than there is");
}

Position Member::own_position(Number number) const {
  return {log_.epoch_at(number).value_or(0), number};
}

// GM2
bool Member::is_left(const MemberId& from) const {
  const auto left = view_.left_of(options_.self);
  return left.has_value() && *left == from;
}

void Member::set_view(const RingView& view, std::uint64_t now_ms) {
  if (view.revision <= view_.revision) return;
  RT_CHECK(view.trouble().empty(), "a view that is none");
  const bool new_epoch = view.epoch != view_.epoch;
  const auto left = view_.left_of(options_.self);
  view_ = view;
  if (new_epoch || view_.left_of(options_.self) != left) left_session_ = 0;
  if (new_epoch) {
    // GM5: what is matched is matched with the log of one origin.
    matched_.reset();
    asks_.reset();
    commit_.begin();
    kept_ = 0;
  }
  right_.reset();
  left_session_ = waits_for_view_ ? 0 : left_session_;
  waits_for_view_ = false;
  if (!takes_part()) return;
  if (is_master()) {
    commit_.settle();
    commit_.set_view(view_, now_ms);
    if (new_epoch) begin_epoch();
  }
  meet_right();
  report_due_ = true;
}

// GM4. With its first entry a new epoch cuts what others have of former ones beyond it.
void Member::begin_epoch() {
  Entry entry;
  entry.begins_epoch = true;
  append(std::move(entry));
}

void Member::meet_right() {
  const auto right = view_.right_of(options_.self);
  if (!right.has_value()) return;
  right_.emplace();
  right_->id = *right;
  right_->session = ++last_session_;
}

Position Member::append(Entry entry) {
  RT_CHECK(is_master() && takes_part(), "an entry of one that is not the origin");
  entry.at = {view_.epoch, log_.last().number + 1};
  const Position at = entry.at;
  // The origin's owner keeps what it makes; it hears of it like everybody else.
  owner_.received(entry);
  log_.append(std::move(entry));
  matched_ = at.number;
  return at;
}

void Member::connected(const MemberId& other) {
  if (right_.has_value() && right_->id == other) meet_right();
  report_due_ = true;
}

void Member::receive(const MemberId& from, HandOn frame) {
  // GM1
  if (!takes_part() || frame.epoch != view_.epoch || !is_left(from)) return;
  if (waits_for_view_) return;
  report_due_ = true;
  left_session_ = frame.session;
  if (!join_up(frame)) return;
  asks_.reset();
  Number last = frame.previous.number;
  for (Entry& entry : frame.entries) {
    if (entry.at.number != last + 1) return;
    if (!take(std::move(entry))) return;
    ++last;
  }
  note_matched(last);
  commit_up_to(std::min(frame.committed, *matched_));
}

// GM5. What is matched need not be known by its epoch any more.
bool Member::has_of_origin(const Position& at) const {
  return (matched_.has_value() && at.number <= *matched_) || log_.has(at);
}

// Whether the frame's entries follow something that is here.
bool Member::join_up(const HandOn& frame) {
  if (has_of_origin(frame.previous)) return true;
  if (!frame.begins_here) {
    asks_ = log_.candidate(frame.previous);
    return false;
  }
  // GM8. One in sync lacks nothing, so the left neighbour knows already that this one is not: it is
  // told of that first, and asks then.
  if (view_.in_sync(options_.self)) {
    waits_for_view_ = true;
    return false;
  }
  log_.restart(frame.previous);
  matched_.reset();
  complete_ = false;
  committed_ = frame.previous.number;
  stored_ = frame.previous.number;
  meet_right();
  owner_.restarted(frame.previous);
  return true;
}

// GM4, GM7
bool Member::take(Entry entry) {
  const Position at = entry.at;
  if (has_of_origin(at)) return true;
  if (at.epoch > view_.epoch) return false;
  if (at.number <= committed_) {
    diverge(at);
    return false;
  }
  if (at.number <= log_.last().number) cut_above(at.number - 1);
  if (at.epoch < log_.last().epoch) {
    diverge(at);
    return false;
  }
  owner_.received(entry);
  log_.append(std::move(entry));
  return true;
}

void Member::cut_above(Number number) {
  if (right_.has_value() && right_->next > number + 1) meet_right();
  owner_.cut(number, log_.cut(number));
}

// GM7
void Member::diverge(const Position& at) {
  broken_ = true;
  right_.reset();
  owner_.diverged(at);
}

void Member::note_matched(Number number) { matched_ = std::max(matched_.value_or(0), number); }

void Member::stored(Number up_to) {
  RT_CHECK(up_to <= committed_, "what is not committed lies on a disk");
  stored_ = std::max(stored_, up_to);
  report_due_ = true;
}

void Member::completed() {
  complete_ = true;
  report_due_ = true;
}

void Member::commit_up_to(Number number) {
  if (number <= committed_) return;
  committed_ = number;
  owner_.committed(number);
}

void Member::receive(const MemberId& from, const Report& frame, std::uint64_t now_ms) {
  // GM1
  if (!takes_part() || frame.epoch != view_.epoch) return;
  if (frame.to_left && right_.has_value() && from == right_->id) answered(frame);
  if (!is_master() || !frame.matched) return;
  commit_.report(from, {frame.at.number, frame.stored, frame.complete, now_ms}, now_ms);
}

// The origin's: it counts as a member like the others.
void Member::look_at_commit(std::uint64_t now_ms) {
  commit_.report(options_.self, {*matched_, stored_, true, now_ms}, now_ms);
  // GM11
  if (!view_.led) return;
  commit_up_to(commit_.committed());
  if (const Number kept = commit_.kept(); kept > kept_) owner_.kept(kept_ = kept);
  admit_complete();
}

void Member::turn_end(std::uint64_t now_ms) {
  if (!takes_part()) return;
  if (is_master()) look_at_commit(now_ms);
  hand_on();
  send_report();
  release();
}

void Member::tick(std::uint64_t now_ms) {
  if (!takes_part() || !is_master()) return;
  for (const MemberId& one : commit_.counted_too()) propose(ViewChange::Kind::kAdmit, one);
  evict_laggard(now_ms);
}

// What is committed is on every member in sync: it is kept for one that joins, as far as that is
// not too much.
void Member::release() {
  Number up_to = committed_;
  const bool joining = right_.has_value() && !view_.in_sync(right_->id);
  if (joining && log_.kept_bytes() <= options_.keep_bytes) up_to = std::min(up_to, right_->has);
  log_.release(up_to);
}

}  // namespace ringtail::gm
