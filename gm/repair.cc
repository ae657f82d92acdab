// A member and its right neighbour: finding out what that has, and sending the rest (GM3).
#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "gm/member.h"

namespace ringtail::gm {
namespace {

constexpr std::size_t kFrameBytes = 256U << 10;

}  // namespace

void Member::answered(const Report& frame) {
  if (!matched_.has_value()) return;  // it is asked when this member knows more itself
  // It has not heard what it was asked, or not yet.
  if (frame.session != right_->session) return ask_right(own_position(*matched_));
  if (frame.matched) return met(frame.at.number);
  right_->state = Right::State::kAsked;
  if (frame.at.number <= *matched_ && log_.has(frame.at)) return met(frame.at.number);
  const Position next =
      frame.at.number > *matched_ ? own_position(*matched_) : log_.candidate(frame.at);
  // Nothing that both have is known: it begins with what is here.
  if (next.number == 0 && !log_.has(next)) return met(0);
  ask_right(next);
}

// It has all up to there. What it was sent beyond may be on its way, unless it had to be asked.
void Member::met(Number has) {
  Right& right = *right_;
  if (right.state != Right::State::kMet) {
    right.state = Right::State::kMet;
    right.next = has + 1;
    right.sent.clear();
    right.under_way = 0;
  }
  right.next = std::max(right.next, has + 1);
  for (; !right.sent.empty() && right.sent.front().number <= has; right.sent.pop_front()) {
    right.under_way -= right.sent.front().size;
  }
  right.has = std::max(right.has, has);
}

void Member::ask_right(const Position& whether) {
  right_->state = Right::State::kAsked;
  HandOn question;
  question.epoch = view_.epoch;
  question.session = right_->session;
  question.previous = whether;
  owner_.send(right_->id, std::move(question));
}

void Member::hand_on() {
  if (!right_.has_value() || !matched_.has_value()) return;
  switch (right_->state) {
    case Right::State::kUnmet:
      return ask_right(own_position(*matched_));
    case Right::State::kAsked:
      return;
    case Right::State::kMet:
      while (send_some()) {
      }
  }
}

// GM3: only what is of the origin's log. False: there was nothing to send.
bool Member::send_some() {
  Right& right = *right_;
  HandOn frame;
  frame.epoch = view_.epoch;
  frame.session = right.session;
  if (right.next < log_.first_kept() && right.next <= *matched_) {
    frame.begins_here = true;
    right.next = log_.first_kept();
  }
  frame.previous = own_position(right.next - 1);
  std::size_t bytes = 0;
  while (right.next <= *matched_ && bytes < kFrameBytes &&
         right.under_way < options_.window_bytes) {
    const Entry* entry = log_.find(right.next);
    RT_CHECK(entry != nullptr, "an entry that is kept is not there");
    bytes += entry->size();
    right.under_way += entry->size();
    right.sent.push_back({right.next, entry->size()});
    frame.entries.push_back(*entry);
    ++right.next;
  }
  if (frame.entries.empty() && !frame.begins_here && committed_ == right.told) return false;
  frame.committed = right.told = committed_;
  owner_.send(right.id, std::move(frame));
  return true;
}

void Member::send_report() {
  if (!std::exchange(report_due_, false) || is_master()) return;
  Report report;
  report.epoch = view_.epoch;
  report.stored = std::min(stored_, matched_.value_or(0));
  report.complete = complete_;
  const std::optional<Position> asks = std::exchange(asks_, std::nullopt);
  report.matched = matched_.has_value() && !asks.has_value();
  report.at = report.matched ? own_position(*matched_) : asks.value_or(log_.last());
  const MemberId left = *view_.left_of(options_.self);
  const MemberId& master = view_.members.front().id;
  if (left != master && report.matched) owner_.send(master, report);
  report.to_left = true;
  report.session = left_session_;
  owner_.send(left, report);
}

}  // namespace ringtail::gm
