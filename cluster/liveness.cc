#include "cluster/liveness.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace ringtail::cluster {

namespace {

// Rounds whose beginning is remembered: many more than a lease lasts.
constexpr std::size_t kRoundsKept = 256;

}  // namespace

void LeaderWatch::begin(NodeId self, NodeId former, std::uint64_t applied, std::uint64_t now_ms) {
  leads_ = true;
  told_ = applied;
  everywhere_ = 0;
  self_ = self;
  former_ = former;
  former_ms_.clear();
  electors_.clear();
  rounds_.clear();
  acknowledged_.clear();
  for (auto& [id, node] : nodes_) {
    node.heard_ms = now_ms;
    node.heard = false;
    node.condemned = false;
    node.granted_ms = now_ms;  // by the leader before: nobody knows
    node.applied = 0;
  }
}

void LeaderWatch::end() { leads_ = false; }

void LeaderWatch::set_voters(std::vector<NodeId> voters) {
  if (electors_.empty()) electors_ = voters;
  voters_ = std::move(voters);
}

void LeaderWatch::set_nodes(const std::map<NodeId, Life>& up, std::uint64_t now_ms) {
  std::erase_if(nodes_, [&up](const auto& item) {
    const auto found = up.find(item.first);
    return found == up.end() || found->second != item.second.life;
  });
  for (const auto& [id, life] : up) {
    if (nodes_.contains(id)) continue;
    Node node;
    node.life = life;
    node.known_ms = now_ms;
    node.heard_ms = now_ms;
    nodes_.emplace(id, node);
  }
}

std::uint64_t LeaderWatch::begin_round(std::uint64_t now_ms) {
  rounds_[++last_round_] = now_ms;
  if (rounds_.size() > kRoundsKept) rounds_.erase(rounds_.begin());
  return last_round_;
}

void LeaderWatch::round_acknowledged(NodeId by, std::uint64_t round, std::uint64_t former_ms) {
  std::uint64_t& last = acknowledged_[by];
  last = std::max(last, round);
  former_ms_[by] = former_ms;
}

std::optional<std::uint64_t> LeaderWatch::majority_ms(std::uint64_t now_ms) const {
  if (!leads_) return std::nullopt;
  if (voters_.size() == 1 && voters_.front() == self_) return now_ms;
  std::vector<std::uint64_t> rounds;
  for (const NodeId voter : voters_) {
    if (voter == self_) {
      rounds.push_back(std::numeric_limits<std::uint64_t>::max());
    } else {
      const auto found = acknowledged_.find(voter);
      rounds.push_back(found == acknowledged_.end() ? 0 : found->second);
    }
  }
  if (rounds.empty()) return std::nullopt;
  // The round that as many have reached as make a majority.
  std::sort(rounds.begin(), rounds.end(), std::greater<>());
  const auto began = rounds_.find(rounds[rounds.size() / 2]);
  if (began == rounds_.end()) return std::nullopt;
  return began->second;
}

LeaderWatch::Node* LeaderWatch::find(NodeId node, Life life) {
  const auto found = nodes_.find(node);
  return found == nodes_.end() || found->second.life != life ? nullptr : &found->second;
}

LeaderWatch::Grant LeaderWatch::heard(NodeId node, Life life, std::uint64_t applied,
                                      std::uint64_t now_ms) {
  Node* const known = leads_ ? find(node, life) : nullptr;
  if (known == nullptr) return {};
  known->heard_ms = now_ms;
  known->heard = true;
  known->gone = false;  // what was refused was a process before this one
  known->applied = std::max(known->applied, applied);
  const auto majority = majority_ms(now_ms);
  if (!majority || now_ms - *majority >= times_.lease_ms) return {};
  if (applied < told_ || known->condemned) return {};
  known->granted_ms = now_ms;
  return {true, now_ms - *majority};
}

void LeaderWatch::applied(NodeId node, Life life, std::uint64_t applied) {
  if (Node* const known = find(node, life)) known->applied = std::max(known->applied, applied);
}

void LeaderWatch::set_process_gone(NodeId node, bool gone, std::uint64_t now_ms) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  if (gone && now_ms - found->second.known_ms <= times_.down_ms) return;
  found->second.gone = gone;
}

// A majority of the voters has heard nothing of the former leader since the latest moment that one
// of them names; of all majorities the one that says most.
std::uint64_t LeaderWatch::silent_since_ms(NodeId id, const Node& node) const {
  if (id != former_ || node.heard) return node.heard_ms;
  std::vector<std::uint64_t> moments;
  for (const NodeId voter : electors_) {
    const auto found = former_ms_.find(voter);
    if (found != former_ms_.end()) moments.push_back(found->second);
  }
  const std::size_t majority = electors_.size() / 2 + 1;
  if (moments.size() < majority) return node.heard_ms;
  std::sort(moments.begin(), moments.end());
  return std::min(node.heard_ms, moments[majority - 1]);
}

std::vector<LeaderWatch::Verdict> LeaderWatch::dead(std::uint64_t now_ms) {
  std::vector<Verdict> verdicts;
  if (!leads_) return verdicts;
  for (auto& [id, node] : nodes_) {
    if (id == self_) continue;
    const bool silent =
        now_ms - silent_since_ms(id, node) >= std::max(times_.down_ms, times_.longest_lease_ms());
    node.condemned = node.condemned || node.gone || silent;
    if (node.condemned) verdicts.push_back({id, node.life, node.gone});
  }
  return verdicts;
}

std::uint64_t LeaderWatch::applied_everywhere(std::uint64_t now_ms) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  bool anybody = false;
  for (const auto& [id, node] : nodes_) {
    const bool may_hold_lease =
        node.granted_ms != 0 && now_ms < node.granted_ms + times_.longest_lease_ms();
    if (id != self_ && (!may_hold_lease || node.gone)) continue;
    least = std::min(least, node.applied);
    anybody = true;
  }
  if (!anybody || !leads_) return 0;
  everywhere_ = std::max(everywhere_, least);
  told_ = std::max(told_, everywhere_);
  return everywhere_;
}

}  // namespace ringtail::cluster
