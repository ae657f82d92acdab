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
      limit_(broker_shard.config().memory_high_watermark),
      timer_(broker_shard.shard().env().timers().make([this] { check(); })) {
  timer_->start(runtime::kMemoryCheckMs, runtime::kMemoryCheckMs);
  broker_shard_.set_memory_monitor(this);
}

MemoryMonitor::~MemoryMonitor() { broker_shard_.set_memory_monitor(nullptr); }

void MemoryMonitor::raised_by(runtime::ShardId shard) {
  check();
  if (alarm_) return;  // told with all the others
  // It has fallen again meanwhile.
  auto letter = std::make_unique<MemoryAlarm>();
  letter->limit = limit_;
  runtime::Shard& here = broker_shard_.shard();
  here.post(BrokerShard::address_of(here.node(), here.id()),
            BrokerShard::address_of(here.node(), shard), std::move(letter));
}

void MemoryMonitor::set_limit(std::uint64_t limit) {
  limit_ = limit;
  runtime::log(runtime::LogLevel::kInfo, "memory", "the high watermark is {} bytes now", limit);
  check();
  tell_shards(alarm_);
}

void MemoryMonitor::check() {
  const std::int64_t total = runtime::MemoryGauge::total();
  const std::uint64_t used = total > 0 ? static_cast<std::uint64_t>(total) : 0;
  // The alarm ends a little below where it began, so that it does not flutter.
  const bool alarm = used > (alarm_ ? limit_ - limit_ / 20 : limit_);
  trim(used);
  if (alarm == alarm_) return;
  alarm_ = alarm;
  if (alarm) {
    runtime::log(runtime::LogLevel::kWarning, "memory",
                 "high watermark: {} bytes used, {} allowed; publishers are blocked", used, limit_);
  } else {
    runtime::log(runtime::LogLevel::kInfo, "memory",
                 "{} bytes used, below the high watermark of {}; publishers go on", used, limit_);
  }
  tell_shards(alarm);
}

void MemoryMonitor::trim(std::uint64_t used) {
  peak_ = std::max(peak_, used);
  const bool quiet = used <= last_used_ + runtime::kTrimQuietBytes &&
                     last_used_ <= used + runtime::kTrimQuietBytes;
  last_used_ = used;
  quiet_checks_ = quiet ? quiet_checks_ + 1 : 0;
  if (trimming_) {
    trim_next();
    return;
  }
  // Much has gone, or most of what there was: the rest of a queue that is freed slowly, say.
  const bool much = peak_ >= used + runtime::kTrimBytes;
  const bool most = peak_ >= used + runtime::kTrimBytes / 8 && used < peak_ / 2;
  if ((!much && !most) || quiet_checks_ < runtime::kTrimQuietChecks) return;
  peak_ = used;
  trimming_ = true;
  next_to_trim_ = 0;
  runtime::set_release_at_once(true);
  trim_next();
}

// One shard a check, so that they do not stop all at once.
void MemoryMonitor::trim_next() {
  if (next_to_trim_ == shards_) {
    trimming_ = false;
    runtime::set_release_at_once(false);
    return;
  }
  runtime::Shard& here = broker_shard_.shard();
  here.post(BrokerShard::address_of(here.node(), here.id()),
            BrokerShard::address_of(here.node(), runtime::ShardId{next_to_trim_++}),
            std::make_unique<TrimMemory>());
}

void MemoryMonitor::tell_shards(bool alarm) {
  post_to_all([this, alarm] {
    auto letter = std::make_unique<MemoryAlarm>();
    letter->on = alarm;
    letter->limit = limit_;
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
