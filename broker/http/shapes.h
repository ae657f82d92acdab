// The objects of the metadata as RabbitMQ's management shows them. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "broker/json_table.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker::http {

Json user_json(const cluster::metadata::UserRecord& user);
Json permission_json(const cluster::metadata::PermissionRecord& permission);
Json topic_permission_json(const cluster::metadata::TopicPermissionRecord& permission);
Json policy_json(const cluster::metadata::PolicyRecord& policy);
Json parameter_json(const cluster::metadata::ParameterRecord& parameter);
Json global_parameter_json(const cluster::metadata::ParameterRecord& parameter);
Json vhost_limits_json(const cluster::metadata::VhostLimits& limits);
Json user_limits_json(const cluster::metadata::UserLimits& limits);
Json exchange_json(const cluster::metadata::ExchangeRecord& exchange);
Json binding_json(const cluster::metadata::BindingRecord& binding);

// What stands for a binding's key and arguments in a path: "~" when it has none, else the key
// encoded and, where there are arguments, "~" and a digest of them, which is the same on every node
// and after a restart.
std::string properties_key(const cluster::metadata::BindingRecord& binding);

// Sets `name`, and the sibling with its rate that readers expect.
void put_count(Json& object, const char* name, std::uint64_t value);

// A term of Erlang that looks like a process id: "<ringtail@host.1.5.0>", for tools that take such.
// The same as long as the connection or channel (0: the connection) lives.
std::string pid_text(std::string_view node, std::uint64_t started_ms, std::uint64_t connection,
                     std::uint16_t channel);

}  // namespace ringtail::broker::http
