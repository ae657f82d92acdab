// Who is in sync: what the origin proposes to the directory (GM9, GM10).
#include "gm/member.h"

namespace ringtail::gm {

void Member::propose(ViewChange::Kind kind, const MemberId& member) {
  directory_.propose({options_.ring, view_.epoch, view_.revision, kind, member});
}

// GM9. It counts from before the proposal on, so that whenever that is agreed on it has all that is
// committed.
void Member::admit_complete() {
  for (const RingMember& member : view_.members) {
    if (member.standing != Standing::kJoining || commit_.counts_too(member.id)) continue;
    const Commit::Progress* progress = commit_.find(member.id);
    if (progress == nullptr || !progress->complete || progress->matched < committed_) continue;
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
