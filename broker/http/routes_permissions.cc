// Permissions and topic permissions.
#include "broker/http/body.h"
#include "broker/http/listing.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"
#include "broker/runtime/pattern.h"

namespace ringtail::broker::http {

using cluster::metadata::DeletePermission;
using cluster::metadata::DeleteTopicPermission;
using cluster::metadata::Outcome;
using cluster::metadata::PermissionRecord;
using cluster::metadata::PutPermission;
using cluster::metadata::PutTopicPermission;
using cluster::metadata::TopicPermissionRecord;
using cluster::metadata::View;

namespace {

bool any(const PermissionRecord&) { return true; }

// Rows of the permissions that `wanted` takes.
template <typename Wanted>
std::vector<Json> permissions(Call& call, Wanted wanted) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    view.for_each_permission([&](const auto& permission) {
      if (wanted(*permission)) rows.push_back(permission_json(*permission));
    });
  });
  return rows;
}

template <typename Wanted>
std::vector<Json> topic_permissions(Call& call, Wanted wanted) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    view.for_each_topic_permission([&](const auto& permission) {
      if (wanted(*permission)) rows.push_back(topic_permission_json(*permission));
    });
  });
  return rows;
}

bool user_exists(Call& call, const std::string& name) {
  bool exists = false;
  call.read([&](const View& view) { exists = view.user(name) != nullptr; });
  return exists;
}

bool vhost_exists(Call& call, const std::string& name) {
  bool exists = false;
  call.read([&](const View& view) { exists = view.has_vhost(name); });
  return exists;
}

// A pattern that is asked for by name; a fault when it is no regular expression.
std::string read_pattern(Body& body, std::string_view key) {
  std::string pattern = body.text(key, "");
  const auto compiled = runtime::Pattern::compile(pattern);
  if (!compiled.ok()) {
    body.fail(Json::array({"invalid_regexp", pattern, compiled.status().text()}));
  }
  return pattern;
}

Response list_permissions(Call& call) {
  return list_response(call.request(), permissions(call, any));
}

Response permissions_of_user(Call& call) {
  if (!user_exists(call, call.part(0))) return not_found();
  return list_response(call.request(), permissions(call, [&](const PermissionRecord& one) {
                         return one.user == call.part(0);
                       }));
}

Response permissions_of_vhost(Call& call) {
  if (!vhost_exists(call, call.part(0))) return not_found();
  return list_response(call.request(), permissions(call, [&](const PermissionRecord& one) {
                         return one.vhost == call.part(0);
                       }));
}

Response get_permission(Call& call) {
  std::shared_ptr<const PermissionRecord> found;
  call.read([&](const View& view) { found = view.permission(call.part(0), call.part(1)); });
  return found == nullptr ? not_found() : object_response(call.request(), permission_json(*found));
}

Response put_permission(Call& call) {
  Body body(call.request());
  body.require({"configure", "write", "read"});
  PermissionRecord record;
  record.vhost = call.part(0);
  record.user = call.part(1);
  record.configure = read_pattern(body, "configure");
  record.write = read_pattern(body, "write");
  record.read = read_pattern(body, "read");
  if (!body.ok()) return body.fault();
  if (!user_exists(call, record.user)) return bad_request("vhost_or_user_not_found");
  const auto result = call.propose(PutPermission{std::move(record)});
  if (result.outcome == Outcome::kNoVhost || result.outcome == Outcome::kNoUser) {
    return bad_request("vhost_or_user_not_found");
  }
  return result.outcome == Outcome::kDone ? created() : no_content();
}

Response delete_permission(Call& call) {
  const auto result = call.propose(DeletePermission{call.part(0), call.part(1)});
  return result.outcome == Outcome::kDone ? no_content() : not_found();
}

Response list_topic_permissions(Call& call) {
  return list_response(call.request(), topic_permissions(call, [](const auto&) { return true; }));
}

Response topic_permissions_of_user(Call& call) {
  if (!user_exists(call, call.part(0))) return not_found();
  return list_response(call.request(), topic_permissions(call, [&](const auto& one) {
                         return one.user == call.part(0);
                       }));
}

Response topic_permissions_of_vhost(Call& call) {
  if (!vhost_exists(call, call.part(0))) return not_found();
  return list_response(call.request(), topic_permissions(call, [&](const auto& one) {
                         return one.vhost == call.part(0);
                       }));
}

Response get_topic_permissions(Call& call) {
  const std::vector<Json> rows = topic_permissions(
      call, [&](const auto& one) { return one.vhost == call.part(0) && one.user == call.part(1); });
  return rows.empty() ? not_found() : list_response(call.request(), rows);
}

Response get_topic_permission(Call& call) {
  const std::vector<Json> rows = topic_permissions(call, [&](const auto& one) {
    return one.vhost == call.part(0) && one.user == call.part(1) && one.exchange == call.part(2);
  });
  return rows.empty() ? not_found() : object_response(call.request(), rows.front());
}

Response put_topic_permission(Call& call) {
  Body body(call.request());
  body.require({"exchange", "write", "read"});
  TopicPermissionRecord record;
  record.vhost = call.part(0);
  record.user = call.part(1);
  record.exchange = body.text("exchange", "");
  record.write = read_pattern(body, "write");
  record.read = read_pattern(body, "read");
  if (!body.ok()) return body.fault();
  if (!user_exists(call, record.user)) return bad_request("vhost_or_user_not_found");
  // The path names all of the user's in the vhost: the first one makes it.
  const bool first = topic_permissions(call, [&](const auto& one) {
                       return one.vhost == record.vhost && one.user == record.user;
                     }).empty();
  const auto result = call.propose(PutTopicPermission{std::move(record)});
  if (result.outcome == Outcome::kNoVhost || result.outcome == Outcome::kNoUser) {
    return bad_request("vhost_or_user_not_found");
  }
  return first ? created() : no_content();
}

Response delete_topic_permissions(Call& call) {
  const auto result = call.propose(DeleteTopicPermission{call.part(0), call.part(1), std::nullopt});
  return result.outcome == Outcome::kDone ? no_content() : not_found();
}

Response delete_topic_permission(Call& call) {
  const auto result = call.propose(DeleteTopicPermission{call.part(0), call.part(1), call.part(2)});
  return result.outcome == Outcome::kDone ? no_content() : not_found();
}

}  // namespace

void add_permission_routes(Router& router) {
  constexpr Access kAdmin = Access::kAdministrator;
  router.add({"GET", "/api/permissions", kAdmin, list_permissions});
  router.add({"GET", "/api/permissions/*/*", kAdmin, get_permission});
  router.add({"PUT", "/api/permissions/*/*", kAdmin, put_permission});
  router.add({"DELETE", "/api/permissions/*/*", kAdmin, delete_permission});
  router.add({"GET", "/api/users/*/permissions", kAdmin, permissions_of_user});
  router.add({"GET", "/api/vhosts/*/permissions", kAdmin, permissions_of_vhost});
  router.add({"GET", "/api/topic-permissions", kAdmin, list_topic_permissions});
  router.add({"GET", "/api/topic-permissions/*/*", kAdmin, get_topic_permissions});
  router.add({"PUT", "/api/topic-permissions/*/*", kAdmin, put_topic_permission});
  router.add({"DELETE", "/api/topic-permissions/*/*", kAdmin, delete_topic_permissions});
  router.add({"GET", "/api/topic-permissions/*/*/*", kAdmin, get_topic_permission});
  router.add({"DELETE", "/api/topic-permissions/*/*/*", kAdmin, delete_topic_permission});
  router.add({"GET", "/api/users/*/topic-permissions", kAdmin, topic_permissions_of_user});
  router.add({"GET", "/api/vhosts/*/topic-permissions", kAdmin, topic_permissions_of_vhost});
}

}  // namespace ringtail::broker::http
