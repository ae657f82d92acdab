// What happens between a node's start and its first client: the metadata is read from the data
// directory and given to every shard; the queues take up what they had; an empty directory gets the
// cluster's name, the default vhost and user of the configuration, unless a definitions file brings
// its own; then that file is imported.
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

  // Once all shards have the metadata; `empty`: the cluster has just begun. `done` runs once,
  // perhaps at once: listeners may open, or why the node cannot start.
  void start(bool empty, std::function<void(const runtime::Status&)> done);

 private:
  void recover_queues(bool empty);
  void name_cluster();
  void create_defaults();
  void import_definitions();
  void end(const runtime::Status& status);

  BrokerShard& broker_shard_;
  std::function<void(const runtime::Status&)> done_;
  std::unique_ptr<DefinitionsLoader> loader_;  // while there is a file to import
};

}  // namespace ringtail::broker
