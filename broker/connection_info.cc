#include "broker/connection_info.h"

#include <algorithm>
#include <charconv>

#include "broker/amqp/field_table.h"
#include "broker/channel.h"
#include "broker/connection.h"

namespace ringtail::broker {

HostPort split_host_port(const std::string& address) {
  HostPort out;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, 0};
  out.host = address.substr(0, colon);
  if (out.host.size() >= 2 && out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), out.port);
  return out;
}

const char* Connection::state_name() const {
  switch (state_) {
    case ConnectionState::kAwaitHeader:
    case ConnectionState::kAwaitStartOk:
    case ConnectionState::kRefusing:
      return "starting";
    case ConnectionState::kAwaitTuneOk:
      return "tuning";
    case ConnectionState::kAwaitOpen:
    case ConnectionState::kAwaitAdmission:
      return "opening";
    case ConnectionState::kOpen:
      if (blocked_by_alarm_) return "blocked";
      if (broker_shard_.alarm()) return "blocking";
      return full_links_ > 0 ? "flow" : "running";
    case ConnectionState::kClosing:
    case ConnectionState::kDraining:
      return "closing";
    case ConnectionState::kClosed:
      return "closed";
  }
  return "closed";
}

std::string Connection::name() const {
  const HostPort peer = split_host_port(stream_->peer_name());
  const HostPort local = split_host_port(stream_->local_name());
  return fmt::format("{}:{} -> {}:{}", peer.host, peer.port, local.host, local.port);
}

ConnectionInfo Connection::info() const {
  ConnectionInfo out;
  out.id = id_;
  out.name = name();
  out.user = user_;
  out.vhost = vhost_;
  const HostPort peer = split_host_port(stream_->peer_name());
  const HostPort local = split_host_port(stream_->local_name());
  out.peer_host = peer.host;
  out.peer_port = peer.port;
  out.host = local.host;
  out.port = local.port;
  out.connected_at_ms = connected_at_ms_;
  out.state = state_name();
  out.channels = channels_.size();
  out.frame_max = frame_max_;
  out.channel_max = channel_max_;
  out.timeout_s = heartbeat_s_;
  out.auth_mechanism = auth_mechanism_;
  out.client_properties = client_properties_;
  const auto given = amqp::find_in_table(runtime::as_bytes(client_properties_), "connection_name");
  if (given && given->as_text()) out.user_provided_name = *given->as_text();
  if (const runtime::TlsInfo* tls = stream_->tls()) out.tls = *tls;
  out.recv_octets = recv_octets_;
  out.send_octets = send_octets_;
  out.recv_count = recv_count_;
  out.send_count = send_count_;
  out.send_pending = out_.size() + writing_;
  return out;
}

std::vector<ChannelInfo> Connection::channel_infos() const {
  std::vector<ChannelInfo> out;
  for (const auto& [number, slot] : channels_) {
    if (slot.channel) out.push_back(slot.channel->info());
  }
  return out;
}

ChannelInfo Channel::info() const {
  ChannelInfo out;
  out.number = number_;
  const bool behind =
      std::any_of(links_.begin(), links_.end(), [](const auto& link) { return link.second->full; });
  out.state = behind ? "flow" : "running";
  out.confirm = mode_ == Mode::kConfirm;
  out.transactional = mode_ == Mode::kTx;
  out.prefetch_count = prefetch_;
  out.global_prefetch_count = global_prefetch_;
  out.consumer_count = consumers_.size();
  out.messages_unacknowledged = unacked_.count();
  out.messages_unconfirmed = confirms_.outstanding();
  out.messages_uncommitted = tx_publishes_.size();
  out.acks_uncommitted = tx_acks_.size();
  for (const auto& [tag, consumer] : consumers_by_tag_) {
    out.consumers.push_back({tag, consumer->link->record->name, !consumer->no_ack,
                             consumer->exclusive, consumer->prefetch, consumer->arguments});
  }
  std::sort(out.consumers.begin(), out.consumers.end(),
            [](const auto& a, const auto& b) { return a.tag < b.tag; });
  return out;
}

}  // namespace ringtail::broker
