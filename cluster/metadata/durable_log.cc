#include "cluster/metadata/durable_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/runtime/buggify.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::cluster::metadata {

namespace {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Result;
using runtime::Status;

// One record gathers not more than this, but for a command that alone makes more.
constexpr std::size_t kRecordBytes = 4 * 1024 * 1024;
// A snapshot is due when the logs have grown to this multiple of the last one, and to so much that
// it is worth it; or when there are that many logs (each start begins one).
constexpr std::uint64_t kSnapshotMultiple = 2;
constexpr std::uint64_t kSnapshotMinBytes = 4 * 1024 * 1024;
constexpr std::uint64_t kMaxLogs = 32;

std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "/";
  const std::size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

DurableLog::DurableLog(runtime::Env& env, Store& store, std::string data_dir, Callbacks callbacks)
    : env_(env),
      disk_(env.disk()),
      store_(store),
      data_dir_(std::move(data_dir)),
      directory_(data_dir_ + "/metadata"),
      unfinished_log_(directory_ + "/" + kUnfinishedLog),
      callbacks_(std::move(callbacks)) {
  write_.done = [this](const Status& status) { write_status_ = status; };
  sync_.done = [this](const Status& status) {
    synced(write_status_.ok() ? status : write_status_);
  };
}

DurableLog::~DurableLog() = default;

// --- opening -------------------------------------------------------------------------------------

void DurableLog::open(std::function<void(Result<SavedState>)> done) {
  opened_ = std::move(done);
  if (const Status status = prepare_directory(); !status.ok()) return open_failed(status);
  reader_ = std::make_unique<LogReader>(disk_, directory_);
  reader_->start([this](Result<ReadLogs> read) { opened(std::move(read)); });
}

Status DurableLog::prepare_directory() {
  const std::string context = "data directory " + data_dir_;
  if (Status made = disk_.make_directory(data_dir_); !made.ok()) return made.within(context);
  auto lock = disk_.lock(data_dir_ + "/lock");
  if (!lock.ok()) {
    if (lock.status().code() == Code::kBusy) {
      return {Code::kBusy,
              fmt::format("{} is in use by another node: {}", context, lock.status().text())};
    }
    return lock.status().within(context);
  }
  lock_ = std::move(lock).value();
  if (Status made = disk_.make_directory(directory_); !made.ok()) return made.within(context);
  // So that both are still there after a loss of power. One who may not read the parent directory
  // found the data directory made already.
  (void)disk_.sync_directory(parent_of(data_dir_));
  return disk_.sync_directory(data_dir_).within(context);
}

void DurableLog::opened(Result<ReadLogs> read) {
  if (!read.ok()) return open_failed(read.status());
  ReadLogs& found = read.value();
  for (const std::string& path : found.leftovers) {
    if (const Status removed = disk_.remove(path); !removed.ok()) return open_failed(removed);
  }
  header_.number = found.last_log;
  header_.boot = found.boot;
  size_ = found.last_end;
  snapshot_number_ = found.snapshot;
  snapshot_bytes_ = found.snapshot_bytes;
  first_log_ = std::max<std::uint64_t>(1, found.snapshot);
  logs_bytes_ = found.log_bytes;
  saved_ = std::move(found.state);
  begin_log(found.last_changes, [this](const Status& status) {
    if (!status.ok()) return open_failed(status);
    reader_.reset();
    log(LogLevel::kInfo, "metadata",
        "{}: {} vhosts, {} users, {} exchanges, {} queues, {} bindings", directory_,
        saved_.vhosts.size(), saved_.users.size(), saved_.exchanges.size(), saved_.queues.size(),
        saved_.bindings.size());
    const auto done = std::move(opened_);
    done(std::exchange(saved_, {}));
  });
}

void DurableLog::open_failed(const Status& status) {
  failed_ = true;
  const auto done = std::move(opened_);
  done(status);
}

void DurableLog::begin_log(const std::string& changes, std::function<void(const Status&)> done) {
  begun_ = std::move(done);
  next_header_ = header_;
  next_header_.number = header_.number + 1;
  next_header_.previous_end = size_;
  next_header_.salt = env_.rng().next();
  writing_ = true;
  auto file = disk_.open(unfinished_log_, runtime::OpenMode::kCreateNew);
  if (!file.ok()) return header_synced(file.status());
  next_file_ = std::move(file).value();
  buffer_ = encode_header(next_header_);
  next_index_ = 0;
  if (!changes.empty()) {
    append_record(buffer_, next_header_, ++next_index_, LogRecordType::kChanges, changes);
  }
  write_buffer(*next_file_);
}

void DurableLog::write_buffer(runtime::File& file) {
  write_status_ = {};
  write_.content = runtime::as_bytes(buffer_);
  file.append(write_);
  file.sync(sync_);
}

void DurableLog::synced(const Status& status) {
  if (begun_) {
    header_synced(status);
  } else {
    write_synced(status);
  }
}

void DurableLog::header_synced(const Status& header_status) {
  writing_ = false;
  Status status = header_status;
  if (status.ok()) {
    const std::string path = log_path(directory_, LogFileKind::kLog, next_header_.number);
    status = disk_.rename(unfinished_log_, path);
    if (status.ok()) status = disk_.sync_directory(directory_);
  }
  if (status.ok()) {
    file_ = std::move(next_file_);
    header_ = next_header_;
    index_ = next_index_;
    size_ = buffer_.size();
    logs_bytes_ += buffer_.size();
    buffer_.clear();
  } else {
    next_file_.reset();
  }
  const auto done = std::exchange(begun_, nullptr);
  done(status);
}

// --- writing -------------------------------------------------------------------------------------

void DurableLog::append(std::string changes) {
  ++appended_;
  if (failed_) return;
  RT_CHECK(!closed_, "a change of the metadata after its journal was closed");
  pending_.push_back(std::move(changes));
}

void DurableLog::flush() {
  if (!writing_ && !failed_ && file_ != nullptr && !pending_.empty()) write_pending();
}

void DurableLog::write_pending() {
  std::string changes;
  written_ = kept_;
  while (!pending_.empty() &&
         (changes.empty() || changes.size() + pending_.front().size() <= kRecordBytes)) {
    changes += pending_.front();
    pending_.pop_front();
    ++written_;
  }
  writing_ = true;
  buffer_.clear();
  append_record(buffer_, header_, ++index_, LogRecordType::kChanges, changes);
  write_buffer(*file_);
}

void DurableLog::write_synced(const Status& status) {
  writing_ = false;
  if (!status.ok()) {
    fail(status);
    return end_if_idle();
  }
  size_ += buffer_.size();
  logs_bytes_ += buffer_.size();
  if (buffer_.capacity() > kRecordBytes) buffer_ = {};
  kept_ = written_;
  callbacks_.kept();
  if (outgrown()) {
    begin_snapshot();
  } else {
    flush();
  }
  end_if_idle();
}

void DurableLog::fail(const Status& why) {
  if (failed_) return;
  failed_ = true;
  pending_.clear();
  if (snapshot_) snapshot_->abort();
  callbacks_.lost(why.within("the metadata cannot be kept"));
}

// --- snapshots -----------------------------------------------------------------------------------

bool DurableLog::outgrown() const {
  if ((snapshot_ && !ended_snapshot_) || closed_) return false;
  if (RT_BUGGIFY(0.1)) return true;
  if (logs_bytes_ < snapshot_at_) return false;
  return logs_bytes_ >= std::max(kSnapshotMinBytes, kSnapshotMultiple * snapshot_bytes_) ||
         header_.number - first_log_ >= kMaxLogs;
}

// What is appended from here on goes into the new log; the snapshot begins after it.
void DurableLog::begin_snapshot() {
  begin_log({}, [this](const Status& status) { new_log_begun(status); });
}

void DurableLog::new_log_begun(const Status& status) {
  if (!status.ok()) {
    // The new log says where this one ends: this one may go on only when the new one is gone.
    (void)disk_.remove(unfinished_log_);
    Status removed = disk_.remove(log_path(directory_, LogFileKind::kLog, next_header_.number));
    if (removed.code() == Code::kNotFound) removed = {};
    if (removed.ok()) removed = disk_.sync_directory(directory_);
    if (!removed.ok()) {
      fail(removed);
    } else {
      snapshot_ended(status, 0);
    }
    return end_if_idle();
  }
  LogHeader header = header_;
  header.kind = LogFileKind::kSnapshot;
  header.previous_end = 0;
  ended_snapshot_ = false;
  snapshot_ = std::make_unique<SnapshotWriter>(disk_, store_, directory_, header);
  snapshot_->start(
      [this](const Status& ended, std::uint64_t bytes) { snapshot_ended(ended, bytes); });
  flush();
  end_if_idle();
}

void DurableLog::snapshot_ended(const Status& status, std::uint64_t bytes) {
  ended_snapshot_ = true;
  if (status.ok()) {
    snapshot_number_ = header_.number;
    snapshot_bytes_ = bytes;
    logs_bytes_ = size_;
    snapshot_at_ = 0;
    remove_older();
  } else {
    // The logs are whole without it. Another attempt follows when they have doubled.
    snapshot_at_ = 2 * logs_bytes_;
    if (status.code() != Code::kClosed) {
      log(LogLevel::kError, "metadata", "no new snapshot, the log grows on: {}", status.text());
    }
  }
  flush();
  end_if_idle();
}

// What is not removed now is by the next start.
void DurableLog::remove_older() {
  for (; first_log_ < snapshot_number_; ++first_log_) {
    for (const LogFileKind kind : {LogFileKind::kLog, LogFileKind::kSnapshot}) {
      const std::string path = log_path(directory_, kind, first_log_);
      const Status removed = disk_.remove(path);
      if (!removed.ok() && removed.code() != Code::kNotFound) {
        log(LogLevel::kWarning, "metadata", "an old file stays: {}", removed.text());
      }
    }
  }
}

// --- the end -------------------------------------------------------------------------------------

void DurableLog::close(std::function<void()> done) {
  closed_ = std::move(done);
  if (snapshot_) snapshot_->abort();
  flush();
  end_if_idle();
}

void DurableLog::end_if_idle() {
  const bool snapshot_runs = snapshot_ && !ended_snapshot_;
  if (!closed_ || writing_ || snapshot_runs || !pending_.empty()) return;
  file_.reset();
  lock_.reset();
  const auto done = std::exchange(closed_, nullptr);
  done();
}

}  // namespace ringtail::cluster::metadata
