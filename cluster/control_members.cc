// The other nodes: links to them, nodes that want to join, and who has a vote (membership.h).
#include <algorithm>
#include <utility>

#include "broker/runtime/log.h"
#include "cluster/control.pb.h"
#include "cluster/control_kinds.h"
#include "cluster/control_plane.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

using metadata::NodeRecord;
using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;
using runtime::Status;

namespace {

// A server that was added and has not begun a life after this long is taken away again.
constexpr std::uint64_t kJoinTimeoutMs = 60'000;
constexpr std::uint64_t kChangeAgainMs = 500;
// For so long a node that was forgotten stays a server: Raft tells it what is agreed on with each.
constexpr std::uint64_t kForgottenHeartbeats = 4;

std::string encoded(const wire::Answer& answer) { return answer.SerializeAsString(); }

wire::Member member_of(const MemberAddress& member) {
  wire::Member out;
  out.set_node(member.node.value);
  out.set_address(to_text(member));
  return out;
}

}  // namespace

// --- messages ------------------------------------------------------------------------------------

void ControlPlane::control_received(NodeId from, NodeLife, ControlKind kind,
                                    std::string_view header,
                                    std::span<const std::uint8_t> body) noexcept {
  if (failed_ || state_ == State::kForming || state_ == State::kClosed) return;
  switch (kind) {
    case kRaftMessage:
      if (from == raft_.leader()) led_ms_ = now_ms();
      return raft_.received(from, header, runtime::as_text(body));
    case kProposal:
      // Who proposed it gives it to the next leader again.
      if (raft_.leads()) raft_.propose({std::string(header)}, [](raft::Proposed, raft::Index) {});
      return;
    case kHeartbeat:
      return heartbeat_came(from, header);
    case kLeaseAnswer:
      return lease_answered(from, header);
    case kRound:
      return round_came(from, header);
    case kRoundAcknowledged:
      return round_acknowledged(from, header);
    case kAppliedHere:
      return applied_came(from, header);
    case kAppliedEverywhere:
      return applied_everywhere_came(header);
    default:
      return;  // of a later version
  }
}

void ControlPlane::control_connected(NodeId node) noexcept {
  watch_.set_process_gone(node, false, now_ms());
}

void ControlPlane::control_disconnected(NodeId node, LinkEnd end, const Status& why) noexcept {
  if (end == LinkEnd::kForgotten) return own_node_forgotten();
  if (end != LinkEnd::kRefused) return;
  log(LogLevel::kDebug, "cluster", "node {} does not run: {}", name_of(node), why.text());
  watch_.set_process_gone(node, true, now_ms());
  if (state_ == State::kForming || state_ == State::kClosed || failed_) return;
  if (raft_.leads()) {
    declare_down(now_ms());
    tell_applied_everywhere();
  } else if (node == raft_.leader()) {
    raft_.leader_seen_dead(node, rank_without(node));
  }
}

// Without a majority nobody is declared down, however long he is gone.
void ControlPlane::look_who_is_reached(std::uint64_t now) {
  std::map<NodeId, Reach> reach;
  owner_.store().for_each_node([&](const std::shared_ptr<const NodeRecord>& node) {
    if (!node->up || node->id == identity_.node) return;
    const auto known = reach_.find(node->id);
    Reach& one = reach[node->id];
    if (known != reach_.end()) one = known->second;
    const bool connected = hub_.control().is_connected(node->id);
    if (connected || known == reach_.end()) one.last_ms = now;
    const bool unreached = now - one.last_ms >= kUnreachedMs;
    if (unreached == one.told) return;
    one.told = unreached;
    log(LogLevel::kWarning, "cluster", "{} {}", node->name,
        unreached ? "cannot be reached, and nobody has declared it down" : "is reached again");
    hub_.directory().set_reached(node->id, !unreached);
  });
  reach_ = std::move(reach);
}

unsigned ControlPlane::rank_without(NodeId leader) const {
  unsigned rank = 0;
  for (const raft::Server& server : raft_.members()) {
    if (server.role == raft::Role::kVoter && server.id != leader && server.id < identity_.node) {
      ++rank;
    }
  }
  return rank;
}

// --- links ---------------------------------------------------------------------------------------

void ControlPlane::watch_nodes() {
  std::map<NodeId, metadata::Life> up;
  owner_.store().for_each_node([&up](const auto& node) {
    if (node->up) up.emplace(node->id, node->life);
  });
  watch_.set_nodes(up, now_ms());
}

void ControlPlane::node_changed(const std::shared_ptr<const NodeRecord>& record) {
  watch_nodes();
  joining_.erase(record->id);
  if (record->id == identity_.node) return;
  // A life that nobody has been told of yet, as to whether it is reached.
  const auto seen = seen_.find(record->id);
  if (seen == seen_.end() || seen->second.first != record->life) reach_.erase(record->id);
  tell_of_change(*record);
  const std::vector<PeerAddress> addresses = {{record->host, record->port}};
  hub_.control().add_peer(record->id, record->name, addresses);
  linked_.insert(record->id);
  if (record->up) {
    hub_.directory().peer_up({record->id, record->name, record->life, record->shards, addresses});
  } else {
    hub_.directory().peer_down(record->id);
  }
}

// To the log. A node that starts reads of many lives that are long over, and says nothing of them.
void ControlPlane::tell_of_change(const NodeRecord& record) {
  const std::pair now(record.life, record.up);
  const auto before = std::exchange(seen_[record.id], now);
  if (before == now || (state_ != State::kServing && state_ != State::kLeaving)) return;
  if (record.up) {
    log(LogLevel::kInfo, "cluster", "node {} begins its life {}", record.name, record.life);
  } else if (record.stopped) {
    log(LogLevel::kInfo, "cluster", "node {} has stopped", record.name);
  } else if (!raft_.leads()) {  // who leads has said so
    log(LogLevel::kWarning, "cluster", "node {} is down: its life {} has ended", record.name,
        record.life);
  }
}

void ControlPlane::node_removed(const NodeRecord& record) {
  watch_nodes();
  const std::uint64_t now = now_ms();
  joining_until_[record.id] = now;  // it is not one that joins
  std::erase_if(told_until_, [now](const auto& entry) { return entry.second <= now; });
  told_until_[record.id] = now + kForgottenHeartbeats * options_.times.heartbeat_ms;
  if (record.id == identity_.node) return;  // own_node_forgotten() follows
  seen_.erase(record.id);
  if (state_ == State::kServing || state_ == State::kLeaving) {
    const bool replaced = owner_.store().node_named(record.name) != nullptr;
    log(LogLevel::kInfo, "cluster", "{}node {} is forgotten", replaced ? "the former " : "",
        record.name);
  }
  hub_.directory().peer_down(record.id);
  hub_.control().end_inbound(record.id);
}

void ControlPlane::state_restored() {
  owner_.store().for_each_forgotten([this](NodeId id) { hub_.control().end_inbound(id); });
}

// Who connects again is told that it is forgotten. One that was cut off or frozen meanwhile hears
// of it in no other way: it is in nobody's log any more.
Refusal ControlPlane::admit_control(const LinkHello& hello, std::string& reason) const {
  const metadata::Store& store = const_cast<metadata::Owner&>(owner_).store();
  if (!store.is_forgotten(hello.identity.node)) return Refusal::kNone;
  reason = "the cluster of " + options_.name + " has forgotten " + hello.identity.name;
  return Refusal::kForgotten;
}

void ControlPlane::keep_links(const std::vector<MemberAddress>& members) {
  for (const MemberAddress& member : members) {
    if (member.node == identity_.node) continue;
    hub_.control().add_peer(member.node, member.name, {member.where});
    linked_.insert(member.node);
  }
}

// To all servers and all nodes, and to nobody else. Where the metadata knows a server, it knows
// better where it is.
void ControlPlane::keep_links_to_servers() {
  std::vector<MemberAddress> members;
  std::set<NodeId> wanted;
  for (const raft::Server& server : raft_.members()) {
    if (auto address = server_address(server.id)) members.push_back(*std::move(address));
    wanted.insert(server.id);
  }
  keep_links(members);
  owner_.store().for_each_node([&wanted](const auto& record) { wanted.insert(record->id); });
  // Who is to be a member may not be known yet.
  if (raft_.leader().value == 0 || raft_.members().empty()) return;
  for (auto at = linked_.begin(); at != linked_.end();) {
    if (wanted.contains(*at)) {
      ++at;
    } else {
      hub_.control().remove_peer(*at);
      at = linked_.erase(at);
    }
  }
}

std::optional<MemberAddress> ControlPlane::server_address(NodeId node) const {
  if (const auto record = const_cast<metadata::Owner&>(owner_).store().node(node)) {
    return MemberAddress{node, record->name, {record->host, record->port}};
  }
  for (const raft::Server& server : raft_.members()) {
    if (server.id == node) return parse_member(server.address);
  }
  return std::nullopt;
}

// For the log. A node that joins knows of the others by their links first.
std::string ControlPlane::name_of(NodeId node) const {
  if (node == identity_.node) return options_.name;
  if (const auto address = server_address(node)) return address->name;
  std::string name = const_cast<LinkHub&>(hub_).control().peer_name(node);
  return name.empty() ? std::to_string(node.value) : name;
}

// --- joining -------------------------------------------------------------------------------------

void ControlPlane::control_asked(QuestionId id, const LinkIdentity& from,
                                 std::string_view text) noexcept {
  wire::Question question;
  wire::Answer answer;
  if (!question.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    answer.set_verdict(wire::Answer::REFUSED);
    answer.set_reason("the question is of another version");
  } else if (!question.has_join()) {
    answer.set_verdict(wire::Answer::KNOWN);
  } else if (state_ == State::kForming || failed_ || raft_.leader().value == 0) {
    answer.set_verdict(wire::Answer::LATER);
  } else if (!raft_.leads()) {
    const auto leader = server_address(raft_.leader());
    answer.set_verdict(leader ? wire::Answer::ELSEWHERE : wire::Answer::LATER);
    if (leader) *answer.mutable_leader() = member_of(*leader);
  } else if (const auto who = parse_member(question.join().address());
             who && who->node == from.node && who->name == from.name) {
    return join_asked(id, *who);
  } else {
    answer.set_verdict(wire::Answer::REFUSED);
    answer.set_reason("the question does not say who asks");
  }
  hub_.control().answer(id, encoded(answer));
}

std::string ControlPlane::why_not(const MemberAddress& who) const {
  metadata::Store& store = const_cast<metadata::Owner&>(owner_).store();
  if (store.is_forgotten(who.node)) {
    return "the cluster has forgotten the number " + std::to_string(who.node.value) +
           " of this node: start it with an empty data directory";
  }
  const auto same_number = store.node(who.node);
  if (same_number != nullptr && same_number->name != who.name) {
    return "its number " + std::to_string(who.node.value) + " is that of " + same_number->name +
           ": start it with an empty data directory";
  }
  return {};
}

void ControlPlane::join_asked(QuestionId id, const MemberAddress& who) {
  if (std::string reason = why_not(who); !reason.empty()) {
    wire::Answer answer;
    answer.set_verdict(wire::Answer::REFUSED);
    answer.set_reason(reason);
    return hub_.control().answer(id, encoded(answer));
  }
  // Its former self, perhaps, which has lost its disk and is not known to be down yet.
  const auto same_name = owner_.store().node_named(who.name);
  if (same_name != nullptr && same_name->id != who.node && same_name->up) {
    wire::Answer answer;
    answer.set_verdict(wire::Answer::LATER);
    answer.set_reason("a node named " + who.name + " is up");
    return hub_.control().answer(id, encoded(answer));
  }
  const raft::Configuration servers = raft_.members();
  const bool there =
      std::any_of(servers.begin(), servers.end(), [&who](const raft::Server& server) {
        return server.id == who.node && server.role != raft::Role::kSpare;
      });
  joining_until_[who.node] = now_ms() + kJoinTimeoutMs;
  if (owner_.store().node(who.node) == nullptr) joining_[who.node] = to_text(who);
  if (there) return answer_joined(id);
  log(LogLevel::kInfo, "cluster", "node {} ({}) wants to join", who.name, to_text(who.where));
  join_questions_.emplace(who.node, id);
  change_members();
}

void ControlPlane::answer_joined(QuestionId id) {
  wire::Answer answer;
  answer.set_verdict(wire::Answer::JOINED);
  for (const raft::Server& server : raft_.members()) {
    if (const auto address = server_address(server.id)) *answer.add_members() = member_of(*address);
  }
  hub_.control().answer(id, encoded(answer));
}

// --- votes ---------------------------------------------------------------------------------------

void ControlPlane::change_members() {
  const std::uint64_t now = now_ms();
  if (changing_members_ || !raft_.leads() || now < next_change_ms_) return;
  for (const raft::Server& server : raft_.members()) {
    // Known to Raft alone: it was added by this leader or the one before, and has its time; unless
    // the leader before was about to remove it.
    const metadata::Store& store = owner_.store();
    if (store.node(server.id) != nullptr || store.is_forgotten(server.id)) continue;
    const auto until = joining_until_.emplace(server.id, now + kJoinTimeoutMs).first->second;
    if (now < until) {
      joining_.emplace(server.id, server.address);
    } else {
      joining_.erase(server.id);
    }
  }
  const auto change = next_change(raft_.members(), owner_.store(), identity_.node, joining_);
  if (!change) return;
  if (change->kind == MemberChange::Kind::kRemove) {
    // Whoever is no server hears no more of what was agreed on, and may wait to hear just that.
    const auto told = told_until_.find(change->node);
    if (told != told_until_.end() && now < told->second) return;
  }
  changing_members_ = true;
  const auto done = [this, change = *change](const Status& status) {
    member_changed(change, status);
  };
  if (change->kind == MemberChange::Kind::kRemove) return raft_.remove_server(change->node, done);
  std::string address = change->address;
  for (const raft::Server& server : raft_.members()) {
    if (server.id == change->node) address = server.address;
  }
  const raft::Role role =
      change->kind == MemberChange::Kind::kAdd ? raft::Role::kStandby : change->role;
  raft_.set_server({change->node, address, role}, done);
}

void ControlPlane::member_changed(const MemberChange& change, const Status& status) {
  changing_members_ = false;
  if (!status.ok()) {
    log(LogLevel::kWarning, "cluster", "node {} cannot be given its place: {}",
        name_of(change.node), status.text());
    next_change_ms_ = now_ms() + kChangeAgainMs;
    return;
  }
  const auto [first, last] = join_questions_.equal_range(change.node);
  std::vector<QuestionId> answered;
  for (auto at = first; at != last; ++at) answered.push_back(at->second);
  join_questions_.erase(first, last);
  for (const QuestionId id : answered) answer_joined(id);
}

}  // namespace ringtail::cluster
