// Export and import of definitions.
#include <algorithm>

#include "broker/definitions.h"
#include "broker/http/limits.h"
#include "broker/http/listing.h"
#include "broker/http/login.h"
#include "broker/http/queue_rows.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/versions.h"
#include "broker/runtime/log.h"
#include "broker/runtime/version.h"

namespace ringtail::broker::http {

using cluster::metadata::QueueRecord;
using cluster::metadata::View;

namespace {

// Lines of problems in the log; their number is told in any case.
constexpr std::size_t kProblemsLogged = 1000;

ExportNames names_of(Call& call) {
  return {kRabbitVersion, call.config().product, std::string(runtime::kVersion)};
}

Response exported(Call& call, const OrderedJson& json) {
  Response response;
  response.body = json_text(json);
  if (const std::string_view name = call.request().parameter("download"); !name.empty()) {
    response.headers.emplace_back("Content-Disposition",
                                  "attachment; filename=\"" + percent_encode(name) + "\"");
  }
  return response;
}

// Of the exchanges that have been read; several small ones in one portion.
void read_bindings(Call& call, Definitions& definitions) {
  const auto& exchanges = definitions.exchanges;
  std::size_t at = 0;
  std::size_t skip = 0;
  while (at < exchanges.size()) {
    const bool read = call.read([&](const View& view) {
      for (std::size_t left = kPortion; left > 0 && at < exchanges.size();) {
        const std::size_t visited =
            view.visit_bindings_from(exchanges[at]->vhost, exchanges[at]->name, skip, left,
                                     [&](const auto& it) { definitions.bindings.push_back(it); });
        const bool whole = visited < left;
        at += whole ? 1 : 0;
        skip = whole ? 0 : skip + visited;
        left -= std::max<std::size_t>(visited, 1);
      }
    });
    if (!read) return;
  }
}

// Read in portions; what changes meanwhile may be in it or not. `vhost` empty: of all.
Definitions read_definitions(Call& call, const std::string& vhost) {
  Definitions definitions;
  call.read([&](const View& view) { definitions.read_heads(view, vhost); });
  std::vector<std::shared_ptr<const QueueRecord>> queues = queue_records(call, vhost);
  for (auto& record : queues) definitions.add_queue(std::move(record));
  read_bindings(call, definitions);
  return definitions;
}

Response export_all(Call& call) {
  return exported(call, export_definitions(read_definitions(call, ""), names_of(call)));
}

Response export_vhost(Call& call) {
  bool exists = false;
  call.read([&](const View& view) { exists = view.has_vhost(call.part(0)); });
  if (!exists) return not_found();
  const Definitions definitions = read_definitions(call, call.part(0));
  return exported(call, export_definitions_of_vhost(definitions, names_of(call)));
}

// One object that cannot be honoured does not stop the others: it is named in the log and in a
// header, whose value a client may show.
Response import_into(Call& call, const std::string& vhost) {
  ImportOptions options;
  options.vhost = vhost;
  options.hash_password = [](std::string_view password) { return hash_new_password(password); };
  options.accept_quorum = call.config().accept_quorum_queues;
  auto imported = import_definitions_text(call.request().body, options);
  if (!imported.ok()) return bad_request(imported.status().text());
  std::vector<std::string> problems = std::move(imported.value().problems);
  const auto& commands = imported.value().commands;
  const auto outcomes = call.propose_all(commands);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const std::string problem = problem_of(outcomes[i]);
    if (!problem.empty()) problems.push_back(subject_of(commands[i]) + ": " + problem);
  }
  for (std::size_t i = 0; i < std::min(problems.size(), kProblemsLogged); ++i) {
    runtime::log(runtime::LogLevel::kWarning, "definitions", "{}", problems[i]);
  }
  Response response = no_content();
  if (!problems.empty()) {
    response.headers.emplace_back("X-Import-Problems", std::to_string(problems.size()));
  }
  return response;
}

Response import_all(Call& call) { return import_into(call, ""); }

Response import_vhost(Call& call) {
  bool exists = false;
  call.read([&](const View& view) { exists = view.has_vhost(call.part(0)); });
  return exists ? import_into(call, call.part(0)) : not_found();
}

}  // namespace

void add_definition_routes(Router& router) {
  constexpr Access kAdmin = Access::kAdministrator;
  for (const char* path : {"/api/definitions", "/api/all-configuration"}) {
    router.add({"GET", path, kAdmin, export_all});
    router.add({"POST", path, kAdmin, import_all});
  }
  router.add({"GET", "/api/definitions/*", kAdmin, export_vhost});
  router.add({"POST", "/api/definitions/*", kAdmin, import_vhost});
}

}  // namespace ringtail::broker::http
