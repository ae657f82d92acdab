#include "broker/node.h"

#include <cstdlib>

#include "broker/channel.h"
#include "broker/connection_info.h"
#include "broker/control_options.h"
#include "broker/http/limits.h"
#include "broker/letters_codec.h"
#include "broker/runtime/log.h"
#include "broker/runtime/uv/uv_side_env.h"
#include "queue/letters_codec.h"

namespace ringtail::broker {

using runtime::NodeId;
using runtime::Shard;
using runtime::ShardId;
using runtime::Status;

namespace {

// As sysexits.h: an error while doing input or output.
constexpr int kExitFailed = 1;  // of a start, too
constexpr int kExitDisk = 74;

// Null without cluster_ssl_options.
runtime::Result<std::unique_ptr<cluster::LinkTls>> load_link_tls(const runtime::Config& config) {
  std::unique_ptr<cluster::LinkTls> tls;
  if (config.cluster.tls.cert_file.empty()) return tls;
  tls = std::make_unique<cluster::LinkTls>(config.cluster.tls);
  RT_TRY(tls->load());
  return tls;
}

}  // namespace

Node::Node(runtime::Config config, http::AppControl* app)
    : config_(std::move(config)),
      app_(app),
      shard_count_(static_cast<std::uint16_t>(config_.shards)),
      mailboxes_(shard_count_ + std::size_t{1}),
      per_shard_(shard_count_),
      gateway_(
          shard_count_,
          [this](ShardId shard, http::ShardGateway::ShardCall call) {
            shards_[shard.value].call([this, shard, call = std::move(call)](Shard&) {
              call(*per_shard_[shard.value].broker_shard);
            });
          },
          http::kGatewayTimeoutMs) {}

Status Node::read_data_directory() {
  runtime::UvSideEnv side;
  auto opened =
      cluster::open_data_directory(side.env(), config_.data_dir, config_.cluster.cookie_file);
  if (!opened.ok()) return opened.status();
  data_directory_ = std::move(opened).value();
  const Status formation = check_formation(config_, data_directory_);
  misconfigured_ = !formation.ok();
  RT_TRY(formation);
  auto tls = load_link_tls(config_);
  RT_TRY(tls.status());
  link_tls_ = std::move(tls).value();
  return {};
}

void Node::make_shards() {
  const NodeId node = data_directory_.identity.node;
  queue::add_codecs(codecs_);
  add_codecs(codecs_);
  for (std::uint16_t i = 0; i < shard_count_; ++i) {
    PerShard& mine = per_shard_[i];
    const bool first = i == 0;
    shards_.emplace_back(
        node, ShardId{i}, mailboxes_,
        [this, &mine](Shard& shard) {
          mine.broker_shard = std::make_unique<BrokerShard>(shard, config_, shard_count_);
          mine.bus = std::make_unique<cluster::MessageBus>(
              shard, shard_count_, data_directory_.cookie, codecs_, link_tls_.get());
          mine.bus->add_watcher(*mine.broker_shard);
          shard.set_remote(mine.bus.get());
        },
        [this, &mine, first](Shard&) {
          if (first) {
            listener_.reset();
            disk_monitor_.reset();
            memory_monitor_.reset();
            boot_.reset();
          }
          mine.bus->remove_watcher(*mine.broker_shard);
          mine.broker_shard.reset();
          mine.bus.reset();
        });
  }
  shards_.emplace_back(
      node, ShardId{shard_count_}, mailboxes_,
      [this](Shard& shard) {
        control_ = std::make_unique<cluster::ControlPlane>(
            shard, control_options(config_, data_directory_, link_tls_.get()));
      },
      [this](Shard&) { control_.reset(); });
}

Node::~Node() { stop(); }

Status Node::start() {
  if (Status status = read_data_directory(); !status.ok()) return status;
  make_shards();
  running_ = true;
  for (runtime::UvShard& shard : shards_) {
    if (Status status = shard.start(); !status.ok()) {
      stop();
      return status;
    }
  }
  Status status = boot();
  if (!status.ok()) {
    stop();
    return status;
  }
  shards_[0].call_and_wait([this, &status](Shard&) {
    listener_ = std::make_unique<Listener>(*per_shard_[0].broker_shard, shard_count_);
    memory_monitor_ = std::make_unique<MemoryMonitor>(*per_shard_[0].broker_shard, shard_count_);
    disk_monitor_ = std::make_unique<DiskMonitor>(*per_shard_[0].broker_shard, shard_count_);
    status = listener_->open();
  });
  if (status.ok() && config_.management_enabled) status = start_http();
  if (!status.ok()) stop();
  return status;
}

void Node::reload_certificate() {
  shards_[0].call([this](Shard&) {
    if (listener_ != nullptr) listener_->reload_certificate();
  });
  shards_.back().call([this](Shard&) { control_->reload_certificate(); });
}

Status Node::come_to_cluster(bool& empty) {
  Status result;
  shards_.back().call_and_await([&](Shard&, std::function<void()> done) {
    control_->start(
        [&, done = std::move(done)](const cluster::ControlPlane::Started& started) {
          result = started.status;
          empty = started.empty;
          done();
        },
        [](const Status& why) {
          // What clients were told is on the disk; nothing that they are told from here on would
          // be, so nobody may be told anything.
          runtime::log(runtime::LogLevel::kError, "node", "stopping at once: {}", why.text());
          std::_Exit(why.code() == runtime::Code::kInvalid ? kExitFailed : kExitDisk);
        });
  });
  return result;
}

Status Node::boot() {
  bool empty = false;
  if (Status status = come_to_cluster(empty); !status.ok()) return status;
  Status result;
  booted_ = true;
  shards_[0].call_and_await([&](Shard&, std::function<void()> done) {
    boot_ = std::make_unique<Boot>(*per_shard_[0].broker_shard);
    boot_->start(empty, [&result, done = std::move(done)](const Status& status) {
      result = status;
      done();
    });
  });
  return result;
}

Status Node::start_http() {
  http::NodeFacts facts;
  facts.config = &config_;
  facts.app = app_;
  const auto add_listener = [&facts](std::string protocol, const std::string& name) {
    HostPort where = split_host_port(name);
    facts.listeners.push_back({std::move(protocol), std::move(where.host), where.port});
  };
  shards_[0].call_and_wait([&](Shard& shard) {
    facts.started_ms = shard.env().clock().wall_ms();
    for (Listener::Open& open : listener_->listening()) {
      add_listener(std::move(open.protocol), open.name);
    }
  });
  shards_.back().call_and_wait([&](Shard&) {
    for (const std::string& name : control_->links().listener().listening()) {
      add_listener("clustering", name);
    }
  });
  http_server_ = std::make_unique<http::HttpServer>(gateway_, config_);
  return http_server_->start(std::move(facts));
}

void Node::shut_down(std::function<void()> done) {
  if (http_server_ != nullptr) http_server_->stop();
  shards_[0].call([this, done = std::move(done)](Shard& shard) {
    listener_.reset();
    per_shard_[0].broker_shard->set_shut_down_done(done);
    for (std::uint16_t i = 0; i < shard_count_; ++i) {
      shard.post(BrokerShard::address_of(shard.node(), shard.id()),
                 BrokerShard::address_of(shard.node(), ShardId{i}), std::make_unique<ShutDown>());
    }
  });
}

Status Node::leave_cluster(const runtime::Config& config) {
  runtime::UvSideEnv side;
  auto opened =
      cluster::open_data_directory(side.env(), config.data_dir, config.cluster.cookie_file);
  if (!opened.ok()) return opened.status();
  const auto tls = load_link_tls(config);
  RT_TRY(tls.status());
  cluster::ControlPlaneOptions options = control_options(config, opened.value(), tls.value().get());
  options.retires = true;
  const ShardId id{options.data_shards};
  runtime::Mailboxes mailboxes(id.value + std::size_t{1});
  std::unique_ptr<cluster::ControlPlane> control;
  runtime::UvShard shard(
      opened.value().identity.node, id, mailboxes,
      [&](Shard& own) { control = std::make_unique<cluster::ControlPlane>(own, options); },
      [&](Shard&) { control.reset(); });
  RT_TRY(shard.start());
  Status result;
  shard.call_and_await([&](Shard&, std::function<void()> done) {
    control->retire([&result, done = std::move(done)](const Status& status) {
      result = status;
      done();
    });
  });
  shard.call_and_await(
      [&](Shard&, std::function<void()> done) { control->close(std::move(done)); });
  shard.stop();
  shard.join();
  return result;
}

void Node::stop() {
  if (!running_) return;
  running_ = false;
  http_server_.reset();
  if (booted_) {
    shards_.back().call_and_await(
        [this](Shard&, std::function<void()> done) { control_->leave(std::move(done)); });
    for (std::uint16_t i = 0; i < shard_count_; ++i) {
      shards_[i].call_and_await([this, i](Shard&, std::function<void()> done) {
        per_shard_[i].broker_shard->stores().close(std::move(done));
      });
    }
  }
  if (control_ != nullptr) {
    shards_.back().call_and_await(
        [this](Shard&, std::function<void()> done) { control_->close(std::move(done)); });
  }
  for (runtime::UvShard& shard : shards_) shard.stop();
  for (runtime::UvShard& shard : shards_) shard.join();
}

}  // namespace ringtail::broker
