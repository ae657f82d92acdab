// The servers of the cluster: one change at a time, each of as many steps of libraft as it takes.
#include <fmt/format.h>

#include <utility>

#include "cluster/raft/raft_node.h"

namespace ringtail::cluster::raft {

using runtime::Code;
using runtime::NodeId;
using runtime::Status;

const struct raft_server* RaftNode::server(NodeId id) const {
  for (unsigned i = 0; i < raft_.configuration.n; ++i) {
    if (raft_.configuration.servers[i].id == id.value) return &raft_.configuration.servers[i];
  }
  return nullptr;
}

bool RaftNode::only_voter(NodeId id) const {
  for (unsigned i = 0; i < raft_.configuration.n; ++i) {
    const struct raft_server& other = raft_.configuration.servers[i];
    if (other.role == RAFT_VOTER && other.id != id.value) return false;
  }
  return true;
}

// A leader that has cut itself off with an entry that no other has would neither vote for another
// nor, as no voter of its own log, become leader again.
void RaftNode::set_server(Server server, Done done) {
  if (server.id == options_.id && server.role != Role::kVoter && leads()) {
    return done({Code::kInvalid, "a leader does not demote itself; it hands over before"});
  }
  begin_change({std::move(server), false, true, std::move(done)});
}

void RaftNode::remove_server(NodeId id, Done done) {
  if (id == options_.id) {
    return done({Code::kInvalid, "a leader does not remove itself; it hands over before"});
  }
  begin_change({{id, {}, Role::kSpare}, true, true, std::move(done)});
}

// libraft allows changes before the barrier has committed; then two of them may stand in the log
// that were never both agreed on.
void RaftNode::begin_change(Change change) {
  if (failed_ || closing_ || !leads()) {
    return change.done({Code::kUnavailable, "this node does not lead the cluster"});
  }
  if (change_) return change.done({Code::kBusy, "another change of the cluster is under way"});
  const bool ends_voting = change.remove || change.server.role != Role::kVoter;
  if (ends_voting && only_voter(change.server.id)) {
    return change.done({Code::kInvalid, fmt::format("node {} is the only voter of the cluster",
                                                    change.server.id.value)});
  }
  if (change.server.address.size() > kMaxAddressBytes || raft_.configuration.n >= kMaxServers) {
    return change.done({Code::kInvalid, "too many servers, or an address that is too long"});
  }
  change_ = std::move(change);
  want_turn_end();
}

void RaftNode::change_step() {
  if (!change_ || !change_->due || failed_ || closing_) return;
  if (!leads()) return end_change({Code::kUnavailable, "this node lost the lead of the cluster"});
  // The change before it has not committed. This one is looked at again when something has.
  if (raft_.configuration_uncommitted_index != 0) return;
  change_->due = false;
  change_request_.data = this;
  int asked = 0;
  io_.call([&] { asked = next_change_call(); });
  if (asked == 0) return;
  if (asked == RAFT_CANTCHANGE) {
    change_->due = true;
  } else if (asked == RAFT_NOTLEADER) {
    end_change({Code::kUnavailable, "this node does not lead the cluster"});
  } else {
    end_change({Code::kInvalid, raft_strerror(asked)});
  }
}

int RaftNode::next_change_call() {
  const auto done = [](struct ::raft_change* request, int status) {
    static_cast<RaftNode*>(request->data)->change_called(status);
  };
  const Server& wanted = change_->server;
  const struct raft_server* const present = server(wanted.id);
  if (change_->remove) {
    if (present == nullptr) {
      end_change({});
      return 0;
    }
    return raft_remove(&raft_, &change_request_, wanted.id.value, done);
  }
  if (present == nullptr) {
    return raft_add(&raft_, &change_request_, wanted.id.value, wanted.address.c_str(), done);
  }
  const int role = static_cast<int>(wanted.role);
  if (present->role == role) {
    end_change({});
    return 0;
  }
  const bool by_way_of_standby = role == RAFT_VOTER && present->role == RAFT_SPARE;
  return raft_assign(&raft_, &change_request_, wanted.id.value,
                     by_way_of_standby ? RAFT_STANDBY : role, done);
}

// Inside of libraft: the next step follows at the end of the turn.
void RaftNode::change_called(int status) {
  if (!change_) return;
  if (status == 0) {
    change_->due = true;
  } else if (status == RAFT_NOCONNECTION) {
    end_change(
        {Code::kTimeout, fmt::format("node {} does not catch up", change_->server.id.value)});
  } else {
    end_change({Code::kUnavailable, "this node lost the lead of the cluster"});
  }
}

void RaftNode::end_change(const Status& status) {
  const Done done = std::move(change_->done);
  change_.reset();
  // Not from inside of libraft.
  Batch told;
  told.done = [done, status](Proposed, Index) { done(status); };
  finish(std::move(told), Proposed::kApplied);
  want_turn_end();
}

void RaftNode::transfer_leadership(NodeId to, Done done) {
  if (failed_ || closing_ || !leads()) {
    return done({Code::kUnavailable, "this node does not lead the cluster"});
  }
  if (transfer_done_) return done({Code::kBusy, "the lead is being handed over"});
  if (change_) return done({Code::kBusy, "a change of the cluster is under way"});
  submit_proposals();
  transfer_done_ = std::move(done);
  transfer_request_.data = this;
  int asked = 0;
  io_.call([&] {
    asked =
        raft_transfer(&raft_, &transfer_request_, to.value, [](struct ::raft_transfer* request) {
          static_cast<RaftNode*>(request->data)->transferred();
        });
  });
  if (asked == 0) return;
  const Done refused = std::exchange(transfer_done_, nullptr);
  refused({Code::kInvalid, raft_strerror(asked)});
}

void RaftNode::transferred() {
  raft_id id = 0;
  const char* address = nullptr;
  if (raft_.state == RAFT_FOLLOWER) raft_leader(&raft_, &id, &address);
  const bool moved = id == transfer_request_.id;
  Batch told;
  told.done = [done = std::exchange(transfer_done_, nullptr), moved](Proposed, Index) {
    done(moved ? Status() : Status(Code::kTimeout, "the lead was not taken over in time"));
  };
  finish(std::move(told), Proposed::kApplied);
  want_turn_end();
}

}  // namespace ringtail::cluster::raft
