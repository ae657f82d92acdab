#include "broker/node.h"

#include <cstdlib>

#include "broker/channel.h"
#include "broker/connection_info.h"
#include "broker/http/limits.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using runtime::NodeId;
using runtime::Shard;
using runtime::ShardId;
using runtime::Status;

namespace {

// As sysexits.h: an error while doing input or output.
constexpr int kExitDisk = 74;

}  // namespace

Node::Node(runtime::Config config)
    : config_(std::move(config)),
      shard_count_(static_cast<std::uint16_t>(config_.shards)),
      mailboxes_(shard_count_),
      per_shard_(shard_count_),
      gateway_(
          shard_count_,
          [this](ShardId shard, http::ShardGateway::ShardCall call) {
            shards_[shard.value].call([this, shard, call = std::move(call)](Shard&) {
              call(*per_shard_[shard.value].broker_shard);
            });
          },
          http::kGatewayTimeoutMs) {
  for (std::uint16_t i = 0; i < shard_count_; ++i) {
    PerShard& mine = per_shard_[i];
    const bool first = i == 0;
    shards_.emplace_back(
        NodeId{0}, ShardId{i}, mailboxes_,
        [this, &mine](Shard& shard) {
          mine.broker_shard = std::make_unique<BrokerShard>(shard, config_, shard_count_);
        },
        [this, &mine, first](Shard&) {
          if (first) {
            listener_.reset();
            disk_monitor_.reset();
            memory_monitor_.reset();
            boot_.reset();
          }
          mine.broker_shard.reset();
        });
  }
}

Node::~Node() { stop(); }

Status Node::start() {
  running_ = true;
  for (runtime::UvShard& shard : shards_) {
    if (const Status status = shard.start(); !status.ok()) {
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
}

Status Node::boot() {
  Status result;
  booted_ = true;
  shards_[0].call_and_await([this, &result](Shard&, std::function<void()> done) {
    boot_ = std::make_unique<Boot>(*per_shard_[0].broker_shard);
    boot_->start(
        [&result, done = std::move(done)](const Status& status) {
          result = status;
          done();
        },
        [](const Status& why) {
          // What clients were told is on the disk; nothing that they are told from here on would
          // be, so nobody may be told anything.
          runtime::log(runtime::LogLevel::kError, "node", "stopping at once: {}", why.text());
          std::_Exit(kExitDisk);
        });
  });
  return result;
}

Status Node::start_http() {
  http::NodeFacts facts;
  facts.config = &config_;
  facts.cluster_name = config_.cluster_name.empty() ? config_.node_name : config_.cluster_name;
  shards_[0].call_and_wait([&](Shard& shard) {
    facts.started_ms = shard.env().clock().wall_ms();
    for (Listener::Open& open : listener_->listening()) {
      HostPort where = split_host_port(open.name);
      facts.listeners.push_back({std::move(open.protocol), std::move(where.host), where.port});
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

void Node::stop() {
  if (!running_) return;
  running_ = false;
  http_server_.reset();
  if (booted_) {
    for (std::uint16_t i = 0; i < shard_count_; ++i) {
      shards_[i].call_and_await([this, i](Shard&, std::function<void()> done) {
        per_shard_[i].broker_shard->stores().close(std::move(done));
      });
    }
    shards_[0].call_and_await([this](Shard&, std::function<void()> done) {
      per_shard_[0].broker_shard->metadata().close(std::move(done));
    });
  }
  for (runtime::UvShard& shard : shards_) shard.stop();
  for (runtime::UvShard& shard : shards_) shard.join();
}

}  // namespace ringtail::broker
