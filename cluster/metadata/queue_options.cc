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

QueueOptions merged(const QueueOptions& arguments, const EffectivePolicy* policy) {
  QueueOptions options = arguments;
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
