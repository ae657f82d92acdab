// Health checks: the exit code is what counts.
#include <fmt/format.h>

#include <array>
#include <ostream>

#include "tools/ctl/command.h"
#include "tools/ctl/node_facts.h"

namespace ringtail::ctl {

namespace {

int ping(Context& context) {
  context.banner(fmt::format("Will ping the node at {} ...", context.api.where()));
  Json who;
  int code = kExitOk;
  if (!context.get({"whoami"}, who, code)) return code;
  return context.done("Ping succeeded");
}

int check_running(Context& context) {
  context.banner("Checking if RabbitMQ is running ...");
  Json overview;
  int code = kExitOk;
  if (!context.get({"overview"}, overview, code)) return code;
  return context.done(fmt::format("RabbitMQ on node {} is fully booted and running",
                                  cell_text(field(overview, "node"))));
}

int server_version(Context& context) {
  context.banner("Asking the node for its RabbitMQ version...");
  Json overview;
  int code = kExitOk;
  if (!context.get({"overview"}, overview, code)) return code;
  return context.done(cell_text(field(overview, "rabbitmq_version")));
}

int check_port_connectivity(Context& context) {
  context.banner("Testing TCP connections to all active listeners ...");
  NodeFacts facts;
  int code = kExitOk;
  if (!read_node_facts(context, facts, code)) return code;
  std::vector<std::string> good;
  std::vector<std::string> bad;
  for (const Json& listener : listeners_of(facts.overview, facts.name)) {
    const auto port = field(listener, "port").get<std::uint16_t>();
    const bool connected = context.api.connects(context.line.value("address", ""), port);
    (connected ? good : bad).push_back(std::to_string(port));
  }
  if (!bad.empty()) {
    return context.fail(kExitUnavailable,
                        fmt::format("Connection to ports of the following listeners on node {} "
                                    "failed: {}",
                                    facts.name, fmt::join(bad, ", ")));
  }
  return context.done(fmt::format("Successfully connected to ports {} on node {}.",
                                  fmt::join(good, ", "), facts.name));
}

int listeners(Context& context) {
  NodeFacts facts;
  int code = kExitOk;
  if (!read_node_facts(context, facts, code)) return code;
  context.banner(fmt::format("Asking node {} to report its protocol listeners ...", facts.name));
  const Json rows = listeners_of(facts.overview, facts.name);
  if (context.json()) {
    context.out << json_line(Json{{"result", "ok"}, {"node", facts.name}, {"listeners", rows}})
                << '\n';
    return kExitOk;
  }
  for (const Json& listener : rows) context.out << listener_text(listener) << '\n';
  return kExitOk;
}

// 200 or 503, which says what is wrong.
int health(Context& context, const std::vector<std::string>& path, const std::string& success) {
  int code = kExitOk;
  Reply reply;
  if (!context.send({"GET", "health/checks/" + path_of(path)}, reply, code)) return code;
  if (!reply.good()) return context.refused(reply);
  return context.done(success);
}

int check_local_alarms(Context& context) {
  const std::string node = context.node();
  context.banner(fmt::format("Asking node {} to report any local resource alarms ...", node));
  return health(context, {"local-alarms"}, fmt::format("Node {} reported no local alarms", node));
}

int check_alarms(Context& context) {
  const std::string node = context.node();
  context.banner(fmt::format("Asking node {} to report any local resource alarms ...", node));
  return health(context, {"alarms"},
                fmt::format("Node {} reported no alarms, local or clusterwide", node));
}

int check_virtual_hosts(Context& context) {
  const std::string node = context.node();
  context.banner(fmt::format("Checking if all vhosts are running on node {} ...", node));
  return health(context, {"virtual-hosts"},
                fmt::format("Node {} reported all vhosts as running", node));
}

int check_port_listener(Context& context) {
  const std::string node = context.node();
  const std::string& port = context.argument(0);
  context.banner(
      fmt::format("Asking node {} if there's an active listener on port {} ...", node, port));
  return health(context, {"port-listener", port},
                fmt::format("A listener for port {} is running on node {}.", port, node));
}

int check_protocol_listener(Context& context) {
  const std::string node = context.node();
  const std::string& protocol = context.argument(0);
  context.banner(fmt::format("Asking node {} if there's an active listener for protocol {} ...",
                             node, protocol));
  return health(context, {"protocol-listener", protocol},
                fmt::format("A listener for protocol {} is running on node {}.", protocol, node));
}

}  // namespace

std::span<const Command> check_commands() {
  static constexpr std::string_view kGroup = "Health checks";
  static constexpr std::array kCommands = {
      Command{kGroup, "check_alarms", "", "Fails if an alarm rings anywhere in the cluster", 0, 0,
              "", check_alarms},
      Command{kGroup, "check_local_alarms", "", "Fails if an alarm rings on the node", 0, 0, "",
              check_local_alarms},
      Command{kGroup, "check_port_connectivity", "[--address <address>]",
              "Fails if a listener of the node takes no connection", 0, 0, "address",
              check_port_connectivity},
      Command{kGroup, "check_port_listener", "<port>", "Fails if nothing listens on the port", 1, 1,
              "", check_port_listener},
      Command{kGroup, "check_protocol_listener", "<protocol>",
              "Fails if nothing listens for the protocol", 1, 1, "", check_protocol_listener},
      Command{kGroup, "check_running", "", "Fails if the node does not serve", 0, 0, "",
              check_running},
      Command{kGroup, "check_virtual_hosts", "", "Fails if a virtual host does not run", 0, 0, "",
              check_virtual_hosts},
      Command{kGroup, "is_running", "", "Fails if the node does not serve", 0, 0, "",
              check_running},
      Command{kGroup, "listeners", "", "Lists what the node listens on", 0, 0, "", listeners},
      Command{kGroup, "ping", "", "Fails if the node does not answer", 0, 0, "", ping},
      Command{kGroup, "server_version", "", "Displays the node's version", 0, 0, "",
              server_version},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
