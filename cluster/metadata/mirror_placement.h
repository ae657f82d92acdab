// Where the copies of a mirrored queue are to be: from what is to what was asked for, one small
// step at a time, and never a step by which a member in sync goes before those that are to stay in
// its place are in sync.
//
// Pure functions of the metadata: every replica decides alike (store_views.cc takes the steps).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

// A node of the cluster as placement sees it.
struct PlacementNode {
  NodeId id;
  std::string_view name;
  bool up = false;
  std::size_t copies = 0;  // queues and copies of queues that it has
};

enum class PlacementStepKind : std::uint8_t {
  kNone,      // nothing is to be done, or nothing can be for now
  kJoin,      // the node gets a copy
  kLeave,     // the node's member goes
  kLead,      // the node's member, which is in sync, becomes the master
  kUnmirror,  // the only member is a queue without mirrors again
};

struct PlacementStep {
  PlacementStepKind kind = PlacementStepKind::kNone;
  NodeId node = {};
  friend bool operator==(const PlacementStep&, const PlacementStep&) = default;
};

// The next step for a queue with this view. `wish` none: it is not to be mirrored. `nodes`: all of
// the cluster, by name. `former`: nodes whose members have just been taken out because their life
// ended; where several nodes would do they come first. Nothing is done to a queue that nobody leads
// for certain: kNone.
PlacementStep next_step(const std::optional<Mirrors>& wish, const QueueView& view,
                        std::span<const PlacementNode> nodes, std::span<const NodeId> former = {});

// Beside which nodes a new queue of that home has copies from the first, by name.
std::vector<NodeId> first_mirrors(const Mirrors& wish, NodeId home,
                                  std::span<const PlacementNode> nodes);

}  // namespace ringtail::cluster::metadata
