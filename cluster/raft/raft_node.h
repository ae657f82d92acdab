// This node's part in Raft: owner of libraft, of its files and of the guard in front of it.
//
// Lifecycle: open(), then on a new cluster's first node bootstrap(), start(), ... close(), and when
// that is done, destruction in a later turn. Destroyed without close() it frees its memory and
// tells nobody, as the end of a process would. On the control shard; nothing of it blocks but the
// write of a term or a vote.
//
// What it adds to libraft 0.15 (docs/decisions/0011-libraft-0.15.md): who wins an election appends
// a barrier at once, and leads for those above, and changes the membership, only when that has
// committed; the commit index reaches the followers at once; a leader that is seen dead is followed
// without waiting for the election timeout.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/env.h"
#include "cluster/raft/raft_io.h"
#include "cluster/raft/raft_machine.h"

namespace ringtail::cluster::raft {

struct RaftNodeOptions {
  runtime::NodeId id;
  std::string address;                  // as the others reach it
  std::string directory;                // <data directory>/raft
  unsigned election_timeout_ms = 1000;  // elections begin after one to two of these
  unsigned heartbeat_ms = 40;
  unsigned tick_ms = 50;
  // After a leader was seen dead, the survivors move so far apart, by rank. More than a message and
  // its answer take.
  unsigned stagger_ms = 5;
  // A snapshot that was sent and is not answered for is sent again.
  unsigned install_timeout_ms = 5000;
  // A snapshot is due after so many entries; or after so many bytes of them, and as many as the
  // last one had.
  Index snapshot_entries = 32768;
  std::uint64_t snapshot_bytes = 16 * 1024 * 1024;
  std::size_t snapshot_log_files = 64;  // or when the log has so many (each start begins one)
  // Proposals under way and waiting; more are refused.
  std::size_t most_proposed_bytes = 64 * 1024 * 1024;
  LogStoreOptions log;
  RaftIoOptions io;
};

enum class Proposed : std::uint8_t {
  kApplied,    // on this node; it is committed
  kNotLeader,  // not proposed
  kBusy,       // not proposed: too much is under way
  kLost,       // leadership ended before it was applied: nobody knows what becomes of it
};

class RaftNode {
 public:
  struct Callbacks {
    // The disk or libraft has failed; once. The node has to end. Nothing more leaves it.
    std::function<void(const runtime::Status& why)> lost;
    // Who leads in this term; 0: nobody is known. This node only when its barrier has committed,
    // that is, when it has applied all that was committed before.
    std::function<void(runtime::NodeId leader, Term term)> leader;
    std::function<void(Index index)> applied;  // up to here; after the machine has seen it
    // turn_end() is wanted before this turn of the loop is over.
    std::function<void()> turn_end_wanted;
  };
  using Done = std::function<void(const runtime::Status&)>;
  using ProposedDone = std::function<void(Proposed outcome, Index last)>;

  // All four outlive it.
  RaftNode(runtime::Env& env, RaftMachine& machine, Transport& transport, RaftNodeOptions options,
           Callbacks callbacks);
  ~RaftNode();
  RaftNode(const RaftNode&) = delete;
  RaftNode& operator=(const RaftNode&) = delete;

  // Reads what the disk has. true: nothing; a node that was never part of a cluster.
  void open(std::function<void(runtime::Result<bool> pristine)> done);
  // Once opened, until it is started: anything but a term and a vote. A log begins with who the
  // servers are.
  bool has_log() const { return loaded_.snapshot || !loaded_.entries.empty(); }
  // The same: who they are, as the end of the log has it.
  runtime::Result<Configuration> servers_in_log() const;
  // A pristine node, or one that died in the middle of this, becomes a cluster of one. `done` when
  // that is on stable storage.
  void bootstrap(Done done);
  // Of a node that was opened and is to go on without a majority of the others, who may not come
  // back after that: a configuration of it alone stands behind all that its log has, agreed on or
  // not. `done` when that is on stable storage.
  void force_alone(Done done);
  // Restores the machine from the last snapshot. A node that is the only voter leads soon after;
  // one without configuration waits to be added by a leader.
  runtime::Status start();
  // `done` perhaps at once. Proposals under way are kLost.
  void close(std::function<void()> done);

  void received(runtime::NodeId from, std::string_view header, std::string_view body);
  // Sends what was gathered in this turn.
  void turn_end();

  // Payloads that follow each other in the log; `done` runs in this call or later, once, when the
  // last is applied here. At least one payload.
  void propose(std::vector<std::string> payloads, ProposedDone done);

  // Brings a server to a role: adds it, lets it catch up, promotes it; or demotes it. kUnavailable:
  // this node does not lead, or lost it on the way; kBusy: another change is under way; kTimeout:
  // the server does not catch up (it stays a standby); kInvalid: it is the last voter, or the
  // leader that demotes itself (transfer_leadership() first).
  void set_server(Server server, Done done);
  // As above. A leader does not remove itself: kInvalid, transfer_leadership() first.
  void remove_server(runtime::NodeId id, Done done);
  // To a voter, or to one of libraft's choice (0). ok: it leads. No proposals are taken meanwhile.
  void transfer_leadership(runtime::NodeId to, Done done);

  // The node that leads is seen dead by this one. `rank`: the place of this node among the
  // survivors, the same for all of them; 0 begins.
  void leader_seen_dead(runtime::NodeId leader, unsigned rank);

  runtime::NodeId leader() const { return leader_; }
  bool leads() const { return leader_ == options_.id; }
  Term term() const { return raft_.current_term; }
  Index commit_index() const { return raft_.commit_index; }
  Index last_applied() const { return raft_.last_applied; }
  // As of the last entry in the log, committed or not; none when it is closed.
  Configuration members() const {
    return ended_ ? Configuration{} : configuration_of(raft_.configuration);
  }
  // Of the log in memory and on the disk, for checks and statistics.
  std::size_t log_files() const { return store_.log_files(); }
  std::uint64_t log_bytes() const { return store_.log_bytes(); }
  std::uint64_t dropped_messages() const { return io_.dropped(); }
  const struct ::raft& library() const { return raft_; }

 private:
  struct Batch {
    std::vector<std::string> payloads;
    std::size_t bytes = 0;
    ProposedDone done;
    Index last = 0;
    Term term = 0;
  };
  struct Change {
    Server server;
    bool remove = false;
    bool due = true;  // its next step
    Done done;
  };

  void fill_machine();
  runtime::Status begin_own_term();
  void library_closed();
  void opened(runtime::Result<LoadedLog> loaded, std::function<void(runtime::Result<bool>)> done);
  int applying(std::string_view payload);
  int restoring(struct ::raft_buffer& bytes);
  int begin_snapshot();
  void make_snapshot(std::function<void()> done);
  void give_snapshot(struct ::raft_buffer** pieces, unsigned* count);
  bool snapshot_due() const;

  void called();
  void fail(const runtime::Status& why);
  void notice_end_of_leadership();
  void begin_leadership();
  void notice_leader();
  void settle(Index index, Term term);
  void finish(Batch batch, Proposed outcome);
  void run_finished();
  void submit_proposals();
  void submit(std::size_t batches);
  void push_commit();
  void want_turn_end();
  void tick();
  void hurry_election();

  // raft_membership.cc
  void begin_change(Change change);
  void change_step();
  int next_change_call();
  void change_called(int status);
  void end_change(const runtime::Status& status);
  void transferred();
  bool only_voter(runtime::NodeId id) const;
  const struct raft_server* server(runtime::NodeId id) const;

  runtime::Env& env_;
  RaftMachine& machine_;
  const RaftNodeOptions options_;
  const Callbacks callbacks_;
  struct ::raft raft_ {};
  struct ::raft_fsm fsm_ {};
  RaftLogStore store_;
  RaftIo io_;
  LoadedLog loaded_;
  std::unique_ptr<runtime::Timer> timer_;
  std::unique_ptr<runtime::Timer> hurry_timer_;
  bool started_ = false;
  bool failed_ = false;
  bool closing_ = false;
  bool ended_ = false;  // libraft's memory is freed
  std::function<void()> closed_;

  runtime::NodeId leader_;
  Term leader_term_ = 0;
  Term leading_ = 0;        // the term in which this node won; 0: it does not lead
  Term barrier_asked_ = 0;  // the term of our last barrier
  Term barrier_committed_ = 0;
  struct ::raft_barrier barrier_ {};
  Index applied_told_ = 0;
  Index commit_pushed_ = 0;
  runtime::NodeId dead_leader_;
  Term dead_leader_term_ = 0;
  int hurries_left_ = 0;

  std::deque<Batch> waiting_;   // proposed, not yet given to libraft
  std::deque<Batch> proposed_;  // in its log
  std::size_t proposed_bytes_ = 0;
  std::vector<std::pair<Batch, Proposed>> finished_;

  std::optional<Change> change_;
  struct ::raft_change change_request_ {};
  struct ::raft_transfer transfer_request_ {};
  Done transfer_done_;

  runtime::BytesChain snapshot_;  // that libraft writes
  std::uint64_t snapshot_size_ = 0;
  std::uint64_t bytes_since_snapshot_ = 0;
};

}  // namespace ringtail::cluster::raft
