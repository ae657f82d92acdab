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
#include <functional>
#include <memory>
#include <span>
#include <string>

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

// A queue, for the journal. Called on the shard's thread, never inside a call to the journal.
class JournalUser {
 public:
  JournalUser() = default;
  JournalUser(const JournalUser&) = delete;
  JournalUser& operator=(const JournalUser&) = delete;

  // After await(): more is kept. True: it waits for more still.
  virtual bool journal_kept(JournalPosition kept) noexcept = 0;
  // The journal has failed for good: nothing that was not kept ever will be. Once, to every user
  // that waits or appends later.
  virtual void journal_failed(const runtime::Status& why) noexcept = 0;
  // What this user appended up to the end of file `last` has to be safe elsewhere, soon; then
  // Journal::left(). Told once until then.
  virtual void leave_journal(JournalFileNumber last) noexcept = 0;

 protected:
  ~JournalUser() = default;  // of a user that has said Journal::forget()

 private:
  friend class Journal;
  boost::intrusive::list_member_hook<> waiting_;
  boost::intrusive::list_member_hook<> needing_;  // on the list of the oldest file it needs
  JournalFileNumber oldest_needed_ = 0;           // 0: none
  bool leaving_ = false;
};

// For listings and tests; totals since the node began.
struct JournalStatistics {
  std::uint64_t octets = 0;   // of batches, their headers included
  std::uint64_t batches = 0;  // so many writes, each synced
  std::uint64_t files = 0;    // in use now
};

struct JournalOptions {
  std::uint64_t file_size = 16 * 1024 * 1024;  // a file is left behind when it has so much
  std::size_t files = 3;  // with more than so many in use the oldest is given up
};

// One per shard, on its thread; outlives the queues.
class Journal : private runtime::TurnTask {
 public:
  Journal(runtime::Shard& shard, std::string directory, JournalOptions options = {});
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Begins a new file behind `last`, the highest number that the directory holds for this shard
  // (0: none). `done` later: appended changes may leave for the disk. Appending is allowed before.
  void open(JournalFileNumber last, std::function<void(const runtime::Status&)> done);
  // Writes what was appended; `done` when it is kept (or has failed) and no request is under way.
  void close(std::function<void()> done);

  // --- appending: never fails here (see journal_failed) ---
  // A publish record: begin, add() at least once, end. Nothing else in between.
  void begin_publish(JournalUser& user, Qid qid);
  void add(Position position, const Message& message, std::uint64_t expires_at_ms, bool delivered) {
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
  // The file that the next change goes to.
  JournalFileNumber current_file() const;
  // What the user appended to files before `needed` is safe elsewhere, on stable storage.
  void left(JournalUser& user, JournalFileNumber needed);
  // The user ends.
  void forget(JournalUser& user);

  JournalStatistics statistics() const;

 private:
  void turn_end() noexcept override;
  // ... the rest is the implementer's.
  BatchWriter batch_;
  JournalPosition appended_ = 0;
  JournalPosition kept_ = 0;
  runtime::Status failure_;
};

}  // namespace ringtail::queue::store
