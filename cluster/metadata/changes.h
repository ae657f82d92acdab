// The changes that a command makes to records, one by one: what a journal keeps (service.h). Only
// records that outlive a restart are told of; docs/FORMATS.md lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

// One of these, borrowed.
using AnyRecord =
    std::variant<const VhostRecord*, const UserRecord*, const PermissionRecord*,
                 const TopicPermissionRecord*, const PolicyRecord*, const ParameterRecord*,
                 const ExchangeRecord*, const QueueRecord*, const BindingRecord*>;

// kErase: the record is named by its key fields; the others do not count.
enum class ChangeKind : std::uint8_t { kPut, kErase };

class ChangeSink {
 public:
  virtual ~ChangeSink() = default;
  // In the order in which the changes happened; within the command that makes them.
  virtual void changed(ChangeKind kind, AnyRecord record) = 0;
};

// All that outlives a restart, as a start finds it: what a store begins with. Records lie in the
// order of their creation.
struct SavedState {
  std::vector<std::shared_ptr<const VhostRecord>> vhosts;
  std::vector<std::shared_ptr<const UserRecord>> users;
  std::vector<std::shared_ptr<const PermissionRecord>> permissions;
  std::vector<std::shared_ptr<const TopicPermissionRecord>> topic_permissions;
  std::vector<std::shared_ptr<const PolicyRecord>> policies;
  std::vector<std::shared_ptr<const ParameterRecord>> parameters;
  std::vector<std::shared_ptr<const ExchangeRecord>> exchanges;
  std::vector<std::shared_ptr<const QueueRecord>> queues;
  std::vector<BindingRecord> bindings;
  std::uint64_t first_qid = 1;  // above every qid that was ever given

  bool empty() const { return vhosts.empty() && users.empty(); }
};

}  // namespace ringtail::cluster::metadata
