#include "queue/store/journal_files.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/store/disk_retry.h"
#include "queue/store/journal_reader.h"

namespace ringtail::queue::store {

namespace {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

// A file that large batches have made longer than this many times its most is not used again.
constexpr std::uint64_t kSpareSizeMultiple = 2;

}  // namespace

JournalFiles::JournalFiles(runtime::Shard& shard, std::string directory,
                           const JournalOptions& options, Callbacks callbacks)
    : shard_(shard),
      disk_(shard.env().disk()),
      directory_(std::move(directory)),
      options_(options),
      callbacks_(std::move(callbacks)),
      timer_(shard.env().timers().make([this] { run_step(); })) {
  RT_CHECK(options_.files > 0 && options_.file_size > kJournalHeaderSize, "a journal without room");
  request_.done = [this](const Status& status) { step_done(status); };
  current_ = 1;
  add_file();
}

JournalFiles::~JournalFiles() = default;

void JournalFiles::add_file() {
  auto file = std::make_unique<JournalFile>();
  file->number = files_.empty() ? current_ : files_.back()->number + 1;
  file->salt = shard_.env().rng().next();
  files_.push_back(std::move(file));
}

std::string JournalFiles::path(JournalFileNumber number) const {
  return journal_path(directory_, shard_.id().value, number);
}

void JournalFiles::open(JournalFileNumber before) {
  for (const auto& file : files_) {
    file->number += before;
    for (JournalUser& user : file->needing) {
      user.oldest_needed_ += before;
      user.newest_ += before;
    }
  }
  current_ += before;
  ready_ = files_.front()->number - 1;
  open_ = true;
  prepare();
}

void JournalFiles::begin_next() {
  ++current_;
  if (files_.back()->number < current_) add_file();
  prepare();
}

runtime::File* JournalFiles::ready_file(JournalFileNumber number) const {
  return at(number).ready ? at(number).file.get() : nullptr;
}

// --- making files ready --------------------------------------------------------------------------

JournalFiles::JournalFile* JournalFiles::preparing() {
  return ready_ < files_.back()->number ? &at(ready_ + 1) : nullptr;
}

void JournalFiles::prepare() {
  if (!open_ || ended_ || running_ || full_ || ready_ > current_) return;
  if (files_.back()->number == ready_) add_file();
  timer_->start(0);
}

void JournalFiles::run_step() {
  JournalFile& file = *preparing();
  // On a full disk a file that was given up meanwhile is better than to wait on.
  if (full_ && !named_ && !spares_.empty()) drop_half_made();
  if (step_ == Step::kName) {
    if (const Status named = take_name(file); !named.ok()) return step_failed(named);
    step_ = Step::kDirectory;
  }
  if (step_ == Step::kDirectory) {
    if (const Status synced = disk_.sync_directory(directory_); !synced.ok()) {
      return step_failed(synced);
    }
    step_ = file.file->size() < options_.file_size ? Step::kRoom : Step::kHeader;
  }
  running_ = true;
  request_.content = {};
  if (step_ == Step::kRoom) {
    request_.offset = options_.file_size;
    return file.file->preallocate(request_);
  }
  header_.clear();
  put_journal_header(header_, {shard_.id().value, file.number, file.salt});
  request_.offset = 0;
  request_.content = header_.span();
  file.file->write_at_and_sync(request_);
}

Status JournalFiles::take_name(JournalFile& file) {
  const std::string name = path(file.number);
  if (!named_ && !spares_.empty()) {
    RT_TRY(disk_.rename(path(spares_.front().number), name));
    spares_.pop_front();
    named_ = true;
  }
  auto opened =
      disk_.open(name, named_ ? runtime::OpenMode::kReadWrite : runtime::OpenMode::kCreateNew);
  RT_TRY(opened.status());
  file.file = std::move(opened).value();
  return {};
}

void JournalFiles::step_done(const Status& status) {
  running_ = false;
  if (ended_) {
    drop_half_made();
    return callbacks_.ready();
  }
  if (!status.ok()) return step_failed(status);
  if (step_ == Step::kRoom) {
    step_ = Step::kHeader;
    return run_step();
  }
  preparing()->ready = true;
  ++ready_;
  step_ = Step::kName;
  named_ = false;
  if (full_) log(LogLevel::kInfo, "journal", "{}: there is room again", directory_);
  full_ = false;
  prepare();
  callbacks_.ready();
}

void JournalFiles::step_failed(const Status& status) {
  // Whatever was synced is unknown after a failure; all else may be tried again.
  const bool synced = step_ == Step::kDirectory ||
                      (step_ == Step::kHeader && request_.transferred == header_.size());
  const bool waits = status.code() == Code::kNoSpace ||
                     (status.code() == Code::kUnavailable && step_ == Step::kName);
  if (!synced && waits && patient_) {
    if (!full_) {
      log(LogLevel::kError, "journal", "{}: no next file, trying again until there is: {}",
          directory_, status.text());
    }
    full_ = true;
    return timer_->start(kDiskRetryMs);
  }
  ended_ = true;
  drop_half_made();
  callbacks_.failed(status);
}

void JournalFiles::drop_half_made() {
  JournalFile* file = preparing();
  if (file == nullptr || (file->file == nullptr && !named_)) return;
  file->file.reset();
  // One that stays is found without a header, or with no batches, by the next start.
  (void)disk_.remove(path(file->number));
  step_ = Step::kName;
  named_ = false;
}

void JournalFiles::wait_no_longer() {
  patient_ = false;
  if (full_ && !running_ && !ended_) timer_->start(0);
}

void JournalFiles::stop() {
  ended_ = true;
  timer_->stop();
}

bool JournalFiles::close() {
  stop();
  if (running_) return false;
  drop_half_made();
  for (const auto& file : files_) file->file.reset();
  return true;
}

// --- who needs what ------------------------------------------------------------------------------

void JournalFiles::unlink(JournalUser& user) {
  user.needing_.unlink();
  user.oldest_needed_ = 0;
}

void JournalFiles::appends(JournalUser& user) {
  user.newest_ = current_;
  if (user.oldest_needed_ != 0) return;
  user.oldest_needed_ = current_;
  at(current_).needing.push_back(user);
}

void JournalFiles::left(JournalUser& user, JournalFileNumber needed) {
  RT_DCHECK(needed <= current_, "a file that is not begun");
  if (user.oldest_needed_ == 0) return;
  const JournalFileNumber oldest = std::max(needed, user.oldest_needed_);
  unlink(user);
  if (user.newest_ < oldest) return;
  user.oldest_needed_ = oldest;
  at(oldest).needing.push_back(user);
}

void JournalFiles::forget(JournalUser& user) {
  if (user.oldest_needed_ != 0) unlink(user);
}

JournalUser* JournalFiles::take_user() {
  for (const auto& file : files_) {
    for (Users* users : {&file->needing, &file->leaving}) {
      if (users->empty()) continue;
      JournalUser& user = users->front();
      unlink(user);
      return &user;
    }
  }
  return nullptr;
}

void JournalFiles::release(JournalFileNumber unwritten) {
  while (!held_ && files_.front()->number < std::min(unwritten, current_)) {
    const JournalFile& oldest = *files_.front();
    if (!oldest.needing.empty() || !oldest.leaving.empty()) break;
    if (oldest.file) spares_.push_back({oldest.number, oldest.file->size()});
    files_.pop_front();
  }
  if (!ended_) remove_spares();
}

void JournalFiles::remove_spares() {
  while (!spares_.empty() && (spares_.size() > options_.files + 1 ||
                              spares_.front().size > kSpareSizeMultiple * options_.file_size_max)) {
    const Status removed = disk_.remove(path(spares_.front().number));
    if (!removed.ok()) {
      log(LogLevel::kWarning, "journal", "a file stays that nobody needs: {}", removed.text());
      return;
    }
    spares_.pop_front();
  }
}

bool JournalFiles::must_tell() const {
  return open_ && !held_ && in_use() > options_.files && !files_.front()->needing.empty();
}

void JournalFiles::tell_one() {
  JournalFile& oldest = *files_.front();
  JournalUser& user = oldest.needing.front();
  user.needing_.unlink();
  oldest.leaving.push_back(user);
  user.leave_journal(current_ - options_.files);
}

}  // namespace ringtail::queue::store
