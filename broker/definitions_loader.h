// The definitions file of the configuration, imported at every start before a client gets in.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker_shard.h"
#include "broker/definitions.h"
#include "broker/runtime/status.h"

namespace ringtail::broker {

// On shard 0, for one import; lives until `done` has run.
class DefinitionsLoader {
 public:
  DefinitionsLoader(BrokerShard& broker_shard, ImportOptions options)
      : broker_shard_(broker_shard), options_(std::move(options)) {}

  // Reads the file and proposes what it holds, in order; what cannot be honoured is logged, one
  // line each, and a summary. `done` runs once, perhaps at once: the file cannot be read or is no
  // definitions file (the node must not start: who names a file counts on it), or all is in force.
  void start(const std::string& path, std::function<void(const runtime::Status&)> done);

 private:
  void propose_next();
  void answered(std::size_t index, cluster::metadata::Outcome outcome);
  void report(const std::string& problem);
  void end();

  BrokerShard& broker_shard_;
  const ImportOptions options_;
  std::function<void(const runtime::Status&)> done_;
  std::string path_;
  std::vector<cluster::metadata::Command> commands_;
  std::size_t proposed_ = 0;
  std::size_t answered_ = 0;
  std::size_t problems_ = 0;
};

}  // namespace ringtail::broker
