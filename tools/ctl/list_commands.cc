// Lists of what is declared and who is connected, with columns of choice.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/ctl/columns.h"
#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

// What list_queues waits when nothing else is said, as RabbitMQ's does.
constexpr double kQueuesTimeoutS = 60;

std::string text_in(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// --- queues --------------------------------------------------------------------------------------

Json queue_pid(const Json& queue) {
  return pid_of(text_in(queue, "node"), text_in(queue, "vhost") + "/" + text_in(queue, "name"));
}

Json owner_pid(const Json& queue) {
  const auto owner = queue.find("owner_pid_details");
  if (owner == queue.end() || !owner->is_object()) return {};
  return pid_of(text_in(queue, "node"), text_in(*owner, "name"));
}

Json pids_on(const Json& queue, const char* member) {
  const auto nodes = queue.find(member);
  if (nodes == queue.end() || !nodes->is_array()) return {};
  Json pids = Json::array();
  for (const Json& node : *nodes) {
    if (!node.is_string()) continue;
    pids.push_back(
        pid_of(node.get<std::string>(), text_in(queue, "vhost") + "/" + text_in(queue, "name")));
  }
  return pids;
}

Json mirror_pids(const Json& queue) { return pids_on(queue, "slave_nodes"); }
Json synchronised_mirror_pids(const Json& queue) {
  return pids_on(queue, "synchronised_slave_nodes");
}

// The broker that has no such counter has read or written nothing.
template <const char* kMember>
Json counter(const Json& queue) {
  const auto stats = queue.find("message_stats");
  return stats != queue.end() && stats->is_object() ? stats->value(kMember, 0) : 0;
}
constexpr char kDiskReads[] = "disk_reads";
constexpr char kDiskWrites[] = "disk_writes";

constexpr std::array kQueueColumns = {
    Column{"name", "name"},
    Column{"durable", "durable"},
    Column{"auto_delete", "auto_delete"},
    Column{"arguments", "arguments"},
    Column{"policy", "policy"},
    Column{"operator_policy", "operator_policy"},
    Column{"effective_policy_definition", "effective_policy_definition"},
    Column{"pid", "", queue_pid},
    Column{"owner_pid", "", owner_pid},
    Column{"exclusive", "exclusive"},
    Column{"exclusive_consumer_pid", "exclusive_consumer_pid"},
    Column{"exclusive_consumer_tag", "exclusive_consumer_tag"},
    Column{"single_active_consumer_pid", "single_active_consumer_pid"},
    Column{"single_active_consumer_tag", "single_active_consumer_tag"},
    Column{"messages_ready", "messages_ready"},
    Column{"messages_unacknowledged", "messages_unacknowledged"},
    Column{"messages", "messages"},
    Column{"messages_ready_ram", "messages_ready_ram"},
    Column{"messages_unacknowledged_ram", "messages_unacknowledged_ram"},
    Column{"messages_ram", "messages_ram"},
    Column{"messages_persistent", "messages_persistent"},
    Column{"message_bytes", "message_bytes"},
    Column{"message_bytes_ready", "message_bytes_ready"},
    Column{"message_bytes_unacknowledged", "message_bytes_unacknowledged"},
    Column{"message_bytes_ram", "message_bytes_ram"},
    Column{"message_bytes_persistent", "message_bytes_persistent"},
    Column{"head_message_timestamp", "head_message_timestamp"},
    Column{"disk_reads", "", counter<kDiskReads>},
    Column{"disk_writes", "", counter<kDiskWrites>},
    Column{"consumers", "consumers"},
    Column{"consumer_utilisation", "consumer_utilisation"},
    Column{"consumer_capacity", "consumer_capacity"},
    Column{"memory", "memory"},
    Column{"slave_pids", "", mirror_pids},
    Column{"synchronised_slave_pids", "", synchronised_mirror_pids},
    Column{"mirror_pids", "", mirror_pids},
    Column{"synchronised_mirror_pids", "", synchronised_mirror_pids},
    Column{"state", "state"},
    Column{"type", "type"},
    Column{"leader", "node"},
    Column{"members", "members"},
    Column{"online", "online"},
    Column{"node", "node"},
};

// The objects of one kind in the vhost of the command line; a vhost that is not there is an error.
bool get_of_vhost(Context& context, const char* kind, Json& objects, int& code) {
  const std::string vhost = context.line.vhost();
  return context.vhost_exists(vhost, code) && context.get({kind, vhost}, objects, code);
}

bool is_down(const Json& queue) {
  const std::string state = text_in(queue, "state");
  return state == "down" || state == "stopped" || state == "crashed";
}

Json chosen_queues(Context& context, const Json& queues) {
  const bool any_state = !context.line.has("offline") && !context.line.has("online");
  const bool local = context.line.has("local");
  const std::string node = local ? context.node() : "";
  Json chosen = Json::array();
  for (const Json& queue : queues) {
    if (local && text_in(queue, "node") != node) continue;
    if (any_state || is_down(queue) == context.line.has("offline")) chosen.push_back(queue);
  }
  return chosen;
}

int list_queues(Context& context) {
  Columns columns;
  int code = kExitOk;
  if (!choose_columns(context, kQueueColumns, {"name", "messages"}, columns, code)) return code;
  const double timeout = context.line.timeout_s().value_or(kQueuesTimeoutS);
  if (timeout > 0) context.banner(fmt::format("Timeout: {:.1f} seconds ...", timeout));
  context.banner(fmt::format("Listing queues for vhost {} ...", context.line.vhost()));
  Json queues;
  if (!get_of_vhost(context, "queues", queues, code)) return code;
  return context.print(table_of(columns, chosen_queues(context, queues)));
}

// --- exchanges and bindings ----------------------------------------------------------------------

constexpr std::array kExchangeColumns = {
    Column{"name", "name"},
    Column{"type", "type"},
    Column{"durable", "durable"},
    Column{"auto_delete", "auto_delete"},
    Column{"internal", "internal"},
    Column{"arguments", "arguments"},
    Column{"policy", "policy"},
    Column{"user_who_performed_action", "user_who_performed_action"},
};

int list_exchanges(Context& context) {
  Columns columns;
  int code = kExitOk;
  if (!choose_columns(context, kExchangeColumns, {"name", "type"}, columns, code)) return code;
  context.banner(fmt::format("Listing exchanges for vhost {} ...", context.line.vhost()));
  Json exchanges;
  if (!get_of_vhost(context, "exchanges", exchanges, code)) return code;
  return context.print(table_of(columns, exchanges));
}

Json source_kind(const Json&) { return "exchange"; }

constexpr std::array kBindingColumns = {
    Column{"source_name", "source"},           Column{"source_kind", "", source_kind},
    Column{"destination_name", "destination"}, Column{"destination_kind", "destination_type"},
    Column{"routing_key", "routing_key"},      Column{"arguments", "arguments"},
};

int list_bindings(Context& context) {
  Columns columns;
  int code = kExitOk;
  if (!choose_columns(context, kBindingColumns,
                      {"source_name", "source_kind", "destination_name", "destination_kind",
                       "routing_key", "arguments"},
                      columns, code)) {
    return code;
  }
  context.banner(fmt::format("Listing bindings for vhost {}...", context.line.vhost()));
  Json bindings;
  if (!get_of_vhost(context, "bindings", bindings, code)) return code;
  return context.print(table_of(columns, bindings));
}

// --- connections, channels, consumers ------------------------------------------------------------

Json connection_pid(const Json& connection) {
  return pid_of(text_in(connection, "node"), text_in(connection, "name"));
}

Json connection_of_channel(const Json& channel) {
  const auto details = channel.find("connection_details");
  if (details == channel.end() || !details->is_object()) return {};
  return pid_of(text_in(channel, "node"), text_in(*details, "name"));
}

Json channel_of_consumer(const Json& consumer) {
  const auto details = consumer.find("channel_details");
  if (details == consumer.end() || !details->is_object()) return {};
  return pid_of(text_in(*details, "node"), text_in(*details, "name"));
}

constexpr std::array kConnectionColumns = {
    Column{"pid", "", connection_pid},
    Column{"name", "name"},
    Column{"user_provided_name", "user_provided_name"},
    Column{"port", "port"},
    Column{"host", "host"},
    Column{"peer_port", "peer_port"},
    Column{"peer_host", "peer_host"},
    Column{"ssl", "ssl"},
    Column{"ssl_protocol", "ssl_protocol"},
    Column{"ssl_key_exchange", "ssl_key_exchange"},
    Column{"ssl_cipher", "ssl_cipher"},
    Column{"ssl_hash", "ssl_hash"},
    Column{"peer_cert_subject", "peer_cert_subject"},
    Column{"peer_cert_issuer", "peer_cert_issuer"},
    Column{"peer_cert_validity", "peer_cert_validity"},
    Column{"state", "state"},
    Column{"channels", "channels"},
    Column{"protocol", "protocol"},
    Column{"auth_mechanism", "auth_mechanism"},
    Column{"user", "user"},
    Column{"vhost", "vhost"},
    Column{"timeout", "timeout"},
    Column{"frame_max", "frame_max"},
    Column{"channel_max", "channel_max"},
    Column{"client_properties", "client_properties"},
    Column{"recv_oct", "recv_oct"},
    Column{"recv_cnt", "recv_cnt"},
    Column{"send_oct", "send_oct"},
    Column{"send_cnt", "send_cnt"},
    Column{"send_pend", "send_pend"},
    Column{"connected_at", "connected_at"},
    Column{"node", "node"},
};

int list_connections(Context& context) {
  Columns columns;
  int code = kExitOk;
  if (!choose_columns(context, kConnectionColumns, {"user", "peer_host", "peer_port", "state"},
                      columns, code)) {
    return code;
  }
  context.banner("Listing connections ...");
  Json connections;
  if (!context.get({"connections"}, connections, code)) return code;
  return context.print(table_of(columns, connections));
}

constexpr std::array kChannelColumns = {
    Column{"pid", "", connection_pid},
    Column{"connection", "", connection_of_channel},
    Column{"name", "name"},
    Column{"number", "number"},
    Column{"user", "user"},
    Column{"vhost", "vhost"},
    Column{"transactional", "transactional"},
    Column{"confirm", "confirm"},
    Column{"consumer_count", "consumer_count"},
    Column{"messages_unacknowledged", "messages_unacknowledged"},
    Column{"messages_uncommitted", "messages_uncommitted"},
    Column{"acks_uncommitted", "acks_uncommitted"},
    Column{"messages_unconfirmed", "messages_unconfirmed"},
    Column{"prefetch_count", "prefetch_count"},
    Column{"global_prefetch_count", "global_prefetch_count"},
    Column{"state", "state"},
    Column{"node", "node"},
};

int list_channels(Context& context) {
  Columns columns;
  int code = kExitOk;
  if (!choose_columns(context, kChannelColumns,
                      {"pid", "user", "consumer_count", "messages_unacknowledged"}, columns,
                      code)) {
    return code;
  }
  context.banner("Listing channels ...");
  Json channels;
  if (!context.get({"channels"}, channels, code)) return code;
  return context.print(table_of(columns, channels));
}

constexpr std::array kConsumerColumns = {
    Column{"queue_name", "queue.name"},           Column{"channel_pid", "", channel_of_consumer},
    Column{"consumer_tag", "consumer_tag"},       Column{"ack_required", "ack_required"},
    Column{"prefetch_count", "prefetch_count"},   Column{"active", "active"},
    Column{"activity_status", "activity_status"}, Column{"arguments", "arguments"},
};

int list_consumers(Context& context) {
  Columns columns;
  int code = kExitOk;
  if (!choose_columns(context, kConsumerColumns,
                      {"queue_name", "channel_pid", "consumer_tag", "ack_required",
                       "prefetch_count", "active", "arguments"},
                      columns, code)) {
    return code;
  }
  context.banner(fmt::format("Listing consumers in vhost {} ...", context.line.vhost()));
  Json consumers;
  if (!get_of_vhost(context, "consumers", consumers, code)) return code;
  return context.print(table_of(columns, consumers));
}

int list_hashes(Context& context) {
  context.banner("Listing supported hash algorithms ...");
  return context.done("[sha512,sha256,md5]");
}

constexpr std::string_view kInVhost = "[--vhost <vhost>] [--no-table-headers] [<column> ...]";
constexpr std::string_view kOfNode = "[--no-table-headers] [<column> ...]";

}  // namespace

std::span<const Command> list_commands() {
  static constexpr std::string_view kGroup = "Monitoring, observability and health checks";
  static constexpr std::array kCommands = {
      Command{kGroup, "list_bindings", kInVhost, "Lists bindings of a virtual host", 0, kAnyNumber,
              "vhost", list_bindings},
      Command{kGroup, "list_channels", kOfNode, "Lists channels", 0, kAnyNumber, "", list_channels},
      Command{kGroup, "list_connections", kOfNode, "Lists connections of clients", 0, kAnyNumber,
              "", list_connections},
      Command{kGroup, "list_consumers", kInVhost, "Lists consumers of a virtual host", 0,
              kAnyNumber, "vhost", list_consumers},
      Command{kGroup, "list_exchanges", kInVhost, "Lists exchanges of a virtual host", 0,
              kAnyNumber, "vhost", list_exchanges},
      Command{kGroup, "list_hashes", "", "Lists the hashes that passwords may have", 0, 0, "",
              list_hashes},
      Command{kGroup, "list_queues",
              "[--vhost <vhost>] [--online] [--offline] [--local] [--no-table-headers] [<column> "
              "...] [--timeout <timeout>]",
              "Lists queues of a virtual host and what is in them", 0, kAnyNumber,
              "vhost online offline local", list_queues},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
