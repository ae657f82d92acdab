#include "cluster/metadata/mirror_placement.h"

#include <algorithm>
#include <tuple>

namespace ringtail::cluster::metadata {

namespace {

using Kind = PlacementStepKind;
using Nodes = std::span<const PlacementNode>;
using Ids = std::vector<NodeId>;

bool among(std::span<const NodeId> ids, NodeId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const QueueMember* member_on(const QueueView& view, NodeId node) {
  const auto found = std::find_if(view.members.begin(), view.members.end(),
                                  [node](const QueueMember& one) { return one.node == node; });
  return found == view.members.end() ? nullptr : &*found;
}

std::size_t copies_wanted(const Mirrors& wish, Nodes nodes) {
  if (wish.mode == MirrorMode::kMajority) return nodes.size() / 2 + 1;
  return static_cast<std::size_t>(std::max<std::uint64_t>(1, wish.count));
}

Ids listed(const Mirrors& wish, Nodes nodes) {
  Ids ids;
  for (const std::string& name : wish.nodes) {
    for (const PlacementNode& node : nodes) {
      if (node.up && node.name == name && !among(ids, node.id)) ids.push_back(node.id);
    }
  }
  return ids;
}

// `first`, which are not to be moved without need, then others until there are as many as wanted:
// those that have just been members before those with the fewest copies.
Ids filled_up(Ids first, std::size_t count, Nodes nodes, std::span<const NodeId> former) {
  std::vector<const PlacementNode*> others;
  for (const PlacementNode& node : nodes) {
    if (node.up && !among(first, node.id)) others.push_back(&node);
  }
  const auto rank = [former](const PlacementNode& node) {
    return std::tuple(!among(former, node.id), node.copies, node.name);
  };
  std::sort(others.begin(), others.end(),
            [&rank](const auto* a, const auto* b) { return rank(*a) < rank(*b); });
  for (const PlacementNode* node : others) {
    if (first.size() >= count) break;
    first.push_back(node->id);
  }
  if (first.size() > count) first.resize(count);
  return first;
}

// The nodes that are up and are to have a copy, those that would rather lead first. In a view that
// is led no member has ended, and members in sync come first.
Ids wanted(const std::optional<Mirrors>& wish, const QueueView& view, Nodes nodes,
           std::span<const NodeId> former) {
  Ids ids;
  if (!wish) return {view.members.front().node};
  for (const QueueMember& member : view.members) ids.push_back(member.node);
  switch (wish->mode) {
    case MirrorMode::kAll:
      return filled_up(std::move(ids), nodes.size(), nodes, {});
    case MirrorMode::kNodes: {
      Ids named = listed(*wish, nodes);
      return named.empty() ? ids : named;  // none of them is there: all stays as it is
    }
    case MirrorMode::kExactly:
    case MirrorMode::kMajority:
      return filled_up(std::move(ids), copies_wanted(*wish, nodes), nodes, former);
  }
  return ids;
}

}  // namespace

PlacementStep next_step(const std::optional<Mirrors>& wish, const QueueView& view, Nodes nodes,
                        std::span<const NodeId> former) {
  if (!wish && view.members.size() == 1) return {Kind::kUnmirror, view.members.front().node};
  if (view.vacant() || !view.led()) return {};
  const Ids ids = wanted(wish, view, nodes, former);
  bool all_in_sync = true;
  for (const NodeId id : ids) {
    const QueueMember* member = member_on(view, id);
    if (member == nullptr) return {Kind::kJoin, id};
    all_in_sync = all_in_sync && member->in_sync;
  }
  for (const QueueMember& member : view.members) {
    if (!member.in_sync && !among(ids, member.node)) return {Kind::kLeave, member.node};
  }
  if (!all_in_sync) return {};
  if (!among(ids, view.members.front().node)) return {Kind::kLead, ids.front()};
  for (const QueueMember& member : view.members) {
    if (!among(ids, member.node)) return {Kind::kLeave, member.node};
  }
  return {};
}

std::vector<NodeId> first_mirrors(const Mirrors& wish, NodeId home, Nodes nodes) {
  Ids ids = {home};
  switch (wish.mode) {
    case MirrorMode::kAll:
      ids = filled_up(std::move(ids), nodes.size(), nodes, {});
      break;
    case MirrorMode::kNodes:
      for (const NodeId id : listed(wish, nodes)) ids.push_back(id);
      break;
    case MirrorMode::kExactly:
    case MirrorMode::kMajority:
      ids = filled_up(std::move(ids), copies_wanted(wish, nodes), nodes, {});
      break;
  }
  std::vector<NodeId> by_name;
  for (const PlacementNode& node : nodes) {
    if (node.id != home && among(ids, node.id)) by_name.push_back(node.id);
  }
  return by_name;
}

}  // namespace ringtail::cluster::metadata
