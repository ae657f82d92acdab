// Runtime parameters: of vhosts, global ones, and the cluster's name, which is one of those.
#include "broker/cluster_name.h"
#include "broker/http/body.h"
#include "broker/http/listing.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::DeleteParameter;
using cluster::metadata::Outcome;
using cluster::metadata::ParameterRecord;
using cluster::metadata::PutParameter;
using cluster::metadata::View;

namespace {

bool is_global(const ParameterRecord& parameter) { return parameter.component.empty(); }

template <typename Wanted>
std::vector<Json> rows_of(Call& call, Wanted wanted) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    view.for_each_parameter([&](const auto& parameter) {
      if (is_global(*parameter) || !call.may_see(view, parameter->vhost)) return;
      if (wanted(*parameter)) rows.push_back(parameter_json(*parameter));
    });
  });
  return rows;
}

// Parts: component, vhost, name. The vhost is not the first, so the routes look after it.
std::optional<Response> refuse_vhost(Call& call) {
  bool exists = false;
  bool may = false;
  call.read([&](const View& view) {
    exists = view.has_vhost(call.part(1));
    may = call.may_enter(view, call.part(1)) || call.is_administrator();
  });
  if (!exists) return not_found();
  if (!may) return not_authorised("User not authorised to access virtual host");
  return std::nullopt;
}

Response refuse_maker() { return not_authorised("User not authorised to access object"); }

Response list_parameters(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  return list_response(call.request(), rows_of(call, [](const auto&) { return true; }));
}

Response parameters_of_component(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  return list_response(call.request(), rows_of(call, [&](const ParameterRecord& one) {
                         return one.component == call.part(0);
                       }));
}

Response parameters_of_vhost(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  if (auto refused = refuse_vhost(call)) return *refused;
  return list_response(call.request(), rows_of(call, [&](const ParameterRecord& one) {
                         return one.component == call.part(0) && one.vhost == call.part(1);
                       }));
}

Response get_parameter(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  if (auto refused = refuse_vhost(call)) return *refused;
  const std::vector<Json> rows = rows_of(call, [&](const ParameterRecord& one) {
    return one.component == call.part(0) && one.vhost == call.part(1) && one.name == call.part(2);
  });
  return rows.empty() ? not_found() : object_response(call.request(), rows.front());
}

// Components that tools set. Nothing acts on them here; refusing them would stop an import or a
// deployment that other brokers of the estate need.
bool known_component(std::string_view component) {
  return component == "shovel" || component == "federation-upstream" ||
         component == "federation-upstream-set" || component == "federation";
}

Response put_parameter(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  if (auto refused = refuse_vhost(call)) return *refused;
  Body body(call.request());
  body.require({"value"});
  if (!body.ok()) return body.fault();
  if (!known_component(call.part(0))) {
    return bad_request("Validation failed\n\ncomponent " + call.part(0) + " not found\n");
  }
  ParameterRecord record{call.part(0), call.part(1), call.part(2), json_text(*body.find("value"))};
  const auto result = call.propose(PutParameter{std::move(record)});
  return result.outcome == Outcome::kDone ? created() : no_content();
}

Response delete_parameter(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  if (auto refused = refuse_vhost(call)) return *refused;
  const auto result = call.propose(DeleteParameter{call.part(0), call.part(1), call.part(2)});
  return result.outcome == Outcome::kDone ? no_content() : not_found();
}

// --- global ---

std::vector<Json> global_rows(Call& call, const std::string* name) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    view.for_each_parameter([&](const auto& parameter) {
      if (!is_global(*parameter) || (name != nullptr && parameter->name != *name)) return;
      rows.push_back(global_parameter_json(*parameter));
    });
  });
  return rows;
}

Response list_global(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  return list_response(call.request(), global_rows(call, nullptr));
}

Response get_global(Call& call) {
  if (!call.is_policymaker()) return refuse_maker();
  const std::vector<Json> rows = global_rows(call, &call.part(0));
  return rows.empty() ? not_found() : object_response(call.request(), rows.front());
}

Response put_global(Call& call) {
  Body body(call.request());
  body.require({"value"});
  if (!body.ok()) return body.fault();
  const auto result = call.propose(
      PutParameter{ParameterRecord{"", "", call.part(0), json_text(*body.find("value"))}});
  return result.outcome == Outcome::kDone ? created() : no_content();
}

Response delete_global(Call& call) {
  const auto result = call.propose(DeleteParameter{"", "", call.part(0)});
  return result.outcome == Outcome::kDone ? no_content() : not_found();
}

Response get_cluster_name(Call& call) {
  return object_response(call.request(), {{"name", cluster_name(call)}});
}

Response put_cluster_name(Call& call) {
  Body body(call.request());
  body.require({"name"});
  const std::string name = body.text("name", "");
  if (!body.ok()) return body.fault();
  call.propose(PutParameter{ParameterRecord{"", "", kClusterNameParameter, json_text(Json(name))}});
  return no_content();
}

}  // namespace

std::string cluster_name(Call& call) {
  std::string name;
  call.read([&](const View& view) { name = broker::cluster_name(view, call.config()); });
  return name;
}

void add_parameter_routes(Router& router) {
  constexpr Access kAny = Access::kManagement;
  router.add({"GET", "/api/parameters", kAny, list_parameters});
  router.add({"GET", "/api/parameters/*", kAny, parameters_of_component});
  router.add({"GET", "/api/parameters/*/*", kAny, parameters_of_vhost});
  router.add({"GET", "/api/parameters/*/*/*", kAny, get_parameter});
  router.add({"PUT", "/api/parameters/*/*/*", kAny, put_parameter});
  router.add({"DELETE", "/api/parameters/*/*/*", kAny, delete_parameter});
  router.add({"GET", "/api/global-parameters", kAny, list_global});
  router.add({"GET", "/api/global-parameters/*", kAny, get_global});
  router.add({"PUT", "/api/global-parameters/*", Access::kAdministrator, put_global});
  router.add({"DELETE", "/api/global-parameters/*", Access::kAdministrator, delete_global});
  router.add({"GET", "/api/cluster-name", kAny, get_cluster_name});
  router.add({"PUT", "/api/cluster-name", Access::kAdministrator, put_cluster_name});
}

}  // namespace ringtail::broker::http
