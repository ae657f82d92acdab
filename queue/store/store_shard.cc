#include "queue/store/store_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "queue/store/directory_name.h"

namespace ringtail::queue::store {

namespace {

constexpr std::uint64_t kTrashPauseMs = 5;
// In the name of a directory that is on its way out.
constexpr std::string_view kGone = ".gone-";

}  // namespace

StoreShard::StoreShard(runtime::Shard& shard, std::string data_dir, StoreOptions options)
    : shard_(shard),
      data_dir_(std::move(data_dir)),
      options_(options),
      journal_(shard, data_dir_ + "/journal", options.journal) {}

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

bool StoreShard::take_light(std::size_t before, std::size_t octets) {
  const std::uint64_t most = options_.journal.file_size * options_.journal.files / 4;
  if (octets > before && light_ - before + octets > most) return false;
  light_ = light_ - before + octets;
  return true;
}

std::size_t StoreShard::head_budget() const {
  return std::min(options_.heads_bytes / std::max<std::size_t>(backlogs_, 1),
                  options_.head_bytes_max);
}

void StoreShard::make_directory(const QueueIdentity& identity) {
  if (closing_) return;
  runtime::Disk& disk = shard_.env().disk();
  const std::string directory = directory_of(identity.vhost, identity.name, true);
  if (!disk.make_directory(directory).ok()) return;
  auto file = disk.open(directory + "/queue", runtime::OpenMode::kCreateNew);
  if (!file.ok()) return;
  runtime::DiskCall& call = calls_.make(std::move(file.value()), alive_,
                                        [](const runtime::Status&, runtime::DiskCall&) {});
  ByteBuffer text;
  put_identity(text, identity);
  call.written = text.share();
  call.request.content = call.written.span();
  call.file->write_at(call.request);
}

void StoreShard::close(std::function<void()> done) {
  closed_ = std::move(done);
  closing_ = true;
  if (trash_timer_ != nullptr) trash_timer_->stop();
  journal_.close([this] {
    if (calls_.none()) {
      std::exchange(closed_, nullptr)();
    } else {
      calls_.when_none([this] {
        if (closed_) std::exchange(closed_, nullptr)();
      });
    }
  });
}

void StoreShard::remove_directory(const std::string& directory) {
  runtime::Disk& disk = shard_.env().disk();
  // Out of the way at once: the queue may be declared again.
  const std::string trash =
      fmt::format("{}{}{}-{}-{}", directory, kGone, shard_.env().clock().wall_ms(),
                  shard_.id().value, ++last_trash_);
  if (!disk.rename(directory, trash).ok()) return;  // there was none
  trash_.push_back(trash);
  if (trash_.size() == 1) remove_some();
}

runtime::Status StoreShard::remove_gone() {
  const auto names = shard_.env().disk().list(queues());
  if (!names.ok()) return names.status();
  const bool idle = trash_.empty();
  for (const std::string& name : names.value()) {
    if (name.find(kGone) != std::string::npos) trash_.push_back(queues() + "/" + name);
  }
  if (idle && !trash_.empty()) remove_some();
  return {};
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
