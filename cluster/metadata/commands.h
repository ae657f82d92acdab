// Changes of the metadata. A command is applied by every replica in the same order and has the same
// outcome everywhere: Store::apply() depends on nothing but the store and the command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

// Creates or replaces (a vhost's limits stay as they are); creation brings the pre-declared
// exchanges.
struct PutVhost {
  VhostRecord record;
};

// Removes all that is in the vhost, its permissions and policies too.
struct DeleteVhost {
  std::string name;
};

struct SetVhostLimits {
  std::string vhost;
  VhostLimits limits;  // in the place of all that was set
};

// Creates or replaces (limits stay as they are).
struct PutUser {
  UserRecord record;
};

// Removes the user's permissions too.
struct DeleteUser {
  std::string name;
};

struct SetUserLimits {
  std::string user;
  UserLimits limits;
};

struct PutPermission {
  PermissionRecord record;
};

struct DeletePermission {
  std::string vhost;
  std::string user;
};

struct PutTopicPermission {
  TopicPermissionRecord record;
};

// `exchange` none: those for all exchanges of the vhost.
struct DeleteTopicPermission {
  std::string vhost;
  std::string user;
  std::optional<std::string> exchange;
};

// Creates or replaces; acts on the queues and exchanges of the vhost at once. What the record says
// has been validated.
struct PutPolicy {
  PolicyRecord record;
};

struct DeletePolicy {
  std::string vhost;
  std::string name;
  bool of_operator = false;
};

struct PutParameter {
  ParameterRecord record;
};

struct DeleteParameter {
  std::string component;
  std::string vhost;
  std::string name;
};

// Creates the exchange unless one of that name exists; equivalence is the caller's to judge.
struct DeclareExchange {
  ExchangeRecord record;
};

struct DeleteExchange {
  std::string vhost;
  std::string name;
  bool if_unused = false;
};

// Creates the queue unless one of that name exists. The store gives it qid and shard: an exclusive
// queue lives on `client_shard`, any other where the fewest queues are.
struct DeclareQueue {
  QueueRecord record;
  ShardId client_shard;
};

// Removes the queue and its bindings. Compares the qid, so that a late delete cannot remove the
// queue's successor.
struct DeleteQueue {
  std::string vhost;
  std::string name;
  Qid qid;
};

struct Bind {
  BindingRecord record;
};

struct Unbind {
  BindingRecord record;
};

using Command =
    std::variant<PutVhost, DeleteVhost, SetVhostLimits, PutUser, DeleteUser, SetUserLimits,
                 PutPermission, DeletePermission, PutTopicPermission, DeleteTopicPermission,
                 PutPolicy, DeletePolicy, PutParameter, DeleteParameter, DeclareExchange,
                 DeleteExchange, DeclareQueue, DeleteQueue, Bind, Unbind>;

enum class Outcome : std::uint8_t {
  kDone,       // created, removed, bound, unbound
  kUnchanged,  // it was so already: exists, is absent, is bound, is not bound
  kReplaced,   // a Put: there was one, and it was changed
  kNoVhost,
  kNoUser,
  kQueueLimit,     // the vhost has as many queues as its limit allows
  kNoExchange,     // of a binding: the source
  kNoDestination,  // of a binding: the destination queue or exchange
  kInUse,          // exchange delete if-unused: it is the source of bindings
};

// What came of a command. The records are those in force after it (null when there is none).
struct CommandResult {
  Outcome outcome = Outcome::kDone;
  std::shared_ptr<const QueueRecord> queue;
  std::shared_ptr<const ExchangeRecord> exchange;
};

}  // namespace ringtail::cluster::metadata
