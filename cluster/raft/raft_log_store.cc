#include "cluster/raft/raft_log_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/runtime/buggify.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::cluster::raft {

namespace {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Result;
using runtime::Status;

// One record gathers not more than this, but for one append that alone makes more.
constexpr std::size_t kRecordBytes = 4 * 1024 * 1024;

}  // namespace

RaftLogStore::RaftLogStore(runtime::Env& env, std::string directory, LogStoreOptions options,
                           Done lost)
    : env_(env),
      disk_(env.disk()),
      directory_(std::move(directory)),
      options_(options),
      lost_(std::move(lost)) {
  RT_CHECK(options_.trailing >= 1,
           "libraft takes a snapshot without trailing for an installed one");
  write_.done = [this](const Status& status) { begun_ ? log_begun(status) : written(status); };
}

RaftLogStore::~RaftLogStore() = default;

// --- opening -------------------------------------------------------------------------------------

void RaftLogStore::open(std::function<void(Result<LoadedLog>)> done) {
  opened_ = std::move(done);
  if (const Status made = disk_.make_directory(directory_); !made.ok()) return open_failed(made);
  loader_ = std::make_unique<LogLoader>(disk_, directory_, options_.trailing);
  loader_->start([this](Result<LoadedLog> loaded) { opened(std::move(loaded)); });
}

void RaftLogStore::opened(Result<LoadedLog> loaded) {
  if (!loaded.ok()) return open_failed(loaded.status());
  loaded_ = std::move(loaded).value();
  for (const std::string& path : loaded_.leftovers) {
    if (const Status removed = disk_.remove(path); !removed.ok()) return open_failed(removed);
  }
  ballot_ = loaded_.ballot;
  if (loaded_.snapshot) snapshot_ = loaded_.snapshot->index;
  older_.assign(loaded_.files.begin(), loaded_.files.end());
  for (const LogFileFacts& file : older_) older_bytes_ += file.bytes;
  if (!older_.empty()) {
    // It becomes one of the older ones when the next is begun.
    header_.number = older_.back().number;
    size_ = loaded_.last_end;
    highest_ = older_.back().highest;
    older_bytes_ -= older_.back().bytes;
    older_.pop_back();
  }
  std::string operations = std::move(loaded_.last_operations);
  if (loaded_.restart) append_restart(operations, snapshot_, loaded_.snapshot->term);
  begin_log(operations, highest_, [this](const Status& status) { first_log_begun(status); });
}

void RaftLogStore::first_log_begun(const Status& status) {
  if (!status.ok()) return open_failed(status);
  loader_.reset();
  remove_covered();
  const auto done = std::move(opened_);
  done(std::exchange(loaded_, {}));
}

void RaftLogStore::open_failed(const Status& status) {
  failed_ = true;
  const auto done = std::move(opened_);
  done(status);
}

void RaftLogStore::bootstrap(const Configuration& configuration, Done done) {
  RT_CHECK(ballot_.term <= 1 && highest_ == 0 && snapshot_ == 0, "Raft has a log already");
  if (const Status kept = set_term(1); !kept.ok()) return done(kept);
  const std::string payload = encode_configuration(configuration);
  const EntryView entry{1, EntryKind::kChange, payload};
  append(1, {&entry, 1}, [done = std::move(done)] { done({}); });
}

// --- term and vote -------------------------------------------------------------------------------

Status RaftLogStore::set_term(Term term) { return write_ballot({term, {}}); }

Status RaftLogStore::set_vote(runtime::NodeId vote) { return write_ballot({ballot_.term, vote}); }

Status RaftLogStore::write_ballot(const Ballot& ballot) {
  if (failed_) return {Code::kIo, "Raft's files failed before"};
  const Status status = disk_.replace(directory_ + "/" + kBallotFile, encode_ballot(ballot));
  if (status.ok()) {
    ballot_ = ballot;
  } else {
    fail(status);
  }
  return status;
}

// --- the log -------------------------------------------------------------------------------------

void RaftLogStore::begin_log(const std::string& operations, Index highest, Done done) {
  begun_ = std::move(done);
  next_header_.number = header_.number + 1;
  next_header_.previous_end = size_;
  next_header_.salt = env_.rng().next();
  next_highest_ = highest;
  writing_ = true;
  const std::string unfinished = directory_ + "/" + kUnfinishedLog;
  auto file = disk_.open(unfinished, runtime::OpenMode::kCreateNew);
  if (!file.ok()) return log_begun(file.status());
  next_file_ = std::move(file).value();
  buffer_ = encode_header(next_header_);
  next_records_ = 0;
  if (!operations.empty()) append_record(buffer_, next_header_, ++next_records_, operations);
  write_.content = runtime::as_bytes(buffer_);
  write_.offset = 0;
  next_file_->write_at_and_sync(write_);
}

void RaftLogStore::log_begun(const Status& write_status) {
  writing_ = false;
  Status status = write_status;
  if (status.ok()) {
    status =
        disk_.rename(directory_ + "/" + kUnfinishedLog, log_path(directory_, next_header_.number));
    if (status.ok()) status = disk_.sync_directory(directory_);
  }
  if (status.ok()) {
    if (header_.number != 0) {
      older_.push_back({header_.number, highest_, size_});
      older_bytes_ += size_;
    }
    file_ = std::move(next_file_);
    header_ = next_header_;
    record_ = next_records_;
    size_ = buffer_.size();
    highest_ = next_highest_;
  } else {
    next_file_.reset();
  }
  const Done done = std::exchange(begun_, nullptr);
  done(status);
}

void RaftLogStore::append(Index first, std::span<const EntryView> entries,
                          std::function<void()> done) {
  Pending pending;
  std::size_t size = 0;
  for (const EntryView& entry : entries) size += entry.payload.size() + 32;
  pending.operations.reserve(size);
  for (const EntryView& entry : entries) append_entry(pending.operations, first++, entry);
  pending.highest = first - 1;
  pending.done = std::move(done);
  enqueue(std::move(pending));
}

void RaftLogStore::truncate(Index index) {
  Pending pending;
  append_truncate(pending.operations, index);
  enqueue(std::move(pending));
}

void RaftLogStore::enqueue(Pending pending) {
  if (failed_) return;
  RT_CHECK(!closed_, "Raft appends after its files were closed");
  pending_.push_back(std::move(pending));
  write_next();
}

void RaftLogStore::write_next() {
  if (writing_ || failed_ || file_ == nullptr || pending_.empty()) return;
  if (size_ < options_.file_bytes && !RT_BUGGIFY(0.02)) return write_pending();
  begin_log({}, 0, [this](const Status& status) {
    if (!status.ok()) {
      fail(status);
    } else {
      remove_covered();
      write_next();
    }
    end_if_idle();
  });
}

void RaftLogStore::write_pending() {
  std::string operations;
  while (!pending_.empty() &&
         (operations.empty() ||
          operations.size() + pending_.front().operations.size() <= kRecordBytes)) {
    if (operations.empty()) {
      operations = std::move(pending_.front().operations);
    } else {
      operations += pending_.front().operations;
    }
    under_way_.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  writing_ = true;
  buffer_.clear();
  append_record(buffer_, header_, ++record_, operations);
  write_.content = runtime::as_bytes(buffer_);
  write_.offset = size_;
  file_->write_at_and_sync(write_);
}

void RaftLogStore::written(const Status& status) {
  writing_ = false;
  if (!status.ok()) {
    fail(status);
    return end_if_idle();
  }
  size_ += buffer_.size();
  if (buffer_.capacity() > kRecordBytes) buffer_ = {};
  const std::vector<Pending> done = std::exchange(under_way_, {});
  for (const Pending& pending : done) highest_ = std::max(highest_, pending.highest);
  write_next();  // the disk works while the callbacks do
  for (const Pending& pending : done) {
    if (pending.done && !failed_ && !closed_) pending.done();
  }
  end_if_idle();
}

void RaftLogStore::fail(const Status& why) {
  if (failed_) return;
  failed_ = true;
  pending_.clear();
  under_way_.clear();
  if (writer_) writer_->abort();
  lost_(why.within("Raft's log cannot be kept"));
}

// --- snapshots -----------------------------------------------------------------------------------

void RaftLogStore::put_snapshot(SnapshotSource source, bool replaces, Done done) {
  RT_CHECK(!put_done_ && !closed_, "one snapshot at a time");
  put_done_ = std::move(done);
  replaces_ = replaces;
  putting_ = source.header.index;
  putting_term_ = source.header.term;
  source.header.salt = env_.rng().next();
  source.header.installed = replaces;
  writing_snapshot_ = true;
  writer_ = std::make_unique<SnapshotWriter>(disk_, directory_, snapshot_path(directory_, putting_),
                                             std::move(source));
  writer_->start([this](const Status& status) { snapshot_written(status); });
}

void RaftLogStore::snapshot_written(const Status& status) {
  writing_snapshot_ = false;
  if (!status.ok() || failed_) {
    return snapshot_put(status.ok() ? Status(Code::kIo, "Raft's files failed") : status);
  }
  const Index older = std::exchange(snapshot_, putting_);
  if (older != 0 && older != snapshot_) {
    // What is not removed now is by the next start.
    if (const Status removed = disk_.remove(snapshot_path(directory_, older)); !removed.ok()) {
      log(LogLevel::kWarning, "raft", "an old file stays: {}", removed.text());
    }
  }
  if (!replaces_) return snapshot_put({});
  if (closed_) return snapshot_put({Code::kClosed, "the node is stopping"});
  Pending restart;
  append_restart(restart.operations, putting_, putting_term_);
  restart.done = [this] { snapshot_put({}); };
  enqueue(std::move(restart));
}

void RaftLogStore::snapshot_put(const Status& status) {
  if (status.ok()) {
    remove_covered();
    // So that what it covers can go with the next one, and not only when the file is full.
    if (size_ >= options_.file_bytes / 8 && idle() && !failed_ && !closed_) {
      begin_log({}, 0, [this](const Status& begun) {
        if (!begun.ok()) fail(begun);
        write_next();
        end_if_idle();
      });
    }
  }
  const Done done = std::exchange(put_done_, nullptr);
  done(status);
  end_if_idle();
}

void RaftLogStore::remove_covered() {
  const Index kept = snapshot_ > options_.trailing ? snapshot_ - options_.trailing + 1 : 1;
  while (!older_.empty() && older_.front().highest < kept && snapshot_ != 0) {
    const Status removed = disk_.remove(log_path(directory_, older_.front().number));
    if (!removed.ok() && removed.code() != Code::kNotFound) {
      log(LogLevel::kWarning, "raft", "an old file stays: {}", removed.text());
      return;  // they go in order, so that no gap is found
    }
    older_bytes_ -= older_.front().bytes;
    older_.pop_front();
  }
}

void RaftLogStore::get_snapshot(std::function<void(Result<StoredSnapshot>)> done) {
  RT_CHECK(!get_done_ && !closed_, "one snapshot at a time");
  get_done_ = std::move(done);
  reader_ = std::make_unique<SnapshotReader>(disk_, snapshot_path(directory_, snapshot_));
  reader_->start([this](Result<StoredSnapshot> result) { snapshot_got(std::move(result)); });
}

void RaftLogStore::snapshot_got(Result<StoredSnapshot> result) {
  const auto done = std::exchange(get_done_, nullptr);
  done(std::move(result));
  end_if_idle();
}

// --- the end -------------------------------------------------------------------------------------

void RaftLogStore::close(std::function<void()> done) {
  closed_ = std::move(done);
  if (writer_) writer_->abort();
  write_next();
  end_if_idle();
}

void RaftLogStore::end_if_idle() {
  if (!closed_ || writing_ || !pending_.empty() || writing_snapshot_ || get_done_) return;
  // Its restart of the log was not written, or nobody was told any more.
  if (put_done_) return snapshot_put({Code::kClosed, "the node is stopping"});
  file_.reset();
  const auto done = std::exchange(closed_, nullptr);
  done();
}

}  // namespace ringtail::cluster::raft
