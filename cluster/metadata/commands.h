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

// Creates the queue unless one of that name exists. Its home is the record's, which must be up, or
// with `fewest_queues` the node that is up and leads the fewest (RabbitMQ: min-masters; of several
// the first by name). Where the arguments name nodes for its mirrors the first of them is its home,
// which must be up; where a policy does, one of those that are up, if any is. The store gives it
// qid and shard: an exclusive queue lives on `client_shard`, any other where its home has the
// fewest. A mirrored one has copies, all in sync, on all nodes that are wanted and up.
struct DeclareQueue {
  QueueRecord record;
  ShardId client_shard;
  bool fewest_queues = false;
};

// Removes the queue and its bindings. Compares the qid, so that a late delete cannot remove the
// queue's successor.
struct DeleteQueue {
  std::string vhost;
  std::string name;
  Qid qid;
};

// Of a mirrored queue, by its master. kAdmit: a member that joins is in sync from here on. kEvict:
// a member in sync joins again, as one that has just come. Counts only where epoch and revision are
// the view's; otherwise, and where there is no such member, kUnchanged.
enum class ViewChangeKind : std::uint8_t { kAdmit, kEvict };
struct ChangeView {
  std::string vhost;
  std::string name;
  Qid qid;
  std::uint64_t epoch = 0;
  std::uint64_t revision = 0;
  ViewChangeKind kind = ViewChangeKind::kAdmit;
  NodeId node;
  Life life = 0;
};

// A node says, by itself, that it lives and leads (owner.h): members that have ended are taken out
// of the views of which its present life is the master, where the last mark was `up_to` or before
// (Store::last_mark).
struct LeadQueues {
  NodeId node;
  Life life = 0;
  std::uint64_t up_to = 0;
};

// A member in sync becomes the master. kNoNode: it is none. kNotReady: nobody leads for certain.
struct TransferQueue {
  std::string vhost;
  std::string name;
  Qid qid;
  NodeId node;
};

struct Bind {
  BindingRecord record;
};

struct Unbind {
  BindingRecord record;
};

// Begins the next life of a node, a new node's first one too; a life that it had ends. A node of
// the same name that is down is replaced: it lost its disk, or was never meant to come back, and
// durable queues of which nobody else has a whole copy have the new one as their home, without
// their messages. `record.life` and
// `record.up` do not count. Where the present life was begun with the same `boot` nothing happens,
// nor for the number of a node that was forgotten or replaced (kNoNode).
struct NodeUp {
  NodeRecord record;
};

// Ends that life, if it is the present one: the queues of the node that are not durable go, and the
// exclusive ones. Of mirrored queues that it led the next member in sync is the master, in the next
// epoch; where there is none a durable queue waits for a node that had a whole copy. `in_order`:
// the node itself says so, because it stops. Otherwise it is a leader's verdict, which counts in
// the entries of the leader's own term alone: the next leader may have heard of that node, and
// given it a lease.
struct NodeDown {
  NodeId node;
  Life life = 0;
  bool in_order = false;
  std::uint64_t term = 0;  // of the leader; 0: whatever the term
};

// Forgets a node that is down, and the queues of which nobody else has a whole copy. Its number is
// kept, so that it is never used again.
struct ForgetNode {
  NodeId node;
};

using Command =
    std::variant<PutVhost, DeleteVhost, SetVhostLimits, PutUser, DeleteUser, SetUserLimits,
                 PutPermission, DeletePermission, PutTopicPermission, DeleteTopicPermission,
                 PutPolicy, DeletePolicy, PutParameter, DeleteParameter, DeclareExchange,
                 DeleteExchange, DeclareQueue, DeleteQueue, Bind, Unbind, NodeUp, NodeDown,
                 ForgetNode, ChangeView, LeadQueues, TransferQueue>;

// Whether this is a verdict of a leader in an entry of another leader's term.
inline bool is_void(const Command& command, std::uint64_t term) {
  const auto* const down = std::get_if<NodeDown>(&command);
  return down != nullptr && down->term != 0 && down->term != term;
}

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
  kNoNode,         // there is no such node (any more), or (of a declaration) it is not up
  kNodeUp,         // of a node to forget: it is up; of one that comes: another of its name is up
  kNotReady,       // of a transfer: the queue is not led for certain at the moment
  kUnavailable,    // nobody knows: no majority has agreed in time, it may happen yet
};

// What came of a command. The records are those in force after it (null when there is none).
struct CommandResult {
  Outcome outcome = Outcome::kDone;
  std::shared_ptr<const QueueRecord> queue;
  std::shared_ptr<const ExchangeRecord> exchange;
  std::shared_ptr<const NodeRecord> node = {};
};

}  // namespace ringtail::cluster::metadata
