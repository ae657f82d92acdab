// Virtual hosts, and the limits of vhosts and users.
#include <map>

#include "broker/http/body.h"
#include "broker/http/cluster_nodes.h"
#include "broker/http/listing.h"
#include "broker/http/queue_rows.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::DeleteVhost;
using cluster::metadata::Outcome;
using cluster::metadata::PermissionRecord;
using cluster::metadata::PutPermission;
using cluster::metadata::PutVhost;
using cluster::metadata::QueueRecord;
using cluster::metadata::SetUserLimits;
using cluster::metadata::SetVhostLimits;
using cluster::metadata::UserLimits;
using cluster::metadata::UserRecord;
using cluster::metadata::VhostLimits;
using cluster::metadata::VhostRecord;
using cluster::metadata::View;

namespace {

using VhostPtr = std::shared_ptr<const VhostRecord>;

// A vhost runs wherever a node does.
Json cluster_state(Call& call) {
  Json state = Json::object();
  const ClusterNodes nodes(call);
  for (const ClusterNode& node : nodes.all()) {
    if (node.running) state[node.name] = "running";
  }
  return state;
}

Json vhost_json(const VhostRecord& vhost, const QueueTotals& totals, const Json& state) {
  const std::string type =
      vhost.default_queue_type.empty() ? "undefined" : vhost.default_queue_type;
  Json metadata = {{"description", vhost.description}, {"tags", vhost.tags}};
  if (!vhost.default_queue_type.empty()) metadata["default_queue_type"] = type;
  Json json = {{"name", vhost.name},    {"description", vhost.description},
               {"tags", vhost.tags},    {"default_queue_type", type},
               {"metadata", metadata},  {"tracing", false},
               {"cluster_state", state}};
  put_depth(json, totals.ready, totals.unacknowledged);
  json["message_stats"] = message_stats_json(totals);
  return json;
}

std::map<std::string, QueueTotals> totals_by_vhost(Call& call) {
  std::map<std::string, QueueTotals> totals;
  for_each_queue(call, [&](const QueueRecord& queue, const queue::QueueStats& stats) {
    totals[queue.vhost].add(stats);
  });
  return totals;
}

VhostPtr find_vhost(Call& call, const std::string& name) {
  VhostPtr vhost;
  call.read([&](const View& view) { vhost = view.vhost(name); });
  return vhost;
}

Response list_vhosts(Call& call) {
  std::vector<VhostPtr> vhosts;
  call.read([&](const View& view) {
    view.for_each_vhost([&](const auto& vhost) {
      if (call.may_see(view, vhost->name)) vhosts.push_back(vhost);
    });
  });
  auto totals = totals_by_vhost(call);
  const Json state = cluster_state(call);
  Listing listing;
  listing.count = vhosts.size();
  listing.pages = true;
  listing.row = [&](std::size_t row) {
    return vhost_json(*vhosts[row], totals[vhosts[row]->name], state);
  };
  listing.name = [&](std::size_t row) { return std::string_view(vhosts[row]->name); };
  return list_response(call.request(), listing);
}

Response get_vhost(Call& call) {
  const VhostPtr vhost = find_vhost(call, call.part(0));
  if (vhost == nullptr) return not_found();
  auto totals = totals_by_vhost(call);
  return object_response(call.request(),
                         vhost_json(*vhost, totals[vhost->name], cluster_state(call)));
}

Response put_vhost(Call& call) {
  Body body(call.request());
  VhostRecord record;
  record.name = call.part(0);
  record.description = body.text("description", "");
  record.tags = body.words("tags");
  body.boolean("tracing", false);
  for (const char* key : {"default_queue_type", "defaultqueuetype"}) {
    if (body.has(key)) record.default_queue_type = body.text(key, "");
  }
  if (record.default_queue_type == "undefined") record.default_queue_type.clear();
  const std::string& type = record.default_queue_type;
  if (!type.empty() && type != "classic" && type != "quorum") {
    body.fail("default_queue_type '" + type + "' is not one of classic and quorum");
  }
  if (!body.ok()) return body.fault();
  std::size_t vhosts = 0;
  call.read([&](const View& view) { view.for_each_vhost([&](const auto&) { ++vhosts; }); });
  const bool exists = find_vhost(call, record.name) != nullptr;
  const std::uint64_t most = call.config().vhost_max;
  if (!exists && most != 0 && vhosts >= most) {
    return bad_request("cannot create vhost '" + record.name + "': vhost_limit_exceeded");
  }
  const auto result = call.propose(PutVhost{record});
  if (result.outcome != Outcome::kDone) return no_content();
  // Whoever makes it may use it.
  PermissionRecord permission{record.name, call.user().name, ".*", ".*", ".*"};
  call.propose(PutPermission{std::move(permission)});
  return created();
}

Response delete_vhost(Call& call) {
  if (find_vhost(call, call.part(0)) == nullptr) return not_found();
  call.propose(DeleteVhost{call.part(0)});
  return no_content();
}

// It runs on all nodes as soon as it exists.
Response start_vhost(Call& call) {
  return find_vhost(call, call.part(0)) == nullptr ? not_found() : no_content();
}

// --- limits ---

// The limit that a body sets; negative: none.
// How RabbitMQ words what is wrong with a vhost's limit, and with a user's.
std::string fault_of_vhost_limit(const std::string& why) {
  return "Validation failed\n\n" + why + "\n";
}
std::string fault_of_user_limit(const std::string& why) { return why; }

std::optional<std::int64_t> read_limit(Body& body, const std::string& name,
                                       std::string (*fault)(const std::string&)) {
  if (!body.is_null("value")) body.require({"value"});
  const Json* value = body.find("value");
  if (!body.ok()) return std::nullopt;
  if (value == nullptr || !value->is_number_integer()) {
    std::string actual = "null";
    if (value != nullptr) {
      actual = value->is_string() ? "<<\"" + value->get<std::string>() + "\">>" : json_text(*value);
    }
    body.fail(fault(name + " should be a number, actually was " + actual));
    return std::nullopt;
  }
  return value->get<std::int64_t>();
}

void set(std::optional<std::uint64_t>& limit, std::int64_t value) {
  limit.reset();
  if (value >= 0) limit = static_cast<std::uint64_t>(value);
}

// Null: there is no such limit.
std::optional<std::uint64_t>* limit_of(VhostLimits& limits, std::string_view name) {
  if (name == "max-connections") return &limits.max_connections;
  return name == "max-queues" ? &limits.max_queues : nullptr;
}

std::optional<std::uint64_t>* limit_of(UserLimits& limits, std::string_view name) {
  if (name == "max-connections") return &limits.max_connections;
  return name == "max-channels" ? &limits.max_channels : nullptr;
}

std::string unknown_limit(const std::string& name, std::int64_t value, const char* where) {
  return "Unrecognised terms [{<<\"" + name + "\">>," + std::to_string(value) + "}] in " + where;
}

Response list_vhost_limits(Call& call) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    view.for_each_vhost([&](const auto& vhost) {
      if (vhost->limits == VhostLimits{} || !call.may_see(view, vhost->name)) return;
      rows.push_back({{"vhost", vhost->name}, {"value", vhost_limits_json(vhost->limits)}});
    });
  });
  return list_response(call.request(), rows);
}

Response get_vhost_limits(Call& call) {
  const VhostPtr vhost = find_vhost(call, call.part(0));
  if (vhost == nullptr) return not_found();
  std::vector<Json> rows;
  if (!(vhost->limits == VhostLimits{})) {
    rows.push_back({{"vhost", vhost->name}, {"value", vhost_limits_json(vhost->limits)}});
  }
  return list_response(call.request(), rows);
}

Response put_vhost_limit(Call& call) {
  const VhostPtr vhost = find_vhost(call, call.part(0));
  if (vhost == nullptr) return failure(404, "not_found", "vhost_not_found");
  Body body(call.request());
  const auto value = read_limit(body, call.part(1), fault_of_vhost_limit);
  if (!body.ok()) return body.fault();
  VhostLimits limits = vhost->limits;
  auto* limit = limit_of(limits, call.part(1));
  if (limit == nullptr) {
    return bad_request(fault_of_vhost_limit(unknown_limit(call.part(1), *value, "limits")));
  }
  set(*limit, *value);
  call.propose(SetVhostLimits{vhost->name, limits});
  return no_content();
}

Response delete_vhost_limit(Call& call) {
  const VhostPtr vhost = find_vhost(call, call.part(0));
  if (vhost == nullptr) return not_found();
  VhostLimits limits = vhost->limits;
  if (auto* limit = limit_of(limits, call.part(1))) limit->reset();
  call.propose(SetVhostLimits{vhost->name, limits});
  return no_content();
}

Response list_user_limits(Call& call) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    view.for_each_user([&](const auto& user) {
      if (user->limits == UserLimits{}) return;
      rows.push_back({{"user", user->name}, {"value", user_limits_json(user->limits)}});
    });
  });
  return list_response(call.request(), rows);
}

Response get_user_limits(Call& call) {
  const auto user = call.user_named(call.part(0));
  if (user == nullptr) return not_found();
  std::vector<Json> rows;
  if (!(user->limits == UserLimits{})) {
    rows.push_back({{"user", user->name}, {"value", user_limits_json(user->limits)}});
  }
  return list_response(call.request(), rows);
}

Response put_user_limit(Call& call) {
  const auto user = call.user_named(call.part(0));
  if (user == nullptr) return bad_request("user_not_found");
  Body body(call.request());
  const auto value = read_limit(body, call.part(1), fault_of_user_limit);
  if (!body.ok()) return body.fault();
  UserLimits limits = user->limits;
  auto* limit = limit_of(limits, call.part(1));
  if (limit == nullptr) return bad_request(unknown_limit(call.part(1), *value, "user-limits"));
  set(*limit, *value);
  call.propose(SetUserLimits{user->name, limits});
  return no_content();
}

Response delete_user_limit(Call& call) {
  const auto user = call.user_named(call.part(0));
  if (user == nullptr) return not_found();
  UserLimits limits = user->limits;
  if (auto* limit = limit_of(limits, call.part(1))) limit->reset();
  call.propose(SetUserLimits{user->name, limits});
  return no_content();
}

}  // namespace

void add_vhost_routes(Router& router) {
  constexpr Access kAdmin = Access::kAdministrator;
  router.add({"GET", "/api/vhosts", Access::kManagement, list_vhosts});
  router.add({"GET", "/api/vhosts/*", Access::kVhostVisible, get_vhost});
  router.add({"PUT", "/api/vhosts/*", kAdmin, put_vhost});
  router.add({"DELETE", "/api/vhosts/*", kAdmin, delete_vhost});
  router.add({"POST", "/api/vhosts/*/start/*", kAdmin, start_vhost});
  router.add({"GET", "/api/vhost-limits", Access::kManagement, list_vhost_limits});
  router.add({"GET", "/api/vhost-limits/*", Access::kVhostVisible, get_vhost_limits});
  router.add({"PUT", "/api/vhost-limits/*/*", kAdmin, put_vhost_limit});
  router.add({"DELETE", "/api/vhost-limits/*/*", kAdmin, delete_vhost_limit});
  router.add({"GET", "/api/user-limits", Access::kManagement, list_user_limits});
  router.add({"GET", "/api/user-limits/*", Access::kManagement, get_user_limits});
  router.add({"PUT", "/api/user-limits/*/*", kAdmin, put_user_limit});
  router.add({"DELETE", "/api/user-limits/*/*", kAdmin, delete_user_limit});
}

}  // namespace ringtail::broker::http
