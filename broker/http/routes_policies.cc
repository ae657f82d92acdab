// Policies and operator policies.
#include <fmt/format.h>

#include "broker/definitions_checks.h"
#include "broker/http/body.h"
#include "broker/http/listing.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::DeletePolicy;
using cluster::metadata::Outcome;
using cluster::metadata::PolicyRecord;
using cluster::metadata::PolicyTarget;
using cluster::metadata::PutPolicy;
using cluster::metadata::View;

namespace {

// Policies of both kinds have the same routes; which is meant stands in the path.
bool of_operator(Call& call) { return call.request().segments[1] == "operator-policies"; }

std::vector<Json> rows_of(Call& call, const std::string* vhost, const std::string* name) {
  std::vector<Json> rows;
  const bool wanted = of_operator(call);
  call.read([&](const View& view) {
    view.for_each_policy([&](const auto& policy) {
      if (policy->of_operator != wanted) return;
      if (vhost != nullptr && policy->vhost != *vhost) return;
      if (name != nullptr && policy->name != *name) return;
      if (call.may_see(view, policy->vhost)) rows.push_back(policy_json(*policy));
    });
  });
  return rows;
}

Response list_policies(Call& call) {
  return list_response(call.request(), rows_of(call, nullptr, nullptr));
}

Response policies_of_vhost(Call& call) {
  return list_response(call.request(), rows_of(call, &call.part(0), nullptr));
}

Response get_policy(Call& call) {
  const std::vector<Json> rows = rows_of(call, &call.part(0), &call.part(1));
  return rows.empty() ? not_found() : object_response(call.request(), rows.front());
}

std::string invalid(const std::string& why) { return "Validation failed\n\n" + why + "\n"; }

void read_target(Body& body, PolicyRecord& policy) {
  const std::string target = body.text("apply-to", "all");
  if (target == "all") {
    policy.apply_to = PolicyTarget::kAll;
  } else if (target == "queues") {
    policy.apply_to = PolicyTarget::kQueues;
  } else if (target == "exchanges") {
    policy.apply_to = PolicyTarget::kExchanges;
  } else if (target == "classic_queues") {
    policy.apply_to = PolicyTarget::kClassicQueues;
  } else if (target == "quorum_queues") {
    policy.apply_to = PolicyTarget::kQuorumQueues;
  } else {
    body.fail(invalid(fmt::format(
        "apply-to '{}' unrecognised; should be 'queues', 'exchanges' or 'all'", target)));
  }
}

void read_priority(Body& body, PolicyRecord& policy) {
  const Json* value = body.find("priority");
  if (body.is_null("priority"))
    body.fail(invalid("priority should be a number, actually was null"));
  if (value == nullptr) return;
  if (!value->is_number_integer()) {
    body.fail(invalid(
        "priority should be a number, actually was " +
        (value->is_string() ? "<<\"" + value->get<std::string>() + "\">>" : json_text(*value))));
    return;
  }
  policy.priority = value->get<std::int64_t>();
}

Response put_policy(Call& call) {
  Body body(call.request());
  body.require({"pattern", "definition"});
  PolicyRecord policy;
  policy.vhost = call.part(0);
  policy.name = call.part(1);
  policy.of_operator = of_operator(call);
  const Json* pattern = body.find("pattern");
  if (pattern != nullptr && !pattern->is_string()) {
    body.fail(invalid("pattern should be a binary but was " + json_text(*pattern)));
  }
  policy.pattern = body.text("pattern", "");
  read_target(body, policy);
  read_priority(body, policy);
  if (!body.ok()) return body.fault();
  auto definition = policy_definition_of_json(*body.find("definition"));
  if (!definition.ok()) return bad_request(invalid(definition.status().text()));
  policy.definition = std::move(definition).value();
  if (const auto fault = fault_of_policy(policy)) return bad_request(invalid(*fault));
  const auto result = call.propose(PutPolicy{std::move(policy)});
  if (result.outcome == Outcome::kNoVhost) return failure(404, "not_found", "vhost_not_found");
  return result.outcome == Outcome::kDone ? created() : no_content();
}

Response delete_policy(Call& call) {
  const auto result = call.propose(DeletePolicy{call.part(0), call.part(1), of_operator(call)});
  return result.outcome == Outcome::kDone ? no_content() : not_found();
}

}  // namespace

void add_policy_routes(Router& router) {
  router.add({"GET", "/api/policies", Access::kManagement, list_policies});
  router.add({"GET", "/api/policies/*", Access::kVhostVisible, policies_of_vhost});
  router.add({"GET", "/api/policies/*/*", Access::kVhostVisible, get_policy});
  router.add({"PUT", "/api/policies/*/*", Access::kPolicymaker, put_policy});
  router.add({"DELETE", "/api/policies/*/*", Access::kPolicymaker, delete_policy});
  router.add({"GET", "/api/operator-policies", Access::kManagement, list_policies});
  router.add({"GET", "/api/operator-policies/*", Access::kVhostVisible, policies_of_vhost});
  router.add({"GET", "/api/operator-policies/*/*", Access::kVhostVisible, get_policy});
  router.add({"PUT", "/api/operator-policies/*/*", Access::kAdministrator, put_policy});
  router.add({"DELETE", "/api/operator-policies/*/*", Access::kAdministrator, delete_policy});
}

}  // namespace ringtail::broker::http
