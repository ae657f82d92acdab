// The cluster: who is in it, who runs, and how a node leaves it.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ostream>

#include "cluster/data_directory.h"
#include "tools/ctl/command.h"
#include "tools/ctl/data_directory.h"
#include "tools/ctl/files.h"
#include "tools/ctl/node_facts.h"

namespace ringtail::ctl {

namespace {

int cluster_status(Context& context) {
  NodeFacts facts;
  int code = kExitOk;
  if (!read_node_facts(context, facts, code)) return code;
  context.banner(fmt::format("Cluster status of node {} ...", facts.name));
  const Json cluster = cluster_json(facts);
  if (context.json()) {
    context.out << json_line(cluster) << '\n';
    return kExitOk;
  }
  context.out << fmt::format("Basics\n\nCluster name: {}\n",
                             cell_text(field(cluster, "cluster_name")));
  section(context, "Disk Nodes");
  list_or_none(context, field(cluster, "disk_nodes"), "");
  section(context, "Running Nodes");
  list_or_none(context, field(cluster, "running_nodes"), "");
  section(context, "Versions");
  for (const auto& version : field(cluster, "versions").items()) {
    context.out << fmt::format("{}: {} {} on Erlang {}\n", version.key(),
                               cell_text(field(version.value(), "rabbitmq_name")),
                               cell_text(field(version.value(), "rabbitmq_version")),
                               cell_text(field(version.value(), "erlang_version")));
  }
  section(context, "Maintenance status");
  for (const auto& state : field(cluster, "maintenance_status").items()) {
    context.out << fmt::format("Node: {}, status: {}\n", state.key(), cell_text(state.value()));
  }
  section(context, "Alarms");
  list_or_none(context, field(cluster, "alarms"), "");
  section(context, "Network Partitions");
  const Json& partitions = field(cluster, "partitions");
  if (partitions.empty()) context.out << "(none)\n";
  for (const auto& partition : partitions.items()) {
    context.out << fmt::format("Node {} cannot communicate with {}\n", partition.key(),
                               cell_text(partition.value()));
  }
  section(context, "Listeners");
  for (const auto& of_node : field(cluster, "listeners").items()) {
    for (const Json& listener : of_node.value()) {
      std::string text = listener_text(listener);
      text[0] = 'i';
      context.out << fmt::format("Node: {}, {}\n", of_node.key(), text);
    }
  }
  return kExitOk;
}

int forget_cluster_node(Context& context) {
  const std::string& node = context.argument(0);
  if (context.line.has("offline")) {
    return context.fail(kExitUnavailable,
                        "--offline is not in this version: ask a node of the cluster that runs");
  }
  context.banner(fmt::format("Removing node {} from the cluster", node));
  int code = kExitOk;
  Reply reply;
  if (!context.send({"DELETE", path_of({"nodes", node})}, reply, code)) return code;
  if (reply.good()) return context.done();
  if (reply.status == 404) {
    return context.fail(kExitUnavailable, "The node selected is not in the cluster.");
  }
  return context.refused(reply);
}

int set_cluster_name(Context& context) {
  const std::string& name = context.argument(0);
  context.banner(fmt::format("Setting cluster name to {} ...", name));
  int code = kExitOk;
  Reply reply;
  const Json body = {{"name", name}};
  if (!context.send({"PUT", "cluster-name", json_line(body)}, reply, code)) return code;
  return reply.good() ? context.done() : context.refused(reply);
}

// --- waiting for nodes ---------------------------------------------------------------------------

std::size_t running_nodes(const Json& nodes) {
  std::size_t running = 0;
  for (const Json& node : nodes) running += field(node, "running") == true ? 1 : 0;
  return running;
}

int await_online_nodes(Context& context) {
  const std::string& text = context.argument(0);
  std::size_t wanted = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, wanted);
  if (error != std::errc() || at != end || wanted == 0) {
    return context.fail(kExitUsage, fmt::format("'{}' is no number of nodes", text));
  }
  context.banner(
      fmt::format("Will wait for at least {} nodes to join the cluster of the node at "
                  "{}.",
                  wanted, context.api.where()));
  std::string last;
  do {
    const auto reply = context.api.call({"GET", "nodes"});
    if (reply.ok() && reply.value().status == 401) return context.refused(reply.value());
    if (!reply.ok() || !reply.value().good()) {
      note_failure(reply, last);
    } else {
      const std::size_t running = running_nodes(reply.value().json());
      if (running >= wanted) return context.done();
      last = fmt::format("{} of {} nodes run", running, wanted);
    }
  } while (context.api.pause());
  return context.fail(kExitTimeout, fmt::format("timed out while waiting: {}", last));
}

// --- the app: what serves, while the process stays -----------------------------------------------

// Asks until the app is in that state. What it says meanwhile may be nothing: between two states
// nobody listens for a moment.
int await_app(Context& context, std::string_view wanted) {
  std::string last = "the node does not say";
  do {
    const auto reply = context.api.call({"GET", "app"});
    if (!reply.ok() || !reply.value().good()) {
      note_failure(reply, last);
    } else {
      const Json app = reply.value().json();
      const std::string state = cell_text(field(app, "state"));
      if (state == wanted) return context.done();
      const std::string error = cell_text(field(app, "last_error"));
      if (state == "stopped" && !error.empty()) {
        return context.fail(kExitSoftware, "the app has not started: " + error);
      }
      last = "the app is " + state;
    }
  } while (context.api.pause());
  return context.fail(kExitTimeout, fmt::format("timed out while waiting: {}", last));
}

int app_state(Context& context, std::string& state) {
  int code = kExitOk;
  Json app;
  if (context.get({"app"}, app, code)) state = cell_text(field(app, "state"));
  return code;
}

int stop_app(Context& context) {
  std::string state;
  if (const int code = app_state(context, state); code != kExitOk) return code;
  context.banner(
      fmt::format("Stopping rabbit application on the node at {} ...", context.api.where()));
  if (state == "stopped") return context.done();
  int code = kExitOk;
  Reply reply;
  if (!context.send({"POST", "app/stop"}, reply, code)) return code;
  return reply.good() ? await_app(context, "stopped") : context.refused(reply);
}

int start_app(Context& context) {
  std::string state;
  if (const int code = app_state(context, state); code != kExitOk) return code;
  context.banner(fmt::format("Starting the node at {} ...", context.api.where()));
  if (state == "running") return context.done();
  int code = kExitOk;
  Reply reply;
  if (!context.send({"POST", "app/start"}, reply, code)) return code;
  return reply.good() ? await_app(context, "running") : context.refused(reply);
}

int reset_with(Context& context, const char* path) {
  context.banner(fmt::format("Resetting the node at {} ...", context.api.where()));
  int code = kExitOk;
  Reply reply;
  if (!context.send({"POST", path}, reply, code)) return code;
  if (reply.good()) return context.done();
  return context.fail(kExitSoftware, reply.reason());
}

int reset(Context& context) { return reset_with(context, "app/reset"); }
int force_reset(Context& context) { return reset_with(context, "app/force-reset"); }

int join_cluster(Context& context) {
  const std::string& member = context.argument(0);
  context.banner(fmt::format("Clustering the node at {} with {}", context.api.where(), member));
  int code = kExitOk;
  Reply reply;
  const Json body = {{"member", member}};
  if (!context.send({"POST", "app/join", json_line(body)}, reply, code)) return code;
  if (!reply.good()) return context.fail(kExitSoftware, reply.reason());
  if (field(reply.json(), "already_member") == true) {
    return context.done("The node is already a member of this cluster");
  }
  return context.done();
}

// Of a node whose app is stopped; with a directory, of one whose process does not run.
int force_boot(Context& context) {
  if (context.line.arguments.empty()) {
    context.banner(fmt::format("Forcing boot for the node at {} ...", context.api.where()));
    int code = kExitOk;
    Reply reply;
    if (!context.send({"POST", "app/force-boot"}, reply, code)) return code;
    return reply.good() ? context.done() : context.fail(kExitSoftware, reply.reason());
  }
  const std::string& path = context.argument(0);
  context.banner(fmt::format("Forcing boot for the node of {} ...", path));
  DataDirectory data(path);
  runtime::Status status = data.lock();
  if (status.ok()) status = write_file(path + cluster::kForceBootFile, "");
  return status.ok() ? context.done() : context.fail(kExitUnavailable, status.text());
}

}  // namespace

std::span<const Command> cluster_commands() {
  static constexpr std::string_view kGroup = "Cluster";
  static constexpr std::array kCommands = {
      Command{kGroup, "await_online_nodes", "<count> [--timeout <timeout>]",
              "Waits until so many nodes of the cluster run", 1, 1, "", await_online_nodes},
      Command{kGroup, "cluster_status", "", "Displays the nodes of the cluster", 0, 0, "",
              cluster_status},
      Command{kGroup, "force_boot", "[<data directory>]",
              "Lets a stopped node go on without the others of its cluster, which are lost", 0, 1,
              "", force_boot},
      Command{kGroup, "force_reset", "",
              "Forgets all that a node has whose app is stopped, without asking its cluster", 0, 0,
              "", force_reset},
      Command{kGroup, "forget_cluster_node", "<node>",
              "Removes a node that does not run from the cluster, with its queues", 1, 1, "offline",
              forget_cluster_node},
      Command{kGroup, "join_cluster", "<node>",
              "Makes a node whose app is stopped join the cluster of another one when it starts", 1,
              1, "disc disk ram", join_cluster},
      Command{kGroup, "reset", "",
              "Makes a node whose app is stopped leave its cluster and forget all that it has", 0,
              0, "", reset},
      Command{kGroup, "set_cluster_name", "<name>", "Sets the name of the cluster", 1, 1, "",
              set_cluster_name},
      Command{kGroup, "start_app", "", "Starts what serves, after stop_app", 0, 0, "", start_app},
      Command{kGroup, "stop_app", "", "Stops what serves; the process and its HTTP interface stay",
              0, 0, "", stop_app},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
