// The overview, nodes, and what else is asked of the node as a whole.
#include <array>
#include <set>

#include "broker/broker_shard.h"
#include "broker/channel.h"
#include "broker/disk_monitor.h"
#include "broker/http/connection_rows.h"
#include "broker/http/listing.h"
#include "broker/http/machine_facts.h"
#include "broker/http/queue_rows.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"
#include "broker/http/versions.h"
#include "broker/runtime/version.h"

namespace ringtail::broker::http {

using cluster::metadata::QueueRecord;
using cluster::metadata::View;

namespace {

struct KnownType {
  const char* name;
  const char* description;
};
constexpr std::array<KnownType, 8> kKnownTypes = {{
    {"direct", "AMQP direct exchange, as per the AMQP specification"},
    {"fanout", "AMQP fanout exchange, as per the AMQP specification"},
    {"headers", "AMQP headers exchange, as per the AMQP specification"},
    {"topic", "AMQP topic exchange, as per the AMQP specification"},
    {"x-consistent-hash", "Spreads messages by a hash, with weights"},
    {"x-modulus-hash", "Spreads messages by a hash"},
    {"x-random", "Sends each message to one bound queue by chance"},
    {"x-recent-history", "A fanout that gives new queues the last messages"},
}};

Json exchange_types() {
  Json types = Json::array();
  for (const KnownType& type : kKnownTypes) {
    if (!RouteTable::knows_type(type.name)) continue;
    types.push_back({{"name", type.name}, {"description", type.description}, {"enabled", true}});
  }
  return types;
}

Json listeners_json(Call& call) {
  Json listeners = Json::array();
  for (const ListenerFact& listener : call.facts().listeners) {
    listeners.push_back({{"node", call.config().node_name},
                         {"protocol", listener.protocol},
                         {"ip_address", listener.address},
                         {"port", listener.port},
                         {"socket_opts", Json::object()}});
  }
  return listeners;
}

Json contexts_json(Call& call) {
  Json contexts = Json::array();
  for (const ListenerFact& listener : call.facts().listeners) {
    if (listener.protocol != "http") continue;
    contexts.push_back({{"node", call.config().node_name},
                        {"description", "Management"},
                        {"path", "/"},
                        {"ip", listener.address},
                        {"port", std::to_string(listener.port)},
                        {"ssl_opts", Json::array()},
                        {"cowboy_opts", ""}});
  }
  return contexts;
}

// Of what the user may see.
struct Totals {
  QueueTotals queues;
  std::uint64_t exchanges = 0;
  std::uint64_t connections = 0;
  std::uint64_t channels = 0;
};

Totals totals_of(Call& call) {
  Totals totals;
  const std::vector<std::string> names = visible_vhosts(call);
  const std::set<std::string_view> visible(names.begin(), names.end());
  for_each_queue(call, [&](const QueueRecord& queue, const queue::QueueStats& stats) {
    if (visible.contains(queue.vhost)) totals.queues.add(stats);
  });
  for (const std::string& vhost : names) {
    call.read([&](const View& view) {
      view.for_each_exchange(vhost, [&](const auto&) { ++totals.exchanges; });
    });
  }
  for (const ConnectionRow& row : connection_rows(call, false)) {
    ++totals.connections;
    totals.channels += row.info.channels;
  }
  return totals;
}

void put_versions(Json& json, Call& call) {
  json["management_version"] = kRabbitVersion;
  json["rabbitmq_version"] = kRabbitVersion;
  json["product_name"] = call.config().product;
  json["product_version"] = std::string(runtime::kVersion);
  // Tools want one; no Erlang is here.
  json["erlang_version"] = "25";
  json["erlang_full_version"] = "none (" + std::string(runtime::kVersionLine) + ")";
  json["release_series_support_status"] = "supported";
}

Response overview(Call& call) {
  const Totals totals = totals_of(call);
  Json depth = Json::object();
  put_depth(depth, totals.queues.ready, totals.queues.unacknowledged);
  Json json = {{"cluster_name", cluster_name(call)},
               {"cluster_tags", Json::object()},
               {"node_tags", Json::object()},
               {"rates_mode", "basic"},
               {"sample_retention_policies",
                {{"global", {600, 3600, 28800, 86400}},
                 {"basic", {600, 3600}},
                 {"detailed", Json::array({600})}}},
               {"exchange_types", exchange_types()},
               {"disable_stats", false},
               {"enable_queue_totals", false},
               {"is_op_policy_updating_enabled", true},
               {"statistics_db_event_queue", 0},
               {"message_stats", message_stats_json(totals.queues)},
               {"churn_rates", Json::object()},
               {"queue_totals", depth},
               {"object_totals",
                {{"connections", totals.connections},
                 {"channels", totals.channels},
                 {"consumers", totals.queues.consumers},
                 {"exchanges", totals.exchanges},
                 {"queues", totals.queues.queues}}}};
  put_versions(json, call);
  // Where it runs is the operators' business.
  if (call.is_monitor()) {
    json["node"] = call.config().node_name;
    json["listeners"] = listeners_json(call);
    json["contexts"] = contexts_json(call);
  }
  return object_response(call.request(), std::move(json));
}

Json mechanisms_json(Call& call) {
  Json mechanisms = Json::array();
  for (const std::string& name : call.config().auth_mechanisms) {
    mechanisms.push_back(
        {{"name", name}, {"description", "SASL " + name + " mechanism"}, {"enabled", true}});
  }
  return mechanisms;
}

void put_limits(Json& json, Call& call) {
  bool memory_alarm = false;
  bool disk_alarm = false;
  std::uint64_t memory_limit = 0;
  std::uint64_t disk_limit = 0;
  call.on_every_shard([&](BrokerShard& shard) {
    memory_alarm = memory_alarm || shard.memory_alarm();
    disk_alarm = disk_alarm || shard.disk_alarm();
    memory_limit = shard.memory_limit();
    if (shard.disk_monitor() != nullptr) disk_limit = shard.disk_monitor()->limit();
  });
  json["mem_limit"] = memory_limit;
  json["mem_alarm"] = memory_alarm;
  json["disk_free_limit"] = disk_limit;
  json["disk_free_alarm"] = disk_alarm;
}

void put_machine(Json& json, Call& call) {
  const MachineFacts machine = machine_facts(call.config().data_dir);
  const std::uint64_t started = call.facts().started_ms;
  json["os_pid"] = std::to_string(machine.process);
  json["uptime"] = machine.now_ms > started ? machine.now_ms - started : 0;
  json["processors"] = machine.processors;
  json["mem_calculation_strategy"] = "rss";
  json["fd_total"] = machine.files_limit;
  json["sockets_total"] = machine.files_limit;
  json["proc_total"] = 1048576;
  json["run_queue"] = 0;
  put_count(json, "mem_used", machine.memory);
  put_count(json, "disk_free", machine.disk_free);
  put_count(json, "fd_used", machine.files_used);
  put_count(json, "proc_used", call.gateway().shards());
}

Json node_json(Call& call) {
  std::uint64_t connections = 0;
  call.on_every_shard(
      [&](BrokerShard& shard) { shard.for_each_connection([&](Connection&) { ++connections; }); });
  Json json = {{"name", call.config().node_name},
               {"type", "disc"},
               {"running", true},
               {"being_drained", false},
               {"partitions", Json::array()},
               {"rates_mode", "basic"},
               {"net_ticktime", 60},
               {"exchange_types", exchange_types()},
               {"auth_mechanisms", mechanisms_json(call)},
               {"contexts", contexts_json(call)},
               {"log_files", Json::array({"<stderr>"})},
               {"config_files", call.config().config_file.empty()
                                    ? Json::array()
                                    : Json::array({call.config().config_file})},
               {"db_dir", call.config().data_dir},
               {"enabled_plugins", Json::array({"rabbitmq_management"})},
               {"ra_open_file_metrics", Json::object()},
               {"cluster_links", Json::array()},
               {"metrics_gc_queue_length", Json::object()}};
  json["applications"] = Json::array();
  json["applications"].push_back({{"name", "rabbit"},
                                  {"description", std::string(runtime::kProductName)},
                                  {"version", kRabbitVersion}});
  put_machine(json, call);
  put_limits(json, call);
  put_count(json, "sockets_used", connections);
  return json;
}

Response list_nodes(Call& call) {
  const std::vector<Json> rows(1, node_json(call));
  return list_response(call.request(), rows);
}

Response get_node(Call& call) {
  if (call.part(0) != call.config().node_name) return not_found();
  return object_response(call.request(), node_json(call));
}

Response get_node_memory(Call& call) {
  if (call.part(0) != call.config().node_name) return not_found();
  const std::uint64_t memory = machine_facts(call.config().data_dir).memory;
  const std::uint64_t counted = [&] {
    std::uint64_t bytes = 0;
    for_each_queue(call, [&](const QueueRecord&, const queue::QueueStats& stats) {
      bytes += stats.message_bytes_ready;
    });
    return bytes;
  }();
  return object_response(
      call.request(),
      {{"memory",
        {{"connection_readers", 0},
         {"connection_writers", 0},
         {"connection_channels", 0},
         {"connection_other", 0},
         {"queue_procs", counted},
         {"queue_slave_procs", 0},
         {"quorum_queue_procs", 0},
         {"plugins", 0},
         {"other_proc", memory > counted ? memory - counted : 0},
         {"metrics", 0},
         {"mgmt_db", 0},
         {"mnesia", 0},
         {"other_ets", 0},
         {"binary", 0},
         {"msg_index", 0},
         {"code", 0},
         {"atom", 0},
         {"other_system", 0},
         {"allocated_unused", 0},
         {"reserved_unallocated", 0},
         {"strategy", "rss"},
         {"total", {{"rss", memory}, {"allocated", memory}, {"erlang", memory}}}}}});
}

Response empty_list(Call& call) { return list_response(call.request(), std::vector<Json>{}); }

Response extensions(Call&) {
  Json list = Json::array();
  list.push_back({{"javascript", "dispatcher.js"}});
  return json_response(list);
}

}  // namespace

void add_overview_routes(Router& router) {
  constexpr Access kAny = Access::kManagement;
  router.add({"GET", "/api/overview", kAny, overview});
  router.add({"GET", "/api/nodes", Access::kMonitoring, list_nodes});
  router.add({"GET", "/api/nodes/*", Access::kMonitoring, get_node});
  router.add({"GET", "/api/nodes/*/memory", Access::kMonitoring, get_node_memory});
  router.add({"GET", "/api/extensions", kAny, extensions});
  router.add({"GET", "/api/feature-flags", Access::kAdministrator, empty_list});
  router.add({"GET", "/api/deprecated-features", Access::kAdministrator, empty_list});
  router.add({"GET", "/api/deprecated-features/used", Access::kAdministrator, empty_list});
  router.add({"GET", "/api/shovels", Access::kMonitoring, empty_list});
  router.add({"GET", "/api/shovels/*", Access::kMonitoring, empty_list});
  router.add({"GET", "/api/federation-links", Access::kMonitoring, empty_list});
  router.add({"GET", "/api/federation-links/*", Access::kMonitoring, empty_list});
}

void add_routes(Router& router) {
  add_overview_routes(router);
  add_node_limit_routes(router);
  add_health_routes(router);
  add_certificate_routes(router);
  add_user_routes(router);
  add_permission_routes(router);
  add_vhost_routes(router);
  add_policy_routes(router);
  add_parameter_routes(router);
  add_queue_routes(router);
  add_exchange_routes(router);
  add_binding_routes(router);
  add_connection_routes(router);
  add_definition_routes(router);
}

}  // namespace ringtail::broker::http
