// Watches the counted memory (runtime/memory_gauge.h) and tells every shard when it crosses the
// high watermark: above it publishers are blocked, consumers go on, and below it all goes on. Lives
// on shard 0.
#pragma once

#include <cstdint>
#include <memory>

#include "broker/runtime/letter.h"
#include "broker/runtime/timer.h"

namespace ringtail::broker {

class BrokerShard;

class MemoryMonitor {
 public:
  MemoryMonitor(BrokerShard& broker_shard, std::uint16_t shards);
  ~MemoryMonitor();

  // Compares once; the timer does it every kMemoryCheckMs.
  void check();
  // A shard has raised the alarm by itself.
  void raised_by(runtime::ShardId shard);
  // In the place of the configured watermark, in bytes, until the node stops. Looks at once.
  void set_limit(std::uint64_t limit);

 private:
  BrokerShard& broker_shard_;
  const std::uint16_t shards_;
  std::uint64_t limit_;
  void tell_shards(bool alarm);
  template <typename MakeLetter>
  void post_to_all(MakeLetter make_letter);
  // Gives memory back to the kernel when much was freed and it has been quiet since.
  void trim(std::uint64_t used);
  void trim_next();

  bool alarm_ = false;
  std::uint64_t peak_ = 0;  // since the last trim
  std::uint64_t last_used_ = 0;
  int quiet_checks_ = 0;
  bool trimming_ = false;
  std::uint16_t next_to_trim_ = 0;
  std::unique_ptr<runtime::Timer> timer_;
};

}  // namespace ringtail::broker
