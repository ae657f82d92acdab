// Health checks, for load balancers, probes and monitoring.
#include <algorithm>
#include <charconv>

#include "broker/broker_shard.h"
#include "broker/http/cluster_nodes.h"
#include "broker/http/declaring.h"
#include "broker/http/listing.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"

namespace ringtail::broker::http {

using cluster::metadata::QueueRecord;
using cluster::metadata::View;

namespace {

Response ok(Json also = Json::object()) {
  also["status"] = "ok";
  return json_response(also);
}

Response unhealthy(const char* reason, Json also) {
  also["status"] = "failed";
  also["reason"] = reason;
  return json_response(also, 503);
}

// "memory", "disk": those that some shard knows of.
std::vector<std::string> alarms_in_effect(Call& call) {
  bool memory = false;
  bool disk = false;
  call.on_every_shard([&](BrokerShard& shard) {
    memory = memory || shard.memory_alarm();
    disk = disk || shard.disk_alarm();
  });
  std::vector<std::string> alarms;
  if (memory) alarms.emplace_back("memory");
  if (disk) alarms.emplace_back("disk");
  return alarms;
}

Response alarms(Call& call) {
  const std::vector<std::string> resources = alarms_in_effect(call);
  if (resources.empty()) return ok();
  Json list = Json::array();
  for (const std::string& resource : resources) {
    list.push_back({{"node", call.config().node_name}, {"resource", resource}});
  }
  const bool local = call.request().segments.back() == "local-alarms";
  return unhealthy(local ? "There are alarms in effect on the node"
                         : "There are alarms in effect in the cluster",
                   {{"alarms", list}});
}

// A vhost that exists runs; that a shard answers shows that the node does.
Response virtual_hosts(Call& call) {
  call.on_every_shard([](BrokerShard&) {});
  return ok();
}

Response port_listener(Call& call) {
  const std::string& text = call.part(0);
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || at != end || text.empty()) return bad_request("Invalid port");
  Json ports = Json::array();
  for (const ListenerFact& listener : call.facts().listeners) {
    if (listener.port == port) return ok({{"port", port}});
    if (std::find(ports.begin(), ports.end(), Json(listener.port)) == ports.end()) {
      ports.push_back(listener.port);
    }
  }
  return unhealthy("No active listener", {{"missing", port}, {"ports", ports}});
}

std::string plain_protocol(const std::string& name) {
  for (const char* alias : {"amqp091", "amqp0.9.1", "amqp0-9-1", "amqp10", "amqp1.0", "amqp1-0"}) {
    if (name == alias) return "amqp";
  }
  if (name == "amqps") return "amqp/ssl";
  return name == "http/management" ? "http" : name;
}

Response protocol_listener(Call& call) {
  const std::string protocol = plain_protocol(call.part(0));
  Json protocols = Json::array();
  for (const ListenerFact& listener : call.facts().listeners) {
    if (listener.protocol == protocol) return ok({{"protocol", protocol}});
    if (std::find(protocols.begin(), protocols.end(), Json(listener.protocol)) == protocols.end()) {
      protocols.push_back(listener.protocol);
    }
  }
  return unhealthy("No active listener", {{"missing", call.part(0)}, {"protocols", protocols}});
}

// Queues have no mirrors, and a node that stops in order leaves a majority behind: it takes its
// vote with it.
Response never_critical(Call& call) {
  return ClusterNodes(call).alone() ? ok({{"reason", "single node cluster"}}) : ok();
}

// As the user: what he may not do fails, as it does in RabbitMQ. The queue stays for the next time.
Refusal refuse_trial(const Declarer& who, QueueRecord& queue) {
  using amqp::Permission;
  if (auto refusal = refuse_queue(who, queue)) return refusal;
  if (auto refusal = refuse_permission(who, Permission::kWrite, "exchange", "")) return refusal;
  return refuse_permission(who, Permission::kRead, "queue", queue.name);
}

// A queue is declared, a message is published to it and taken from it.
Response aliveness(Call& call) {
  QueueRecord wanted;
  wanted.vhost = call.part(0);
  wanted.name = "aliveness-test";
  const auto refused = refusal_of(call, wanted.vhost,
                                  [&](const Declarer& who) { return refuse_trial(who, wanted); });
  if (refused) return *refused;
  const auto result =
      call.propose(cluster::metadata::DeclareQueue{wanted, runtime::ShardId{0}, false});
  if (result.queue == nullptr) return unhealthy("the queue was not declared", Json::object());
  const QueueAnswer answer =
      call.ask_queue(*result.queue, QueueQuestion{.what = QueueQuestion::What::kTry});
  if (answer.answer != queue::Answer::kOk) {
    return unhealthy("the queue did not answer", Json::object());
  }
  if (answer.messages == 0) {
    return unhealthy("a message published to the queue did not come out of it", Json::object());
  }
  return ok();
}

Response legacy_node(Call& call) {
  const std::string& own = call.config().node_name;
  if (call.request().segments.size() > 3 && call.part(0) != own) {
    const ClusterNodes nodes(call);
    const ClusterNode* const other = nodes.named(call.part(0));
    if (other == nullptr) return not_found();
    if (other->running) return bad_request("only node " + own + " itself can be asked here");
    return json_response({{"status", "failed"}, {"reason", "nodedown"}});
  }
  const std::vector<std::string> resources = alarms_in_effect(call);
  if (resources.empty()) return ok();
  std::string list;
  for (const std::string& resource : resources) list += (list.empty() ? "" : ",") + resource;
  return json_response(
      {{"status", "failed"}, {"reason", "resource alarm(s) in effect:[" + list + "]"}});
}

}  // namespace

void add_health_routes(Router& router) {
  constexpr Access kAny = Access::kManagement;
  router.add({"GET", "/api/health/checks/alarms", kAny, alarms});
  router.add({"GET", "/api/health/checks/local-alarms", kAny, alarms});
  router.add({"GET", "/api/health/checks/virtual-hosts", kAny, virtual_hosts});
  router.add({"GET", "/api/health/checks/port-listener/*", kAny, port_listener});
  router.add({"GET", "/api/health/checks/protocol-listener/*", kAny, protocol_listener});
  router.add({"GET", "/api/health/checks/node-is-mirror-sync-critical", kAny, never_critical});
  router.add({"GET", "/api/health/checks/node-is-quorum-critical", kAny, never_critical});
  router.add({"GET", "/api/aliveness-test/*", Access::kVhost, aliveness});
  router.add({"GET", "/api/healthchecks/node", kAny, legacy_node});
  router.add({"GET", "/api/healthchecks/node/*", kAny, legacy_node});
}

}  // namespace ringtail::broker::http
