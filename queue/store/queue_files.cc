#include "queue/store/queue_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/store/disk_retry.h"

namespace ringtail::queue::store {

using runtime::Code;
using runtime::DiskCall;
using runtime::DiskCalls;
using runtime::File;
using runtime::FileRef;
using runtime::OpenMode;
using runtime::Result;
using runtime::Status;

QueueFiles::QueueFiles(runtime::Env& env, DiskCalls& calls, std::string directory,
                       QueueIdentity identity, bool durable)
    : env_(env),
      calls_(calls),
      directory_(std::move(directory)),
      identity_(std::move(identity)),
      durable_(durable) {}

QueueFiles::~QueueFiles() = default;

std::string QueueFiles::segment_path(std::uint64_t number) const {
  return fmt::format("{}/{:010}.seg", directory_, number);
}

void QueueFiles::enqueue(std::function<void()> start) {
  waiting_.push_back(std::move(start));
  if (!running_) run_next();
}

void QueueFiles::run_next() {
  full_ = full_ && !waiting_.empty();
  if (waiting_.empty()) {
    if (close_wanted_ && reads_ == 0) {
      close_wanted_ = false;
      std::erase_if(segments_, [this](const auto& one) { return !unsynced_.contains(one.first); });
      index_.reset();
    }
    return;
  }
  running_ = true;
  const auto start = std::move(waiting_.front());
  waiting_.pop_front();
  start();
}

void QueueFiles::finished() {
  running_ = false;
  run_next();
}

// Blocks for a short while, once in a queue's life.
Status QueueFiles::ready_directory() {
  if (!failure_.ok() || directory_made_) return failure_;
  if (Status made = env_.disk().make_directory(directory_); !made.ok()) return made;
  // Who made the directory wrote no name in it that could be relied on.
  (void)env_.disk().remove(identity_path() + ".new");
  auto opened = env_.disk().open(identity_path() + ".new", OpenMode::kCreateNew);
  if (!opened.ok()) return opened.status();
  directory_made_ = true;
  names_changed_ = true;
  identity_file_ = std::move(opened.value());
  identity_whole_ = false;
  DiskCall& call = calls_.make(identity_file_, alive_, [this](const Status& status, DiskCall&) {
    identity_whole_ = status.ok();
    if (!status.ok() && status.code() != Code::kNoSpace && failure_.ok()) failure_ = status;
  });
  ByteBuffer text;
  put_identity(text, identity_);
  call.written = text.share();
  call.request.content = call.written.span();
  identity_file_->write_at(call.request);
  return {};
}

Result<File*> QueueFiles::segment_file(std::uint64_t number, bool make) {
  const auto at = segments_.find(number);
  if (at != segments_.end()) return at->second.get();
  const std::string path = segment_path(number);
  if (make) {
    // One of that number that is there was begun before a restart, and never finished.
    (void)env_.disk().remove(path);
    names_changed_ = true;
  }
  auto opened = env_.disk().open(path, make ? OpenMode::kCreateNew : OpenMode::kReadWrite);
  if (!opened.ok()) return opened.status();
  File* file = opened.value().get();
  segments_.emplace(number, std::move(opened.value()));
  return file;
}

void QueueFiles::write_segment(std::uint64_t number, std::uint64_t offset, ByteBuffer bytes,
                               Done done) {
  const runtime::Bytes shared = bytes.share();
  enqueue([this, number, offset, shared, done = std::move(done)] {
    start_write(number, offset, shared, done);
  });
}

void QueueFiles::start_write(std::uint64_t number, std::uint64_t offset,
                             const runtime::Bytes& bytes, const Done& done) {
  const auto ended = [this, number, offset, bytes, done](const Status& status) {
    if (status.code() == Code::kNoSpace) {
      retry([this, number, offset, bytes, done] { start_write(number, offset, bytes, done); },
            status);
      return;
    }
    if (!status.ok()) failure_ = status;
    done(status);
    finished();
  };
  Status status = ready_directory();
  if (!status.ok()) return ended(status);
  auto file = segment_file(number, offset == 0);
  if (!file.ok()) return ended(file.status());
  unsynced_[number] = true;
  DiskCall& call = calls_.make(segments_[number], alive_,
                               [ended](const Status& result, DiskCall&) { ended(result); });
  call.written = bytes;
  call.request.content = bytes.span();
  call.request.offset = offset;
  segments_[number]->write_at(call.request);
}

// The disk is full: nothing is lost by waiting, and somebody may make room.
void QueueFiles::retry(std::function<void()> start, const Status& why) {
  if (!std::exchange(full_, true)) {
    runtime::log(runtime::LogLevel::kError, "storage", "trying again until there is room: {}",
                 why.text());
  }
  waiting_.push_front(std::move(start));
  if (retry_timer_ == nullptr) retry_timer_ = env_.timers().make([this] { run_next(); });
  retry_timer_->start(kDiskRetryMs);
}

void QueueFiles::sync(Done done) {
  enqueue([this, done = std::move(done)] { start_sync(done); });
}

void QueueFiles::start_sync(const Done& done) {
  if (!durable_ || !failure_.ok()) {
    unsynced_.clear();
    done(failure_);
    finished();
    return;
  }
  if (const Status ready = ready_directory(); !ready.ok()) return sync_failed(ready, done);
  std::vector<FileRef> files;
  if (identity_file_ != nullptr) {
    files.push_back(std::move(identity_file_));
    identity_written_ = true;
  }
  for (const auto& [number, yes] : unsynced_) {
    const auto at = segments_.find(number);
    if (at != segments_.end()) files.push_back(at->second);
  }
  unsynced_.clear();
  sync_next(std::move(files), done);
}

void QueueFiles::sync_failed(const Status& status, const Done& done) {
  if (status.code() == Code::kNoSpace) return retry([this, done] { start_sync(done); }, status);
  failure_ = status;
  done(failure_);
  finished();
}

void QueueFiles::sync_next(std::vector<FileRef> files, const Done& done) {
  if (files.empty() && failure_.ok() && names_changed_) {
    if (const Status named = sync_names(); !named.ok()) return sync_failed(named, done);
    names_changed_ = false;
  }
  if (files.empty() || !failure_.ok()) {
    done(failure_);
    finished();
    return;
  }
  const FileRef file = std::move(files.back());
  files.pop_back();
  DiskCall& call = calls_.make(file, alive_, [this, files, done](const Status& status, DiskCall&) {
    if (!status.ok()) failure_ = status;
    sync_next(files, done);
  });
  file->sync(call.request);
}

Status QueueFiles::sync_names() {
  Status status;
  if (std::exchange(identity_written_, false)) {
    if (!identity_whole_) {
      directory_made_ = false;  // once more
      return {Code::kNoSpace, identity_path() + ": no space left on device"};
    }
    status = env_.disk().rename(identity_path() + ".new", identity_path());
  }
  if (status.ok()) status = env_.disk().sync_directory(directory_);
  if (!status.ok() || parent_synced_) return status;
  parent_synced_ = true;
  return env_.disk().sync_directory(directory_.substr(0, directory_.rfind('/')));
}

void QueueFiles::write_index(ByteBuffer bytes, bool whole, Done done) {
  const runtime::Bytes shared = bytes.share();
  enqueue([this, shared, whole, done = std::move(done)] { start_index(shared, whole, done); });
}

void QueueFiles::start_index(const runtime::Bytes& bytes, bool whole, const Done& done) {
  Status status = ready_directory();
  FileRef file = index_;
  if (status.ok() && (whole || file == nullptr)) {
    const std::string path = whole ? index_path() + ".new" : index_path();
    if (whole) (void)env_.disk().remove(path);
    auto opened = env_.disk().open(path, whole ? OpenMode::kCreateNew : OpenMode::kReadWrite);
    status = opened.status();
    if (opened.ok()) file = std::move(opened.value());
  }
  if (!status.ok()) return end_index(bytes, whole, status, done);
  index_ = file;
  const std::uint64_t offset = whole ? 0 : index_size_;
  DiskCall& call =
      calls_.make(file, alive_, [this, bytes, whole, done](const Status& result, DiskCall&) {
        end_index(bytes, whole, result, done);
      });
  call.written = bytes;
  call.request.content = bytes.span();
  call.request.offset = offset;
  file->write_at_and_sync(call.request);
}

void QueueFiles::end_index(const runtime::Bytes& bytes, bool whole, const Status& status,
                           const Done& done) {
  Status result = status;
  if (result.ok() && whole) {
    result = env_.disk().rename(index_path() + ".new", index_path());
    if (result.ok()) result = sync_names();
    names_changed_ = false;
  }
  if (result.code() == Code::kNoSpace) {
    if (whole) index_.reset();
    retry([this, bytes, whole, done] { start_index(bytes, whole, done); }, result);
    return;
  }
  if (result.ok()) {
    index_size_ = (whole ? 0 : index_size_) + bytes.size();
  } else {
    failure_ = result;
  }
  done(result);
  finished();
}

void QueueFiles::read_segment(std::uint64_t number, std::uint64_t offset, std::size_t size,
                              ReadDone done) {
  auto file = segment_file(number, false);
  if (!file.ok()) {
    // Never inside the call.
    ++reads_;
    enqueue([this, status = file.status(), done = std::move(done)] {
      --reads_;
      std::vector<std::uint8_t> nothing;
      done(status, nothing);
      finished();
    });
    return;
  }
  ++reads_;
  DiskCall& call =
      calls_.make(segments_[number], alive_,
                  [this, done = std::move(done)](const Status& status, DiskCall& request) {
                    --reads_;
                    request.read.resize(static_cast<std::size_t>(request.request.transferred));
                    done(status, request.read);
                    if (!running_) run_next();
                  });
  call.read.resize(size);
  call.request.buffer = call.read;
  call.request.offset = offset;
  segments_[number]->read_at(call.request);
}

bool QueueFiles::holds_nothing() const {
  const auto names = env_.disk().list(directory_);
  if (!names.ok()) return names.status().code() == Code::kNotFound;
  return std::all_of(names.value().begin(), names.value().end(), [](const std::string& name) {
    return name == "queue" || name == "queue.new";
  });
}

void QueueFiles::read_small(const std::string& name, bool relied_on, ReadDone done) {
  auto opened = env_.disk().open(directory_ + "/" + name, OpenMode::kRead);
  if (!opened.ok()) {
    std::vector<std::uint8_t> nothing;
    done(opened.status(), nothing);
    return;
  }
  FileRef file = std::move(opened.value());
  ++reads_;
  DiskCall& call =
      calls_.make(file, alive_,
                  [this, relied_on, done = std::move(done)](const Status& status, DiskCall& read) {
                    read.read.resize(static_cast<std::size_t>(read.request.transferred));
                    if (!status.ok() || !relied_on) {
                      --reads_;
                      done(status, read.read);
                      if (!running_) run_next();
                      return;
                    }
                    // What is relied on from here on may only have been written.
                    DiskCall& sync = calls_.make(
                        read.file, alive_, [this, done](const Status& synced, DiskCall& call_) {
                          --reads_;
                          done(synced, call_.read);
                          if (!running_) run_next();
                        });
                    sync.read = std::move(read.read);
                    sync.file->sync(sync.request);
                  });
  call.read.resize(static_cast<std::size_t>(file->size()));
  call.request.buffer = call.read;
  file->read_at(call.request);
}

void QueueFiles::write_small(const std::string& name, ByteBuffer bytes, Done done) {
  const std::string path = directory_ + "/" + name;
  (void)env_.disk().make_directory(directory_);
  (void)env_.disk().remove(path + ".new");
  auto opened = env_.disk().open(path + ".new", OpenMode::kCreateNew);
  if (!opened.ok()) return done(opened.status());
  const FileRef file = std::move(opened.value());
  ++reads_;
  DiskCall& call = calls_.make(
      file, alive_, [this, path, done = std::move(done)](const Status& status, DiskCall&) {
        --reads_;
        Status result = status;
        if (result.ok()) result = env_.disk().rename(path + ".new", path);
        if (result.ok()) result = sync_directory();
        done(result);
        if (!running_) run_next();
      });
  call.written = bytes.share();
  call.request.content = call.written.span();
  file->write_at_and_sync(call.request);
}

void QueueFiles::remove_small(const std::string& name) {
  (void)env_.disk().remove(directory_ + "/" + name);
}

void QueueFiles::remove_segment(std::uint64_t number) {
  enqueue([this, number] {
    segments_.erase(number);
    unsynced_.erase(number);
    (void)env_.disk().remove(segment_path(number));
    finished();
  });
}

}  // namespace ringtail::queue::store
