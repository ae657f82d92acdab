// Stopping and starting what serves, and what can be done in between: ours, for ringtailctl's
// stop_app, start_app, reset and join_cluster.
#include "broker/http/app_control.h"
#include "broker/http/body.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"

namespace ringtail::broker::http {

namespace {

using runtime::Status;

const char* name_of(AppControl::State state) {
  switch (state) {
    case AppControl::State::kStarting:
      return "starting";
    case AppControl::State::kRunning:
      return "running";
    case AppControl::State::kStopping:
      return "stopping";
    case AppControl::State::kStopped:
      return "stopped";
  }
  return "";
}

Response failed(const Status& status) {
  return failure(status.code() == runtime::Code::kInvalid ? 400 : 503, "app", status.text());
}

Response show(Call& call) {
  const AppControl& app = *call.facts().app;
  return json_response({{"node", call.config().node_name},
                        {"state", name_of(app.state())},
                        {"last_error", app.last_error()}});
}

Response stop(Call& call) {
  AppControl::Users administrators;
  AppControl::Members members;
  const bool read = call.read([&](const cluster::metadata::View& view) {
    view.for_each_node([&members](const auto& node) { members.push_back(node->name); });
    view.for_each_user([&administrators](const auto& user) {
      for (const std::string& tag : user->tags) {
        if (tag == "administrator") administrators.push_back(user);
      }
    });
  });
  if (!read) return failure(400, "app", "it does not run");
  const Status status = call.facts().app->stop(std::move(administrators), std::move(members));
  return status.ok() ? json_response({{"state", "stopping"}}, 202) : failed(status);
}

Response start(Call& call) {
  const Status status = call.facts().app->start();
  return status.ok() ? json_response({{"state", "starting"}}, 202) : failed(status);
}

Response reset_with(Call& call, bool force) {
  const Status status = call.facts().app->reset(force);
  return status.ok() ? no_content() : failed(status);
}

Response reset(Call& call) { return reset_with(call, false); }
Response force_reset(Call& call) { return reset_with(call, true); }

Response force_boot(Call& call) {
  const Status status = call.facts().app->force_boot();
  return status.ok() ? no_content() : failed(status);
}

Response join(Call& call) {
  Body body(call.request());
  body.require({"member"});
  const std::string member = body.text("member", "");
  if (!body.ok()) return body.fault();
  bool already = false;
  const Status status = call.facts().app->join(member, already);
  return status.ok() ? json_response({{"already_member", already}}) : failed(status);
}

}  // namespace

void add_app_routes(Router& router) {
  router.add({"GET", "/api/app", Access::kManagement, show});
  router.add({"POST", "/api/app/stop", Access::kAdministrator, stop});
  router.add({"POST", "/api/app/start", Access::kAdministrator, start});
  router.add({"POST", "/api/app/reset", Access::kAdministrator, reset});
  router.add({"POST", "/api/app/force-reset", Access::kAdministrator, force_reset});
  router.add({"POST", "/api/app/force-boot", Access::kAdministrator, force_boot});
  router.add({"POST", "/api/app/join", Access::kAdministrator, join});
}

}  // namespace ringtail::broker::http
