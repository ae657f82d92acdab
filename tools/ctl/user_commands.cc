// Users: who may log in, with which tags and limits.
#include <fmt/format.h>

#include <array>
#include <istream>
#include <ostream>

#include "tools/ctl/command.h"
#include "tools/ctl/password.h"

namespace ringtail::ctl {

namespace {

constexpr const char* kHintAfterAdd =
    "Done. Don't forget to grant the user permissions to some virtual hosts! See 'rabbitmqctl help "
    "set_permissions' to learn more.";

// The second argument, or a line of the standard input.
bool password_of(Context& context, std::string& password, int& code) {
  if (context.line.arguments.size() > 1) {
    password = context.argument(1);
    return true;
  }
  if (!context.line.quiet() && !context.json()) context.out << "Password: " << std::flush;
  std::getline(context.in, password);
  if (!context.line.quiet() && !context.json()) context.out << '\n';
  if (!password.empty()) return true;
  code = context.fail(kExitData, "Password is not provided via argument or stdin");
  return false;
}

// Changes some members of a user that exists; the others stay. Null removes one.
int update_user(Context& context, const std::string& name, const Json& changes) {
  int code = kExitOk;
  Reply reply;
  const std::string path = path_of({"users", name});
  if (!context.send({"GET", path}, reply, code)) return code;
  if (reply.status == 404) return context.no_user(name);
  if (!reply.good()) return context.refused(reply);
  const Json present = reply.json();
  Json body = {
      {"tags", present.value("tags", Json::array())},
      {"password_hash", present.value("password_hash", "")},
      {"hashing_algorithm", present.value("hashing_algorithm", "rabbit_password_hashing_sha256")}};
  for (const auto& change : changes.items()) {
    if (change.value().is_null()) {
      body.erase(change.key());
    } else {
      body[change.key()] = change.value();
    }
  }
  if (!context.send({"PUT", path, json_line(body)}, reply, code)) return code;
  return reply.good() ? context.done() : context.refused(reply);
}

int add_user(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Adding user \"{}\" ...", name));
  std::string password;
  int code = kExitOk;
  if (!password_of(context, password, code)) return code;
  Reply reply;
  const std::string path = path_of({"users", name});
  if (!context.send({"GET", path}, reply, code)) return code;
  if (reply.good()) {
    return context.fail(kExitSoftware, fmt::format("User \"{}\" already exists", name));
  }
  if (reply.status != 404) return context.refused(reply);
  const bool hashed = context.line.has("pre-hashed-password");
  const Json body = {{hashed ? "password_hash" : "password", password}, {"tags", ""}};
  if (!context.send({"PUT", path, json_line(body)}, reply, code)) return code;
  if (!reply.good()) return context.refused(reply);
  if (context.line.quiet() && !context.json()) return kExitOk;
  return context.done(kHintAfterAdd);
}

int delete_user(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Deleting user \"{}\" ...", name));
  int code = kExitOk;
  Reply reply;
  if (!context.send({"DELETE", path_of({"users", name})}, reply, code)) return code;
  if (reply.status == 404) return context.no_user(name);
  return reply.good() ? context.done() : context.refused(reply);
}

int change_password(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Changing password for user \"{}\" ...", name));
  std::string password;
  int code = kExitOk;
  if (!password_of(context, password, code)) return code;
  return update_user(
      context, name,
      {{"password", password}, {"password_hash", nullptr}, {"hashing_algorithm", nullptr}});
}

int clear_password(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Clearing password for user \"{}\" ...", name));
  return update_user(context, name, {{"password_hash", ""}});
}

int set_user_tags(Context& context) {
  const std::string& name = context.argument(0);
  const std::vector<std::string> tags(context.line.arguments.begin() + 1,
                                      context.line.arguments.end());
  context.banner(
      fmt::format("Setting tags for user \"{}\" to [{}] ...", name, fmt::join(tags, ", ")));
  return update_user(context, name, {{"tags", tags}});
}

// By asking the broker as that user: it answers 401 to a wrong password, and with another text to a
// right one whose user may not manage.
int authenticate_user(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Authenticating user \"{}\" ...", name));
  std::string password;
  int code = kExitOk;
  if (!password_of(context, password, code)) return code;
  Request request{"GET", "whoami"};
  request.login = std::pair(name, password);
  Reply reply;
  if (!context.send(request, reply, code)) return code;
  const bool without_tag = reply.status == 401 && reply.reason() == "Not management user";
  if (reply.good() || without_tag) return context.done("Success");
  if (reply.status != 401) return context.refused(reply);
  return context.fail(kExitData, fmt::format("Error: failed to authenticate user \"{}\"\n"
                                             "user '{}' - invalid credentials",
                                             name, name));
}

int list_users(Context& context) {
  context.banner("Listing users ...");
  Json users;
  int code = kExitOk;
  if (!context.get({"users"}, users, code)) return code;
  Table table{{"user", "tags"}, {}};
  for (const Json& user : users) table.add({user.value("name", ""), field(user, "tags")});
  return context.print(table);
}

// RabbitMQ's has no such command; its documentation tells to do it by hand.
int hash_password(Context& context) {
  std::string password;
  if (!context.line.arguments.empty()) {
    password = context.argument(0);
  } else {
    std::getline(context.in, password);
  }
  if (password.empty()) {
    return context.fail(kExitData, "Password is not provided via argument or stdin");
  }
  return context.done(hashed_password(password, random_salt()));
}

// --- limits --------------------------------------------------------------------------------------

int set_user_limits(Context& context) {
  const std::string& name = context.argument(0);
  const std::string& text = context.argument(1);
  context.banner(fmt::format("Setting user limits to \"{}\" for user \"{}\" ...", text, name));
  const Json limits = Json::parse(text, nullptr, false);
  if (!limits.is_object()) {
    return context.fail(kExitUnavailable, "JSON decoding error: the limits have to be an object");
  }
  int code = kExitOk;
  if (!context.user_exists(name, code)) return code;
  Reply reply;
  for (const auto& limit : limits.items()) {
    const Json body = {{"value", limit.value()}};
    if (!context.send({"PUT", path_of({"user-limits", name, limit.key()}), json_line(body)}, reply,
                      code)) {
      return code;
    }
    if (!reply.good()) return context.refused(reply);
  }
  return context.done();
}

int clear_user_limits(Context& context) {
  const std::string& name = context.argument(0);
  const std::string& limit = context.argument(1);
  const bool all = limit == "all";
  context.banner(all ? fmt::format("Clearing all limits for user \"{}\" ...", name)
                     : fmt::format("Clearing \"{}\" limit for user \"{}\" ...", limit, name));
  int code = kExitOk;
  if (!context.user_exists(name, code)) return code;
  const std::vector<std::string> wanted =
      all ? std::vector<std::string>{"max-connections", "max-channels"}
          : std::vector<std::string>{limit};
  Reply reply;
  for (const std::string& each : wanted) {
    if (!context.send({"DELETE", path_of({"user-limits", name, each})}, reply, code)) return code;
    if (!reply.good() && reply.status != 404) return context.refused(reply);
  }
  return context.done();
}

int list_user_limits(Context& context) {
  int code = kExitOk;
  Json limits;
  if (context.line.has("user")) {
    const std::string name = context.line.value("user", "");
    context.banner(fmt::format("Listing limits for user \"{}\" ...", name));
    if (!context.user_exists(name, code)) return code;
    if (!context.get({"user-limits", name}, limits, code)) return code;
    const Json value = limits.empty() ? Json::object() : field(limits[0], "value");
    context.out << json_line(value) << '\n';
    return kExitOk;
  }
  context.banner("Listing limits for all users ...");
  if (!context.get({"user-limits"}, limits, code)) return code;
  Table table{{"user", "limits"}, {}};
  for (const Json& item : limits) {
    table.add({item.value("user", ""), json_line(field(item, "value"))});
  }
  return context.print(table);
}

}  // namespace

std::span<const Command> user_commands() {
  static constexpr std::string_view kGroup = "Users";
  static constexpr std::array kCommands = {
      Command{kGroup, "add_user", "<username> [<password>] [--pre-hashed-password]",
              "Creates a new user, without permissions for any virtual host", 1, 2,
              "pre-hashed-password", add_user},
      Command{kGroup, "authenticate_user", "<username> [<password>]",
              "Tries to log in as a user; the exit code is not 0 if that fails", 1, 2, "",
              authenticate_user},
      Command{kGroup, "change_password", "<username> [<password>]", "Changes a user's password", 1,
              2, "", change_password},
      Command{kGroup, "clear_password", "<username>",
              "Removes a user's password: no login by password", 1, 1, "", clear_password},
      Command{kGroup, "clear_user_limits", "<username> <limit_name> | all",
              "Removes a user's limits of connections and channels", 2, 2, "", clear_user_limits},
      Command{kGroup, "delete_user", "<username>", "Removes a user and what the user may do", 1, 1,
              "", delete_user},
      Command{kGroup, "hash_password", "[<password>]",
              "Prints a password's salted hash, as definitions have it", 0, 1, "", hash_password},
      Command{kGroup, "list_user_limits", "[--user <username>] [--global]",
              "Displays limits of users", 0, 0, "user global", list_user_limits},
      Command{kGroup, "list_users", "[--no-table-headers] [--timeout <timeout>]",
              "Lists users and their tags", 0, 0, "", list_users},
      Command{kGroup, "set_user_limits", "<username> <definition>",
              "Sets a user's limits, {\"max-connections\": 10, \"max-channels\": 100}", 2, 2, "",
              set_user_limits},
      Command{kGroup, "set_user_tags", "<username> <tag> [...]",
              "Replaces a user's tags; none clears them", 1, kAnyNumber, "", set_user_tags},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
