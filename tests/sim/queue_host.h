// Queues of one node over a simulated disk, without connections: what survives a crash. Every start
// is told the same declarations again, as the metadata would tell it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_shard.h"
#include "cluster/metadata/store.h"
#include "queue/letters.h"
#include "queue/queue_registry.h"
#include "queue/recovery.h"
#include "queue/store/store_shard.h"

namespace ringtail::sim {

class NoDeadLetters final : public queue::DeadLetterSink {
 public:
  void dead_letter(const std::shared_ptr<const cluster::metadata::QueueRecord>&,
                   const cluster::metadata::QueueOptions&, queue::DeathReason,
                   queue::MessageRef) override {}
};

// A process. Its end without stop() is a kill.
class QueueHost {
 public:
  QueueHost(runtime::SimHost& host, std::uint16_t shards, queue::store::StoreOptions options)
      : host_(host), node_(host, runtime::NodeId{0}, shards) {
    for (std::uint16_t i = 0; i < shards; ++i) {
      node_.driver(i).run(
          [&] { parts_.push_back(std::make_unique<Part>(node_.shard(i), shards, options)); });
    }
  }
  ~QueueHost() {
    node_.kill();
    while (!parts_.empty()) parts_.pop_back();
  }

  // Before start(): the same for each start, in the same order. Afterwards: a new queue.
  std::shared_ptr<const cluster::metadata::QueueRecord> declare(
      const cluster::metadata::QueueRecord& record) {
    std::shared_ptr<const cluster::metadata::QueueRecord> made;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      node_.driver(i).run([&] {
        cluster::metadata::DeclareQueue command;
        command.record = record;
        const auto result = parts_[i]->metadata.apply(command);
        if (i == 0) made = result.queue;
      });
    }
    return made;
  }
  void remove(const cluster::metadata::QueueRecord& record) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      node_.driver(i).run([&] {
        parts_[i]->metadata.apply(
            cluster::metadata::DeleteQueue{record.vhost, record.name, record.qid});
      });
    }
  }
  // False: the node has not started within a minute.
  bool start() {
    bool done = false;
    node_.driver(0).run([&] {
      parts_[0]->recovery.start([&](const runtime::Status& result) {
        status = result;
        done = true;
      });
    });
    return host_.world().run_until([&] { return done; });
  }
  // In order; false: it has not ended within a minute.
  bool stop() {
    std::size_t closed = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      node_.driver(i).run([&] { parts_[i]->stores.close([&] { ++closed; }); });
    }
    return host_.world().run_until([&] { return closed == parts_.size(); });
  }

  runtime::SimShardDriver& driver(std::size_t shard) { return node_.driver(shard); }
  queue::QueueProcess* find(const cluster::metadata::QueueRecord& record) {
    return parts_[record.shard.value]->registry.find(record.qid);
  }
  queue::store::StoreShard& stores(std::size_t shard) { return parts_[shard]->stores; }

  runtime::Status status;

 private:
  struct Part {
    Part(runtime::Shard& shard, std::uint16_t shards, queue::store::StoreOptions options)
        : metadata(shards),
          stores(shard, "/data", options),
          registry(
              shard, metadata,
              [](std::shared_ptr<const cluster::metadata::QueueRecord>, std::function<void()>) {},
              dead_letters, &stores),
          recovery(shard, shards, metadata, registry, stores) {}

    cluster::metadata::Store metadata;
    NoDeadLetters dead_letters;
    queue::store::StoreShard stores;
    queue::QueueRegistry registry;
    queue::Recovery recovery;
  };

  runtime::SimHost& host_;
  runtime::SimNode node_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace ringtail::sim
