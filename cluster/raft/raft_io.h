// libraft's view of the world (raft.h, struct raft_io): its log on our disk, its messages on our
// links, its clock in our hands. And the guard in front of it: Debian's 0.15 trusts what comes and
// has faults that later releases do not have; what would reach one is held back, put right or
// dropped here (docs/decisions/0011-libraft-0.15.md; comments name its faults by their number).
//
// After a failure of the disk it is dead: nothing leaves, nothing is called stored, nothing is
// handed to libraft; the owner is told and closes it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/env.h"
#include "cluster/raft/raft_codec.h"
#include "cluster/raft/raft_log_store.h"
#include "cluster/raft/snapshot_transfer.h"
#include "cluster/raft/transport.h"

namespace ringtail::cluster::raft {

struct RaftIoOptions {
  // An AppendEntries that leaves has about so many bytes of entries, or one entry.
  std::size_t append_bytes = 1024 * 1024;
  // A cut message is taken for lost, and the next may carry entries again, after this.
  std::uint64_t answer_ms = 1000;
  TransferOptions transfer;
};

class RaftIo {
 public:
  struct Owner {
    std::function<void()> called;  // libraft was called; look what has changed
    std::function<void(const runtime::Status&)> failed;  // once
    // Makes the payload of a snapshot that libraft has begun; done() when it can be asked for.
    std::function<void(std::function<void()> done)> make_snapshot;
  };

  // `raft` is initialised by the owner, with io().
  RaftIo(runtime::Env& env, RaftLogStore& store, Transport& transport, RaftIoOptions options,
         struct ::raft& raft, Owner owner);
  RaftIo(const RaftIo&) = delete;
  RaftIo& operator=(const RaftIo&) = delete;

  struct raft_io* io() {
    return &io_;
  }
  // What load() hands over, at raft_start().
  void set_loaded(LoadedLog loaded);

  // Every call of libraft goes through here: what was sent in it is answered after it, and the
  // owner looks.
  template <typename Call>
  void call(Call&& run) {
    ++depth_;
    run();
    if (--depth_ == 0) end_call();
  }

  // A message of another node, checked by nobody.
  void received(runtime::NodeId from, std::string_view header, std::string_view body);
  void tick();
  // libraft's tick alone: a leader sends heartbeats that are due.
  void heartbeat() {
    if (!dead()) call([this] { tick_(&io_); });
  }
  // The election timer of this follower has run out, now.
  void expire_election_timer();
  // Whether some other server has not been told of this commit index.
  bool commit_unknown_to_others(Index commit) const;
  // Whether the log has a configuration that is not known to be committed.
  bool configuration_open() const;
  // Results of followers count from here on: the barrier of this term is stored (Fault 1).
  bool barrier_stored() const {
    return barrier_stored_ != 0 && barrier_stored_ == raft_.current_term;
  }
  std::uint64_t dropped() const { return dropped_; }
  // From here on close() waits for nothing: the process ends with its requests under way.
  void abandon() { abandoned_ = true; }
  // What a close() that waits for the disk still has to do; for an owner that has abandoned it.
  void finish_close();

 private:
  enum class Verdict : unsigned char { kDeliver, kHold, kDrop };
  // What an AppendEntries that is answered has shown to be the same as the leader's log.
  struct Answer {
    Term term = 0;
    Index verified = 0;
    bool stale = false;  // the message was of an earlier term
  };
  struct Appending {
    raft_io_append* request;
    raft_io_append_cb callback;
    std::optional<Answer> answer;
    Term barrier = 0;  // the term of one of ours among the entries
  };
  struct Peer {
    Index awaited = 0;  // the end of a cut message that was not answered yet
    std::uint64_t sent_ms = 0;
    Index commit = 0;  // what it was told
  };
  struct Due {
    raft_io_send* request;
    raft_io_send_cb callback;
    int status;
  };
  struct Putting {
    raft_io_snapshot_put* request = nullptr;
    raft_io_snapshot_put_cb callback = nullptr;
    bool install = false;
    std::optional<Answer> answer;
    struct ::raft_buffer* pieces = nullptr;  // libraft's array
  };

  // raft_io.cc: what libraft asks for.
  void fill_functions();
  void fill_log_functions();
  int load(raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* start,
           raft_entry** entries, std::size_t* count);
  void close(raft_io_close_cb callback);
  void append(raft_io_append* request, const raft_entry* entries, unsigned count,
              raft_io_append_cb callback);
  void appended();
  void truncate(Index index);
  void put_snapshot(unsigned trailing, raft_io_snapshot_put* request, const raft_snapshot& snapshot,
                    raft_io_snapshot_put_cb callback);
  void snapshot_put(const runtime::Status& status);
  int get_snapshot(raft_io_snapshot_get* request, raft_io_snapshot_get_cb callback);
  void snapshot_got(runtime::Result<StoredSnapshot> snapshot);
  void async_work(raft_io_async_work* request, raft_io_async_work_cb callback);
  void async_worked(int status);
  void end_call();
  void fail(const runtime::Status& why);
  bool dead() const { return failed_ || close_callback_ != nullptr || closed_; }
  std::uint64_t now_ms() const;

  // raft_io_send.cc
  int send(raft_io_send* request, const raft_message& message, raft_io_send_cb callback);
  int send_append(const raft_message& message);
  std::size_t entries_before_open_change(const raft_append_entries& append) const;
  void send_result(const raft_message& message);
  void send_vote(const raft_message& message);
  void transmit(const raft_message& message);
  void finish_send(raft_io_send* request, int status);

  // raft_io_receive.cc
  void handle(Incoming incoming);
  Verdict judge(const raft_message& message) const;
  Verdict judge_append(const raft_append_entries& append) const;
  Verdict judge_install(const raft_install_snapshot& install) const;
  Verdict judge_vote(const raft_request_vote& vote) const;
  bool withheld(Incoming& incoming);
  void hold(Incoming incoming);
  void release_held();
  void release_withheld();
  void leave_out_covered(Incoming& incoming) const;
  void deliver(Incoming incoming);
  void note_result(raft_message& message);
  bool only_voter() const;
  void begin_term();
  raft_server* own_server();          // null: the configuration does not have it
  std::optional<int> become_voter();  // the role it had
  // The first of these entries whose place is taken by one of another term; 0: none.
  Index conflict(const raft_append_entries& append) const;
  void prepare_truncation(const Incoming& incoming, Index conflict);
  void roll_back_configuration(Index conflict);
  void part_received(runtime::NodeId from, const SnapshotPart& part, std::string_view body);
  void drop(const raft_message& message, const char* why);
  bool appends_in_flight() const { return !appends_.empty(); }
  bool installing() const { return putting_ && putting_->install; }

  runtime::Env& env_;
  RaftLogStore& store_;
  Transport& transport_;
  const RaftIoOptions options_;
  struct ::raft& raft_;
  Owner owner_;
  struct raft_io io_ {};
  raft_io_tick_cb tick_ = nullptr;
  raft_io_recv_cb recv_ = nullptr;
  LoadedLog loaded_;

  int depth_ = 0;
  bool failed_ = false;
  bool closed_ = false;
  bool abandoned_ = false;
  raft_io_close_cb close_callback_ = nullptr;
  std::uint64_t jumped_ms_ = 0;  // how far our clock is ahead
  bool tick_when_idle_ = false;
  std::uint64_t dropped_ = 0;
  std::uint64_t last_session_ = 0;

  Index next_index_ = 1;
  // The configurations in the log, and the last before it (a snapshot's), by their index.
  std::map<Index, std::string> configurations_;
  std::deque<Appending> appends_;  // asked for, oldest first
  Term append_term_ = 0;           // our term when the last of them was
  Term barrier_stored_ = 0;
  std::optional<Answer> answer_;  // of the message that is being handled

  std::map<runtime::NodeId, Peer> peers_;
  std::vector<Due> due_;
  std::deque<Incoming> held_;
  std::deque<Incoming> withheld_;
  SnapshotSenders senders_;
  SnapshotGatherer gatherer_;

  std::optional<Putting> putting_;
  raft_io_snapshot_get* getting_ = nullptr;
  raft_io_snapshot_get_cb get_callback_ = nullptr;
  raft_io_async_work* working_ = nullptr;
  raft_io_async_work_cb work_callback_ = nullptr;
};

// The term of an entry, 0 if the log has none (libraft's logTermOf).
Term term_at(const struct ::raft& raft, Index index);

}  // namespace ringtail::cluster::raft
