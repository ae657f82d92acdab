#include "tests/sim/sim_broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/channel.h"
#include "broker/connection.h"
#include "broker/control_options.h"
#include "broker/letters_codec.h"
#include "queue/letters_codec.h"

namespace ringtail::sim {

using runtime::NodeId;
using runtime::ShardId;

// --- the node
// -------------------------------------------------------------------------------------

namespace {

runtime::Config completed(runtime::Config config, std::uint16_t shards, NodeId id) {
  if (config.node_name.empty()) {
    config.node_name = id.value == 0 ? "sim@localhost" : fmt::format("sim{}@localhost", id.value);
    config.cluster.host = "127.0.0.1";
  }
  config.amqp_port = kPort;
  config.shards = shards;
  config.data_dir = "/data";
  if (config.memory_high_watermark == 0) config.memory_high_watermark = 1ULL << 32;
  return config;
}

cluster::DataDirectory open_directory(runtime::SimHost& host, const runtime::Config& config,
                                      NodeId id) {
  runtime::SimEnv env(host);
  if (id.value != 0 && !cluster::read_identity(env.disk(), config.data_dir).ok()) {
    RT_CHECK(env.disk().make_directory(config.data_dir).ok(), "no data directory");
    RT_CHECK(cluster::save_identity(env.disk(), config.data_dir, {.node = id}).ok(), "no identity");
  }
  auto opened = cluster::open_data_directory(env, config.data_dir, "");
  RT_CHECK(opened.ok(), opened.status().text().c_str());
  return std::move(opened).value();
}

}  // namespace

BrokerNode::BrokerNode(runtime::SimHost& host, std::uint16_t shards, runtime::Config config,
                       NodeId id, Begin begins)
    : host_(host),
      config_(completed(std::move(config), shards, id)),
      directory_(open_directory(host, config_, id)),
      node_(host, directory_.identity.node, shards + std::size_t{1}) {
  queue::add_codecs(codecs_);
  broker::add_codecs(codecs_);
  for (std::uint16_t i = 0; i < shards; ++i) {
    node_.driver(i).run([&] {
      runtime::Shard& on = node_.shard(i);
      broker_shards_.push_back(std::make_unique<broker::BrokerShard>(on, config_, shards));
      buses_.push_back(
          std::make_unique<cluster::MessageBus>(on, shards, directory_.cookie, codecs_));
      buses_.back()->add_watcher(*broker_shards_.back());
      on.set_remote(buses_.back().get());
    });
  }
  begin();
  if (begins == Begin::kOnly) return;
  const bool came = host_.world().run_until([&] { return ready() || !failed_.ok(); });
  RT_CHECK(failed_.ok(), failed_.text().c_str());
  RT_CHECK(came, "the node has found no cluster, or did not boot");
}

void BrokerNode::later(std::size_t shard, std::function<void()> code) {
  node_.driver(shard).env().schedule(0, runtime::SimEventKind::kWork, std::move(code));
}

void BrokerNode::begin() {
  node_.driver(shards()).run([&] {
    control_ = std::make_unique<cluster::ControlPlane>(
        node_.shard(shards()), broker::control_options(config_, directory_));
    control_->start(
        [this](const cluster::ControlPlane::Started& result) {
          if (!result.status.ok()) return fail(result.status);
          later(0, [this, empty = result.empty] { boot(empty); });
        },
        [this](const runtime::Status& why) { lost_ = why; });
  });
}

void BrokerNode::boot(bool empty) {
  boot_ = std::make_unique<broker::Boot>(shard(0));
  boot_->start(empty, [this](const runtime::Status& status) {
    if (!status.ok()) return fail(status);
    later(0, [this] { open(); });
  });
}

void BrokerNode::open() {
  listener_ = std::make_unique<broker::Listener>(shard(0), static_cast<std::uint16_t>(shards()));
  memory_monitor_ =
      std::make_unique<broker::MemoryMonitor>(shard(0), static_cast<std::uint16_t>(shards()));
  disk_monitor_ =
      std::make_unique<broker::DiskMonitor>(shard(0), static_cast<std::uint16_t>(shards()));
  const runtime::Status status = listener_->open();
  if (status.ok()) return;
  listener_.reset();
  fail(status);
}

void BrokerNode::fail(const runtime::Status& why) { failed_ = why; }

BrokerNode::~BrokerNode() {
  node_.kill();
  listener_.reset();
  disk_monitor_.reset();
  memory_monitor_.reset();
  boot_.reset();
  control_.reset();
  while (!broker_shards_.empty()) broker_shards_.pop_back();
  buses_.clear();
}

std::size_t BrokerNode::queues() {
  std::size_t count = 0;
  for (const auto& one : broker_shards_) count += one->queues().size();
  return count;
}

void BrokerNode::shut_down() {
  node_.driver(0).run([&] {
    listener_.reset();
    shard(0).set_shut_down_done([this] {
      shut_down_done_ = true;
      if (stopping_) later(shards(), [this] { leave(); });
    });
    runtime::Shard& here = node_.shard(0);
    for (std::uint16_t i = 0; i < shards(); ++i) {
      here.post(broker::BrokerShard::address_of(here.node(), here.id()),
                broker::BrokerShard::address_of(here.node(), ShardId{i}),
                std::make_unique<broker::ShutDown>());
    }
  });
}

void BrokerNode::stop() {
  stopping_ = true;
  shut_down();
}

void BrokerNode::leave() {
  control_->leave([this] { later(0, [this] { close_stores(0); }); });
}

void BrokerNode::close_stores(std::size_t from) {
  shard(from).stores().close([this, next = from + 1] {
    if (next < shards()) return later(next, [this, next] { close_stores(next); });
    later(shards(), [this] { control_->close([this] { stopped_ = true; }); });
  });
}

// --- the client
// -----------------------------------------------------------------------------------

namespace {

// The largest frame of the node's default configuration.
constexpr std::uint32_t kFrameMax = 131072;

}  // namespace

void AmqpClient::connect(const std::string& vhost, const std::string& address) {
  vhost_ = vhost;
  reader_.set_payload_max(kFrameMax);
  socket_.connect(address, kPort);
  runtime::OutChain out;
  amqp::write_protocol_header(out);
  send(out);
}

void AmqpClient::send(runtime::OutChain& out) {
  while (!out.empty()) {
    runtime::OutChain::Piece piece;
    out.peek({&piece, 1});
    socket_.send({piece.data, piece.size});
    out.consume(piece.size);
  }
}

void AmqpClient::heartbeat() {
  runtime::OutChain out;
  amqp::write_heartbeat(out);
  send(out);
}

void AmqpClient::publish(std::uint16_t channel, std::string_view exchange, std::string_view key,
                         std::string_view body, bool mandatory, std::string_view properties) {
  runtime::OutChain out;
  amqp::write_method(
      out, channel,
      amqp::BasicPublish{
          .exchange = exchange, .routing_key = key, .mandatory = mandatory, .route = {}});
  amqp::write_content(
      out, channel, {.properties = runtime::as_bytes(properties), .body = runtime::as_bytes(body)},
      kFrameMax);
  send(out);
}

void AmqpClient::poll() {
  const std::vector<std::uint8_t> received = socket_.take_received();
  if (received.empty()) return;
  input_.insert(input_.end(), received.begin(), received.end());
  std::span<const std::uint8_t> left = input_;
  amqp::Frame frame;
  for (;;) {
    const auto outcome = reader_.next(left, frame);
    RT_CHECK(outcome != amqp::FrameReader::Outcome::kFault, "the node sent no frame");
    if (outcome == amqp::FrameReader::Outcome::kNeedMore) break;
    handle(frame);
  }
  input_.erase(input_.begin(), input_.end() - static_cast<std::ptrdiff_t>(left.size()));
}

void AmqpClient::handle(const amqp::Frame& frame) {
  if (frame.type == amqp::FrameType::kHeartbeat) return;
  if (frame.type == amqp::FrameType::kMethod) return handle_method(frame);
  const auto at = std::find_if(coming_.begin(), coming_.end(),
                               [&](const Coming& one) { return one.channel == frame.channel; });
  RT_CHECK(at != coming_.end(), "content without a method");
  if (frame.type == amqp::FrameType::kHeader) {
    RT_CHECK(!at->header_seen, "two headers");
    amqp::ContentHeader header;
    RT_CHECK(header.parse(frame.payload), "bad content header");
    at->frame.properties = runtime::as_text(header.properties);
    at->missing = header.body_size;
    at->header_seen = true;
  } else {
    RT_CHECK(at->header_seen && frame.payload.size() <= at->missing, "body too long");
    at->frame.body += runtime::as_text(frame.payload);
    at->missing -= frame.payload.size();
  }
  if (at->missing > 0) return;
  ServerFrame whole = std::move(at->frame);
  coming_.erase(at);
  complete(std::move(whole));
}

void AmqpClient::handle_method(const amqp::Frame& frame) {
  for (const Coming& one : coming_) {
    RT_CHECK(one.channel != frame.channel, "a method inside a content");
  }
  RT_CHECK(frame.payload.size() >= 4, "method frame too short");
  ServerFrame method;
  method.channel = frame.channel;
  method.key = amqp::load_u32(frame.payload.data());
  method.arguments = runtime::as_text(frame.payload.subspan(4));
  const amqp::MethodInfo* info = amqp::find_method(static_cast<std::uint16_t>(method.key >> 16),
                                                   static_cast<std::uint16_t>(method.key));
  RT_CHECK(info != nullptr && info->server_sends, "no method of a server");
  if (info->has_content) {
    coming_.push_back({frame.channel, std::move(method), 0, false});
  } else {
    complete(std::move(method));
  }
}

void AmqpClient::complete(ServerFrame frame) {
  if (frame.channel == 0 && answer(frame)) return;
  if (frame.is<amqp::ChannelClose>()) send(frame.channel, amqp::ChannelCloseOk{});
  inbox.push_back(std::move(frame));
}

// The handshake, and what concerns the connection as a whole.
bool AmqpClient::answer(const ServerFrame& frame) {
  if (frame.is<amqp::ConnectionStart>()) {
    start_ok();
  } else if (frame.is<amqp::ConnectionTune>()) {
    const auto tune = frame.as<amqp::ConnectionTune>();
    // Heartbeats would never let the world come to rest.
    send(0, amqp::ConnectionTuneOk{.channel_max = tune.channel_max,
                                   .frame_max = tune.frame_max,
                                   .heartbeat = heartbeat_s_});
    send(0, amqp::ConnectionOpen{.virtual_host = vhost_});
    send(behind_open_);
  } else if (frame.is<amqp::ConnectionOpenOk>()) {
    opened_ = true;
  } else if (frame.is<amqp::ConnectionBlocked>()) {
    blocked_ = true;
    ++times_blocked_;
    blocked_reason_ = frame.as<amqp::ConnectionBlocked>().reason;
  } else if (frame.is<amqp::ConnectionUnblocked>()) {
    blocked_ = false;
  } else if (frame.is<amqp::ConnectionClose>()) {
    const auto close = frame.as<amqp::ConnectionClose>();
    close_code_ = close.reply_code;
    close_text_ = close.reply_text;
    send(0, amqp::ConnectionCloseOk{});
  } else if (frame.is<amqp::ConnectionCloseOk>()) {
    close_ok_ = true;
  } else {
    return false;
  }
  return true;
}

void AmqpClient::start_ok() {
  amqp::FieldTable capabilities;
  capabilities.set("connection.blocked", true);
  if (hears_cancel_) capabilities.set("consumer_cancel_notify", true);
  capabilities.set("authentication_failure_close", true);
  amqp::FieldTable properties;
  properties.set("capabilities", std::move(capabilities));
  const std::string encoded = properties.encode();
  const std::string response = '\0' + user_ + '\0' + password_;
  send(0, amqp::ConnectionStartOk{.client_properties = runtime::as_bytes(encoded),
                                  .mechanism = "PLAIN",
                                  .response = response,
                                  .locale = "en_US"});
}

bool AmqpClient::take_key(std::uint16_t channel, std::uint32_t key, ServerFrame& out) {
  poll();
  const auto at = std::find_if(inbox.begin(), inbox.end(), [&](const ServerFrame& frame) {
    return frame.channel == channel && frame.key == key;
  });
  if (at == inbox.end()) return false;
  out = std::move(*at);
  inbox.erase(at);
  return true;
}

bool AmqpClient::await_open() {
  return world_.run_until([&] {
    poll();
    return opened_ || closed();
  }) && opened_;
}

bool AmqpClient::open_channel(std::uint16_t channel) {
  send(channel, amqp::ChannelOpen{});
  return await<amqp::ChannelOpenOk>(channel);
}

bool AmqpClient::declare(std::uint16_t channel, std::string_view queue, bool exclusive,
                         bool auto_delete) {
  send(channel,
       amqp::QueueDeclare{
           .queue = queue, .exclusive = exclusive, .auto_delete = auto_delete, .arguments = {}});
  return await<amqp::QueueDeclareOk>(channel);
}

bool AmqpClient::close() {
  send(0, amqp::ConnectionClose{.reply_code = 200, .reply_text = "bye"});
  return world_.run_until([&] {
    poll();
    return close_ok_ && closed();
  });
}

}  // namespace ringtail::sim
