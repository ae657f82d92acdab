// Watches the counted memory (runtime/memory_gauge.h) and tells every shard when it crosses the high
// watermark: above it publishers are blocked, consumers go on, and below it all goes on. Lives on
// shard 0.
#pragma once

#include <cstdint>
#include <memory>

#include "broker/runtime/timer.h"

namespace ringtail::broker {

class BrokerShard;

class MemoryMonitor {
 public:
  MemoryMonitor(BrokerShard& broker_shard, std::uint16_t shards);

  // Compares once; the timer does it every kMemoryCheckMs.
  void check();

 private:
  BrokerShard& broker_shard_;
  const std::uint16_t shards_;
  bool alarm_ = false;
  std::unique_ptr<runtime::Timer> timer_;
};

}  // namespace ringtail::broker
