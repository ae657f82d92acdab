// The overview, and what else is asked of the node as a whole.
#include <set>

#include "broker/broker_shard.h"
#include "broker/http/connection_rows.h"
#include "broker/http/listing.h"
#include "broker/http/node_description.h"
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

// Of what the user may see. Queues and exchanges are the cluster's; what is in queues, connections
// and channels are this node's.
struct Totals {
  QueueTotals in_queues;
  std::uint64_t queues = 0;
  std::uint64_t exchanges = 0;
  std::uint64_t connections = 0;
  std::uint64_t channels = 0;
};

Totals totals_of(Call& call) {
  Totals totals;
  const std::vector<std::string> names = visible_vhosts(call);
  const std::set<std::string_view> visible(names.begin(), names.end());
  for_each_queue(call, [&](const QueueRecord& queue, const queue::QueueStats& stats) {
    if (visible.contains(queue.vhost)) totals.in_queues.add(stats);
  });
  for (const std::string& vhost : names) {
    call.read([&](const View& view) {
      view.for_each_exchange(vhost, [&](const auto&) { ++totals.exchanges; });
      totals.queues += view.queue_count(vhost);
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
  put_depth(depth, totals.in_queues.ready, totals.in_queues.unacknowledged);
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
               {"message_stats", message_stats_json(totals.in_queues)},
               {"churn_rates", Json::object()},
               {"queue_totals", depth},
               {"object_totals",
                {{"connections", totals.connections},
                 {"channels", totals.channels},
                 {"consumers", totals.in_queues.consumers},
                 {"exchanges", totals.exchanges},
                 {"queues", totals.queues}}}};
  put_versions(json, call);
  // Where it runs is the operators' business.
  if (call.is_monitor()) {
    json["node"] = call.config().node_name;
    json["listeners"] = listeners_json(call);
    json["contexts"] = contexts_json(call);
  }
  return object_response(call.request(), std::move(json));
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
  add_node_routes(router);
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
  add_app_routes(router);
}

}  // namespace ringtail::broker::http
