// One member of a ring. README.md explains the algorithm and numbers its rules (GM1 ...).
//
// A state machine without I/O: what comes in is a call, what goes out is a call of its owner's.
// Nothing is sent before turn_end(), so that a turn's entries and reports go together. Calls of the
// owner's are the last thing that a call does with the member's state, and the owner does not call
// back from within them, except append() from no call at all.
//
// Lives as long as its node's copy of what the ring keeps, on that one's shard.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "gm/commit.h"
#include "gm/directory.h"
#include "gm/frames.h"
#include "gm/log.h"
#include "gm/ring_view.h"

namespace ringtail::gm {

// What a member tells the copy that it keeps alike with the others.
class MemberOwner {
 public:
  virtual ~MemberOwner() = default;
  // The next entry of the log is here; it may yet be cut.
  virtual void received(const Entry& entry) = 0;
  // All up to there is committed: its changes happen now, and go to the disk, as far as they belong
  // there (Member::stored()).
  virtual void committed(Number up_to) = 0;
  // The master's: all up to there is on the disks of all in sync.
  virtual void kept(Number up_to) = 0;
  // What this member had above that has never been committed and is not of the origin's log: it is
  // to be forgotten, also on the disk, and kept aside where somebody may want it.
  virtual void cut(Number above, std::vector<Entry> entries) = 0;
  // This copy begins behind `base`: what is older comes in another way, or not at all.
  virtual void restarted(const Position& base) = 0;
  // It has something that is committed and not of the origin's log. It is of no use as it is, and
  // takes nothing any more.
  virtual void diverged(const Position& at) = 0;

  virtual void send(const MemberId& to, HandOn frame) = 0;
  virtual void send(const MemberId& to, const Report& frame) = 0;
};

struct MemberOptions {
  std::uint64_t ring = 0;
  MemberId self;
  // What may be under way to the right neighbour.
  std::size_t window_bytes = 4U << 20;
  // What is kept for a right neighbour that joins.
  std::size_t keep_bytes = 64U << 20;
  std::uint64_t lag_ms = 5000;
};

class Member {
 public:
  // `log`: what the disk has kept, `committed` of it certainly. A new copy has neither, and is
  // `complete`: nothing older is missing in it. The owner and the directory outlive it.
  Member(MemberOptions options, MemberOwner& owner, Directory& directory, Log log, Number committed,
         bool complete);

  // --- what happens to it ---
  // The directory has agreed on another view.
  void set_view(const RingView& view, std::uint64_t now_ms);
  // By the master: a batch of changes. Its position.
  Position append(Entry entry);
  void receive(const MemberId& from, HandOn frame);
  void receive(const MemberId& from, const Report& frame, std::uint64_t now_ms);
  // The session with that member begins, or begins anew: what was under way may be lost.
  void connected(const MemberId& other);
  // The owner has all up to there on its disk that belongs on it.
  void stored(Number up_to);
  // Nothing older is missing any more.
  void completed();
  void tick(std::uint64_t now_ms);
  // Sends what there is to send.
  void turn_end(std::uint64_t now_ms);

  // --- what it knows ---
  const RingView& view() const { return view_; }
  bool is_master() const { return view_.is_master(options_.self); }
  // A member of the present view, and fit to be one.
  bool takes_part() const { return !broken_ && view_.find(options_.self) != nullptr; }
  const Log& log() const { return log_; }
  Number committed() const { return committed_; }
  // All up to there is of the origin's log (GM5); none: unknown yet in this epoch.
  std::optional<Number> matched() const { return matched_; }
  bool complete() const { return complete_; }

 private:
  // What is known of the right neighbour.
  struct Right {
    enum class State : std::uint8_t {
      kUnmet,  // it has to be asked what it has
      kAsked,
      kMet,
    };
    struct Sent {
      Number number = 0;
      std::size_t size = 0;
    };
    MemberId id;
    std::uint64_t session = 0;
    State state = State::kUnmet;
    Number next = 1;            // to be sent
    Number has = 0;             // it has said so
    Number told = 0;            // is committed, as it was told last
    std::deque<Sent> sent;      // and not yet acknowledged
    std::size_t under_way = 0;  // bytes of those
  };

  Position own_position(Number number) const;
  bool is_left(const MemberId& from) const;
  void begin_epoch();
  void meet_right();
  bool has_of_origin(const Position& at) const;
  bool join_up(const HandOn& frame);
  bool take(Entry entry);
  void cut_above(Number number);
  void diverge(const Position& at);
  void note_matched(Number number);
  void commit_up_to(Number number);
  void look_at_commit(std::uint64_t now_ms);
  void release();
  // --- repair.cc ---
  void answered(const Report& frame);
  void met(Number has);
  void ask_right(const Position& whether);
  void hand_on();
  bool send_some();
  void send_report();
  // --- standing.cc ---
  void admit_complete();
  void evict_laggard(std::uint64_t now_ms);
  void propose(ViewChange::Kind kind, const MemberId& member);

  const MemberOptions options_;
  MemberOwner& owner_;
  Directory& directory_;
  RingView view_;
  Log log_;
  Number committed_ = 0;
  Number stored_ = 0;
  Number kept_ = 0;  // the master's
  std::optional<Number> matched_;
  bool complete_ = false;
  bool broken_ = false;
  std::optional<Right> right_;
  std::uint64_t last_session_ = 0;
  std::uint64_t left_session_ = 0;  // the left neighbour's; 0: none yet
  bool report_due_ = false;
  bool waits_for_view_ = false;
  std::optional<Position> asks_;  // its left neighbour, whether that has this one
  Commit commit_;                 // the master's
};

}  // namespace ringtail::gm
