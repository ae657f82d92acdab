// Names of things inside the program as types that cannot be mixed up.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace ringtail::runtime {

template <typename Tag, typename Rep>
struct Id {
  Rep value{};
  friend auto operator<=>(const Id&, const Id&) = default;
};

// A node of the cluster: a number that it drew by chance when its data directory was empty, so that
// a node which lost its disk is another one.
using NodeId = Id<struct NodeTag, std::uint32_t>;
using ShardId = Id<struct ShardTag, std::uint16_t>;  // an event loop of a node, from 0
using ActorId = Id<struct ActorTag, std::uint64_t>;  // an actor of a shard; a queue's is its qid

// A queue, for ever: a queue declared again under an old name gets a new one. Never 0.
using Qid = Id<struct QidTag, std::uint64_t>;

// The highest bit tells the two kinds of actor ids apart: a queue's qid never has it,
// ids that Shard::add() invents always do.
inline constexpr std::uint64_t kInventedActorBit = 1ULL << 63;

// Where an actor lives. Letters travel to addresses; nobody holds a pointer across shards.
struct Address {
  NodeId node;
  ShardId shard;
  ActorId actor;
  friend auto operator<=>(const Address&, const Address&) = default;
};

}  // namespace ringtail::runtime

template <typename Tag, typename Rep>
struct std::hash<ringtail::runtime::Id<Tag, Rep>> {
  std::size_t operator()(const ringtail::runtime::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>()(id.value);
  }
};

template <>
struct std::hash<ringtail::runtime::Address> {
  std::size_t operator()(const ringtail::runtime::Address& address) const noexcept {
    return std::hash<std::uint64_t>()(address.actor.value ^
                                      (std::uint64_t{address.node.value} << 40) ^
                                      (std::uint64_t{address.shard.value} << 20));
  }
};
