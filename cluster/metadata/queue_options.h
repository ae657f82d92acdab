// What the arguments of a queue and the policies that match it ask for, decoded: the queue works by
// these, whoever set them.
//
// The names, ranges and the rule of merging are RabbitMQ's: of numbers the smaller counts, of
// everything else the argument before the operator policy before the policy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ringtail::cluster::metadata {

enum class Overflow : std::uint8_t { kDropHead, kRejectPublish, kRejectPublishDlx };
// kQuorum is a client's wish for a queue that is safe: durable and mirrored on a majority.
enum class QueueType : std::uint8_t { kClassic, kQuorum };

// kMajority: of the nodes of the cluster, whether they are up or not.
enum class MirrorMode : std::uint8_t { kAll, kExactly, kNodes, kMajority };

// On which nodes a queue is to have copies, and what is to become of them. Where nothing was said
// it is what loses nothing.
struct Mirrors {
  MirrorMode mode = MirrorMode::kAll;
  std::uint64_t count = 0;  // kExactly: copies, the master's among them; at least 1
  std::vector<std::string> nodes =
      {};                      // kNodes: names in the order given, known to the cluster or not
  bool automatic_sync = true;  // a copy that joins is brought what it lacks, unasked
  // Where nobody in sync is left, after the master's node has stopped in order, or has failed: a
  // copy that is not in sync may lead.
  bool promote_unsynced_on_shutdown = false;
  bool promote_unsynced_on_failure = false;
  std::uint64_t sync_batch_size = 0;  // messages; 0: not set
  bool operator==(const Mirrors&) const = default;
};

struct QueueOptions {
  QueueType type = QueueType::kClassic;
  std::optional<std::uint64_t> message_ttl_ms;         // 0: delivered at once or dropped
  std::optional<std::uint64_t> expires_ms;             // at least 1; unused that long: deleted
  std::optional<std::uint64_t> max_length;             // ready messages
  std::optional<std::uint64_t> max_length_bytes;       // of their bodies
  std::optional<Overflow> overflow;                    // none: kDropHead
  std::optional<std::string> dead_letter_exchange;     // "" is the default exchange
  std::optional<std::string> dead_letter_routing_key;  // none: the message's own keys
  std::optional<std::uint64_t> delivery_limit;         // returns after which a message is dropped
  std::optional<std::uint64_t> consumer_timeout_ms;
  std::uint8_t max_priority = 0;        // 0: no priorities. Argument only
  bool single_active_consumer = false;  // argument only
  std::optional<Mirrors> mirrors;       // none: not mirrored
  // Publishes are refused while fewer members are in sync; none: 1.
  std::optional<std::uint64_t> min_in_sync;
  bool operator==(const QueueOptions&) const = default;
};

// A value of a policy's definition. The keys that are lists hold strings (ha-params: nodes).
using PolicyValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;
using PolicyDefinition = std::map<std::string, PolicyValue, std::less<>>;

// The policies in force for one queue or exchange: at most one of each kind, merged. Equal ones of
// many queues share one object.
struct EffectivePolicy {
  std::string policy;           // name; empty: none
  std::string operator_policy;  // name; empty: none
  PolicyDefinition definition;  // merged

  std::optional<std::uint64_t> number(std::string_view key) const;  // none: absent, or no number
  const std::string* text(std::string_view key) const;              // null: absent, or no text
};

// The wish for mirrors that counts: the argument's, else that of a quorum queue, else the policy's
// (null: none). Exclusive queues have none, whatever this says.
std::optional<Mirrors> wanted_mirrors(const QueueOptions& arguments, const EffectivePolicy* policy);

// The arguments' options with those of the policy (null: none) merged in.
QueueOptions merged(const QueueOptions& arguments, const EffectivePolicy* policy);

}  // namespace ringtail::cluster::metadata
