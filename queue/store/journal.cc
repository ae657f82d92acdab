#include "queue/store/journal.h"

#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "queue/store/disk_retry.h"
#include "queue/store/journal_files.h"

namespace ringtail::queue::store {

namespace {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

// A batch that has grown to this while the disk was busy is finished and waits as a whole: a file
// is not much longer than it should be, and is read in one piece.
constexpr std::size_t kBatchBytes = 16 * 1024 * 1024;
// Leaving a file makes work: so many users are told at once, the next ones a little later.
constexpr int kTellAtOnce = 256;
constexpr std::uint64_t kTellAgainMs = 1;

Status closed_early() { return {Code::kClosed, "the journal was closed before it was open"}; }

}  // namespace

Journal::Journal(runtime::Shard& shard, std::string directory, JournalOptions options)
    : shard_(shard), directory_(std::move(directory)), options_(options) {
  files_ = std::make_unique<JournalFiles>(
      shard_, directory_, options_,
      JournalFiles::Callbacks{[this] { file_ready(); },
                              [this](const Status& why) { file_failed(why); }});
  retry_ = shard_.env().timers().make([this] {
    retries_ = false;
    write_next();
  });
  give_up_ = shard_.env().timers().make([this] { give_up_files(); });
  write_.done = [this](const Status& status) { write_done(status); };
  offset_ = kJournalHeaderSize;
  begin_batch();
}

Journal::~Journal() { RT_CHECK(told_.empty(), "a journal ends while it tells its users"); }

void Journal::open(JournalFileNumber last, std::function<void(const Status&)> done) {
  opening_ = true;
  opened_ = std::move(done);
  files_->open(last == 0 ? 0 : last + 1);
}

// The first file, or another one.
void Journal::file_ready() {
  if (closed_ && finished_.empty() && batch_.empty()) return end_if_idle();
  open_ = true;
  write_next();
  if (const auto opened = std::exchange(opened_, nullptr)) opened({});
  end_if_idle();
}

void Journal::file_failed(const Status& why) {
  file_failure_ = why;
  if (closed_ && open_) {
    // Perhaps what is left fits into the files that are ready.
    write_next();
  } else if (!writing_) {
    fail(why);
  }
  end_if_idle();
}

// --- appending -----------------------------------------------------------------------------------

void Journal::appends(JournalUser& user) {
  if (failure_.ok()) {
    files_->appends(user);
  } else if (!user.told_of_failure_ && !user.waiting_.is_linked()) {
    waiting_.push_back(user);
  }
}

JournalPosition Journal::record_appended() {
  // A node that stops may still handle letters: what comes now is not kept, and nobody is told so.
  if (ended_) return std::numeric_limits<JournalPosition>::max();
  if (batch_.empty()) return appended_;
  appended_ = begun_ + batch_.size();
  if (batch_.size() >= kBatchBytes && failure_.ok()) finish_batch();
  // Behind what the actors flush in this round.
  if (!writing_) shard_.write_output_at_turn_end(*this);
  return appended_;
}

void Journal::begin_publish(JournalUser& user, Qid qid) {
  appends(user);
  batch_.begin_publish(qid);
}

JournalPosition Journal::end_publish() {
  batch_.end_publish();
  return record_appended();
}

JournalPosition Journal::remove(JournalUser& user, Qid qid, std::span<const PositionRange> ranges) {
  if (ranges.empty()) return appended_;
  appends(user);
  batch_.remove(qid, ranges);
  return record_appended();
}

JournalPosition Journal::delivered(JournalUser& user, Qid qid, Position up_to) {
  appends(user);
  batch_.delivered(qid, up_to);
  return record_appended();
}

JournalPosition Journal::deleted(Qid qid) {
  batch_.deleted(qid);
  return record_appended();
}

void Journal::await(JournalUser& user) {
  if (user.waiting_.is_linked() || user.told_of_failure_) return;
  waiting_.push_back(user);
  if (!failure_.ok()) shard_.write_output_at_turn_end(*this);
}

// --- batches -------------------------------------------------------------------------------------

void Journal::turn_end() noexcept {
  if (!failure_.ok()) {
    tell_failed();
  } else if (!writing_) {
    write_next();
  }
  give_up_files();
  end_if_idle();
}

bool Journal::file_is_full() const {
  return offset_ >= options_.file_size_max ||
         (offset_ >= options_.file_size && file_messages_ >= options_.file_messages);
}

void Journal::begin_batch() {
  if (file_is_full()) {
    files_->begin_next();
    file_messages_ = 0;
    offset_ = kJournalHeaderSize;
    index_ = 0;
  }
  batch_.begin(files_->salt(), ++index_, offset_);
}

void Journal::finish_batch() {
  Batch batch;
  batch.content = batch_.finish();
  batch.file = files_->current();
  batch.offset = offset_;
  offset_ += batch.content.size();
  begun_ += batch.content.size();
  batch.end = begun_;
  batch.writer = std::move(batch_);
  finished_.push_back(std::move(batch));
  if (idle_.empty()) {
    batch_ = BatchWriter();
  } else {
    batch_ = std::move(idle_.back());
    idle_.pop_back();
  }
  begin_batch();
}

void Journal::write_next() {
  if (!open_ || writing_ || retries_ || !failure_.ok()) return;
  if (finished_.empty()) {
    if (batch_.empty()) return;
    finish_batch();
  }
  const Batch& batch = finished_.front();
  runtime::File* file = files_->ready_file(batch.file);
  if (file == nullptr) {  // until file_ready()
    if (!file_failure_.ok()) fail(file_failure_);
    return;
  }
  writing_ = true;
  write_.content = batch.content;
  write_.offset = batch.offset;
  file->write_at_and_sync(write_);
}

void Journal::write_done(const Status& status) {
  writing_ = false;
  const bool no_more_files = !file_failure_.ok() && !closed_;
  if (status.ok()) {
    batch_kept();
    // The disk first: it is what the others wait for.
    if (file_failure_.ok()) write_next();
    tell_kept();
    if (no_more_files) {
      fail(file_failure_);
    } else {
      write_next();
    }
  } else if (no_more_files) {
    fail(file_failure_);
  } else if (!waits_for_room(status)) {
    fail(status);
  }
  release_files();
  give_up_files();
  end_if_idle();
}

// What was not written stays here, to be written again to the same place. A failed sync is another
// thing: nobody knows what it left.
bool Journal::waits_for_room(const Status& status) {
  const bool write_failed = write_.transferred < write_.content.size();
  if (status.code() != Code::kNoSpace || !write_failed || closed_) return false;
  if (!full_) {
    log(LogLevel::kError, "journal", "{}: a write waits until there is room: {}", directory_,
        status.text());
  }
  full_ = true;
  retries_ = true;
  retry_->start(kDiskRetryMs);
  return true;
}

void Journal::batch_kept() {
  if (full_) log(LogLevel::kInfo, "journal", "{}: there is room again", directory_);
  full_ = false;
  Batch& batch = finished_.front();
  kept_ = batch.end;
  statistics_.octets += batch.content.size();
  ++statistics_.batches;
  batch.writer.trim();
  if (idle_.empty()) idle_.push_back(std::move(batch.writer));
  finished_.pop_front();
}

// Users come and go meanwhile: each is off the list while it is called.
void Journal::tell_kept() {
  told_.splice(told_.end(), waiting_);
  while (!told_.empty()) {
    JournalUser& user = told_.front();
    told_.pop_front();
    if (user.journal_kept(kept_) && !user.waiting_.is_linked()) waiting_.push_back(user);
  }
}

// --- failure and the end -------------------------------------------------------------------------

void Journal::fail(const Status& why) {
  failure_ = why.within("the journal of shard " + std::to_string(shard_.id().value));
  log(LogLevel::kError, "journal", "{}", failure_.text());
  retry_->stop();
  files_->stop();
  finished_.clear();
  if (const auto opened = std::exchange(opened_, nullptr)) opened(failure_);
  while (JournalUser* user = files_->take_user()) {
    if (!user->waiting_.is_linked()) waiting_.push_back(*user);
  }
  tell_failed();
}

void Journal::tell_failed() {
  // What is appended now goes nowhere.
  begun_ = appended_;
  batch_.begin(0, 0, 0);
  told_.splice(told_.end(), waiting_);
  while (!told_.empty()) {
    JournalUser& user = told_.front();
    told_.pop_front();
    if (std::exchange(user.told_of_failure_, true)) continue;
    user.journal_failed(failure_);
  }
}

void Journal::close(std::function<void()> done) {
  closed_ = std::move(done);
  if (!opening_) failure_ = closed_early();
  files_->wait_no_longer();
  retry_->stop();
  retries_ = false;
  write_next();
  end_if_idle();
}

void Journal::end_if_idle() {
  if (!closed_ || writing_ || !finished_.empty()) return;
  if (failure_.ok() && !batch_.empty()) return;
  if (!files_->close()) return;
  ended_ = true;
  if (const auto opened = std::exchange(opened_, nullptr)) opened(closed_early());
  const auto done = std::exchange(closed_, nullptr);
  done();
}

// --- files ---------------------------------------------------------------------------------------

JournalFileNumber Journal::current_file() const { return files_->current(); }

void Journal::hold_files(bool held) {
  files_->hold(held);
  release_files();
  if (files_->must_tell()) shard_.write_output_at_turn_end(*this);
}

void Journal::left(JournalUser& user, JournalFileNumber needed) {
  files_->left(user, needed);
  release_files();
  if (files_->must_tell()) shard_.write_output_at_turn_end(*this);
}

void Journal::forget(JournalUser& user) {
  user.waiting_.unlink();
  files_->forget(user);
  release_files();
  if (files_->must_tell()) shard_.write_output_at_turn_end(*this);
}

// What users need at the end, or at a failure, stays for the next start.
void Journal::release_files() {
  if (!failure_.ok() || closed_ || ended_) return;
  files_->release(finished_.empty() ? files_->current() : finished_.front().file);
}

void Journal::give_up_files() {
  for (int told = 0; failure_.ok() && files_->must_tell(); ++told) {
    if (told == kTellAtOnce) return give_up_->start(kTellAgainMs);
    files_->tell_one();
  }
}

JournalStatistics Journal::statistics() const {
  JournalStatistics now = statistics_;
  now.files = files_->in_use();
  return now;
}

}  // namespace ringtail::queue::store
