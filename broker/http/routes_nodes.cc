// The nodes of the cluster: the one that is asked in full, of the others what the metadata knows.
#include "broker/broker_shard.h"
#include "broker/disk_monitor.h"
#include "broker/http/cluster_nodes.h"
#include "broker/http/listing.h"
#include "broker/http/machine_facts.h"
#include "broker/http/node_description.h"
#include "broker/http/queue_rows.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"
#include "broker/http/versions.h"
#include "broker/runtime/version.h"

namespace ringtail::broker::http {

using cluster::metadata::ForgetNode;
using cluster::metadata::Outcome;
using cluster::metadata::QueueRecord;

namespace {

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

Json own_node_json(Call& call) {
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

// What RabbitMQ shows of a node whose statistics it does not have; the figures of a node are asked
// of itself.
Json node_json(Call& call, const ClusterNode& node) {
  if (node.own) return own_node_json(call);
  return {{"name", node.name},           {"type", "disc"},
          {"running", node.running},     {"being_drained", false},
          {"partitions", Json::array()}, {"cluster_links", Json::array()}};
}

Response list_nodes(Call& call) {
  const ClusterNodes nodes(call);
  std::vector<Json> rows;
  for (const ClusterNode& node : nodes.all()) rows.push_back(node_json(call, node));
  return list_response(call.request(), rows);
}

Response get_node(Call& call) {
  const ClusterNodes nodes(call);
  const ClusterNode* const node = nodes.named(call.part(0));
  return node == nullptr ? not_found() : object_response(call.request(), node_json(call, *node));
}

// The metadata has the last word on who runs: a node that is only not reached from here may serve
// others.
Response forget_node(Call& call) {
  const ClusterNodes nodes(call);
  const std::string& name = call.part(0);
  const ClusterNode* const node = nodes.named(name);
  if (node == nullptr) return not_found();
  if (node->own) {
    return bad_request("node " + name +
                       " is the one that was asked: ask another one, once it has "
                       "stopped");
  }
  switch (call.propose(ForgetNode{node->id}).outcome) {
    case Outcome::kNoNode:
      return not_found();
    case Outcome::kNodeUp:
      return bad_request("node " + name + " is running: stop it first");
    default:
      return no_content();
  }
}

Response get_node_memory(Call& call) {
  if (call.part(0) != call.config().node_name) {
    if (ClusterNodes(call).named(call.part(0)) == nullptr) return not_found();
    return object_response(call.request(), {{"memory", "not_available"}});
  }
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

}  // namespace

void add_node_routes(Router& router) {
  router.add({"GET", "/api/nodes", Access::kMonitoring, list_nodes});
  router.add({"GET", "/api/nodes/*", Access::kMonitoring, get_node});
  router.add({"DELETE", "/api/nodes/*", Access::kAdministrator, forget_node});
  router.add({"GET", "/api/nodes/*/memory", Access::kMonitoring, get_node_memory});
}

}  // namespace ringtail::broker::http
