// Definitions out of the metadata; members in the order in which RabbitMQ writes them.
#include <set>
#include <string_view>
#include <utility>

#include "broker/definitions.h"
#include "broker/definitions_names.h"
#include "broker/record_json.h"

namespace ringtail::broker {

using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::ParameterRecord;
using cluster::metadata::PermissionRecord;
using cluster::metadata::PolicyRecord;
using cluster::metadata::TopicPermissionRecord;
using cluster::metadata::VhostRecord;
using cluster::metadata::View;

namespace {

// RabbitMQ 3.10 leaves out all but the name and loses it; later ones read these.
OrderedJson vhost_json(const VhostRecord& record) {
  OrderedJson json{{"name", record.name}};
  if (!record.description.empty()) json["description"] = record.description;
  if (!record.tags.empty()) json["tags"] = record.tags;
  if (!record.default_queue_type.empty()) {
    json["default_queue_type"] = record.default_queue_type;
  }
  return json;
}

OrderedJson parameter_json(OrderedJson value, const std::string& vhost, const char* component,
                           const std::string& name) {
  return {{"value", std::move(value)}, {"vhost", vhost}, {"component", component}, {"name", name}};
}

OrderedJson operator_policy_json(const PolicyRecord& record) {
  OrderedJson value{{"pattern", record.pattern},
                    {"definition", OrderedJson(json_of_policy_definition(record.definition))},
                    {"priority", record.priority},
                    {"apply-to", name_of(record.apply_to)}};
  return parameter_json(std::move(value), record.vhost, "operator_policy", record.name);
}

OrderedJson value_json(const ParameterRecord& record) {
  const auto value = parse_json(record.value);
  return value.ok() ? OrderedJson(value.value()) : OrderedJson(record.value);
}

OrderedJson begin(const char* key, const std::string& name, const std::string& vhost,
                  bool name_vhost) {
  OrderedJson json{{key, name}};
  if (name_vhost) json["vhost"] = vhost;
  return json;
}

OrderedJson queues_json(const Definitions& definitions, bool name_vhost) {
  OrderedJson list = OrderedJson::array();
  for (const auto& record : definitions.queues) {
    OrderedJson json = begin("name", record->name, record->vhost, name_vhost);
    json["durable"] = record->durable;
    json["auto_delete"] = record->auto_delete;
    json["arguments"] = json_of_arguments(record->arguments);
    list.push_back(std::move(json));
  }
  return list;
}

OrderedJson exchanges_json(const Definitions& definitions, bool name_vhost) {
  OrderedJson list = OrderedJson::array();
  for (const auto& record : definitions.exchanges) {
    if (record->name.empty() || record->name.starts_with("amq.")) continue;
    OrderedJson json = begin("name", record->name, record->vhost, name_vhost);
    json["type"] = record->type;
    json["durable"] = record->durable;
    json["auto_delete"] = record->auto_delete;
    json["internal"] = record->internal;
    json["arguments"] = json_of_arguments(record->arguments);
    list.push_back(std::move(json));
  }
  return list;
}

// Without those whose destination is not exported, or was made or deleted while the rest was read.
OrderedJson bindings_json(const Definitions& definitions, bool name_vhost) {
  using Name = std::pair<std::string_view, std::string_view>;
  std::set<Name> queues;
  std::set<Name> exchanges;
  for (const auto& record : definitions.queues) queues.emplace(record->vhost, record->name);
  for (const auto& record : definitions.exchanges) exchanges.emplace(record->vhost, record->name);
  OrderedJson list = OrderedJson::array();
  for (const BindingRecord& record : definitions.bindings) {
    const bool to_queue = record.kind == DestinationKind::kQueue;
    if (!(to_queue ? queues : exchanges).contains({record.vhost, record.destination})) continue;
    OrderedJson json = begin("source", record.source, record.vhost, name_vhost);
    json["destination"] = record.destination;
    json["destination_type"] = to_queue ? "queue" : "exchange";
    json["routing_key"] = record.routing_key;
    json["arguments"] = json_of_arguments(record.arguments);
    list.push_back(std::move(json));
  }
  return list;
}

// Operator policies and vhost limits are parameters here.
OrderedJson parameters_json(const Definitions& definitions) {
  OrderedJson list = OrderedJson::array();
  for (const auto& record : definitions.policies) {
    if (record->of_operator) list.push_back(operator_policy_json(*record));
  }
  for (const auto& record : definitions.vhosts) {
    auto limits = limits_as<OrderedJson>(record->limits);
    if (limits.empty()) continue;
    list.push_back(parameter_json(std::move(limits), record->name, "vhost-limits", "limits"));
  }
  for (const auto& record : definitions.parameters) {
    if (record->component.empty()) continue;
    list.push_back(parameter_json(value_json(*record), record->vhost, record->component.c_str(),
                                  record->name));
  }
  return list;
}

template <typename Records, typename Shape>
OrderedJson list_of(const Records& records, Shape shape) {
  OrderedJson list = OrderedJson::array();
  for (const auto& record : records) list.push_back(shape(*record));
  return list;
}

OrderedJson policies_json(const Definitions& definitions) {
  OrderedJson list = OrderedJson::array();
  for (const auto& record : definitions.policies) {
    if (!record->of_operator) list.push_back(policy_as<OrderedJson>(*record));
  }
  return list;
}

OrderedJson global_parameters_json(const Definitions& definitions) {
  OrderedJson list = OrderedJson::array();
  for (const auto& record : definitions.parameters) {
    if (!record->component.empty()) continue;
    list.push_back({{"name", record->name}, {"value", value_json(*record)}});
  }
  return list;
}

// What both exports end with.
void put_topology(OrderedJson& json, const Definitions& definitions, bool name_vhost) {
  json["policies"] = policies_json(definitions);
  json["queues"] = queues_json(definitions, name_vhost);
  json["exchanges"] = exchanges_json(definitions, name_vhost);
  json["bindings"] = bindings_json(definitions, name_vhost);
}

}  // namespace

void Definitions::read_heads(const View& view, const std::string& vhost) {
  const auto wanted = [&](const std::string& of) { return vhost.empty() || of == vhost; };
  view.for_each_vhost([&](const auto& record) {
    if (!wanted(record->name)) return;
    vhosts.push_back(record);
    view.for_each_exchange(record->name,
                           [&](const auto& exchange) { exchanges.push_back(exchange); });
  });
  view.for_each_policy([&](const auto& record) {
    if (wanted(record->vhost)) policies.push_back(record);
  });
  view.for_each_parameter([&](const auto& record) {
    if (wanted(record->vhost)) parameters.push_back(record);
  });
  if (!vhost.empty()) return;
  view.for_each_user([&](const auto& record) { users.push_back(record); });
  view.for_each_permission([&](const auto& record) { permissions.push_back(record); });
  view.for_each_topic_permission([&](const auto& record) { topic_permissions.push_back(record); });
}

void Definitions::add_queue(QueuePtr record) {
  if (!record->exclusive()) queues.push_back(std::move(record));
}

OrderedJson export_definitions(const Definitions& definitions, const ExportNames& names) {
  OrderedJson json{{"rabbit_version", names.rabbitmq_version},
                   {"rabbitmq_version", names.rabbitmq_version},
                   {"product_name", names.product_name},
                   {"product_version", names.product_version}};
  json["users"] = list_of(definitions.users, user_as<OrderedJson>);
  json["vhosts"] = list_of(definitions.vhosts, vhost_json);
  json["permissions"] = list_of(definitions.permissions, [](const PermissionRecord& record) {
    return permission_as<OrderedJson>(record);
  });
  json["topic_permissions"] = list_of(
      definitions.topic_permissions,
      [](const TopicPermissionRecord& record) { return permission_as<OrderedJson>(record); });
  json["parameters"] = parameters_json(definitions);
  json["global_parameters"] = global_parameters_json(definitions);
  put_topology(json, definitions, true);
  return json;
}

OrderedJson export_definitions_of_vhost(const Definitions& definitions, const ExportNames& names) {
  OrderedJson json{{"rabbit_version", names.rabbitmq_version}};
  json["parameters"] = parameters_json(definitions);
  put_topology(json, definitions, false);
  return json;
}

}  // namespace ringtail::broker
