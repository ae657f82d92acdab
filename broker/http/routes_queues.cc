// Queues.
#include "broker/broker_shard.h"
#include "broker/channel.h"
#include "broker/channel_names.h"
#include "broker/http/body.h"
#include "broker/http/cluster_nodes.h"
#include "broker/http/connection_rows.h"
#include "broker/http/declaring.h"
#include "broker/http/listing.h"
#include "broker/http/queue_rows.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::DeclareQueue;
using cluster::metadata::Outcome;
using cluster::metadata::QueueRecord;
using cluster::metadata::QueueType;
using cluster::metadata::View;

namespace {

// What a message costs beside its body, about: for the field `memory`.
constexpr std::uint64_t kMessageOverhead = 256;
constexpr std::uint64_t kQueueOverhead = 2048;

void put_policy(Json& json, const QueueRecord& queue) {
  json["policy"] = Json();
  json["operator_policy"] = Json();
  json["effective_policy_definition"] = Json::object();
  if (queue.policy == nullptr) return;
  if (!queue.policy->policy.empty()) json["policy"] = queue.policy->policy;
  if (!queue.policy->operator_policy.empty()) {
    json["operator_policy"] = queue.policy->operator_policy;
  }
  json["effective_policy_definition"] = json_of_policy_definition(queue.policy->definition);
}

void put_bytes(Json& json, const queue::QueueStats& stats) {
  json["message_bytes"] = stats.message_bytes_ready;
  json["message_bytes_ready"] = stats.message_bytes_ready;
  json["message_bytes_unacknowledged"] = 0;
  json["message_bytes_ram"] = stats.message_bytes_ready;
  json["message_bytes_persistent"] = 0;
  json["message_bytes_paged_out"] = 0;
  json["messages_ram"] = stats.messages_ready + stats.messages_unacknowledged;
  json["messages_ready_ram"] = stats.messages_ready;
  json["messages_unacknowledged_ram"] = stats.messages_unacknowledged;
  json["messages_persistent"] = 0;
  json["messages_paged_out"] = 0;
}

// What the metadata says of it, and whether its node serves it.
Json declared_json(const QueueRecord& queue, const ClusterNodes& nodes) {
  const ClusterNode* const home = nodes.find(queue.home);
  const bool running = home != nullptr && home->running;
  const std::string node = home == nullptr ? "" : home->name;
  const bool quorum = queue.options.type == QueueType::kQuorum;
  Json json = {{"name", queue.name},
               {"vhost", queue.vhost},
               {"type", quorum ? "quorum" : "classic"},
               {"durable", queue.durable},
               {"auto_delete", queue.auto_delete},
               {"exclusive", queue.exclusive()},
               {"arguments", json_of_arguments(queue.arguments)},
               {"node", node},
               {"state", running ? "running" : "down"}};
  if (quorum) {
    json["leader"] = node;
    json["members"] = Json::array({node});
    json["online"] = running ? Json::array({node}) : Json::array();
  }
  return json;
}

bool wants_depth_only(const Call& call) { return call.request().flag("disable_stats"); }
bool wants_figures(const Call& call) {
  return !wants_depth_only(call) || call.request().flag("enable_queue_totals");
}

// Without counters of traffic when the client says so: they are most of the text.
Json queue_json(Call& call, const ClusterNodes& nodes, const QueueRow& row) {
  const QueueRecord& queue = *row.record;
  const queue::QueueStats& stats = row.stats;
  Json json = declared_json(queue, nodes);
  const bool depth_only = wants_depth_only(call);
  if (!depth_only) put_policy(json, queue);
  if (!row.known || !wants_figures(call)) return json;
  put_depth(json, stats.messages_ready, stats.messages_unacknowledged);
  if (depth_only) return json;
  put_bytes(json, stats);
  put_count(json, "reductions", 0);
  json["consumers"] = stats.consumers;
  json["consumer_utilisation"] = 0;
  json["consumer_capacity"] = 0;
  json["exclusive_consumer_tag"] = Json();
  json["single_active_consumer_tag"] = Json();
  json["head_message_timestamp"] = Json();
  json["recoverable_slaves"] = Json();
  json["memory"] = kQueueOverhead + stats.message_bytes_ready +
                   kMessageOverhead * (stats.messages_ready + stats.messages_unacknowledged);
  json["garbage_collection"] = {{"min_heap_size", 233},
                                {"min_bin_vheap_size", 46422},
                                {"max_heap_size", 0},
                                {"fullsweep_after", 65535},
                                {"minor_gcs", 0}};
  json["backing_queue_status"] = {{"mode", "default"}, {"len", stats.messages_ready}};
  QueueTotals totals;
  totals.add(stats);
  json["message_stats"] = message_stats_json(totals);
  return json;
}

Response queues_response(Call& call, const std::string& vhost) {
  const std::vector<QueueRow> rows = queue_rows(call, vhost, wants_figures(call));
  const ClusterNodes nodes(call);
  Listing listing;
  listing.count = rows.size();
  listing.pages = true;
  listing.row = [&](std::size_t row) { return queue_json(call, nodes, rows[row]); };
  listing.name = [&](std::size_t row) { return std::string_view(rows[row].record->name); };
  return list_response(call.request(), listing);
}

Response list_queues(Call& call) { return queues_response(call, ""); }

Response queues_of_vhost(Call& call) { return queues_response(call, call.part(0)); }

Call::QueuePtr find(Call& call) {
  Call::QueuePtr queue;
  call.read([&](const View& view) { queue = view.queue(call.part(0), call.part(1)); });
  return queue;
}

void put_owner(Call& call, const QueueRecord& queue, Json& json) {
  if (!queue.exclusive()) return;
  call.on_every_shard([&](BrokerShard& shard) {
    if (queue.home != shard.shard().node()) return;
    Connection* owner = shard.connection(queue.exclusive_owner);
    if (owner == nullptr) return;
    const ConnectionInfo info = owner->info();
    json["owner_pid_details"] = {
        {"name", info.name}, {"peer_host", info.peer_host}, {"peer_port", info.peer_port}};
  });
}

// Whether that consumer of the queue gets messages: others may wait behind it.
bool is_active(const std::vector<queue::ConsumerStats>& consumers, const std::string& tag) {
  for (const queue::ConsumerStats& consumer : consumers) {
    if (consumer.tag == tag) return consumer.active;
  }
  return true;
}

Json consumers_of(Call& call, const QueueRecord& queue, Json& json) {
  std::vector<queue::ConsumerStats> stats;
  call.on_every_shard([&](BrokerShard& shard) {
    if (const auto* process = shard.queues().find(queue.qid)) stats = process->consumer_stats();
  });
  Json consumers = Json::array();
  if (stats.empty()) return consumers;
  std::vector<ConnectionRow> rows;
  call.on_every_shard([&](BrokerShard& shard) {
    shard.for_each_connection([&](Connection& connection) {
      if (connection.vhost() == queue.vhost) {
        rows.push_back({connection.info(), connection.channel_infos()});
      }
    });
  });
  for (const ConnectionRow& row : rows) {
    for (const ChannelInfo& channel : row.channels) {
      for (const ChannelInfo::Consumer& consumer : channel.consumers) {
        if (consumer.queue != queue.name) continue;
        Json one = consumer_json(call, row.info, channel, consumer);
        const bool active = is_active(stats, consumer.tag);
        if (queue.options.single_active_consumer) {
          one["active"] = active;
          one["activity_status"] = active ? "single_active" : "waiting";
          if (active) json["single_active_consumer_tag"] = consumer.tag;
        }
        if (consumer.exclusive) json["exclusive_consumer_tag"] = consumer.tag;
        consumers.push_back(std::move(one));
      }
    }
  }
  return consumers;
}

// How much the queue holds; nothing, while its node is not reached. False: it is gone.
bool look_at(Call& call, QueueRow& row) {
  bool here = true;
  bool found = false;
  call.on_shard(call.nearest_shard(*row.record), [&](BrokerShard& shard) {
    here = row.record->home == shard.shard().node();
    const auto* process = shard.queues().find(row.record->qid);
    found = process != nullptr;
    if (found) row.stats = process->stats();
  });
  if (here) return found;
  QueueQuestion question;
  question.what = QueueQuestion::What::kInspect;
  const QueueAnswer answer = call.ask_queue(*row.record, question);
  row.stats = answer.stats;
  row.known = answer.answer == queue::Answer::kOk;
  return answer.answer != queue::Answer::kNotFound || answer.node_down;
}

Response get_queue(Call& call) {
  const auto queue = find(call);
  if (queue == nullptr) return not_found();
  QueueRow row{queue};
  if (!look_at(call, row)) return not_found();
  Json json = queue_json(call, ClusterNodes(call), row);
  put_owner(call, *queue, json);
  json["consumer_details"] = consumers_of(call, *queue, json);
  json["incoming"] = Json::array();
  json["deliveries"] = Json::array();
  return object_response(call.request(), std::move(json));
}

Response put_queue(Call& call) {
  Body body(call.request());
  QueueRecord wanted;
  wanted.vhost = call.part(0);
  wanted.name = clean_name(call.part(1));
  wanted.durable = body.boolean("durable", false);
  wanted.auto_delete = body.boolean("auto_delete", false);
  wanted.arguments = body.arguments("arguments");
  if (!body.ok()) return body.fault();
  const auto refused = refusal_of(call, wanted.vhost, [&](const Declarer& who) {
    auto refusal = refuse_queue_name(wanted.name);
    return refusal ? refusal : refuse_queue(who, wanted);
  });
  if (refused) return *refused;
  const auto result = call.propose(DeclareQueue{wanted, runtime::ShardId{0}, false});
  std::uint64_t limit = 0;
  if (result.outcome == Outcome::kQueueLimit) {
    call.read([&](const View& view) {
      const auto vhost = view.vhost(wanted.vhost);
      if (vhost != nullptr) limit = vhost->limits.max_queues.value_or(0);
    });
  }
  switch (result.outcome) {
    case Outcome::kDone:
      return created();
    case Outcome::kNoVhost:
      return not_found();
    case Outcome::kQueueLimit:
      return amqp_failure(amqp::queue_limit_reached(wanted.vhost, wanted.name, limit));
    case Outcome::kNoNode:
      if (const auto error = refuse_missing_master(wanted)) return amqp_failure(*error);
      return failure(503, "service_unavailable", "there is no node to have the queue");
    default:
      break;
  }
  if (result.queue != nullptr) {
    if (const auto error = refuse_other_queue(*result.queue, wanted)) return amqp_failure(*error);
  }
  return no_content();
}

// As the user, with that permission; an exclusive queue is its connection's alone.
std::optional<Response> refuse_use(Call& call, const QueueRecord& queue,
                                   amqp::Permission permission) {
  return refusal_of(call, queue.vhost, [&](const Declarer& who) -> Refusal {
    if (auto refusal = refuse_permission(who, permission, "queue", queue.name)) return refusal;
    if (!queue.exclusive()) return std::nullopt;
    return amqp::resource_locked(queue.vhost, queue.name);
  });
}

Response home_down(Call& call, const QueueRecord& queue) {
  std::string node;
  call.on_shard(runtime::ShardId{0},
                [&](BrokerShard& shard) { node = shard.node_name(queue.home); });
  return amqp_failure(amqp::not_found_home_node_down(queue.vhost, queue.name, node));
}

Response delete_queue(Call& call) {
  const auto queue = find(call);
  if (queue == nullptr) return not_found();
  if (auto refused = refuse_use(call, *queue, amqp::Permission::kConfigure)) return *refused;
  QueueQuestion question;
  question.what = QueueQuestion::What::kDelete;
  question.if_unused = call.request().flag("if-unused");
  question.if_empty = call.request().flag("if-empty");
  const QueueAnswer answer = call.ask_queue(*queue, question);
  if (answer.node_down) return home_down(call, *queue);
  switch (answer.answer) {
    case queue::Answer::kInUse:
    case queue::Answer::kExclusiveUse:
      return amqp_failure(amqp::queue_in_use(queue->vhost, queue->name));
    case queue::Answer::kNotEmpty:
      return amqp_failure(amqp::queue_not_empty(queue->vhost, queue->name));
    case queue::Answer::kNotFound:
    case queue::Answer::kDamaged:
      return not_found();
    case queue::Answer::kUnavailable:  // the call has failed
    case queue::Answer::kOk:
      break;
  }
  return no_content();
}

Response purge_queue(Call& call) {
  const auto queue = find(call);
  if (queue == nullptr) return not_found();
  if (auto refused = refuse_use(call, *queue, amqp::Permission::kRead)) return *refused;
  const QueueAnswer answer = call.ask_queue(*queue, QueueQuestion{});
  if (answer.node_down) return home_down(call, *queue);
  return answer.answer == queue::Answer::kOk ? no_content() : not_found();
}

// Mirrors are always in step once they are part of the queue; there is nothing to start or stop.
Response queue_action(Call& call) {
  Body body(call.request());
  body.require({"action"});
  const std::string action = body.text("action", "");
  if (!body.ok()) return body.fault();
  if (find(call) == nullptr) return not_found();
  if (action == "sync" || action == "cancel_sync") return no_content();
  return bad_request(Json::array({"unknown", action}));
}

}  // namespace

void add_queue_routes(Router& router) {
  router.add({"GET", "/api/queues", Access::kManagement, list_queues});
  router.add({"GET", "/api/queues/*", Access::kVhostVisible, queues_of_vhost});
  router.add({"GET", "/api/queues/*/*", Access::kVhostVisible, get_queue});
  router.add({"PUT", "/api/queues/*/*", Access::kVhost, put_queue});
  router.add({"DELETE", "/api/queues/*/*", Access::kVhost, delete_queue});
  router.add({"DELETE", "/api/queues/*/*/contents", Access::kVhost, purge_queue});
  router.add({"POST", "/api/queues/*/*/actions", Access::kAdministrator, queue_action});
}

}  // namespace ringtail::broker::http
