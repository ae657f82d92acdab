// The journal of a shard: takes every persistent change of all its queues in sequence and brings
// them to the disk together. What came while one write was under way goes with the next: the more
// load, the larger the batch; there is no timer. Most messages are consumed before their file is
// given up, and never reach their queue's segments.
//
// Files are used in a ring: a queue that still needs what an old file says is told to leave it
// (writing to its segments, or here once more); a file that nobody needs is written anew.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/shard.h"
#include "broker/runtime/status.h"
#include "queue/store/journal_format.h"

namespace ringtail::queue::store {

// Octets of batches appended since the node began: a change is kept when kept() has reached what
// its append returned.
using JournalPosition = std::uint64_t;
// Of a journal's files; grows.
using JournalFileNumber = std::uint64_t;

class Journal;
class JournalFiles;

// A queue, for the journal. Called on the shard's thread, never inside a call to the journal.
class JournalUser {
 public:
  JournalUser() = default;
  JournalUser(const JournalUser&) = delete;
  JournalUser& operator=(const JournalUser&) = delete;

  // After await(): more is kept. True: it waits for more still.
  virtual bool journal_kept(JournalPosition kept) noexcept = 0;
  // The journal has failed for good: nothing that was not kept ever will be. Once, to every user
  // that waits, has something in a file, or appends later.
  virtual void journal_failed(const runtime::Status& why) noexcept = 0;
  // What this user appended up to the end of file `last` has to be safe elsewhere, soon; then
  // Journal::left(). Told once until then.
  virtual void leave_journal(JournalFileNumber last) noexcept = 0;

 protected:
  ~JournalUser() = default;  // leaves the journal's lists

 private:
  friend class Journal;
  friend class JournalFiles;
  using Hook = boost::intrusive::list_member_hook<
      boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

  Hook waiting_;
  Hook needing_;                         // on the list of the oldest file it needs
  JournalFileNumber oldest_needed_ = 0;  // 0: none
  JournalFileNumber newest_ = 0;         // that it appended to
  bool told_of_failure_ = false;
};

// For listings and tests; totals since the node began.
struct JournalStatistics {
  std::uint64_t octets = 0;   // of batches, their headers included
  std::uint64_t batches = 0;  // so many writes, each synced
  std::uint64_t files = 0;    // in use now
};

struct JournalOptions {
  // A file is left behind when it has file_size octets and file_messages messages, or
  // file_size_max: a start reads the files in use, which costs by the message more than by the
  // octet, and large messages that wait for a short while should not be written twice.
  std::uint64_t file_size = 5 * 1024 * 1024;  // that much room is made when a file begins
  std::uint64_t file_size_max = 16 * 1024 * 1024;
  std::uint64_t file_messages = 40 * 1024;
  std::size_t files = 2;  // with more than so many in use the oldest is given up
};

// One per shard, on its thread; outlives the queues.
class Journal : private runtime::TurnTask {
 public:
  Journal(runtime::Shard& shard, std::string directory, JournalOptions options = {});
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Begins a new file behind `last`, the highest number that the directory holds for this shard
  // (0: none); it leaves one number out, so that the reader knows where a life of the node ended.
  // `done` later, once: appended changes may leave for the disk, or why they never will. Appending
  // is allowed before.
  void open(JournalFileNumber last, std::function<void(const runtime::Status&)> done);
  // Writes what was appended; `done`, perhaps at once, when it is kept (or has failed) and no
  // request is under way. A full disk is waited for no longer: what it did not take has failed.
  void close(std::function<void()> done);

  // --- appending: never fails here (see journal_failed) ---
  // Nor ever inside calls the users. A publish record: begin, add() at least once, end. Nothing
  // else in between.
  void begin_publish(JournalUser& user, Qid qid);
  void add(Position position, const Message& message, std::uint64_t expires_at_ms, bool delivered) {
    ++file_messages_;
    batch_.add(position, message, expires_at_ms, delivered);
  }
  JournalPosition end_publish();
  JournalPosition remove(JournalUser& user, Qid qid, std::span<const PositionRange> ranges);
  JournalPosition delivered(JournalUser& user, Qid qid, Position up_to);
  JournalPosition deleted(Qid qid);

  JournalPosition appended() const { return appended_; }
  JournalPosition kept() const { return kept_; }
  // Calls the user's journal_kept() after each batch until that returns false.
  void await(JournalUser& user);
  const runtime::Status& failure() const { return failure_; }

  // --- giving up files ---
  // The file that the next change goes to. Before open() the numbers count from 1 and grow with it.
  JournalFileNumber current_file() const;
  // While held no file is given up: a change that is removed by what it says may stand in the
  // journals of a former start, and must go first.
  void hold_files(bool held);
  // What the user appended to files before `needed` is safe elsewhere, on stable storage. Not above
  // current_file().
  void left(JournalUser& user, JournalFileNumber needed);
  // The user ends, and nothing that it appended is needed any more (its queue was deleted). One
  // whose queue goes on with the next start ends after close().
  void forget(JournalUser& user);

  JournalStatistics statistics() const;

 private:
  using WaitingUsers = boost::intrusive::list<
      JournalUser,
      boost::intrusive::member_hook<JournalUser, JournalUser::Hook, &JournalUser::waiting_>,
      boost::intrusive::constant_time_size<false>>;
  // A finished batch that is not kept yet.
  struct Batch {
    BatchWriter writer;
    std::span<const std::uint8_t> content;
    JournalFileNumber file = 0;
    std::uint64_t offset = 0;
    JournalPosition end = 0;
  };

  void turn_end() noexcept override;
  void appends(JournalUser& user);
  JournalPosition record_appended();
  bool file_is_full() const;
  void begin_batch();
  void finish_batch();
  void write_next();
  void write_done(const runtime::Status& status);
  bool waits_for_room(const runtime::Status& status);
  void batch_kept();
  void tell_kept();
  void file_ready();
  void file_failed(const runtime::Status& why);
  void fail(const runtime::Status& why);
  void tell_failed();
  void release_files();
  void give_up_files();
  void end_if_idle();

  runtime::Shard& shard_;
  const std::string directory_;
  const JournalOptions options_;
  std::unique_ptr<JournalFiles> files_;
  std::function<void(const runtime::Status&)> opened_;
  std::function<void()> closed_;
  bool opening_ = false;
  bool open_ = false;
  bool ended_ = false;

  // The batch that grows. It has a place already, at offset_ of the current file, because its sums
  // and its references depend on it.
  BatchWriter batch_;
  std::uint64_t index_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t file_messages_ = 0;  // added since the current file began
  JournalPosition begun_ = 0;        // what was appended before it
  JournalPosition appended_ = 0;
  JournalPosition kept_ = 0;
  // Oldest first. The first is being written (writing_) or waits for its file or for room.
  std::deque<Batch> finished_;
  std::vector<BatchWriter> idle_;  // for their memory
  runtime::DiskRequest write_;
  bool writing_ = false;
  bool full_ = false;
  bool retries_ = false;  // later, by the timer
  std::unique_ptr<runtime::Timer> retry_;
  std::unique_ptr<runtime::Timer> give_up_;
  WaitingUsers waiting_;
  WaitingUsers told_;  // those still to be told of the batch that was kept last
  runtime::Status failure_;
  runtime::Status file_failure_;  // it failed while a write was under way
  JournalStatistics statistics_;
};

}  // namespace ringtail::queue::store
