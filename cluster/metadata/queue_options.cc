#include "cluster/metadata/queue_options.h"

#include <algorithm>

namespace ringtail::cluster::metadata {

std::optional<std::uint64_t> EffectivePolicy::number(std::string_view key) const {
  const auto found = definition.find(key);
  if (found == definition.end()) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  if (value == nullptr || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

const std::string* EffectivePolicy::text(std::string_view key) const {
  const auto found = definition.find(key);
  return found == definition.end() ? nullptr : std::get_if<std::string>(&found->second);
}

namespace {

// What was validated when the policy was set (policy_rules.h); nonsense is no wish.
std::optional<Mirrors> mirrors_of(const EffectivePolicy& policy) {
  const std::string* mode = policy.text("ha-mode");
  if (mode == nullptr) return std::nullopt;
  Mirrors wish;
  if (*mode == "exactly") {
    wish.mode = MirrorMode::kExactly;
    wish.count = policy.number("ha-params").value_or(0);
    if (wish.count == 0) return std::nullopt;
  } else if (*mode == "nodes") {
    wish.mode = MirrorMode::kNodes;
    const auto params = policy.definition.find("ha-params");
    if (params == policy.definition.end()) return std::nullopt;
    const auto* names = std::get_if<std::vector<std::string>>(&params->second);
    if (names == nullptr) return std::nullopt;
    wish.nodes = *names;
  } else if (*mode != "all") {
    return std::nullopt;
  }
  const auto says = [&policy](std::string_view key, std::string_view value) {
    const std::string* text = policy.text(key);
    return text != nullptr && *text == value;
  };
  wish.automatic_sync = !says("ha-sync-mode", "manual");
  wish.promote_unsynced_on_shutdown = says("ha-promote-on-shutdown", "always");
  wish.promote_unsynced_on_failure = says("ha-promote-on-failure", "always");
  wish.sync_batch_size = policy.number("ha-sync-batch-size").value_or(0);
  return wish;
}

}  // namespace

std::optional<Mirrors> wanted_mirrors(const QueueOptions& arguments,
                                      const EffectivePolicy* policy) {
  if (arguments.mirrors) return arguments.mirrors;
  if (arguments.type == QueueType::kQuorum) return Mirrors{.mode = MirrorMode::kMajority};
  return policy == nullptr ? std::nullopt : mirrors_of(*policy);
}

QueueOptions merged(const QueueOptions& arguments, const EffectivePolicy* policy) {
  QueueOptions options = arguments;
  options.mirrors = wanted_mirrors(arguments, policy);
  if (policy == nullptr) return options;
  const auto smaller = [policy](std::optional<std::uint64_t>& mine, std::string_view key) {
    const auto theirs = policy->number(key);
    if (theirs) mine = mine ? std::min(*mine, *theirs) : *theirs;
  };
  const auto unless_set = [policy](std::optional<std::string>& mine, std::string_view key) {
    const std::string* theirs = policy->text(key);
    if (!mine && theirs != nullptr) mine = *theirs;
  };
  smaller(options.message_ttl_ms, "message-ttl");
  smaller(options.expires_ms, "expires");
  smaller(options.max_length, "max-length");
  smaller(options.max_length_bytes, "max-length-bytes");
  smaller(options.delivery_limit, "delivery-limit");
  smaller(options.consumer_timeout_ms, "consumer-timeout");
  if (!options.min_in_sync) options.min_in_sync = policy->number("ha-min-in-sync");
  unless_set(options.dead_letter_exchange, "dead-letter-exchange");
  unless_set(options.dead_letter_routing_key, "dead-letter-routing-key");
  if (const std::string* overflow = policy->text("overflow"); overflow && !options.overflow) {
    if (*overflow == "reject-publish") {
      options.overflow = Overflow::kRejectPublish;
    } else if (*overflow == "reject-publish-dlx") {
      options.overflow = Overflow::kRejectPublishDlx;
    } else {
      options.overflow = Overflow::kDropHead;
    }
  }
  return options;
}

}  // namespace ringtail::cluster::metadata
