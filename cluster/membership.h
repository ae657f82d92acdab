// Who has a vote: brings Raft's configuration to what the metadata says of the nodes, one change at
// a time, on the leader. Pure functions.
//
//   CL14  A node that is up votes, or will soon. One that stopped in order gets the log and has no
//         vote, so that those left are a majority of those who vote, down to the last one. One that
//         was lost keeps its vote: nobody knows what it has promised.
//   CL15  A node that wants to join gets the log first, begins its first life through it, and only
//         then has a vote.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cluster/link_identity.h"
#include "cluster/metadata/view.h"
#include "cluster/raft/types.h"

namespace ringtail::cluster {

// A server's address in Raft's configuration: "<number> <name> <host> <port>". It is what a node
// knows of the others before it has the metadata.
struct MemberAddress {
  runtime::NodeId node;
  std::string name;
  PeerAddress where;

  friend bool operator==(const MemberAddress&, const MemberAddress&) = default;
};
std::string to_text(const MemberAddress& member);
std::optional<MemberAddress> parse_member(std::string_view text);

struct MemberChange {
  enum class Kind : std::uint8_t { kAdd, kAssign, kRemove };
  Kind kind = Kind::kAdd;
  runtime::NodeId node;
  std::string address = {};                // kAdd
  raft::Role role = raft::Role::kStandby;  // kAssign
};

// The next change for the leader `self` to ask for; none: all is as it should be. `joining`: those
// that asked for it and have no life yet; a server that is neither a node nor joining goes.
std::optional<MemberChange> next_change(const raft::Configuration& configuration,
                                        const metadata::View& view, runtime::NodeId self,
                                        const std::map<runtime::NodeId, std::string>& joining);

}  // namespace ringtail::cluster
