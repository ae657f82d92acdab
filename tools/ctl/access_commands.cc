// What users may do in virtual hosts.
#include <fmt/format.h>

#include <array>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

// Of a request that needs a user and a vhost, and was refused: which of them is missing.
int refused(Context& context, const Reply& reply, const std::string& vhost,
            const std::string& user) {
  int code = kExitOk;
  if (reply.status != 400 && reply.status != 404) return context.refused(reply);
  if (!context.vhost_exists(vhost, code) || !context.user_exists(user, code)) return code;
  return context.refused(reply);
}

int set_permissions(Context& context) {
  const std::string& user = context.argument(0);
  const std::string vhost = context.line.vhost();
  context.banner(
      fmt::format("Setting permissions for user \"{}\" in vhost \"{}\" ...", user, vhost));
  const Json body = {{"configure", context.argument(1)},
                     {"write", context.argument(2)},
                     {"read", context.argument(3)}};
  int code = kExitOk;
  Reply reply;
  if (!context.send({"PUT", path_of({"permissions", vhost, user}), json_line(body)}, reply, code)) {
    return code;
  }
  return reply.good() ? context.done() : refused(context, reply, vhost, user);
}

// Removing what is not there is no error where both exist.
int cleared(Context& context, const std::string& path, const std::string& vhost,
            const std::string& user) {
  int code = kExitOk;
  Reply reply;
  if (!context.send({"DELETE", path}, reply, code)) return code;
  if (reply.good()) return context.done();
  if (reply.status != 404) return context.refused(reply);
  if (!context.vhost_exists(vhost, code) || !context.user_exists(user, code)) return code;
  return context.done();
}

int clear_permissions(Context& context) {
  const std::string& user = context.argument(0);
  const std::string vhost = context.line.vhost();
  context.banner(
      fmt::format("Clearing permissions for user \"{}\" in vhost \"{}\" ...", user, vhost));
  return cleared(context, path_of({"permissions", vhost, user}), vhost, user);
}

int list_permissions(Context& context) {
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Listing permissions for vhost \"{}\" ...", vhost));
  Json permissions;
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  if (!context.get({"vhosts", vhost, "permissions"}, permissions, code)) return code;
  Table table{{"user", "configure", "write", "read"}, {}};
  for (const Json& each : permissions) {
    table.add(
        {field(each, "user"), field(each, "configure"), field(each, "write"), field(each, "read")});
  }
  return context.print(table);
}

int list_user_permissions(Context& context) {
  const std::string& user = context.argument(0);
  context.banner(fmt::format("Listing permissions for user \"{}\" ...", user));
  Json permissions;
  int code = kExitOk;
  if (!context.user_exists(user, code)) return code;
  if (!context.get({"users", user, "permissions"}, permissions, code)) return code;
  Table table{{"vhost", "configure", "write", "read"}, {}};
  for (const Json& each : permissions) {
    table.add({field(each, "vhost"), field(each, "configure"), field(each, "write"),
               field(each, "read")});
  }
  return context.print(table);
}

int set_topic_permissions(Context& context) {
  const std::string& user = context.argument(0);
  const std::string& exchange = context.argument(1);
  const std::string vhost = context.line.vhost();
  context.banner(
      fmt::format("Setting topic permissions on \"{}\" for user \"{}\" in vhost \"{}\" ...",
                  exchange, user, vhost));
  const Json body = {
      {"exchange", exchange}, {"write", context.argument(2)}, {"read", context.argument(3)}};
  int code = kExitOk;
  Reply reply;
  if (!context.send({"PUT", path_of({"topic-permissions", vhost, user}), json_line(body)}, reply,
                    code)) {
    return code;
  }
  return reply.good() ? context.done() : refused(context, reply, vhost, user);
}

int clear_topic_permissions(Context& context) {
  const std::string& user = context.argument(0);
  const std::string vhost = context.line.vhost();
  std::vector<std::string> path = {"topic-permissions", vhost, user};
  std::string on;
  if (context.line.arguments.size() > 1) {
    path.push_back(context.argument(1));
    on = fmt::format(" on \"{}\"", context.argument(1));
  }
  context.banner(fmt::format("Clearing topic permissions{} for user \"{}\" in vhost \"{}\" ...", on,
                             user, vhost));
  return cleared(context, path_of(path), vhost, user);
}

int list_topic_permissions(Context& context) {
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Listing topic permissions for vhost \"{}\" ...", vhost));
  Json permissions;
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  if (!context.get({"vhosts", vhost, "topic-permissions"}, permissions, code)) return code;
  Table table{{"user", "exchange", "write", "read"}, {}};
  for (const Json& each : permissions) {
    table.add(
        {field(each, "user"), field(each, "exchange"), field(each, "write"), field(each, "read")});
  }
  return context.print(table);
}

int list_user_topic_permissions(Context& context) {
  const std::string& user = context.argument(0);
  context.banner(fmt::format("Listing topic permissions for user \"{}\" ...", user));
  Json permissions;
  int code = kExitOk;
  if (!context.user_exists(user, code)) return code;
  if (!context.get({"users", user, "topic-permissions"}, permissions, code)) return code;
  Table table{{"vhost", "exchange", "write", "read"}, {}};
  for (const Json& each : permissions) {
    table.add(
        {field(each, "vhost"), field(each, "exchange"), field(each, "write"), field(each, "read")});
  }
  return context.print(table);
}

}  // namespace

std::span<const Command> access_commands() {
  static constexpr std::string_view kGroup = "Access Control";
  static constexpr std::array kCommands = {
      Command{kGroup, "clear_permissions", "[--vhost <vhost>] <username>",
              "Revokes a user's permissions for a vhost", 1, 1, "vhost", clear_permissions},
      Command{kGroup, "clear_topic_permissions", "[--vhost <vhost>] <username> [<exchange>]",
              "Removes a user's topic permissions for a vhost or an exchange", 1, 2, "vhost",
              clear_topic_permissions},
      Command{kGroup, "list_permissions", "[--vhost <vhost>] [--no-table-headers]",
              "Lists permissions in a virtual host", 0, 0, "vhost", list_permissions},
      Command{kGroup, "list_topic_permissions", "[--vhost <vhost>] [--no-table-headers]",
              "Lists topic permissions in a virtual host", 0, 0, "vhost", list_topic_permissions},
      Command{kGroup, "list_user_permissions", "<username>",
              "Lists a user's permissions in all virtual hosts", 1, 1, "", list_user_permissions},
      Command{kGroup, "list_user_topic_permissions", "<username>",
              "Lists a user's topic permissions in all virtual hosts", 1, 1, "",
              list_user_topic_permissions},
      Command{kGroup, "set_permissions", "[--vhost <vhost>] <username> <conf> <write> <read>",
              "Sets a user's permissions for a vhost", 4, 4, "vhost", set_permissions},
      Command{
          kGroup, "set_topic_permissions", "[--vhost <vhost>] <username> <exchange> <write> <read>",
          "Sets a user's topic permissions for an exchange", 4, 4, "vhost", set_topic_permissions},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
