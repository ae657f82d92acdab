// Who is in sync: what the origin proposes to the directory (GM9, GM10).
#include "gm/member.h"

namespace ringtail::gm {

void Member::propose(ViewChange::Kind kind, const MemberId& member) {
  directory_.propose({options_.ring, view_.epoch, view_.revision, kind, member});
}

// GM9. It counts from before the proposal on, so that whenever that is agreed on it has all that is
// committed.
//
// A new master may not know yet how much its predecessor has committed: it admits nobody before an
// entry of its own epoch is committed, and with it all before. And who is admitted has on its disk
// what the master has there: it was confirmed, maybe, and may be all that is left one day.
void Member::admit_complete() {
  if (log_.epoch_at(committed_) != view_.epoch) return;
  for (const RingMember& member : view_.members) {
    if (member.standing != Standing::kJoining || commit_.counts_too(member.id)) continue;
    const Commit::Progress* progress = commit_.find(member.id);
    if (progress == nullptr || !progress->complete || progress->matched < committed_) continue;
    if (progress->stored < stored_) continue;
    commit_.count_too(member.id);
    propose(ViewChange::Kind::kAdmit, member.id);
  }
}

// GM10
void Member::evict_laggard(std::uint64_t now_ms) {
  const MemberId* laggard =
      commit_.laggard(log_.last().number, committed_, now_ms, options_.lag_ms);
  if (laggard != nullptr && view_.in_sync(*laggard)) {
    propose(ViewChange::Kind::kEvict, *laggard);
  }
}

}  // namespace ringtail::gm
