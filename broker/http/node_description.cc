#include "broker/http/node_description.h"

#include <array>

#include "broker/routing/route_table.h"

namespace ringtail::broker::http {

namespace {

struct KnownType {
  const char* name;
  const char* description;
};
constexpr std::array<KnownType, 8> kKnownTypes = {{
    {"direct", "AMQP direct exchange, as per the AMQP specification"},
    {"fanout", "AMQP fanout exchange, as per the AMQP specification"},
    {"headers", "AMQP headers exchange, as per the AMQP specification"},
    {"topic", "AMQP topic exchange, as per the AMQP specification"},
    {"x-consistent-hash", "Spreads messages by a hash, with weights"},
    {"x-modulus-hash", "Spreads messages by a hash"},
    {"x-random", "Sends each message to one bound queue by chance"},
    {"x-recent-history", "A fanout that gives new queues the last messages"},
}};

}  // namespace

Json exchange_types() {
  Json types = Json::array();
  for (const KnownType& type : kKnownTypes) {
    if (!RouteTable::knows_type(type.name)) continue;
    types.push_back({{"name", type.name}, {"description", type.description}, {"enabled", true}});
  }
  return types;
}

Json listeners_json(Call& call) {
  Json listeners = Json::array();
  for (const ListenerFact& listener : call.facts().listeners) {
    listeners.push_back({{"node", call.config().node_name},
                         {"protocol", listener.protocol},
                         {"ip_address", listener.address},
                         {"port", listener.port},
                         {"socket_opts", Json::object()}});
  }
  return listeners;
}

Json contexts_json(Call& call) {
  Json contexts = Json::array();
  for (const ListenerFact& listener : call.facts().listeners) {
    if (listener.protocol != "http") continue;
    contexts.push_back({{"node", call.config().node_name},
                        {"description", "Management"},
                        {"path", "/"},
                        {"ip", listener.address},
                        {"port", std::to_string(listener.port)},
                        {"ssl_opts", Json::array()},
                        {"cowboy_opts", ""}});
  }
  return contexts;
}

}  // namespace ringtail::broker::http
