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

// The arguments' options with those of the policy (null: none) merged in.
QueueOptions merged(const QueueOptions& arguments, const EffectivePolicy* policy);

}  // namespace ringtail::cluster::metadata
