#include "queue/store/store_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "queue/store/directory_name.h"

namespace ringtail::queue::store {

namespace {

// The heads of all queues of a shard that have a backlog on disk, together, and of one of them.
constexpr std::size_t kHeadsBytes = 64 * 1024 * 1024;
constexpr std::size_t kHeadMaxBytes = 8 * 1024 * 1024;
constexpr std::size_t kHeadMinBytes = 64 * 1024;

constexpr std::uint64_t kTrashPauseMs = 5;

}  // namespace

StoreShard::StoreShard(runtime::Shard& shard, std::string data_dir, JournalOptions options)
    : shard_(shard),
      data_dir_(std::move(data_dir)),
      journal_(shard, data_dir_ + "/journal", options) {}

std::string StoreShard::directory_of(std::string_view vhost, std::string_view name,
                                     bool durable) const {
  const auto directory = directory_name(vhost, name);
  RT_CHECK(directory.ok(), "a queue that no directory can be named for");
  return (durable ? queues() : paged()) + "/" + directory.value();
}

std::uint64_t StoreShard::wall_of(std::uint64_t monotonic_ms) const {
  runtime::Clock& clock = shard_.env().clock();
  const std::uint64_t now = clock.monotonic_ms();
  const std::uint64_t wall = clock.wall_ms();
  return monotonic_ms >= now ? wall + (monotonic_ms - now)
                             : wall - std::min(wall, now - monotonic_ms);
}

std::uint64_t StoreShard::monotonic_of(std::uint64_t wall_ms) const {
  runtime::Clock& clock = shard_.env().clock();
  const std::uint64_t now = clock.monotonic_ms();
  const std::uint64_t wall = clock.wall_ms();
  return wall_ms >= wall ? now + (wall_ms - wall) : now - std::min(now, wall - wall_ms);
}

std::size_t StoreShard::head_budget() const {
  return std::clamp(kHeadsBytes / std::max<std::size_t>(backlogs_, 1), kHeadMinBytes,
                    kHeadMaxBytes);
}

void StoreShard::remove_directory(const std::string& directory) {
  runtime::Disk& disk = shard_.env().disk();
  // Out of the way at once: the queue may be declared again.
  const std::string trash =
      fmt::format("{}.gone-{}-{}", directory, shard_.id().value, ++last_trash_);
  if (!disk.rename(directory, trash).ok()) return;  // there was none
  trash_.push_back(trash);
  if (trash_.size() == 1) remove_some();
}

// A large file takes a millisecond to go.
void StoreShard::remove_some() {
  runtime::Disk& disk = shard_.env().disk();
  const auto names = disk.list(trash_.front());
  if (names.ok() && !names.value().empty()) {
    (void)disk.remove(trash_.front() + "/" + names.value().back());
  } else {
    (void)disk.remove(trash_.front());
    trash_.pop_front();
  }
  if (trash_.empty()) return;
  if (trash_timer_ == nullptr) {
    trash_timer_ = shard_.env().timers().make([this] { remove_some(); });
  }
  trash_timer_->start(kTrashPauseMs);
}

}  // namespace ringtail::queue::store
