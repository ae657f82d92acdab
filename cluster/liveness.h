// Who is alive: leases and verdicts, without I/O. Time comes in, in milliseconds of the node's
// Clock::boot_ms(), which counts a suspended machine's sleep.
//
//   CL11  A lease ends `lease_ms` after the earlier of two moments: when the node asked for it, and
//        when the leader began the last round that a majority of the voters acknowledged in its
//        term. So while a lease is valid no other leader has been elected for long enough to
//        declare its holder down. The leader's own lease follows the same rule.
//   CL12  A node is declared down when its process is certainly gone (its links were closed, and a
//        connection is refused), or when the leader has not heard from it for `down_ms`, which is
//        longer than any lease that it may hold. From then on it is granted none, and the verdict
//        counts in the leader's own term alone (metadata::NodeDown). A new leader counts from the
//        beginning; but for the one before it, which is the likely reason for its election, from
//        the last moment at which that one can have had a round acknowledged: a majority of those
//        who vote now has not heard of it since. (Configurations change by one server at a time,
//        and who is added hears of it: whoever its voters were, that majority has one of each of
//        their majorities in it.)
//   CL13  A change is in force everywhere when every node that may hold a lease has applied it.
//
// Source: Gray and Cheriton, "Leases" (1989); Raft, section 6.4.1.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "broker/runtime/ids.h"
#include "cluster/metadata/records.h"

namespace ringtail::cluster {

using metadata::Life;
using runtime::NodeId;

struct LivenessTimes {
  std::uint64_t heartbeat_ms = 250;
  std::uint64_t lease_ms = 1500;
  std::uint64_t down_ms = 2000;
  // Clocks may run at rates that differ by a hundredth or so: what others hold is thought to last a
  // little longer.
  std::uint64_t longest_lease_ms() const { return lease_ms + lease_ms / 50; }
};

// A node's lease, on its control shard.
class Lease {
 public:
  // What was asked for at `asked_ms` is granted; `round_age_ms` is how old the leader's last
  // acknowledged round was when it answered.
  void granted(std::uint64_t asked_ms, std::uint64_t round_age_ms, const LivenessTimes& times) {
    const std::uint64_t from = asked_ms > round_age_ms ? asked_ms - round_age_ms : 0;
    if (from + times.lease_ms > ends_ms_) ends_ms_ = from + times.lease_ms;
  }
  // The node's life has ended: so has its lease.
  void revoke() { ends_ms_ = 0; }
  bool valid(std::uint64_t now_ms) const { return now_ms < ends_ms_; }
  std::uint64_t ends_ms() const { return ends_ms_; }

 private:
  std::uint64_t ends_ms_ = 0;
};

// The leader's view of all nodes that are up, while it leads.
class LeaderWatch {
 public:
  explicit LeaderWatch(const LivenessTimes& times) : times_(times) {}

  // --- leading ---
  // `applied`: how far this node has, which covers all that a leader before has told anybody.
  // `former`: who led before, as far as is known.
  void begin(NodeId self, NodeId former, std::uint64_t applied, std::uint64_t now_ms);
  void end();
  bool leads() const { return leads_; }
  // Who votes, the leader too; and who is up, in which life. Tell it at each change.
  void set_voters(std::vector<NodeId> voters);
  void set_nodes(const std::map<NodeId, Life>& up, std::uint64_t now_ms);

  // --- rounds ---
  std::uint64_t begin_round(std::uint64_t now_ms);
  // `former_ms`: since when, of this clock, that voter has heard of no other leader.
  void round_acknowledged(NodeId by, std::uint64_t round, std::uint64_t former_ms);
  // When the last acknowledged round began; none: there is none yet.
  std::optional<std::uint64_t> majority_ms(std::uint64_t now_ms) const;

  // --- nodes ---
  struct Grant {
    bool granted = false;
    std::uint64_t round_age_ms = 0;
  };
  // A node asks for its lease, and says how far it has applied the log. Whoever has not applied
  // what somebody was told to be in force everywhere (CL13) gets none.
  Grant heard(NodeId node, Life life, std::uint64_t applied, std::uint64_t now_ms);
  void applied(NodeId node, Life life, std::uint64_t applied);
  // Its links are closed and connections refused; or it has been reached again. A life that begins
  // later is of another process, and what is refused may have been asked before it was known: an
  // attempt to connect lasts `down_ms` at most, and a refusal counts when the life is known for
  // longer.
  void set_process_gone(NodeId node, bool gone, std::uint64_t now_ms);
  struct Verdict {
    NodeId node;
    Life life = 0;
    bool gone = false;  // its process has ended; otherwise it was silent
  };
  // Whom to declare down; again and again until set_nodes() says that it has been done. Whoever was
  // named is granted nothing any more by this leader, however much is heard of him.
  std::vector<Verdict> dead(std::uint64_t now_ms);
  // How far everybody has applied the log who may hold a lease; never less than before.
  std::uint64_t applied_everywhere(std::uint64_t now_ms);

 private:
  struct Node {
    Life life = 0;
    std::uint64_t known_ms = 0;    // since when
    std::uint64_t heard_ms = 0;    // or when this leader began to watch it
    std::uint64_t granted_ms = 0;  // when it was last granted a lease, at the latest
    std::uint64_t applied = 0;
    bool gone = false;
    bool heard = false;      // by this leader
    bool condemned = false;  // by this leader
  };
  Node* find(NodeId node, Life life);
  std::uint64_t silent_since_ms(NodeId id, const Node& node) const;

  const LivenessTimes times_;
  bool leads_ = false;
  NodeId self_;
  std::vector<NodeId> voters_;
  std::map<NodeId, Node> nodes_;
  std::uint64_t told_ = 0;  // how far anybody may have been told that everybody is
  std::uint64_t everywhere_ = 0;
  std::uint64_t last_round_ = 0;
  std::map<std::uint64_t, std::uint64_t> rounds_;  // number: when it began
  std::map<NodeId, std::uint64_t> acknowledged_;   // the last round of each voter
  NodeId former_;
  std::vector<NodeId> electors_;               // who voted when this leader began
  std::map<NodeId, std::uint64_t> former_ms_;  // of each that has acknowledged a round
};

}  // namespace ringtail::cluster
