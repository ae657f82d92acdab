#include "tools/ctl/node_facts.h"

#include <fmt/format.h>

#include <charconv>
#include <ostream>

namespace ringtail::ctl {

namespace {

const char* purpose_of(const std::string& protocol) {
  if (protocol == "amqp") return "AMQP 0-9-1";
  if (protocol == "amqp/ssl") return "AMQP 0-9-1 over TLS";
  if (protocol == "http") return "HTTP API";
  if (protocol == "https") return "HTTP API over TLS";
  if (protocol == "clustering") return "inter-node and CLI tool communication";
  return "";
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

// Every node says for itself which version it is; one that only lists another does not know.
Json version_of(const NodeFacts& facts, const Json& node) {
  for (const Json& application : field(node, "applications")) {
    if (field(application, "name") == "rabbit") return field(application, "version");
  }
  const bool asked = text_of(field(node, "name")) == facts.name;
  return asked ? field(facts.overview, "rabbitmq_version") : Json();
}

}  // namespace

bool read_node_facts(Context& context, NodeFacts& facts, int& code) {
  Json vhosts;
  if (!context.get({"overview"}, facts.overview, code) ||
      !context.get({"nodes"}, facts.nodes, code) || !context.get({"vhosts"}, vhosts, code)) {
    return false;
  }
  facts.name = text_of(field(facts.overview, "node"));
  facts.vhosts = vhosts.size();
  for (const Json& node : facts.nodes) {
    if (text_of(field(node, "name")) == facts.name) facts.node = node;
  }
  return true;
}

void section(Context& context, std::string_view title) { context.out << '\n' << title << "\n\n"; }

void list_or_none(Context& context, const Json& items, std::string_view mark) {
  if (!items.is_array() || items.empty()) {
    context.out << "(none)\n";
    return;
  }
  for (const Json& item : items) context.out << mark << cell_text(item) << '\n';
}

Json listeners_of(const Json& overview, const std::string& node) {
  Json listeners = Json::array();
  for (const Json& listener : field(overview, "listeners")) {
    if (text_of(field(listener, "node")) != node) continue;
    const std::string protocol = text_of(field(listener, "protocol"));
    const std::string address = text_of(field(listener, "ip_address"));
    listeners.push_back(
        {{"node", node},
         {"interface", address.find(':') == std::string::npos ? address : "[" + address + "]"},
         {"port", field(listener, "port")},
         {"protocol", protocol},
         {"purpose", purpose_of(protocol)}});
  }
  return listeners;
}

std::string listener_text(const Json& listener) {
  return fmt::format("Interface: {}, port: {}, protocol: {}, purpose: {}",
                     cell_text(field(listener, "interface")), cell_text(field(listener, "port")),
                     cell_text(field(listener, "protocol")), cell_text(field(listener, "purpose")));
}

Json alarms_of(const Json& node) {
  Json alarms = Json::array();
  if (field(node, "mem_alarm") == true) alarms.push_back("memory");
  if (field(node, "disk_free_alarm") == true) alarms.push_back("disk");
  return alarms;
}

Json cluster_json(const NodeFacts& facts) {
  Json disk = Json::array();
  Json running = Json::array();
  Json versions = Json::object();
  Json maintenance = Json::object();
  Json alarms = Json::array();
  Json partitions = Json::object();
  Json listeners = Json::object();
  for (const Json& node : facts.nodes) {
    const std::string name = text_of(field(node, "name"));
    disk.push_back(name);
    if (field(node, "running") != true) continue;
    running.push_back(name);
    if (const Json version = version_of(facts, node); !version.is_null()) {
      versions[name] = {{"rabbitmq_name", "RabbitMQ"},
                        {"rabbitmq_version", version},
                        {"erlang_version", field(facts.overview, "erlang_version")}};
    }
    maintenance[name] =
        field(node, "being_drained") == true ? "marked for maintenance" : "not under maintenance";
    for (const Json& alarm : alarms_of(node)) {
      alarms.push_back(fmt::format("{} on {}", text_of(alarm), name));
    }
    if (!field(node, "partitions").empty()) partitions[name] = field(node, "partitions");
    listeners[name] = listeners_of(facts.overview, name);
  }
  return {{"cluster_name", field(facts.overview, "cluster_name")},
          {"disk_nodes", disk},
          {"ram_nodes", Json::array()},
          {"running_nodes", running},
          {"versions", versions},
          {"maintenance_status", maintenance},
          {"alarms", alarms},
          {"partitions", partitions},
          {"listeners", listeners}};
}

Json number_in(const Json& value) {
  if (value.is_number()) return value;
  const std::string text = text_of(value);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? Json(number) : Json();
}

}  // namespace ringtail::ctl
