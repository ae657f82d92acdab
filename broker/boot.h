// What happens between a node's start and its first client: the metadata is read from the data
// directory and given to every shard; the queues take up what they had; an empty directory gets the
// default vhost and user of the configuration, unless a definitions file brings its own; then that
// file is imported.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/broker_shard.h"
#include "broker/definitions_loader.h"
#include "broker/runtime/status.h"

namespace ringtail::broker {

// On shard 0, once all shards run; lives until `done` has run, and not longer than the BrokerShard.
class Boot {
 public:
  explicit Boot(BrokerShard& broker_shard) : broker_shard_(broker_shard) {}

  // `done` runs once, perhaps at once: listeners may open, or why the node cannot start. `lost` may
  // run at any time after that, once: the disk has failed and the node has to end (see
  // cluster::metadata::Service::open).
  void start(std::function<void(const runtime::Status&)> done,
             std::function<void(const runtime::Status&)> lost);

 private:
  void recover_queues(bool empty);
  void create_defaults();
  void import_definitions();
  void end(const runtime::Status& status);

  BrokerShard& broker_shard_;
  std::function<void(const runtime::Status&)> done_;
  std::unique_ptr<DefinitionsLoader> loader_;  // while there is a file to import
};

}  // namespace ringtail::broker
