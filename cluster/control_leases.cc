// Leases, rounds, verdicts, and how far everybody is (liveness.h), as messages between control
// shards.
#include <algorithm>
#include <utility>

#include "broker/runtime/log.h"
#include "cluster/control.pb.h"
#include "cluster/control_kinds.h"
#include "cluster/control_plane.h"

namespace ringtail::cluster {

using metadata::CommandResult;
using metadata::NodeDown;
using metadata::NodeRecord;
using metadata::Outcome;
using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;

namespace {

template <typename Message>
bool parse(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

void ControlPlane::tick() {
  if (failed_) return;
  const std::uint64_t now = now_ms();
  keep_links_to_servers();
  look_who_is_reached(now);
  if (raft_.leads()) {
    lead_tick(now);
  } else if (now >= next_heartbeat_ms_) {
    ask_for_lease(now);
  }
  serve_if_possible();
  leave_step();
  retire_step();
}

void ControlPlane::leader_changed(NodeId leader) {
  const std::uint64_t now = now_ms();
  (void)led_before_ms();  // as it is now, before anything of this leader is heard
  if (raft_.leads()) {
    watch_.begin(identity_.node, std::exchange(former_leader_, identity_.node), owner_.index(),
                 now);
    told_everywhere_ = 0;
    declaring_.clear();
    // Servers without a node may be joining: the leader before knew.
    joining_.clear();
    joining_until_.clear();
    watch_voters();
    watch_.applied(identity_.node, life_, applied_here_);
    lead_tick(now);
  } else {
    if (leader.value != 0) former_leader_ = leader;
    watch_.end();
    for (const auto& [node, question] : join_questions_) {
      hub_.control().answer(question, {});
    }
    join_questions_.clear();
  }
  log(LogLevel::kInfo, "cluster", "{} in term {}",
      leader.value == 0 ? "nobody is known to lead" : "node " + name_of(leader) + " leads",
      raft_.term());
  owner_.leader_changed();
  if (leader.value != 0 && !raft_.leads()) ask_for_lease(now);
}

void ControlPlane::watch_voters() {
  std::vector<NodeId> voters;
  for (const raft::Server& server : raft_.members()) {
    if (server.role == raft::Role::kVoter) voters.push_back(server.id);
  }
  watch_.set_voters(std::move(voters));
}

// --- the leader ----------------------------------------------------------------------------------

void ControlPlane::lead_tick(std::uint64_t now) {
  watch_voters();
  if (now >= next_heartbeat_ms_) {
    next_heartbeat_ms_ = now + options_.times.heartbeat_ms;
    wire::Round round;
    round.set_term(raft_.term());
    round.set_round(watch_.begin_round(now));
    const std::string text = round.SerializeAsString();
    watch_.round_acknowledged(identity_.node, round.round(), led_before_ms());
    led_ms_ = now;
    for (const raft::Server& server : raft_.members()) {
      if (server.role != raft::Role::kVoter || server.id == identity_.node) continue;
      hub_.control().send(server.id, kRound, text);
    }
  }
  if (life_ != 0) {
    const LeaderWatch::Grant own = watch_.heard(identity_.node, life_, applied_here_, now);
    if (own.granted) lease_.granted(now, own.round_age_ms, options_.times);
  }
  declare_down(now);
  tell_applied_everywhere();
  change_members();
}

void ControlPlane::declare_down(std::uint64_t now) {
  for (const LeaderWatch::Verdict& verdict : watch_.dead(now)) {
    auto& declared = declaring_[verdict.node];
    if (declared == verdict.life) continue;
    declared = verdict.life;
    log(LogLevel::kWarning, "cluster", "declaring node {} down in its life {}: {}",
        name_of(verdict.node), verdict.life,
        verdict.gone ? "its process has ended" : "it has not been heard of for too long");
    owner_.propose(NodeDown{verdict.node, verdict.life, false, raft_.term()},
                   [this, node = verdict.node](const CommandResult& result) {
                     if (result.outcome == Outcome::kUnavailable) declaring_.erase(node);
                   });
  }
}

void ControlPlane::tell_applied_everywhere() {
  const std::uint64_t index = watch_.applied_everywhere(now_ms());
  if (index <= told_everywhere_) return;
  told_everywhere_ = index;
  wire::AppliedEverywhere message;
  message.set_index(index);
  const std::string text = message.SerializeAsString();
  owner_.store().for_each_node([&](const std::shared_ptr<const NodeRecord>& node) {
    if (!node->up || node->id == identity_.node) return;
    hub_.control().send(node->id, kAppliedEverywhere, text);
  });
  owner_.applied_everywhere(index);
}

void ControlPlane::heartbeat_came(NodeId from, std::string_view header) {
  wire::Heartbeat heartbeat;
  if (!parse(header, heartbeat) || !raft_.leads()) return;
  const LeaderWatch::Grant grant =
      watch_.heard(from, heartbeat.life(), heartbeat.applied(), now_ms());
  wire::LeaseAnswer answer;
  answer.set_life(heartbeat.life());
  answer.set_asked_ms(heartbeat.asked_ms());
  answer.set_granted(grant.granted);
  answer.set_round_age_ms(grant.round_age_ms);
  answer.set_applied_everywhere(told_everywhere_);
  hub_.control().send(from, kLeaseAnswer, answer.SerializeAsString());
  tell_applied_everywhere();
}

void ControlPlane::round_acknowledged(NodeId from, std::string_view header) {
  wire::Round round;
  if (!parse(header, round) || !raft_.leads() || round.term() != raft_.term()) return;
  const std::uint64_t now = now_ms();
  watch_.round_acknowledged(from, round.round(), now - std::min(now, round.former_age_ms()));
}

void ControlPlane::applied_came(NodeId from, std::string_view header) {
  wire::Applied applied;
  if (!parse(header, applied) || !raft_.leads()) return;
  watch_.applied(from, applied.life(), applied.index());
  tell_applied_everywhere();
}

// --- everybody -----------------------------------------------------------------------------------

void ControlPlane::ask_for_lease(std::uint64_t now) {
  next_heartbeat_ms_ = now + options_.times.heartbeat_ms;
  if (life_ == 0 || raft_.leader().value == 0) return;
  wire::Heartbeat heartbeat;
  heartbeat.set_life(life_);
  heartbeat.set_asked_ms(now);
  heartbeat.set_applied(applied_here_);
  hub_.control().send(raft_.leader(), kHeartbeat, heartbeat.SerializeAsString());
}

void ControlPlane::lease_answered(NodeId from, std::string_view header) {
  wire::LeaseAnswer answer;
  if (!parse(header, answer) || from != raft_.leader() || answer.life() != life_) return;
  if (answer.granted() && life_ != 0) {
    lease_.granted(answer.asked_ms(), answer.round_age_ms(), options_.times);
  }
  owner_.applied_everywhere(answer.applied_everywhere());
  serve_if_possible();
}

void ControlPlane::round_came(NodeId from, std::string_view header) {
  wire::Round round;
  if (!parse(header, round) || round.term() != raft_.term()) return;
  const std::uint64_t now = now_ms();
  round.set_former_age_ms(now - led_before_ms());
  led_ms_ = now;
  hub_.control().send(from, kRoundAcknowledged, round.SerializeAsString());
}

// When this node has last heard of a leader of another term. A process knows nothing of the one
// before it, which ended before it began.
std::uint64_t ControlPlane::led_before_ms() {
  if (raft_.term() != led_term_) {
    led_term_ = raft_.term();
    led_before_ms_ = led_ms_;
  }
  return led_before_ms_;
}

void ControlPlane::applied_everywhere_came(std::string_view header) {
  wire::AppliedEverywhere message;
  if (parse(header, message)) owner_.applied_everywhere(message.index());
}

void ControlPlane::applied_here(std::uint64_t index) {
  applied_here_ = index;
  if (raft_.leads()) {
    watch_.applied(identity_.node, life_, index);
    return tell_applied_everywhere();
  }
  if (life_ == 0 || raft_.leader().value == 0) return;
  wire::Applied applied;
  applied.set_life(life_);
  applied.set_index(index);
  hub_.control().send(raft_.leader(), kAppliedHere, applied.SerializeAsString());
}

}  // namespace ringtail::cluster
