#include "gm/commit.h"

#include <algorithm>
#include <limits>

namespace ringtail::gm {

void Commit::begin() {
  progress_.clear();
  too_.clear();
}

void Commit::set_view(const RingView& view, std::uint64_t now_ms) {
  view_ = view;
  std::erase_if(progress_, [&](const auto& one) {
    return one.first.joined <= view.revision && view.find(one.first) == nullptr;
  });
  for (const RingMember& member : view.members) {
    const auto [at, added] = progress_.try_emplace(member.id);
    if (added) at->second.moved_ms = now_ms;
  }
}

void Commit::report(const MemberId& member, const Progress& progress, std::uint64_t now_ms) {
  if (view_.find(member) == nullptr && member.joined <= view_.revision) return;
  Progress& known = progress_[member];
  if (progress.matched > known.matched || progress.stored > known.stored) known.moved_ms = now_ms;
  known.matched = std::max(known.matched, progress.matched);
  known.stored = std::max(known.stored, progress.stored);
  known.complete = progress.complete;
}

const Commit::Progress* Commit::find(const MemberId& member) const {
  const auto at = progress_.find(member);
  return at == progress_.end() ? nullptr : &at->second;
}

void Commit::count_too(const MemberId& member) {
  if (!counts_too(member)) too_.push_back(member);
}

bool Commit::counts_too(const MemberId& member) const {
  return std::find(too_.begin(), too_.end(), member) != too_.end();
}

// GM6
Number Commit::least(Number Progress::*of) const {
  Number least = std::numeric_limits<Number>::max();
  for (const RingMember& member : view_.members) {
    if (counts(member)) least = std::min(least, progress_.at(member.id).*of);
  }
  return view_.members.empty() ? 0 : least;
}

// GM10. One that has what its left neighbour has handed on keeps nobody waiting, however little it
// has: the one before it does.
const MemberId* Commit::laggard(Number last, Number committed, std::uint64_t now_ms,
                                std::uint64_t lag_ms) const {
  Number handed_on = last;
  for (std::size_t at = 0; at < view_.members.size(); ++at) {
    const RingMember& member = view_.members[at];
    const Progress& progress = progress_.at(member.id);
    const bool silent = now_ms >= progress.moved_ms + lag_ms;
    const bool behind = progress.matched < handed_on || progress.stored < committed;
    if (at > 0 && silent && behind && counts(member)) return &member.id;
    handed_on = std::min(handed_on, progress.matched);
  }
  return nullptr;
}

}  // namespace ringtail::gm
