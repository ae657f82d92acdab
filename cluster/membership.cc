#include "cluster/membership.h"

#include <algorithm>
#include <vector>

#include "broker/runtime/parse_number.h"

namespace ringtail::cluster {

using raft::Role;
using raft::Server;
using runtime::NodeId;
using runtime::parse_number;

namespace {

// What a server that is in the configuration should be; none: it should not be there.
std::optional<Role> wanted_role(const Server& server, const metadata::View& view,
                                const std::map<NodeId, std::string>& joining) {
  const auto record = view.node(server.id);
  if (record == nullptr) {
    if (joining.contains(server.id)) return Role::kStandby;
    return std::nullopt;
  }
  if (record->up) return Role::kVoter;
  return record->stopped ? Role::kStandby : server.role;
}

}  // namespace

std::string to_text(const MemberAddress& member) {
  return std::to_string(member.node.value) + " " + member.name + " " + member.where.host + " " +
         std::to_string(member.where.port);
}

std::optional<MemberAddress> parse_member(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  MemberAddress member;
  if (parts.size() != 4 || !parse_number(parts[0], member.node.value) || member.node.value == 0 ||
      parts[1].empty() || parts[2].empty() || !parse_number(parts[3], member.where.port)) {
    return std::nullopt;
  }
  member.name = parts[1];
  member.where.host = parts[2];
  return member;
}

std::optional<MemberChange> next_change(const raft::Configuration& configuration,
                                        const metadata::View& view, NodeId self,
                                        const std::map<NodeId, std::string>& joining) {
  // Votes are given before they are taken, and servers added before others are removed: a cluster
  // that changes is never smaller than before and after.
  for (const auto& [node, address] : joining) {
    const bool there = std::any_of(configuration.begin(), configuration.end(),
                                   [id = node](const Server& server) { return server.id == id; });
    if (!there) return MemberChange{MemberChange::Kind::kAdd, node, address};
  }
  std::optional<MemberChange> taking;
  for (const Server& server : configuration) {
    const std::optional<Role> wanted = wanted_role(server, view, joining);
    if (server.id == self || wanted == server.role) continue;
    if (!wanted) {
      taking = MemberChange{MemberChange::Kind::kRemove, server.id};
    } else if (*wanted == Role::kVoter || server.role == Role::kSpare) {
      return MemberChange{MemberChange::Kind::kAssign, server.id, {}, *wanted};
    } else {
      taking = MemberChange{MemberChange::Kind::kAssign, server.id, {}, *wanted};
    }
  }
  return taking;
}

}  // namespace ringtail::cluster
