// What leaves: libraft's messages on the transport.
#include <algorithm>
#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "cluster/raft/raft_io.h"

namespace ringtail::cluster::raft {

using runtime::NodeId;

namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

NodeId receiver(const raft_message& message) {
  return {static_cast<std::uint32_t>(message.server_id)};
}

}  // namespace

// Never an error of its own: libraft frees twice what it could not answer (recvAppendEntries). The
// callback comes when the call is over: it frees what libraft still looks at.
int RaftIo::send(raft_io_send* request, const raft_message& message, raft_io_send_cb callback) {
  int status = 0;
  if (dead()) {
    status = RAFT_CANCELED;
  } else if (message.type == RAFT_IO_INSTALL_SNAPSHOT) {
    raft_io_send* const former = senders_.start(
        receiver(message), ++last_session_, message.install_snapshot, request, callback, now_ms());
    // It was taken over; libraft would think that this one has failed.
    if (former != nullptr) finish_send(former, 0);
    return 0;
  } else if (message.type == RAFT_IO_APPEND_ENTRIES) {
    status = send_append(message);
  } else if (message.type == RAFT_IO_APPEND_ENTRIES_RESULT) {
    send_result(message);
  } else if (message.type == RAFT_IO_REQUEST_VOTE_RESULT) {
    send_vote(message);
  } else {
    transmit(message);
  }
  // A TimeoutNow has no callback, and its request may be gone soon.
  if (callback != nullptr) due_.push_back({request, callback, status});
  return 0;
}

void RaftIo::transmit(const raft_message& message) {
  std::size_t sent = 0;
  Encoded encoded = encode_message(message, kAll, options_.append_bytes, &sent);
  transport_.send(receiver(message), std::move(encoded.header), std::move(encoded.body));
}

// libraft sends everything it has. Of what is too much the first part leaves, and libraft is told
// that the message failed: so it probes from what it knows to have arrived, and sends the rest when
// the answer to this part has come. Until then the messages it sends carry nothing, as heartbeats.
int RaftIo::send_append(const raft_message& message) {
  const raft_append_entries& append = message.append_entries;
  Peer& peer = peers_[receiver(message)];
  const bool awaits = peer.awaited != 0 && now_ms() - peer.sent_ms < options_.answer_ms;
  std::size_t sent = 0;
  const std::size_t most = awaits ? 0 : entries_before_open_change(append);
  Encoded encoded = encode_message(message, most, options_.append_bytes, &sent);
  const Index end = append.prev_log_index + sent;
  peer.commit = std::min<Index>(append.leader_commit, end);
  transport_.send(receiver(message), std::move(encoded.header), std::move(encoded.body));
  if (sent == append.n_entries) return 0;
  if (sent > 0) {
    peer.awaited = end;
    peer.sent_ms = now_ms();
  }
  return RAFT_TOOBIG;
}

// Fault 14: a configuration leaves when it is on our disk. If this leader loses its power before,
// the server that the entry takes the vote from must not be the only one to have it.
std::size_t RaftIo::entries_before_open_change(const raft_append_entries& append) const {
  for (unsigned i = 0; i < append.n_entries; ++i) {
    const Index index = append.prev_log_index + 1 + i;
    if (append.entries[i].type == RAFT_CHANGE && index > raft_.last_stored) return i;
  }
  return kAll;
}

// Fault 16: who is asked for a pre-vote of a term that it has passed refuses it with the number of
// that term. The candidate, whose log may be the only one that can win, never learns of ours.
void RaftIo::send_vote(const raft_message& message) {
  raft_message corrected = message;
  raft_request_vote_result& result = corrected.request_vote_result;
  if (!result.vote_granted) result.term = std::max<Term>(result.term, raft_.current_term);
  transmit(corrected);
}

// Fault 2: no follower says that it has more of the leader's log than a message of this term has
// shown. libraft 0.15 names its last entry, which may be a leftover of another term, and answers
// the present leader for entries that a former one sent.
void RaftIo::send_result(const raft_message& message) {
  raft_message corrected = message;
  raft_append_entries_result& result = corrected.append_entries_result;
  if (result.rejected == 0) {
    if (!answer_) return;
    if (answer_->stale) {
      // An entry that is never the next one's predecessor: it only carries our term.
      result.rejected = 1;
      result.last_log_index = 0;
    } else if (answer_->term != raft_.current_term) {
      return;
    } else {
      result.last_log_index = std::min<Index>(result.last_log_index, answer_->verified);
    }
  }
  transmit(corrected);
}

void RaftIo::finish_send(raft_io_send* request, int status) {
  call([&] { due_.push_back({request, request->cb, status}); });
}

bool RaftIo::commit_unknown_to_others(Index commit) const {
  for (unsigned i = 0; i < raft_.configuration.n; ++i) {
    const raft_server& server = raft_.configuration.servers[i];
    if (server.id == raft_.id || server.role == RAFT_SPARE) continue;
    const auto found = peers_.find({static_cast<std::uint32_t>(server.id)});
    if (found == peers_.end() || found->second.commit < commit) return true;
  }
  return false;
}

}  // namespace ringtail::cluster::raft
