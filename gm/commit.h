// How far a ring's entries are committed, and how far they are kept: the origin's account of who
// has what. An entry is committed when every member that counts has it, and kept when every such
// member has it on its disk, as far as it needs one (GM6). Pure; on the origin's shard.
//
// Who counts: those in sync in the view, and those whose admission has been proposed and may have
// been agreed on by now (GM9). Source: PacificA (Lin et al. 2008), section 2.3.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gm/ring_view.h"

namespace ringtail::gm {

class Commit {
 public:
  struct Progress {
    Number matched = 0;          // has all entries of the origin's log up to here
    Number stored = 0;           // and those that need it on its disk
    bool complete = false;       // it lacks nothing older either
    std::uint64_t moved_ms = 0;  // when it last had more than before
  };

  // A new epoch: nobody has reported anything.
  void begin();
  void set_view(const RingView& view, std::uint64_t now_ms);
  // Of a member's report in this epoch; one that is late says nothing new.
  // One of a member that is in no view yet waits for its view.
  void report(const MemberId& member, const Progress& progress, std::uint64_t now_ms);
  const Progress* find(const MemberId& member) const;

  // From here on nothing is committed without this one, until settle().
  void count_too(const MemberId& member);
  bool counts_too(const MemberId& member) const;
  const std::vector<MemberId>& counted_too() const { return too_; }
  // The view has changed: what was proposed for the one before has happened or never will.
  void settle() { too_.clear(); }

  // How far all that count have all entries; and how far on their disks.
  Number committed() const { return least(&Progress::matched); }
  Number kept() const { return least(&Progress::stored); }
  // The first of the ring that keeps others waiting and has not moved for `lag_ms`.
  const MemberId* laggard(Number last, Number committed, std::uint64_t now_ms,
                          std::uint64_t lag_ms) const;

 private:
  Number least(Number Progress::*of) const;
  bool counts(const RingMember& member) const {
    return member.standing == Standing::kInSync || counts_too(member.id);
  }

  RingView view_;
  std::map<MemberId, Progress> progress_;
  std::vector<MemberId> too_;
};

}  // namespace ringtail::gm
