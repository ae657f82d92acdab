// Definitions out of the metadata; members in the order in which RabbitMQ writes them.
#include <optional>
#include <utility>

#include "broker/base64.h"
#include "broker/definitions.h"
#include "broker/definitions_names.h"

namespace ringtail::broker {

using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::ParameterRecord;
using cluster::metadata::PermissionRecord;
using cluster::metadata::PolicyRecord;
using cluster::metadata::QueueRecord;
using cluster::metadata::TopicPermissionRecord;
using cluster::metadata::UserRecord;
using cluster::metadata::VhostRecord;
using cluster::metadata::View;

namespace {

// Of a limit that is set; none is left out.
void put_limit(OrderedJson& limits, const char* name, const std::optional<std::uint64_t>& limit) {
  if (limit) limits[name] = *limit;
}

OrderedJson user_json(const UserRecord& record) {
  OrderedJson limits = OrderedJson::object();
  put_limit(limits, "max-channels", record.limits.max_channels);
  put_limit(limits, "max-connections", record.limits.max_connections);
  return {{"name", record.name},
          {"password_hash", base64_encode(record.password_hash)},
          {"hashing_algorithm", name_of(record.hashing)},
          {"tags", record.tags},
          {"limits", limits}};
}

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

OrderedJson permission_json(const PermissionRecord& record) {
  return {{"user", record.user},
          {"vhost", record.vhost},
          {"configure", record.configure},
          {"write", record.write},
          {"read", record.read}};
}

OrderedJson topic_permission_json(const TopicPermissionRecord& record) {
  return {{"user", record.user},
          {"vhost", record.vhost},
          {"exchange", record.exchange},
          {"write", record.write},
          {"read", record.read}};
}

OrderedJson policy_json(const PolicyRecord& record) {
  return {{"vhost", record.vhost},
          {"name", record.name},
          {"pattern", record.pattern},
          {"apply-to", name_of(record.apply_to)},
          {"definition", OrderedJson(json_of_policy_definition(record.definition))},
          {"priority", record.priority}};
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

// Exchanges, queues, bindings of one vhost, appended to the lists.
struct Topology {
  OrderedJson queues = OrderedJson::array();
  OrderedJson exchanges = OrderedJson::array();
  OrderedJson bindings = OrderedJson::array();

  void read(const View& view, const std::string& vhost, bool name_vhost);
};

void Topology::read(const View& view, const std::string& vhost, bool name_vhost) {
  const auto begin = [&](const char* key, const std::string& name) {
    OrderedJson json{{key, name}};
    if (name_vhost) json["vhost"] = vhost;
    return json;
  };
  view.for_each_queue_of(vhost, [&](const std::shared_ptr<const QueueRecord>& record) {
    if (record->exclusive()) return;
    OrderedJson json = begin("name", record->name);
    json["durable"] = record->durable;
    json["auto_delete"] = record->auto_delete;
    json["arguments"] = json_of_arguments(record->arguments);
    queues.push_back(std::move(json));
  });
  view.for_each_exchange(vhost, [&](const std::shared_ptr<const ExchangeRecord>& record) {
    if (record->name.empty() || record->name.starts_with("amq.")) return;
    OrderedJson json = begin("name", record->name);
    json["type"] = record->type;
    json["durable"] = record->durable;
    json["auto_delete"] = record->auto_delete;
    json["internal"] = record->internal;
    json["arguments"] = json_of_arguments(record->arguments);
    exchanges.push_back(std::move(json));
  });
  view.for_each_binding(vhost, [&](const BindingRecord& record) {
    const bool to_queue = record.kind == DestinationKind::kQueue;
    if (to_queue) {
      const auto queue = view.queue(vhost, record.destination);
      if (queue == nullptr || queue->exclusive()) return;
    }
    OrderedJson json = begin("source", record.source);
    json["destination"] = record.destination;
    json["destination_type"] = to_queue ? "queue" : "exchange";
    json["routing_key"] = record.routing_key;
    json["arguments"] = json_of_arguments(record.arguments);
    bindings.push_back(std::move(json));
  });
}

// Operator policies and vhost limits are parameters here. `vhost` empty: of all.
OrderedJson parameters_json(const View& view, const std::string& vhost) {
  OrderedJson list = OrderedJson::array();
  const auto wanted = [&](const std::string& of) { return vhost.empty() || of == vhost; };
  view.for_each_policy([&](const std::shared_ptr<const PolicyRecord>& record) {
    if (record->of_operator && wanted(record->vhost)) {
      list.push_back(operator_policy_json(*record));
    }
  });
  view.for_each_vhost([&](const std::shared_ptr<const VhostRecord>& record) {
    OrderedJson limits = OrderedJson::object();
    put_limit(limits, "max-connections", record->limits.max_connections);
    put_limit(limits, "max-queues", record->limits.max_queues);
    if (limits.empty() || !wanted(record->name)) return;
    list.push_back(parameter_json(std::move(limits), record->name, "vhost-limits", "limits"));
  });
  view.for_each_parameter([&](const std::shared_ptr<const ParameterRecord>& record) {
    if (record->component.empty() || !wanted(record->vhost)) return;
    list.push_back(parameter_json(value_json(*record), record->vhost, record->component.c_str(),
                                  record->name));
  });
  return list;
}

OrderedJson policies_json(const View& view, const std::string& vhost) {
  OrderedJson list = OrderedJson::array();
  view.for_each_policy([&](const std::shared_ptr<const PolicyRecord>& record) {
    if (record->of_operator || (!vhost.empty() && record->vhost != vhost)) return;
    list.push_back(policy_json(*record));
  });
  return list;
}

}  // namespace

OrderedJson export_definitions(const View& view, const ExportNames& names) {
  OrderedJson users = OrderedJson::array();
  view.for_each_user([&](const auto& record) { users.push_back(user_json(*record)); });
  OrderedJson vhosts = OrderedJson::array();
  Topology topology;
  view.for_each_vhost([&](const std::shared_ptr<const VhostRecord>& record) {
    vhosts.push_back(vhost_json(*record));
    topology.read(view, record->name, true);
  });
  OrderedJson permissions = OrderedJson::array();
  view.for_each_permission(
      [&](const auto& record) { permissions.push_back(permission_json(*record)); });
  OrderedJson topic_permissions = OrderedJson::array();
  view.for_each_topic_permission(
      [&](const auto& record) { topic_permissions.push_back(topic_permission_json(*record)); });
  OrderedJson global = OrderedJson::array();
  view.for_each_parameter([&](const std::shared_ptr<const ParameterRecord>& record) {
    if (!record->component.empty()) return;
    global.push_back({{"name", record->name}, {"value", value_json(*record)}});
  });
  OrderedJson json{{"rabbit_version", names.rabbitmq_version},
                   {"rabbitmq_version", names.rabbitmq_version},
                   {"product_name", names.product_name},
                   {"product_version", names.product_version}};
  json["users"] = std::move(users);
  json["vhosts"] = std::move(vhosts);
  json["permissions"] = std::move(permissions);
  json["topic_permissions"] = std::move(topic_permissions);
  json["parameters"] = parameters_json(view, "");
  json["global_parameters"] = std::move(global);
  json["policies"] = policies_json(view, "");
  json["queues"] = std::move(topology.queues);
  json["exchanges"] = std::move(topology.exchanges);
  json["bindings"] = std::move(topology.bindings);
  return json;
}

OrderedJson export_definitions_of(const View& view, const std::string& vhost,
                                  const ExportNames& names) {
  Topology topology;
  topology.read(view, vhost, false);
  OrderedJson json{{"rabbit_version", names.rabbitmq_version}};
  json["parameters"] = parameters_json(view, vhost);
  json["policies"] = policies_json(view, vhost);
  json["queues"] = std::move(topology.queues);
  json["exchanges"] = std::move(topology.exchanges);
  json["bindings"] = std::move(topology.bindings);
  return json;
}

}  // namespace ringtail::broker
