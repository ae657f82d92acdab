// Watches the free space of the data directory's disk and tells every shard when it crosses
// disk_free_limit: below it publishers are blocked, consumers go on, and above it all goes on.
// Lives on shard 0.
#pragma once

#include <cstdint>
#include <memory>

#include "broker/runtime/timer.h"

namespace ringtail::broker {

class BrokerShard;

class DiskMonitor {
 public:
  // Looks once, so that a node that starts on a full disk takes nothing from its first client.
  DiskMonitor(BrokerShard& broker_shard, std::uint16_t shards);
  ~DiskMonitor();

  // Compares once and sets the timer for the next time.
  void check();
  // In the place of the configured limit, in bytes, until the node stops. Looks at once.
  void set_limit(std::uint64_t limit);
  std::uint64_t limit() const { return limit_; }

 private:
  void judge(std::uint64_t free);
  void tell_shards();
  std::uint64_t next_check_ms(std::uint64_t free) const;

  BrokerShard& broker_shard_;
  const std::uint16_t shards_;
  std::uint64_t limit_;
  bool alarm_ = false;
  bool blind_ = false;  // the last look failed; the alarm stays as it was
  std::unique_ptr<runtime::Timer> timer_;
};

}  // namespace ringtail::broker
