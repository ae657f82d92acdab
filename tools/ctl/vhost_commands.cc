// Virtual hosts and their limits.
#include <fmt/format.h>

#include <array>
#include <ostream>

#include "tools/ctl/columns.h"
#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

// The broker gives all permissions in a new vhost to the user that makes it over HTTP. RabbitMQ's
// tools give none: what the user did not have before is taken away again.
int put_vhost(Context& context, const std::string& vhost, const Json& body) {
  int code = kExitOk;
  Json who;
  if (!context.get({"whoami"}, who, code)) return code;
  const std::string permissions = path_of({"permissions", vhost, who.value("name", "")});
  Reply before;
  if (!context.send({"GET", permissions}, before, code)) return code;
  Reply reply;
  if (!context.send({"PUT", path_of({"vhosts", vhost}), json_line(body)}, reply, code)) return code;
  if (!reply.good()) return context.refused(reply);
  if (before.status == 404 && !context.send({"DELETE", permissions}, reply, code)) return code;
  return context.done();
}

int add_vhost(Context& context) {
  const std::string& vhost = context.argument(0);
  context.banner(fmt::format("Adding vhost \"{}\" ...", vhost));
  Json body = Json::object();
  if (context.line.has("description")) body["description"] = context.line.value("description", "");
  if (context.line.has("tags")) body["tags"] = context.line.value("tags", "");
  if (context.line.has("default-queue-type")) {
    body["default_queue_type"] = context.line.value("default-queue-type", "");
  }
  return put_vhost(context, vhost, body);
}

int set_vhost_tags(Context& context) {
  const std::string& vhost = context.argument(0);
  const std::vector<std::string> tags(context.line.arguments.begin() + 1,
                                      context.line.arguments.end());
  context.banner(fmt::format("Setting tags for virtual host \"{}\" to [{}] ...", vhost,
                             fmt::join(tags, ", ")));
  Json present;
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  if (!context.get({"vhosts", vhost}, present, code)) return code;
  Json body = {{"tags", fmt::format("{}", fmt::join(tags, ","))}};
  if (present.contains("description")) body["description"] = field(present, "description");
  return put_vhost(context, vhost, body);
}

int delete_vhost(Context& context) {
  const std::string& vhost = context.argument(0);
  context.banner(fmt::format("Deleting vhost \"{}\" ...", vhost));
  int code = kExitOk;
  Reply reply;
  if (!context.send({"DELETE", path_of({"vhosts", vhost})}, reply, code)) return code;
  if (reply.status == 404) return context.no_vhost(vhost);
  return reply.good() ? context.done() : context.refused(reply);
}

constexpr std::array kColumns = {
    Column{"name", "name"},
    Column{"description", "description"},
    Column{"tags", "tags"},
    Column{"default_queue_type", "default_queue_type"},
    Column{"tracing", "tracing"},
    Column{"cluster_state", "cluster_state",
           [](const Json& vhost) {
             // RabbitMQ's text of it: [{node, state}].
             std::string text = "[";
             if (!vhost.contains("cluster_state")) return Json("[]");
             for (const auto& node : field(vhost, "cluster_state").items()) {
               if (text.size() > 1) text += ", ";
               text += fmt::format("{{{}, {}}}", node.key(), cell_text(node.value()));
             }
             return Json(text + "]");
           }},
};

int list_vhosts(Context& context) {
  Columns columns;
  int code = kExitOk;
  if (!choose_columns(context, kColumns, {"name"}, columns, code)) return code;
  context.banner("Listing vhosts ...");
  Json vhosts;
  if (!context.get({"vhosts"}, vhosts, code)) return code;
  return context.print(table_of(columns, vhosts));
}

// --- limits --------------------------------------------------------------------------------------

int set_vhost_limits(Context& context) {
  const std::string& text = context.argument(0);
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Setting vhost limits to \"{}\" for vhost \"{}\" ...", text, vhost));
  const Json limits = Json::parse(text, nullptr, false);
  if (!limits.is_object()) {
    return context.fail(kExitUnavailable, "JSON decoding error: the limits have to be an object");
  }
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  Reply reply;
  for (const auto& limit : limits.items()) {
    const Json body = {{"value", limit.value()}};
    if (!context.send({"PUT", path_of({"vhost-limits", vhost, limit.key()}), json_line(body)},
                      reply, code)) {
      return code;
    }
    if (!reply.good()) return context.refused(reply);
  }
  return context.done();
}

int clear_vhost_limits(Context& context) {
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Clearing vhost \"{}\" limits ...", vhost));
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  Reply reply;
  for (const char* limit : {"max-connections", "max-queues"}) {
    if (!context.send({"DELETE", path_of({"vhost-limits", vhost, limit})}, reply, code)) {
      return code;
    }
    if (!reply.good() && reply.status != 404) return context.refused(reply);
  }
  return context.done();
}

int list_vhost_limits(Context& context) {
  int code = kExitOk;
  Json limits;
  if (!context.line.has("global")) {
    const std::string vhost = context.line.vhost();
    context.banner(fmt::format("Listing limits for vhost \"{}\" ...", vhost));
    if (!context.vhost_exists(vhost, code)) return code;
    if (!context.get({"vhost-limits", vhost}, limits, code)) return code;
    if (context.json() && limits.empty()) {
      context.out << "{}\n";
    } else {
      context.out << (limits.empty() ? "" : json_line(field(limits[0], "value"))) << '\n';
    }
    return kExitOk;
  }
  context.banner("Listing limits for all vhosts ...");
  if (!context.get({"vhost-limits"}, limits, code)) return code;
  Table table{{"vhost", "limits"}, {}};
  for (const Json& item : limits) {
    table.add({item.value("vhost", ""), json_line(field(item, "value"))});
  }
  return context.print(table);
}

}  // namespace

std::span<const Command> vhost_commands() {
  static constexpr std::string_view kGroup = "Virtual hosts";
  static constexpr std::array kCommands = {
      Command{kGroup, "add_vhost",
              "<vhost> [--description <text>] [--tags <tag>,<tag>] [--default-queue-type <type>]",
              "Creates a virtual host", 1, 1, "description tags default-queue-type", add_vhost},
      Command{kGroup, "clear_vhost_limits", "[--vhost <vhost>]", "Removes a virtual host's limits",
              0, 0, "vhost", clear_vhost_limits},
      Command{kGroup, "delete_vhost", "<vhost>", "Deletes a virtual host and all that is in it", 1,
              1, "", delete_vhost},
      Command{kGroup, "list_vhost_limits", "[--vhost <vhost>] [--global]",
              "Displays limits of virtual hosts", 0, 0, "vhost global", list_vhost_limits},
      Command{kGroup, "list_vhosts", "[--no-table-headers] [<column> ...]", "Lists virtual hosts",
              0, kAnyNumber, "", list_vhosts},
      Command{kGroup, "set_vhost_limits", "[--vhost <vhost>] <definition>",
              "Sets a virtual host's limits, {\"max-connections\": 10, \"max-queues\": 100}", 1, 1,
              "vhost", set_vhost_limits},
      Command{kGroup, "set_vhost_tags", "<vhost> <tag> [...]", "Replaces a virtual host's tags", 1,
              kAnyNumber, "", set_vhost_tags},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
