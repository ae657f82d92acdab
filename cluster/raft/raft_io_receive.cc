// What arrives, and the guard in front of libraft.
#include <algorithm>
#include <utility>

#include "broker/runtime/log.h"
#include "cluster/raft/raft_io.h"

namespace ringtail::cluster::raft {

using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;

namespace {

// More than these are dropped: whoever sent them sends again.
constexpr std::size_t kMostHeld = 64;
constexpr std::size_t kMostWithheld = 256;

}  // namespace

Term term_at(const struct ::raft& raft, Index index) {
  const raft_log& entries = raft.log;
  if (index == 0) return 0;
  if (index == entries.snapshot.last_index) return entries.snapshot.last_term;
  if (index <= entries.offset || entries.size == 0) return 0;
  const std::size_t count = entries.front <= entries.back
                                ? entries.back - entries.front
                                : entries.size - entries.front + entries.back;
  const Index at = index - 1 - entries.offset;
  if (at >= count) return 0;
  return entries.entries[(entries.front + at) % entries.size].term;
}

void RaftIo::received(NodeId from, std::string_view header, std::string_view body) {
  if (dead()) return;
  auto decoded = decode_message(from, header, body);
  if (!decoded.ok()) {
    ++dropped_;
    log(LogLevel::kWarning, "raft", "a message of node {} is dropped: {}", from.value,
        decoded.status().text());
    return;
  }
  Received message = std::move(decoded).value();
  if (auto* const incoming = std::get_if<Incoming>(&message)) {
    handle(std::move(*incoming));
  } else if (const auto* const part = std::get_if<SnapshotPart>(&message)) {
    part_received(from, *part, body);
  } else if (const auto* const progress = std::get_if<SnapshotProgress>(&message)) {
    raft_io_send* const request = senders_.progressed(from, *progress, now_ms());
    if (request != nullptr) finish_send(request, 0);
  }
}

void RaftIo::handle(Incoming incoming) {
  const unsigned short type = incoming.message().type;
  leave_out_covered(incoming);
  // One that overtakes another would be refused, and the leader would begin to probe.
  const bool waits = std::any_of(held_.begin(), held_.end(), [](const Incoming& held) {
    return held.message().type == RAFT_IO_APPEND_ENTRIES;
  });
  if (type == RAFT_IO_APPEND_ENTRIES && waits) return hold(std::move(incoming));
  if (type == RAFT_IO_APPEND_ENTRIES_RESULT && withheld(incoming)) return;
  switch (judge(incoming.message())) {
    case Verdict::kDeliver:
      return deliver(std::move(incoming));
    case Verdict::kHold:
      return hold(std::move(incoming));
    case Verdict::kDrop:
      return drop(incoming.message(), "it would lead libraft astray");
  }
}

void RaftIo::drop(const raft_message& message, const char* why) {
  ++dropped_;
  log(LogLevel::kDebug, "raft", "a message of type {} of node {} is dropped: {}", message.type,
      message.server_id, why);
}

// --- what may pass -------------------------------------------------------------------------------

RaftIo::Verdict RaftIo::judge(const raft_message& message) const {
  switch (message.type) {
    case RAFT_IO_APPEND_ENTRIES:
      return judge_append(message.append_entries);
    case RAFT_IO_INSTALL_SNAPSHOT:
      return judge_install(message.install_snapshot);
    case RAFT_IO_REQUEST_VOTE:
      return judge_vote(message.request_vote);
    case RAFT_IO_REQUEST_VOTE_RESULT: {
      // libraft takes a vote of a far term as impossible, and goes on as if it had not come.
      const raft_request_vote_result& result = message.request_vote_result;
      const bool impossible = result.vote_granted && result.term > raft_.current_term + 1;
      return impossible ? Verdict::kDrop : Verdict::kDeliver;
    }
    case RAFT_IO_TIMEOUT_NOW:
      // Fault 4: nobody becomes a candidate for entries that are not yet on its disk.
      // Fault 13: whoever is the only voter is to begin a term of its own (tick()).
      if (installing() || only_voter()) return Verdict::kDrop;
      return appends_in_flight() ? Verdict::kHold : Verdict::kDeliver;
    default:
      return Verdict::kDeliver;
  }
}

RaftIo::Verdict RaftIo::judge_append(const raft_append_entries& append) const {
  if (append.term < raft_.current_term) return Verdict::kDeliver;  // it is told the term
  // There is one leader in a term; libraft would follow itself.
  if (append.term == raft_.current_term && raft_.state == RAFT_LEADER) return Verdict::kDrop;
  // What is committed does not change, and libraft would end at once.
  const Term before = term_at(raft_, append.prev_log_index);
  if (before != 0 && before != append.prev_log_term &&
      append.prev_log_index <= raft_.commit_index) {
    return Verdict::kDrop;
  }
  if (append.n_entries == 0) return Verdict::kDeliver;
  const Index conflicting = before == append.prev_log_term ? conflict(append) : 0;
  if (conflicting != 0 && conflicting <= raft_.commit_index) return Verdict::kDrop;
  // Fault 3: the log is not cut, nor followed by another leader's entries, while entries of before
  // are on their way to the disk: libraft would count those that were cut as stored.
  const bool others_in_flight =
      appends_in_flight() && (append_term_ != append.term || conflicting != 0);
  return others_in_flight ? Verdict::kHold : Verdict::kDeliver;
}

RaftIo::Verdict RaftIo::judge_install(const raft_install_snapshot& install) const {
  if (install.term < raft_.current_term) return Verdict::kDrop;
  if (install.term == raft_.current_term && raft_.state == RAFT_LEADER) return Verdict::kDrop;
  // Fault 3. And libraft would forget it while it takes or installs another one, and the leader
  // would wait for nothing.
  const bool busy = appends_in_flight() || putting_ || working_ != nullptr;
  return busy ? Verdict::kHold : Verdict::kDeliver;
}

RaftIo::Verdict RaftIo::judge_vote(const raft_request_vote& vote) const {
  // Fault 4: the log in memory is not the one on the disk.
  if (installing()) return Verdict::kDrop;
  // Fault 7: libraft 0.15 gives a second vote in one term to whom it once handed leadership.
  const bool second = !vote.pre_vote && vote.term == raft_.current_term && raft_.voted_for != 0 &&
                      raft_.voted_for != vote.candidate_id;
  return second ? Verdict::kDrop : Verdict::kDeliver;
}

// Fault 1 (Raft paper 5.4.2): libraft 0.15 commits what a majority has, whatever its
// term. So no follower's answer counts before an entry of this term is the last one stored here.
bool RaftIo::withheld(Incoming& incoming) {
  const raft_append_entries_result& result = incoming.message().append_entries_result;
  if (raft_.state != RAFT_LEADER || result.term != raft_.current_term || barrier_stored()) {
    return false;
  }
  if (withheld_.size() < kMostWithheld) {
    withheld_.push_back(std::move(incoming));
  } else {
    drop(incoming.message(), "the barrier of this term is not stored yet");
  }
  return true;
}

void RaftIo::release_withheld() {
  std::deque<Incoming> released = std::exchange(withheld_, {});
  for (Incoming& incoming : released) {
    if (!dead()) handle(std::move(incoming));
  }
}

void RaftIo::hold(Incoming incoming) {
  const unsigned short type = incoming.message().type;
  if (type == RAFT_IO_INSTALL_SNAPSHOT) {
    // The newer one is enough.
    std::erase_if(held_, [](const Incoming& held) {
      return held.message().type == RAFT_IO_INSTALL_SNAPSHOT;
    });
  }
  if (held_.size() >= kMostHeld) return drop(incoming.message(), "too many wait for the disk");
  held_.push_back(std::move(incoming));
}

void RaftIo::release_held() {
  bool append_waits = false;
  for (std::size_t i = 0; i < held_.size() && !dead();) {
    const raft_message& message = held_[i].message();
    const bool append = message.type == RAFT_IO_APPEND_ENTRIES;
    const Verdict verdict = append && append_waits ? Verdict::kHold : judge(message);
    if (verdict == Verdict::kHold) {
      append_waits = append_waits || append;
      ++i;
      continue;
    }
    Incoming incoming = std::move(held_[i]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    if (verdict == Verdict::kDeliver) {
      deliver(std::move(incoming));
    } else {
      drop(incoming.message(), "it would lead libraft astray");
    }
  }
}

// --- handing over --------------------------------------------------------------------------------

// Fault 5: entries that are no longer in the log, since a snapshot covers them. libraft would
// append them at its end, or refuse them and be probed backwards. What the snapshot covers is
// committed, and so in the log of every later leader: the message may as well begin behind it.
void RaftIo::leave_out_covered(Incoming& incoming) const {
  if (incoming.message().type != RAFT_IO_APPEND_ENTRIES) return;
  const raft_append_entries& append = incoming.message().append_entries;
  const bool covered = append.prev_log_index < raft_.log.offset &&
                       append.prev_log_index < raft_.log.snapshot.last_index;
  if (covered && append.term >= raft_.current_term) {
    incoming.begin_behind(raft_.log.snapshot.last_index, raft_.log.snapshot.last_term);
  }
}

void RaftIo::deliver(Incoming incoming) {
  leave_out_covered(incoming);  // again: it may have waited
  const raft_message& message = incoming.message();
  Answer answer;
  if (message.type == RAFT_IO_APPEND_ENTRIES) {
    const raft_append_entries& append = message.append_entries;
    answer = {append.term, append.prev_log_index + append.n_entries,
              append.term < raft_.current_term};
    if (!answer.stale && append.n_entries > 0 &&
        term_at(raft_, append.prev_log_index) == append.prev_log_term) {
      const Index conflicting = conflict(append);
      if (conflicting != 0) prepare_truncation(incoming, conflicting);
    }
  } else if (message.type == RAFT_IO_INSTALL_SNAPSHOT) {
    answer = {message.install_snapshot.term, message.install_snapshot.last_index, false};
  } else if (message.type == RAFT_IO_APPEND_ENTRIES_RESULT) {
    note_result(incoming.message());
  }
  if (dead()) return;
  call([&] {
    answer_ = answer;
    const bool vote = message.type == RAFT_IO_REQUEST_VOTE;
    const std::optional<int> role = vote ? become_voter() : std::nullopt;
    recv_(&io_, incoming.release());
    if (role) own_server()->role = *role;
    answer_.reset();
  });
}

raft_server* RaftIo::own_server() {
  for (unsigned i = 0; i < raft_.configuration.n; ++i) {
    if (raft_.configuration.servers[i].id == raft_.id) return &raft_.configuration.servers[i];
  }
  return nullptr;
}

// Fault 10: the entry that makes this node a voter may not have come yet, while those who have it
// need its vote to go on. In Raft whoever is asked votes, and the candidate knows whose vote counts
// (section 6 of the paper); libraft's voters are those of their own log.
std::optional<int> RaftIo::become_voter() {
  raft_server* const own = own_server();
  if (own == nullptr || own->role == RAFT_VOTER) return std::nullopt;
  return std::exchange(own->role, RAFT_VOTER);
}

void RaftIo::note_result(raft_message& message) {
  raft_append_entries_result& result = message.append_entries_result;
  if (raft_.state != RAFT_LEADER || result.term != raft_.current_term) return;
  const auto found = peers_.find({static_cast<std::uint32_t>(message.server_id)});
  if (found != peers_.end() &&
      (result.rejected != 0 || result.last_log_index >= found->second.awaited)) {
    found->second.awaited = 0;
  }
  // Fault 9: while a snapshot is on its way, its receiver refuses the heartbeats, which stand at
  // the end of our log. If that is where the snapshot ends, libraft takes it for a refused snapshot
  // and begins again, for ever. No follower of ours refuses one.
  for (unsigned i = 0; i < raft_.configuration.n; ++i) {
    const raft_progress& progress = raft_.leader_state.progress[i];
    if (raft_.configuration.servers[i].id == message.server_id && result.rejected != 0 &&
        result.rejected == progress.snapshot_index) {
      ++result.rejected;
    }
  }
}

Index RaftIo::conflict(const raft_append_entries& append) const {
  for (unsigned i = 0; i < append.n_entries; ++i) {
    const Index index = append.prev_log_index + 1 + i;
    const Term ours = term_at(raft_, index);
    if (ours != 0 && ours != append.entries[i].term) return index;
    if (ours == 0 && index > raft_.log.offset) return 0;
  }
  return 0;
}

// Fault 6: libraft 0.15 does not know, after a start, that the last configuration of its log may be
// cut off again; and it looks for the one before in the log, where a snapshot may have covered it.
// So it never has one to roll back.
void RaftIo::prepare_truncation(const Incoming& incoming, Index conflicting) {
  if (configurations_.empty() || configurations_.rbegin()->first < conflicting) return;
  if (raft_.state != RAFT_FOLLOWER || incoming.message().append_entries.term > raft_.current_term) {
    // A candidate counts its votes by the configuration: it has to become a follower first. The
    // same message without entries does that.
    Incoming announced(incoming.from(), RAFT_IO_APPEND_ENTRIES);
    raft_append_entries& append = announced.message().append_entries;
    append = incoming.message().append_entries;
    append.entries = nullptr;
    append.n_entries = 0;
    append.leader_commit = std::min(append.leader_commit, append.prev_log_index);
    deliver(std::move(announced));
  }
  if (!dead() && raft_.state == RAFT_FOLLOWER) roll_back_configuration(conflicting);
}

void RaftIo::roll_back_configuration(Index conflicting) {
  auto before = configurations_.lower_bound(conflicting);
  if (before == configurations_.begin()) return;
  --before;
  const auto configuration = decode_configuration(before->second);
  if (!configuration.ok()) {
    return fail(configuration.status().within("rolling a configuration back"));
  }
  raft_configuration_close(&raft_.configuration);
  fill_configuration(configuration.value(), &raft_.configuration);
  raft_.configuration_index = before->first;
  raft_.configuration_uncommitted_index = 0;
}

void RaftIo::part_received(NodeId from, const SnapshotPart& part, std::string_view body) {
  if (part.term < raft_.current_term ||
      (part.term == raft_.current_term && raft_.state == RAFT_LEADER)) {
    return;
  }
  const bool had = raft_.log.snapshot.last_index >= part.last_index;
  if (had && part.offset == 0) {
    // It is installed, or on its way to the disk: the leader lacks our answer, not we the bytes.
    transport_.send(from, encode_progress(gatherer_.pass(part).answer), {});
    const auto configuration = decode_configuration(part.configuration);
    if (configuration.ok() && !installing()) {
      SnapshotPart empty = part;
      empty.size = 0;
      handle(install_message(from, empty, configuration.value(), make_raft_buffer(0)));
    }
    return;
  }
  auto outcome = gatherer_.take(from, part, body, now_ms());
  if (!outcome) return;
  transport_.send(from, encode_progress(outcome->answer), {});
  if (outcome->whole) handle(std::move(*outcome->whole));
}

// --- time ----------------------------------------------------------------------------------------

void RaftIo::tick() {
  if (dead()) return;
  gatherer_.tick(now_ms());
  if (raft_.state != RAFT_LEADER) {
    withheld_.clear();
    for (raft_io_send* const request : senders_.stop_all()) {
      finish_send(request, RAFT_NOCONNECTION);
    }
  }
  for (raft_io_send* const request : senders_.tick(now_ms())) {
    finish_send(request, RAFT_NOCONNECTION);
  }
  // Fault 4: entries that are not on the disk, or a snapshot that is not, make no candidate.
  tick_when_idle_ = raft_.state != RAFT_LEADER && (appends_in_flight() || installing());
  if (tick_when_idle_) return;
  if (raft_.state == RAFT_FOLLOWER &&
      now_ms() - raft_.election_timer_start >= raft_.follower_state.randomized_election_timeout) {
    if (only_voter()) begin_term();
    // Fault 15: who is no voter starts no election, and forgets no leader; and while it has one it
    // refuses its vote to those who may need it (fault 10).
    const raft_server* const own = own_server();
    if (own == nullptr || own->role != RAFT_VOTER) raft_.follower_state.current_leader.id = 0;
  }
  if (!dead()) call([&] { tick_(&io_); });
}

bool RaftIo::only_voter() const {
  bool own = false;
  for (unsigned i = 0; i < raft_.configuration.n; ++i) {
    if (raft_.configuration.servers[i].role != RAFT_VOTER) continue;
    if (raft_.configuration.servers[i].id != raft_.id) return false;
    own = true;
  }
  return own;
}

// Fault 13: the only voter of a configuration makes itself leader without an election, and in the
// term that there is. Somebody else, or its former life, may have led in that one.
void RaftIo::begin_term() {
  const Term term = raft_.current_term + 1;
  io_.set_term(&io_, term);
  io_.set_vote(&io_, raft_.id);
  if (dead()) return;
  raft_.current_term = term;
  raft_.voted_for = raft_.id;
}

void RaftIo::expire_election_timer() {
  if (dead()) return;
  jumped_ms_ += 2 * std::uint64_t{raft_.election_timeout};
  tick();
}

}  // namespace ringtail::cluster::raft
