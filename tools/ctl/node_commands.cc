// The node: what it is, whether it runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "tools/ctl/command.h"
#include "tools/ctl/node_facts.h"

namespace ringtail::ctl {

namespace {

std::string gigabytes(const Json& bytes) {
  return fmt::format("{:.4f} gb", bytes.is_number() ? bytes.get<double>() / 1e9 : 0.0);
}

Json memory_of(const Json& node) {
  return {{"total", {{"rss", field(node, "mem_used")}, {"allocated", field(node, "mem_used")}}},
          {"strategy", "rss"}};
}

// The members that RabbitMQ's status has, as far as there is something to say.
Json status_json(const NodeFacts& facts) {
  const Json& node = facts.node;
  const Json& overview = facts.overview;
  const Json& uptime = field(node, "uptime");
  return {{"os", "Linux"},
          {"pid", number_in(field(node, "os_pid"))},
          {"uptime", uptime.is_number() ? Json(uptime.get<std::int64_t>() / 1000) : Json(0)},
          {"is_under_maintenance", false},
          {"rabbitmq_version", field(overview, "rabbitmq_version")},
          {"product_name", field(overview, "product_name")},
          {"product_version", field(overview, "product_version")},
          {"erlang_version", field(overview, "erlang_version")},
          {"net_ticktime", field(node, "net_ticktime")},
          {"run_queue", field(node, "run_queue")},
          {"processes", {{"limit", field(node, "proc_total")}, {"used", field(node, "proc_used")}}},
          {"file_descriptors",
           {{"total_limit", field(node, "fd_total")},
            {"total_used", field(node, "fd_used")},
            {"sockets_limit", field(node, "sockets_total")},
            {"sockets_used", field(node, "sockets_used")}}},
          {"vm_memory_calculation_strategy", field(node, "mem_calculation_strategy")},
          {"vm_memory_high_watermark_limit", field(node, "mem_limit")},
          {"disk_free", field(node, "disk_free")},
          {"disk_free_limit", field(node, "disk_free_limit")},
          {"memory", memory_of(node)},
          {"alarms", alarms_of(node)},
          {"listeners", listeners_of(overview, facts.name)},
          {"data_directory", field(node, "db_dir")},
          {"config_files", field(node, "config_files")},
          {"log_files", field(node, "log_files")},
          {"active_plugins", field(node, "enabled_plugins")},
          {"totals",
           {{"connection_count", field(field(overview, "object_totals"), "connections")},
            {"queue_count", field(field(overview, "object_totals"), "queues")},
            {"virtual_host_count", facts.vhosts}}}};
}

void print_status(Context& context, const NodeFacts& facts) {
  const Json& node = facts.node;
  const Json status = status_json(facts);
  const auto text = [&](const char* member) { return cell_text(field(status, member)); };
  context.out << "Runtime\n\n";
  context.out << fmt::format("OS PID: {}\nOS: Linux\nUptime (seconds): {}\n", text("pid"),
                             text("uptime"));
  context.out << "Is under maintenance?: false\n";
  context.out << fmt::format("RabbitMQ version: {}\n", text("rabbitmq_version"));
  if (field(status, "product_name").is_string()) {
    context.out << fmt::format("Product: {} {}\n", text("product_name"), text("product_version"));
  }
  context.out << fmt::format("Node name: {}\nErlang configuration: {}\n", facts.name,
                             text("erlang_version"));
  section(context, "Plugins");
  context.out << "Enabled plugins:\n\n";
  list_or_none(context, field(status, "active_plugins"), " * ");
  section(context, "Data directory");
  context.out << fmt::format("Node data directory: {}\n", text("data_directory"));
  section(context, "Config files");
  list_or_none(context, field(status, "config_files"), " * ");
  section(context, "Log file(s)");
  list_or_none(context, field(status, "log_files"), " * ");
  section(context, "Alarms");
  list_or_none(context, field(status, "alarms"), "");
  section(context, "Memory");
  context.out << fmt::format(
      "Total memory used: {}\nCalculation strategy: rss\nMemory high watermark: {}\n",
      gigabytes(field(node, "mem_used")), gigabytes(field(node, "mem_limit")));
  section(context, "File Descriptors");
  context.out << fmt::format("Total: {}, limit: {}\nSockets: {}, limit: {}\n",
                             cell_text(field(node, "fd_used")), cell_text(field(node, "fd_total")),
                             cell_text(field(node, "sockets_used")),
                             cell_text(field(node, "sockets_total")));
  section(context, "Free Disk Space");
  context.out << fmt::format("Low free disk space watermark: {}\nFree disk space: {}\n",
                             gigabytes(field(node, "disk_free_limit")),
                             gigabytes(field(node, "disk_free")));
  section(context, "Totals");
  const Json& totals = field(status, "totals");
  context.out << fmt::format("Connection count: {}\nQueue count: {}\nVirtual host count: {}\n",
                             cell_text(field(totals, "connection_count")),
                             cell_text(field(totals, "queue_count")),
                             cell_text(field(totals, "virtual_host_count")));
  section(context, "Listeners");
  for (const Json& listener : field(status, "listeners")) {
    context.out << listener_text(listener) << '\n';
  }
}

int status(Context& context) {
  NodeFacts facts;
  int code = kExitOk;
  if (!read_node_facts(context, facts, code)) return code;
  context.banner(fmt::format("Status of node {} ...", facts.name));
  if (context.json()) {
    context.out << json_line(status_json(facts)) << '\n';
  } else {
    print_status(context, facts);
  }
  return kExitOk;
}

int await_startup(Context& context) {
  context.banner(fmt::format("Waiting for the node at {} ...", context.api.where()));
  std::string last;
  do {
    const auto reply = context.api.call({"GET", "overview"});
    if (reply.ok() && reply.value().good()) return context.done();
    // A refusal is an answer: it will be the same the next time.
    if (reply.ok() && reply.value().status == 401) return context.refused(reply.value());
    note_failure(reply, last);
  } while (context.api.pause());
  return context.fail(kExitTimeout, last);
}

// --- limits of the running node ------------------------------------------------------------------

Json number_or_text(const std::string& text) {
  const Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json(text);
}

int put_limit(Context& context, const std::string& node, const char* limit, const char* member,
              const std::string& value) {
  int code = kExitOk;
  Reply reply;
  const Json body = {{member, number_or_text(value)}};
  if (!context.send({"PUT", path_of({"nodes", node, limit}), json_line(body)}, reply, code)) {
    return code;
  }
  return reply.good() ? context.done() : context.refused(reply);
}

int set_disk_free_limit(Context& context) {
  const auto& words = context.line.arguments;
  const bool times = words.size() == 2;
  if (times && words[0] != "mem_relative") {
    return context.fail(kExitUsage, fmt::format("'{}' is not mem_relative", words[0]));
  }
  const std::string node = context.node();
  context.banner(fmt::format("Setting disk free limit on {} to {}{} ...", node, words.back(),
                             times ? " times the total RAM" : ""));
  return put_limit(context, node, "disk-free-limit", times ? "mem_relative" : "absolute",
                   words.back());
}

int set_vm_memory_high_watermark(Context& context) {
  const auto& words = context.line.arguments;
  const bool absolute = words.size() == 2;
  if (absolute && words[0] != "absolute") {
    return context.fail(kExitUsage, fmt::format("'{}' is not absolute", words[0]));
  }
  const std::string node = context.node();
  context.banner(fmt::format("Setting memory threshold on {} to {}{} ...", node, words.back(),
                             absolute ? " bytes" : ""));
  return put_limit(context, node, "vm-memory-high-watermark", absolute ? "absolute" : "relative",
                   words.back());
}

}  // namespace

std::span<const Command> node_commands() {
  static constexpr std::string_view kGroup = "Nodes";
  static constexpr std::array kCommands = {
      Command{kGroup, "await_startup", "[--timeout <timeout>]", "Waits until the node serves", 0, 0,
              "", await_startup},
      Command{kGroup, "set_disk_free_limit", "<size> | mem_relative <times>",
              "Sets the free disk space below which publishers wait, until the node stops", 1, 2,
              "", set_disk_free_limit},
      Command{kGroup, "set_vm_memory_high_watermark", "<part> | absolute <size>",
              "Sets the memory above which publishers wait, until the node stops", 1, 2, "",
              set_vm_memory_high_watermark},
      Command{kGroup, "status", "", "Displays status of a node", 0, 0, "", status},
      Command{kGroup, "wait", "[<pid file> | --pid <pid>] [--timeout <timeout>]",
              "The same as await_startup", 0, 1, "pid", await_startup},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
