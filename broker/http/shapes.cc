#include "broker/http/shapes.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "broker/base64.h"
#include "broker/http/message.h"
#include "broker/record_json.h"
#include "broker/runtime/check.h"

namespace ringtail::broker::http {

using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::ParameterRecord;
using cluster::metadata::PermissionRecord;
using cluster::metadata::PolicyRecord;
using cluster::metadata::TopicPermissionRecord;
using cluster::metadata::UserLimits;
using cluster::metadata::UserRecord;
using cluster::metadata::VhostLimits;

namespace {

constexpr std::size_t kDigestSize = 15;  // 20 characters of Base64, no padding

// For paths: RFC 4648, section 5.
std::string digest_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  RT_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
           "a digest failed");
  std::string encoded = base64_encode({reinterpret_cast<const char*>(digest.data()), kDigestSize});
  std::replace(encoded.begin(), encoded.end(), '+', '-');
  std::replace(encoded.begin(), encoded.end(), '/', '_');
  return encoded;
}

// As a form is encoded, with '~' too: it is what stands between key and digest.
std::string encoded_key(std::string_view key) {
  std::string encoded;
  for (const char c : key) {
    if (c == ' ') {
      encoded += '+';
    } else if (c == '~') {
      encoded += "%7E";
    } else {
      encoded += percent_encode({&c, 1});
    }
  }
  return encoded;
}

Json value_json(const ParameterRecord& parameter) {
  auto parsed = parse_json(parameter.value);
  return parsed.ok() ? std::move(parsed).value() : Json();
}

}  // namespace

Json user_json(const UserRecord& user) { return user_as<Json>(user); }

Json permission_json(const PermissionRecord& permission) { return permission_as<Json>(permission); }

Json topic_permission_json(const TopicPermissionRecord& permission) {
  return permission_as<Json>(permission);
}

Json policy_json(const PolicyRecord& policy) { return policy_as<Json>(policy); }

Json parameter_json(const ParameterRecord& parameter) {
  return {{"component", parameter.component},
          {"vhost", parameter.vhost},
          {"name", parameter.name},
          {"value", value_json(parameter)}};
}

Json global_parameter_json(const ParameterRecord& parameter) {
  return {{"name", parameter.name}, {"value", value_json(parameter)}};
}

Json vhost_limits_json(const VhostLimits& limits) { return limits_as<Json>(limits); }

Json user_limits_json(const UserLimits& limits) { return limits_as<Json>(limits); }

Json exchange_json(const ExchangeRecord& exchange) {
  Json json = {{"name", exchange.name},
               {"vhost", exchange.vhost},
               {"type", exchange.type},
               {"durable", exchange.durable},
               {"auto_delete", exchange.auto_delete},
               {"internal", exchange.internal},
               {"arguments", json_of_arguments(exchange.arguments)}};
  if (exchange.policy != nullptr && !exchange.policy->policy.empty()) {
    json["policy"] = exchange.policy->policy;
  }
  return json;
}

Json binding_json(const BindingRecord& binding) {
  return {{"source", binding.source},
          {"vhost", binding.vhost},
          {"destination", binding.destination},
          {"destination_type", binding.kind == DestinationKind::kQueue ? "queue" : "exchange"},
          {"routing_key", binding.routing_key},
          {"arguments", json_of_arguments(binding.arguments)},
          {"properties_key", properties_key(binding)}};
}

std::string properties_key(const BindingRecord& binding) {
  const std::string key = encoded_key(binding.routing_key);
  if (!binding.arguments.empty()) return key + "~" + digest_of(binding.arguments);
  return key.empty() ? "~" : key;
}

void put_count(Json& object, const char* name, std::uint64_t value) {
  object[name] = value;
  object[std::string(name) + "_details"] = {{"rate", 0.0}};
}

std::string pid_text(std::string_view node, std::uint64_t started_ms, std::uint64_t connection,
                     std::uint16_t channel) {
  // A connection's id has its shard above the bit 48.
  constexpr int kShardShift = 48;
  return fmt::format("<{}.{}.{}.{}>", node, started_ms / 1000,
                     connection & ((1ULL << kShardShift) - 1),
                     (connection >> kShardShift) << 16 | channel);
}

}  // namespace ringtail::broker::http
