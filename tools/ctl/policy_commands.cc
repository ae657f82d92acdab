// Policies and operator policies.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

// The two kinds differ in where they lie and what they are called.
struct Kind {
  const char* path;
  const char* set_name;
  const char* clear_name;
  const char* list_name;
};
constexpr Kind kUserPolicy{"policies", "policy", "policy", "policies"};
constexpr Kind kOperatorPolicy{"operator-policies", "operator policy override", "operator policy",
                               "operator policy overrides"};

int set(Context& context, const Kind& kind) {
  const CommandLine& line = context.line;
  const std::string vhost = line.vhost();
  const std::string priority = line.value("priority", "0");
  const std::string& definition = context.argument(2);
  context.banner(fmt::format(
      "Setting {} \"{}\" for pattern \"{}\" to \"{}\" with priority \"{}\" for vhost \"{}\" ...",
      kind.set_name, context.argument(0), context.argument(1), definition, priority, vhost));
  int number = 0;
  const char* end = priority.data() + priority.size();
  const auto [stopped, error] = std::from_chars(priority.data(), end, number);
  if (error != std::errc() || stopped != end) {
    return context.fail(kExitUnavailable,
                        fmt::format("priority has to be a whole number, not '{}'", priority));
  }
  const Json parsed = Json::parse(definition, nullptr, false);
  if (parsed.is_discarded()) {
    return context.fail(
        kExitUnavailable,
        fmt::format("JSON decoding error: the definition '{}' is no JSON", definition));
  }
  const Json body = {{"pattern", context.argument(1)},
                     {"definition", parsed},
                     {"priority", number},
                     {"apply-to", line.value("apply-to", "all")}};
  int code = kExitOk;
  Reply reply;
  if (!context.send({"PUT", path_of({kind.path, vhost, context.argument(0)}), json_line(body)},
                    reply, code)) {
    return code;
  }
  if (reply.status == 404) return context.no_vhost(vhost);
  return reply.good() ? context.done() : context.refused(reply);
}

int clear(Context& context, const Kind& kind) {
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Clearing {} \"{}\" on vhost \"{}\" ...", kind.clear_name,
                             context.argument(0), vhost));
  int code = kExitOk;
  Reply reply;
  if (!context.send({"DELETE", path_of({kind.path, vhost, context.argument(0)})}, reply, code)) {
    return code;
  }
  if (reply.good()) return context.done();
  if (reply.status != 404) return context.refused(reply);
  if (!context.vhost_exists(vhost, code)) return code;
  return context.fail(kExitUnavailable, "Parameter does not exist");
}

int list(Context& context, const Kind& kind) {
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Listing {} for vhost \"{}\" ...", kind.list_name, vhost));
  Json policies;
  int code = kExitOk;
  if (!context.vhost_exists(vhost, code)) return code;
  if (!context.get({kind.path, vhost}, policies, code)) return code;
  Table table{{"vhost", "name", "pattern", "apply-to", "definition", "priority"}, {}};
  for (const Json& policy : policies) {
    table.add({field(policy, "vhost"), field(policy, "name"), field(policy, "pattern"),
               field(policy, "apply-to"), json_line(field(policy, "definition")),
               field(policy, "priority")});
  }
  return context.print(table);
}

int set_policy(Context& context) { return set(context, kUserPolicy); }
int clear_policy(Context& context) { return clear(context, kUserPolicy); }
int list_policies(Context& context) { return list(context, kUserPolicy); }
int set_operator_policy(Context& context) { return set(context, kOperatorPolicy); }
int clear_operator_policy(Context& context) { return clear(context, kOperatorPolicy); }
int list_operator_policies(Context& context) { return list(context, kOperatorPolicy); }

constexpr std::string_view kSetSynopsis =
    "[--vhost <vhost>] [--priority <priority>] [--apply-to <apply-to>] <name> <pattern> "
    "<definition>";

}  // namespace

std::span<const Command> policy_commands() {
  static constexpr std::string_view kGroup = "Policies";
  static constexpr std::array kCommands = {
      Command{kGroup, "clear_operator_policy", "[--vhost <vhost>] <name>",
              "Removes an operator policy", 1, 1, "vhost", clear_operator_policy},
      Command{kGroup, "clear_policy", "[--vhost <vhost>] <name>", "Removes a policy", 1, 1, "vhost",
              clear_policy},
      Command{kGroup, "list_operator_policies", "[--vhost <vhost>] [--no-table-headers]",
              "Lists the operator policies of a virtual host", 0, 0, "vhost",
              list_operator_policies},
      Command{kGroup, "list_policies", "[--vhost <vhost>] [--no-table-headers]",
              "Lists the policies of a virtual host", 0, 0, "vhost", list_policies},
      Command{kGroup, "set_operator_policy", kSetSynopsis,
              "Sets an operator policy, which limits what policies and clients ask for", 3, 3,
              "vhost priority apply-to", set_operator_policy},
      Command{kGroup, "set_policy", kSetSynopsis, "Sets a policy", 3, 3, "vhost priority apply-to",
              set_policy},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
