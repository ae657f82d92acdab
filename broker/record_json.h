// Records of the metadata as JSON, wherever they are shown: in definitions, whose members stand in
// RabbitMQ's order (OrderedJson), and in the management's answers (Json). Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <optional>

#include "broker/base64.h"
#include "broker/definitions_names.h"
#include "broker/json_table.h"
#include "cluster/metadata/policy_rules.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker {

// Of a limit that is set; none is left out.
template <typename AnyJson>
void put_limit(AnyJson& limits, const char* name, const std::optional<std::uint64_t>& limit) {
  if (limit) limits[name] = *limit;
}

template <typename AnyJson>
AnyJson limits_as(const cluster::metadata::UserLimits& limits) {
  AnyJson json = AnyJson::object();
  put_limit(json, "max-channels", limits.max_channels);
  put_limit(json, "max-connections", limits.max_connections);
  return json;
}

template <typename AnyJson>
AnyJson limits_as(const cluster::metadata::VhostLimits& limits) {
  AnyJson json = AnyJson::object();
  put_limit(json, "max-connections", limits.max_connections);
  put_limit(json, "max-queues", limits.max_queues);
  return json;
}

template <typename AnyJson>
AnyJson user_as(const cluster::metadata::UserRecord& user) {
  return {{"name", user.name},
          {"password_hash", base64_encode(user.password_hash)},
          {"hashing_algorithm", name_of(user.hashing)},
          {"tags", user.tags},
          {"limits", limits_as<AnyJson>(user.limits)}};
}

template <typename AnyJson>
AnyJson permission_as(const cluster::metadata::PermissionRecord& permission) {
  return {{"user", permission.user},
          {"vhost", permission.vhost},
          {"configure", permission.configure},
          {"write", permission.write},
          {"read", permission.read}};
}

template <typename AnyJson>
AnyJson permission_as(const cluster::metadata::TopicPermissionRecord& permission) {
  return {{"user", permission.user},
          {"vhost", permission.vhost},
          {"exchange", permission.exchange},
          {"write", permission.write},
          {"read", permission.read}};
}

template <typename AnyJson>
AnyJson policy_as(const cluster::metadata::PolicyRecord& policy) {
  return {{"vhost", policy.vhost},
          {"name", policy.name},
          {"pattern", policy.pattern},
          {"apply-to", name_of(policy.apply_to)},
          {"definition", AnyJson(json_of_policy_definition(policy.definition))},
          {"priority", policy.priority}};
}

}  // namespace ringtail::broker
