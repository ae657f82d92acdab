// Runtime parameters, of a vhost and global.
#include <fmt/format.h>

#include <array>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

int put(Context& context, const std::vector<std::string>& path, const std::string& text,
        Json body) {
  const Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    return context.fail(kExitUnavailable,
                        fmt::format("JSON decoding error: the value '{}' is no JSON", text));
  }
  body["value"] = value;
  int code = kExitOk;
  Reply reply;
  if (!context.send({"PUT", path_of(path), json_line(body)}, reply, code)) return code;
  if (reply.status == 404) return context.no_vhost(context.line.vhost());
  return reply.good() ? context.done() : context.refused(reply);
}

int remove(Context& context, const std::vector<std::string>& path) {
  int code = kExitOk;
  Reply reply;
  if (!context.send({"DELETE", path_of(path)}, reply, code)) return code;
  if (reply.status == 404) return context.fail(kExitUnavailable, "Parameter does not exist");
  return reply.good() ? context.done() : context.refused(reply);
}

int set_parameter(Context& context) {
  const std::string& component = context.argument(0);
  const std::string& name = context.argument(1);
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format(
      "Setting runtime parameter \"{}\" for component \"{}\" to \"{}\" in vhost \"{}\" ...", name,
      component, context.argument(2), vhost));
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  return put(context, {"parameters", component, vhost, name}, context.argument(2),
             {{"vhost", vhost}, {"component", component}, {"name", name}});
}

int clear_parameter(Context& context) {
  const std::string& component = context.argument(0);
  const std::string& name = context.argument(1);
  const std::string vhost = context.line.vhost();
  context.banner(
      fmt::format("Clearing runtime parameter \"{}\" for component \"{}\" on vhost \"{}\" ...",
                  name, component, vhost));
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  return remove(context, {"parameters", component, vhost, name});
}

int list_parameters(Context& context) {
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Listing runtime parameters for vhost \"{}\" ...", vhost));
  Json parameters;
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  if (!context.get({"parameters"}, parameters, code)) return code;
  Table table{{"component", "name", "value"}, {}};
  for (const Json& parameter : parameters) {
    if (parameter.value("vhost", "") != vhost) continue;
    table.add({field(parameter, "component"), field(parameter, "name"),
               json_line(field(parameter, "value"))});
  }
  return context.print(table);
}

int set_global_parameter(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Setting global runtime parameter \"{}\" to \"{}\" ...", name,
                             context.argument(1)));
  return put(context, {"global-parameters", name}, context.argument(1), {{"name", name}});
}

int clear_global_parameter(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Clearing global runtime parameter \"{}\" ...", name));
  return remove(context, {"global-parameters", name});
}

int list_global_parameters(Context& context) {
  context.banner("Listing global runtime parameters ...");
  Json parameters;
  int code = kExitOk;
  if (!context.get({"global-parameters"}, parameters, code)) return code;
  Table table{{"name", "value"}, {}};
  for (const Json& parameter : parameters) {
    table.add({field(parameter, "name"), json_line(field(parameter, "value"))});
  }
  return context.print(table);
}

}  // namespace

std::span<const Command> parameter_commands() {
  static constexpr std::string_view kGroup = "Parameters";
  static constexpr std::array kCommands = {
      Command{kGroup, "clear_global_parameter", "<name>", "Removes a global runtime parameter", 1,
              1, "", clear_global_parameter},
      Command{kGroup, "clear_parameter", "[--vhost <vhost>] <component_name> <name>",
              "Removes a runtime parameter", 2, 2, "vhost", clear_parameter},
      Command{kGroup, "list_global_parameters", "[--no-table-headers]",
              "Lists global runtime parameters", 0, 0, "", list_global_parameters},
      Command{kGroup, "list_parameters", "[--vhost <vhost>] [--no-table-headers]",
              "Lists the runtime parameters of a virtual host", 0, 0, "vhost", list_parameters},
      Command{kGroup, "set_global_parameter", "<name> <value>", "Sets a global runtime parameter",
              2, 2, "", set_global_parameter},
      Command{kGroup, "set_parameter", "[--vhost <vhost>] <component_name> <name> <value>",
              "Sets a runtime parameter", 3, 3, "vhost", set_parameter},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
