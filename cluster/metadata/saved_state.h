// The whole metadata at one point of the log, records shared: what a snapshot holds, and what a
// replica begins with or goes on with when it was too far behind.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

struct SavedNode {
  std::shared_ptr<const NodeRecord> record;
  std::uint64_t last_request = 0;  // Store::accept
};

// Records lie in the order of their creation; nodes by number. The pre-declared exchanges are not
// among them: they come with their vhost.
struct SavedState {
  std::vector<SavedNode> nodes;
  std::vector<NodeId> forgotten;  // by number
  std::vector<std::shared_ptr<const VhostRecord>> vhosts;
  std::vector<std::shared_ptr<const UserRecord>> users;
  std::vector<std::shared_ptr<const PermissionRecord>> permissions;
  std::vector<std::shared_ptr<const TopicPermissionRecord>> topic_permissions;
  std::vector<std::shared_ptr<const PolicyRecord>> policies;
  std::vector<std::shared_ptr<const ParameterRecord>> parameters;
  std::vector<std::shared_ptr<const ExchangeRecord>> exchanges;
  std::vector<std::shared_ptr<const QueueRecord>> queues;
  std::vector<BindingRecord> bindings;
  std::uint64_t next_qid = 1;   // above every qid that was ever given
  std::uint64_t last_mark = 0;  // Store::last_mark
  std::uint64_t index = 0;      // of the last entry of the log that counts in it
};

}  // namespace ringtail::cluster::metadata
