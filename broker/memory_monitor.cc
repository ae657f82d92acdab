#include "broker/memory_monitor.h"

#include "broker/broker_shard.h"
#include "broker/runtime/log.h"
#include "broker/runtime/memory_gauge.h"

namespace ringtail::broker {

MemoryMonitor::MemoryMonitor(BrokerShard& broker_shard, std::uint16_t shards)
    : broker_shard_(broker_shard),
      shards_(shards),
      timer_(broker_shard.shard().env().timers().make([this] { check(); })) {
  timer_->start(runtime::kMemoryCheckMs, runtime::kMemoryCheckMs);
}

void MemoryMonitor::check() {
  const std::uint64_t limit = broker_shard_.config().memory_high_watermark;
  const std::int64_t total = runtime::MemoryGauge::total();
  const std::uint64_t used = total > 0 ? static_cast<std::uint64_t>(total) : 0;
  // The alarm ends a little below where it began, so that it does not flutter.
  const bool alarm = used > (alarm_ ? limit - limit / 20 : limit);
  if (alarm == alarm_) return;
  alarm_ = alarm;
  if (alarm) {
    runtime::log(runtime::LogLevel::kWarning, "memory",
                 "high watermark: {} bytes used, {} allowed; publishers are blocked", used, limit);
  } else {
    runtime::log(runtime::LogLevel::kInfo, "memory",
                 "{} bytes used, below the high watermark of {}; publishers go on", used, limit);
  }
  runtime::Shard& here = broker_shard_.shard();
  for (std::uint16_t shard = 0; shard < shards_; ++shard) {
    auto letter = std::make_unique<MemoryAlarm>();
    letter->on = alarm;
    here.post(BrokerShard::address_of(here.node(), here.id()),
              BrokerShard::address_of(here.node(), runtime::ShardId{shard}), std::move(letter));
  }
}

}  // namespace ringtail::broker
