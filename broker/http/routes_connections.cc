// Connections, channels and consumers.
#include "broker/broker_shard.h"
#include "broker/channel.h"
#include "broker/connection.h"
#include "broker/http/connection_rows.h"
#include "broker/http/listing.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::View;

namespace {

constexpr std::string_view kClosedText = "Closed via management plugin";

Response connections_response(Call& call, const std::vector<ConnectionRow>& rows) {
  Listing listing;
  listing.count = rows.size();
  listing.pages = true;
  listing.row = [&](std::size_t row) { return connection_json(call, rows[row].info); };
  listing.name = [&](std::size_t row) { return std::string_view(rows[row].info.name); };
  return list_response(call.request(), listing);
}

Response list_connections(Call& call) {
  return connections_response(call, connection_rows(call, false));
}

Response connections_of_vhost(Call& call) {
  return connections_response(call, connection_rows(call, false, [&](const ConnectionInfo& info) {
                                return info.vhost == call.part(0);
                              }));
}

Response connections_of_user(Call& call) {
  return connections_response(call, connection_rows(call, false, [&](const ConnectionInfo& info) {
                                return info.user == call.part(0);
                              }));
}

// By name, or by what stands for a process id.
std::vector<ConnectionRow> named_connections(Call& call, bool with_channels) {
  const std::string& name = call.part(0);
  const bool pid = name.starts_with('<');
  const auto& facts = call.facts();
  return connection_rows(call, with_channels, [&](const ConnectionInfo& info) {
    if (!pid) return info.name == name;
    return pid_text(call.config().node_name, facts.started_ms, info.id, 0) == name;
  });
}

Response get_connection(Call& call) {
  const auto rows = named_connections(call, false);
  if (rows.empty()) return not_found();
  return object_response(call.request(), connection_json(call, rows.front().info));
}

std::string reason_of(Call& call) {
  const std::string_view given = call.request().header("x-reason");
  return std::string(given.empty() ? kClosedText : given);
}

void close_all(Call& call, const std::vector<ConnectionRow>& rows) {
  const std::string reason = reason_of(call);
  call.on_every_shard([&](BrokerShard& shard) {
    for (const ConnectionRow& row : rows) {
      if (Connection* connection = shard.connection(row.info.id)) {
        connection->close_forced(reason);
      }
    }
  });
}

// Users see only their own connections here, unless they are monitors, who may look but not close.
bool may_close(Call& call, const ConnectionRow& row) {
  return call.is_administrator() || row.info.user == call.user().name;
}

Response delete_connection(Call& call) {
  const auto rows = named_connections(call, false);
  if (rows.empty()) return not_found();
  if (!may_close(call, rows.front())) {
    return not_authorised("User not authorised to access object");
  }
  close_all(call, {rows.front()});
  return no_content();
}

Response delete_connections_of_user(Call& call) {
  if (!call.is_administrator() && call.user().name != call.part(0)) {
    return not_authorised("User not authorised to access object");
  }
  close_all(call, connection_rows(call, false, [&](const ConnectionInfo& info) {
              return info.user == call.part(0);
            }));
  return no_content();
}

// --- channels ---

struct ChannelRow {
  const ConnectionRow* connection = nullptr;
  const ChannelInfo* channel = nullptr;
  std::string name;
};

std::vector<ChannelRow> channels_of(const std::vector<ConnectionRow>& connections) {
  std::vector<ChannelRow> rows;
  for (const ConnectionRow& connection : connections) {
    for (const ChannelInfo& channel : connection.channels) {
      rows.push_back({&connection, &channel, channel_name(connection.info, channel)});
    }
  }
  return rows;
}

Response channels_response(Call& call, const std::vector<ConnectionRow>& connections) {
  const std::vector<ChannelRow> rows = channels_of(connections);
  Listing listing;
  listing.count = rows.size();
  listing.pages = true;
  listing.row = [&](std::size_t row) {
    return channel_json(call, rows[row].connection->info, *rows[row].channel);
  };
  listing.name = [&](std::size_t row) { return std::string_view(rows[row].name); };
  return list_response(call.request(), listing);
}

Response list_channels(Call& call) { return channels_response(call, connection_rows(call, true)); }

Response channels_of_vhost(Call& call) {
  return channels_response(call, connection_rows(call, true, [&](const ConnectionInfo& info) {
                             return info.vhost == call.part(0);
                           }));
}

Response channels_of_connection(Call& call) {
  const auto rows = named_connections(call, true);
  if (rows.empty()) return not_found();
  return channels_response(call, {rows.front()});
}

Json consumers_json(Call& call, const ChannelRow& row) {
  Json consumers = Json::array();
  for (const auto& consumer : row.channel->consumers) {
    consumers.push_back(consumer_json(call, row.connection->info, *row.channel, consumer));
  }
  return consumers;
}

Response get_channel(Call& call) {
  const auto connections = connection_rows(call, true);
  for (const ChannelRow& row : channels_of(connections)) {
    if (row.name != call.part(0)) continue;
    Json json = channel_json(call, row.connection->info, *row.channel);
    json["consumer_details"] = consumers_json(call, row);
    json["publishes"] = Json::array();
    json["deliveries"] = Json::array();
    return object_response(call.request(), std::move(json));
  }
  return not_found();
}

// --- consumers ---

Response consumers_response(Call& call, const std::vector<ConnectionRow>& connections) {
  std::vector<Json> rows;
  for (const ChannelRow& row : channels_of(connections)) {
    for (Json& consumer : consumers_json(call, row)) rows.push_back(std::move(consumer));
  }
  return list_response(call.request(), rows);
}

Response list_consumers(Call& call) {
  return consumers_response(call, connection_rows(call, true));
}

Response consumers_of_vhost(Call& call) {
  return consumers_response(call, connection_rows(call, true, [&](const ConnectionInfo& info) {
                              return info.vhost == call.part(0);
                            }));
}

}  // namespace

void add_connection_routes(Router& router) {
  constexpr Access kAny = Access::kManagement;
  router.add({"GET", "/api/connections", kAny, list_connections});
  router.add({"GET", "/api/connections/username/*", kAny, connections_of_user});
  router.add({"DELETE", "/api/connections/username/*", kAny, delete_connections_of_user});
  router.add({"GET", "/api/connections/*", kAny, get_connection});
  router.add({"DELETE", "/api/connections/*", kAny, delete_connection});
  router.add({"GET", "/api/connections/*/channels", kAny, channels_of_connection});
  router.add({"GET", "/api/vhosts/*/connections", Access::kVhostVisible, connections_of_vhost});
  router.add({"GET", "/api/channels", kAny, list_channels});
  router.add({"GET", "/api/channels/*", kAny, get_channel});
  router.add({"GET", "/api/vhosts/*/channels", Access::kVhostVisible, channels_of_vhost});
  router.add({"GET", "/api/consumers", kAny, list_consumers});
  router.add({"GET", "/api/consumers/*", Access::kVhostVisible, consumers_of_vhost});
}

}  // namespace ringtail::broker::http
