#include "broker/http/connection_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/channel.h"
#include "broker/connection.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

namespace {

void put_tls(Json& json, const ConnectionInfo& info) {
  json["ssl"] = info.tls.has_value();
  const runtime::TlsInfo tls = info.tls.value_or(runtime::TlsInfo{});
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  json["ssl_protocol"] = text_or_null(tls.protocol);
  json["ssl_cipher"] = text_or_null(tls.cipher);
  json["ssl_hash"] = Json();
  json["ssl_key_exchange"] = Json();
  json["peer_cert_subject"] = text_or_null(tls.peer_subject);
  json["peer_cert_issuer"] = text_or_null(tls.peer_issuer);
  json["peer_cert_validity"] = text_or_null(tls.peer_validity);
}

Json connection_details(const ConnectionInfo& info) {
  return {{"name", info.name}, {"peer_host", info.peer_host}, {"peer_port", info.peer_port}};
}

}  // namespace

std::vector<ConnectionRow> connection_rows(
    Call& call, bool with_channels, const std::function<bool(const ConnectionInfo&)>& wanted) {
  std::vector<ConnectionRow> rows;
  call.on_every_shard([&](BrokerShard& shard) {
    shard.for_each_connection([&](Connection& connection) {
      ConnectionRow row{connection.info(), {}};
      // RabbitMQ shows a connection once it has a user and a vhost.
      if (row.info.vhost.empty()) return;
      if (!call.is_monitor() && row.info.user != call.user().name) return;
      if (wanted && !wanted(row.info)) return;
      if (with_channels) row.channels = connection.channel_infos();
      rows.push_back(std::move(row));
    });
  });
  std::sort(rows.begin(), rows.end(), [](const ConnectionRow& a, const ConnectionRow& b) {
    return a.info.name != b.info.name ? a.info.name < b.info.name : a.info.id < b.info.id;
  });
  return rows;
}

Json connection_json(Call& call, const ConnectionInfo& info) {
  Json json = {{"name", info.name},
               {"pid", pid_text(call.config().node_name, call.facts().started_ms, info.id, 0)},
               {"node", call.config().node_name},
               {"type", "network"},
               {"protocol", "AMQP 0-9-1"},
               {"user", info.user},
               {"user_who_performed_action", info.user},
               {"vhost", info.vhost},
               {"auth_mechanism", info.auth_mechanism},
               {"host", info.host},
               {"port", info.port},
               {"peer_host", info.peer_host},
               {"peer_port", info.peer_port},
               {"connected_at", info.connected_at_ms},
               {"timeout", info.timeout_s},
               {"frame_max", info.frame_max},
               {"channel_max", info.channel_max},
               {"channels", info.channels},
               {"state", info.state},
               {"client_properties", json_of_arguments(info.client_properties)},
               {"recv_cnt", info.recv_count},
               {"send_cnt", info.send_count},
               {"send_pend", info.send_pending}};
  if (!info.user_provided_name.empty()) json["user_provided_name"] = info.user_provided_name;
  put_count(json, "recv_oct", info.recv_octets);
  put_count(json, "send_oct", info.send_octets);
  put_count(json, "reductions", 0);
  put_tls(json, info);
  return json;
}

std::string channel_name(const ConnectionInfo& connection, const ChannelInfo& channel) {
  return fmt::format("{} ({})", connection.name, channel.number);
}

Json channel_json(Call& call, const ConnectionInfo& connection, const ChannelInfo& channel) {
  const std::string& node = call.config().node_name;
  return {{"name", channel_name(connection, channel)},
          {"number", channel.number},
          {"pid", pid_text(node, call.facts().started_ms, connection.id, channel.number)},
          {"node", node},
          {"vhost", connection.vhost},
          {"user", connection.user},
          {"user_who_performed_action", connection.user},
          {"connection_details", connection_details(connection)},
          {"state", channel.state},
          {"confirm", channel.confirm},
          {"transactional", channel.transactional},
          {"prefetch_count", channel.prefetch_count},
          {"global_prefetch_count", channel.global_prefetch_count},
          {"consumer_count", channel.consumer_count},
          {"messages_unacknowledged", channel.messages_unacknowledged},
          {"messages_unconfirmed", channel.messages_unconfirmed},
          {"messages_uncommitted", channel.messages_uncommitted},
          {"acks_uncommitted", channel.acks_uncommitted},
          {"pending_raft_commands", 0}};
}

Json consumer_json(Call& call, const ConnectionInfo& connection, const ChannelInfo& channel,
                   const ChannelInfo::Consumer& consumer) {
  Json details = {{"name", channel_name(connection, channel)},
                  {"number", channel.number},
                  {"pid", pid_text(call.config().node_name, call.facts().started_ms, connection.id,
                                   channel.number)},
                  {"node", call.config().node_name},
                  {"user", connection.user},
                  {"connection_name", connection.name},
                  {"peer_host", connection.peer_host},
                  {"peer_port", connection.peer_port}};
  return {{"consumer_tag", consumer.tag},
          {"queue", {{"name", consumer.queue}, {"vhost", connection.vhost}}},
          {"channel_details", std::move(details)},
          {"ack_required", consumer.ack_required},
          {"exclusive", consumer.exclusive},
          {"prefetch_count", consumer.prefetch_count},
          {"active", true},
          {"activity_status", "up"},
          {"arguments", json_of_arguments(consumer.arguments)}};
}

}  // namespace ringtail::broker::http
