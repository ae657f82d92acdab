#include "broker/memory_monitor.h"

#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/runtime/allocator.h"
#include "broker/runtime/log.h"
#include "broker/runtime/memory_gauge.h"

namespace ringtail::broker {

MemoryMonitor::MemoryMonitor(BrokerShard& broker_shard, std::uint16_t shards)
    : broker_shard_(broker_shard),
      shards_(shards),
      timer_(broker_shard.shard().env().timers().make([this] { check(); })) {
  timer_->start(runtime::kMemoryCheckMs, runtime::kMemoryCheckMs);
  broker_shard_.set_check_memory([this](runtime::ShardId shard) {
    check();
    if (alarm_) return;  // told with all the others
    // It has fallen again meanwhile.
    runtime::Shard& here = broker_shard_.shard();
    here.post(BrokerShard::address_of(here.node(), here.id()),
              BrokerShard::address_of(here.node(), shard), std::make_unique<MemoryAlarm>());
  });
}

MemoryMonitor::~MemoryMonitor() { broker_shard_.set_check_memory(nullptr); }

void MemoryMonitor::check() {
  const std::uint64_t limit = broker_shard_.config().memory_high_watermark;
  const std::int64_t total = runtime::MemoryGauge::total();
  const std::uint64_t used = total > 0 ? static_cast<std::uint64_t>(total) : 0;
  // The alarm ends a little below where it began, so that it does not flutter.
  const bool alarm = used > (alarm_ ? limit - limit / 20 : limit);
  trim(used);
  if (alarm == alarm_) return;
  alarm_ = alarm;
  if (alarm) {
    runtime::log(runtime::LogLevel::kWarning, "memory",
                 "high watermark: {} bytes used, {} allowed; publishers are blocked", used, limit);
  } else {
    runtime::log(runtime::LogLevel::kInfo, "memory",
                 "{} bytes used, below the high watermark of {}; publishers go on", used, limit);
  }
  tell_shards(alarm);
}

void MemoryMonitor::trim(std::uint64_t used) {
  if (trimming_checks_ > 0 && --trimming_checks_ == 0) runtime::set_release_at_once(false);
  peak_ = std::max(peak_, used);
  const bool quiet =
      used <= last_used_ + runtime::kTrimBytes / 8 && last_used_ <= used + runtime::kTrimBytes / 8;
  last_used_ = used;
  quiet_checks_ = quiet ? quiet_checks_ + 1 : 0;
  if (peak_ < used + runtime::kTrimBytes || quiet_checks_ < runtime::kTrimQuietChecks) return;
  peak_ = used;
  // The switch is the whole process's: were it each shard's to set and to put back, one would put
  // it back while another releases.
  runtime::set_release_at_once(true);
  trimming_checks_ = runtime::kTrimChecks;
  post_to_all([] { return std::make_unique<TrimMemory>(); });
}

void MemoryMonitor::tell_shards(bool alarm) {
  post_to_all([alarm] {
    auto letter = std::make_unique<MemoryAlarm>();
    letter->on = alarm;
    return letter;
  });
}

template <typename MakeLetter>
void MemoryMonitor::post_to_all(MakeLetter make_letter) {
  runtime::Shard& here = broker_shard_.shard();
  for (std::uint16_t shard = 0; shard < shards_; ++shard) {
    here.post(BrokerShard::address_of(here.node(), here.id()),
              BrokerShard::address_of(here.node(), runtime::ShardId{shard}), make_letter());
  }
}

}  // namespace ringtail::broker
