// What the cluster knows: virtual hosts, users and what they may do, policies, parameters,
// exchanges, queues and bindings. Argument tables are opaque here: the bytes of a field table's
// entries (broker/amqp/field_table.h reads them).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/ids.h"
#include "cluster/metadata/queue_options.h"

namespace ringtail::cluster::metadata {

using runtime::NodeId;
using runtime::Qid;
using runtime::ShardId;

// The connection that owns an exclusive queue, unique in the life of the queue's home; 0: none.
using ConnectionId = std::uint64_t;
// Counts the incarnations of a node; the first is 1. What a life has begun ends with it.
using Life = std::uint64_t;

// A member of the cluster, or one that was and may come back.
struct NodeRecord {
  NodeId id;
  std::string name = {};  // "rabbit@host"; no two nodes have the same
  std::string host = {};  // where peers reach it: a name or a numeric address
  std::uint16_t port = 0;
  std::uint16_t shards = 0;
  Life life = 0;    // the present one, or the last
  bool up = false;  // its present life has not ended
  bool stopped =
      false;  // its last life ended in order: it will be asked for nothing until it is back
  std::uint64_t boot = 0;  // drawn by chance for each life: asking twice for one begins one
};

// A limit that is not set is none.
struct VhostLimits {
  std::optional<std::uint64_t> max_connections = {};
  std::optional<std::uint64_t> max_queues = {};
  bool operator==(const VhostLimits&) const = default;
};

struct VhostRecord {
  std::string name = {};
  std::string description = {};
  std::vector<std::string> tags = {};
  std::string default_queue_type = {};  // "classic", "quorum"; empty: not set
  VhostLimits limits = {};
};

enum class PasswordHashing : std::uint8_t { kSha256, kSha512, kMd5 };

struct UserLimits {
  std::optional<std::uint64_t> max_connections = {};
  std::optional<std::uint64_t> max_channels = {};
  bool operator==(const UserLimits&) const = default;
};

struct UserRecord {
  std::string name = {};
  // 4 bytes of salt and the digest of salt and password, not encoded; empty: no login by password.
  std::string password_hash = {};
  PasswordHashing hashing = PasswordHashing::kSha256;
  std::vector<std::string> tags = {};
  UserLimits limits = {};
};

// What a user may do in a vhost: patterns (PCRE) that a resource's name is matched with. No record:
// the user may not enter.
struct PermissionRecord {
  std::string vhost = {};
  std::string user = {};
  std::string configure = {};
  std::string write = {};
  std::string read = {};
};

// Patterns that routing keys of one topic exchange are matched with. No record: any key.
struct TopicPermissionRecord {
  std::string vhost = {};
  std::string user = {};
  std::string exchange = {};
  std::string write = {};
  std::string read = {};
};

enum class PolicyTarget : std::uint8_t { kAll, kQueues, kExchanges, kClassicQueues, kQuorumQueues };

struct PolicyRecord {
  std::string vhost = {};
  std::string name = {};
  bool of_operator = false;  // an operator policy; names of the two kinds are apart
  std::string pattern = {};  // PCRE, of the names of queues and exchanges
  PolicyTarget apply_to = PolicyTarget::kAll;
  std::int64_t priority = 0;
  PolicyDefinition definition = {};
};

// A runtime parameter. Policies and vhost limits, which RabbitMQ keeps among them, are records of
// their own here. `vhost` and `component` are empty for a global parameter.
struct ParameterRecord {
  std::string component = {};
  std::string vhost = {};
  std::string name = {};
  std::string value = {};  // JSON text
};

struct ExchangeRecord {
  std::string vhost = {};
  std::string name = {};
  std::string type = {};
  bool durable = false;
  bool auto_delete = false;
  bool internal = false;
  bool predeclared = false;  // the default exchange and amq.*: never deleted
  std::string arguments = {};
  std::shared_ptr<const EffectivePolicy> policy = {};  // set by the store; null: none
};

// One copy of a mirrored queue: on a node, in one of its lives.
struct QueueMember {
  NodeId node;
  Life life = 0;
  ShardId shard;  // of that node
  // The revision of the first view that this copy was in; 1: the queue's first copies. A copy that
  // goes on in another life of its node keeps it: it names the copy's files.
  std::uint64_t joined = 0;
  // It has all that is committed: nothing is committed without it, and it may lead. Otherwise it
  // joins.
  bool in_sync = false;
  // Its life has ended. Only members that were in sync are kept then: such a one has all that is
  // persistent on its disk, so that it may lead when its node is back and nobody better is there.
  // Until a master that lives has it taken out (LeadQueues) nothing is committed.
  bool ended = false;
  friend bool operator==(const QueueMember&, const QueueMember&) = default;
};

// Who has the copies of a mirrored queue, and who leads. Only the metadata changes it.
struct QueueView {
  std::uint64_t epoch = 1;     // grows with each new master
  std::uint64_t revision = 1;  // grows with every change
  // In ring order: the master, those in sync by age, those that join. Those that have ended are
  // where they were; one that has ended is first only while nobody can lead.
  std::vector<QueueMember> members;
  // While members have ended: the number of the mark (LeadQueues) that was set when the last of
  // them did, or when the master became that.
  std::uint64_t marked = 0;

  // Nobody can lead.
  bool vacant() const { return members.empty() || members.front().ended; }
  // The master has said, since it became that and since a member in sync ended, that it lives.
  bool led() const {
    return std::none_of(members.begin(), members.end(),
                        [](const QueueMember& member) { return member.ended; });
  }
  friend bool operator==(const QueueView&, const QueueView&) = default;
};

struct QueueRecord {
  Qid qid;
  NodeId home;    // where its master lives, or lived last
  ShardId shard;  // of that node
  std::string vhost = {};
  std::string name = {};
  bool durable = false;
  bool auto_delete = false;
  ConnectionId exclusive_owner = 0;
  std::string arguments = {};
  QueueOptions options = {};  // the arguments decoded, by whoever declares the queue
  std::shared_ptr<const EffectivePolicy> policy = {};  // set by the store; null: none
  // Null: it is not mirrored. `home` and `shard` are the first member's.
  std::shared_ptr<const QueueView> view = {};
  // Of the last view that it had, while it has none: the next one goes on from there. 0: it had
  // none.
  std::uint64_t last_epoch = 0;
  std::uint64_t last_revision = 0;
  std::uint64_t epoch() const { return view == nullptr ? 0 : view->epoch; }
  bool exclusive() const { return exclusive_owner != 0; }
  bool owned_by(NodeId node, ConnectionId connection) const {
    return exclusive_owner == connection && home == node;
  }
  runtime::Address address() const { return {home, shard, runtime::ActorId{qid.value}}; }
};

enum class DestinationKind : std::uint8_t { kQueue, kExchange };

struct BindingRecord {
  std::string vhost = {};
  std::string source = {};  // an exchange
  DestinationKind kind = DestinationKind::kQueue;
  std::string destination = {};
  std::string routing_key = {};
  std::string arguments = {};
  friend bool operator==(const BindingRecord&, const BindingRecord&) = default;
};

}  // namespace ringtail::cluster::metadata
