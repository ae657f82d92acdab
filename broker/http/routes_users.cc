// Users, whoami and what concerns passwords.
#include <algorithm>
#include <set>

#include "broker/base64.h"
#include "broker/http/body.h"
#include "broker/http/listing.h"
#include "broker/http/login.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::DeleteUser;
using cluster::metadata::Outcome;
using cluster::metadata::PasswordHashing;
using cluster::metadata::PutUser;
using cluster::metadata::UserRecord;
using cluster::metadata::View;

namespace {

Response whoami(Call& call) {
  return object_response(call.request(), {{"name", call.user().name}, {"tags", call.user().tags}});
}

Response list_users(Call& call) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    view.for_each_user([&](const auto& user) { rows.push_back(user_json(*user)); });
  });
  return list_response(call.request(), rows);
}

Response users_without_permissions(Call& call) {
  std::vector<Json> rows;
  call.read([&](const View& view) {
    std::set<std::string, std::less<>> with;
    view.for_each_permission([&](const auto& permission) { with.insert(permission->user); });
    view.for_each_user([&](const auto& user) {
      if (!with.contains(user->name)) rows.push_back(user_json(*user));
    });
  });
  return list_response(call.request(), rows);
}

Response get_user(Call& call) {
  const auto user = call.user_named(call.part(0));
  return user == nullptr ? not_found() : object_response(call.request(), user_json(*user));
}

// The tags of a body: "tags", or the older "administrator".
void read_tags(Body& body, UserRecord& user) {
  if (body.has("tags")) {
    user.tags = body.words("tags");
  } else if (body.has("administrator")) {
    if (body.boolean("administrator", false)) user.tags = {"administrator"};
  } else {
    body.fail("tags_not_present");
  }
}

PasswordHashing hashing_of(std::string_view algorithm) {
  if (algorithm == "rabbit_password_hashing_sha512") return PasswordHashing::kSha512;
  if (algorithm == "rabbit_password_hashing_md5") return PasswordHashing::kMd5;
  return PasswordHashing::kSha256;
}

void read_password(Body& body, UserRecord& user) {
  if (body.has("password") && body.has("password_hash")) {
    body.fail("both_password_and_password_hash_are_provided");
  } else if (body.has("password")) {
    user.password_hash = hash_new_password(body.text("password", ""));
  } else if (body.has("password_hash")) {
    const std::string encoded = body.text("password_hash", "");
    auto hash = base64_decode(encoded);
    if (!hash) {
      body.fail(Json::array({"not_base64", encoded}));
      return;
    }
    user.password_hash = std::move(*hash);
    user.hashing = hashing_of(body.text("hashing_algorithm", ""));
  }
}

Response put_user(Call& call) {
  Body body(call.request());
  UserRecord user;
  user.name = call.part(0);
  read_tags(body, user);
  read_password(body, user);
  if (!body.ok()) return body.fault();
  const auto result = call.propose(PutUser{std::move(user)});
  return result.outcome == Outcome::kDone ? created() : no_content();
}

Response delete_user(Call& call) {
  const auto result = call.propose(DeleteUser{call.part(0)});
  return result.outcome == Outcome::kDone ? no_content() : not_found();
}

Response delete_users(Call& call) {
  Body body(call.request());
  body.require({"users"});
  const std::vector<std::string> names = body.words("users");
  if (!body.ok()) return body.fault();
  for (const std::string& name : names) {
    if (call.user_named(name) == nullptr) return bad_request(Json::array({"no_such_user", name}));
  }
  for (const std::string& name : names) call.propose(DeleteUser{name});
  return no_content();
}

Response hash_of_password(Call& call) {
  return json_response({{"ok", base64_encode(hash_new_password(call.part(0)))}});
}

Response auth_settings(Call&) {
  return json_response({{"enable_uaa", false}, {"uaa_client_id", ""}, {"uaa_location", ""}});
}

}  // namespace

void add_user_routes(Router& router) {
  router.add({"GET", "/api/whoami", Access::kManagement, whoami});
  router.add({"GET", "/api/users", Access::kAdministrator, list_users});
  router.add(
      {"GET", "/api/users/without-permissions", Access::kAdministrator, users_without_permissions});
  router.add({"POST", "/api/users/bulk-delete", Access::kAdministrator, delete_users});
  router.add({"GET", "/api/users/*", Access::kAdministrator, get_user});
  router.add({"PUT", "/api/users/*", Access::kAdministrator, put_user});
  router.add({"DELETE", "/api/users/*", Access::kAdministrator, delete_user});
  router.add({"GET", "/api/auth/hash_password/*", Access::kAdministrator, hash_of_password});
  router.add({"GET", "/api/auth", Access::kManagement, auth_settings});
}

}  // namespace ringtail::broker::http
