#include "broker/disk_monitor.h"

#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using runtime::log;
using runtime::LogLevel;

DiskMonitor::DiskMonitor(BrokerShard& broker_shard, std::uint16_t shards)
    : broker_shard_(broker_shard),
      shards_(shards),
      limit_(broker_shard.config().disk_free_limit),
      timer_(broker_shard.shard().env().timers().make([this] { check(); })) {
  broker_shard_.set_disk_monitor(this);
  check();
}

DiskMonitor::~DiskMonitor() { broker_shard_.set_disk_monitor(nullptr); }

void DiskMonitor::set_limit(std::uint64_t limit) {
  limit_ = limit;
  log(LogLevel::kInfo, "disk", "disk_free_limit is {} bytes now", limit);
  check();
}

void DiskMonitor::check() {
  const std::string& folder = broker_shard_.config().data_dir;
  const auto free = broker_shard_.shard().env().disk().free_bytes(folder);
  if (free.ok()) {
    blind_ = false;
    judge(free.value());
    timer_->start(next_check_ms(free.value()));
    return;
  }
  if (!blind_) {
    log(LogLevel::kWarning, "disk", "{}; the disk alarm stays {}", free.status().text(),
        alarm_ ? "on" : "off");
  }
  blind_ = true;
  timer_->start(runtime::kDiskCheckMs);
}

void DiskMonitor::judge(std::uint64_t free) {
  const bool alarm = free < limit_;
  if (alarm == alarm_) return;
  alarm_ = alarm;
  if (alarm) {
    log(LogLevel::kWarning, "disk",
        "free space is low: {} bytes, the limit is {}; publishers are blocked", free, limit_);
  } else {
    log(LogLevel::kInfo, "disk", "free space: {} bytes, the limit is {}; publishers go on", free,
        limit_);
  }
  tell_shards();
}

void DiskMonitor::tell_shards() {
  runtime::Shard& here = broker_shard_.shard();
  for (std::uint16_t shard = 0; shard < shards_; ++shard) {
    auto letter = std::make_unique<DiskAlarm>();
    letter->on = alarm_;
    here.post(BrokerShard::address_of(here.node(), here.id()),
              BrokerShard::address_of(here.node(), runtime::ShardId{shard}), std::move(letter));
  }
}

// In the time that a fast disk takes for what is left above the limit. While the alarm is on, not
// more often than ever, so that it does not flutter.
std::uint64_t DiskMonitor::next_check_ms(std::uint64_t free) const {
  if (alarm_) return runtime::kDiskCheckMs;
  return std::clamp((free - limit_) / runtime::kDiskFillBytesPerMs, runtime::kDiskCheckNearMs,
                    runtime::kDiskCheckMs);
}

}  // namespace ringtail::broker
