// Changes of the metadata. A command is applied by every replica in the same order and has the same
// outcome everywhere: Store::apply() depends on nothing but the store and the command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

struct DeclareVhost {
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

using Command = std::variant<DeclareVhost, DeclareExchange, DeleteExchange, DeclareQueue,
                             DeleteQueue, Bind, Unbind>;

enum class Outcome : std::uint8_t {
  kDone,       // created, removed, bound, unbound
  kUnchanged,  // it was so already: exists, is absent, is bound, is not bound
  kNoVhost,
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
