// What one queue keeps on the disk. Three places hold a message, each in its time:
//
//   the journal    every persistent message of a durable queue, until its file is given up;
//   segments       what is still alive then, and the part of a backlog that is not in memory;
//   memory         the head of each lane, what was handed out, and what has just come.
//
// Messages are numbered. Up to written() every message that is alive is in a segment; up to
// covered() the index on the stable storage says so, too. So whatever lies above covered() is found
// in the journal by a restart, and whatever is not above written() may leave memory at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/status.h"
#include "cluster/metadata/records.h"
#include "queue/entry.h"
#include "queue/queue_state.h"
#include "queue/store/journal.h"
#include "queue/store/journal_reader.h"
#include "queue/store/queue_files.h"
#include "queue/store/segment_table.h"
#include "queue/store/store_shard.h"
#include "queue/terms.h"

namespace ringtail::queue::store {

// The queue, for its store. Called on the shard's thread, never inside a call to the store unless
// that says so.
class StoreOwner {
 public:
  // Everything in memory with a number above `above`. Those that wait, lane by lane in order until
  // `visit` returns false for that lane; then the others, in no order.
  using Visit = std::function<bool(const Entry&, Terms, Whereabouts)>;
  virtual void visit_above(std::uint64_t above, const Visit& visit) const = 0;
  // The number of the last message that was given one.
  virtual std::uint64_t last_number() const = 0;
  // More of what was published, or of marks, is on stable storage.
  virtual void store_kept() noexcept = 0;
  // written() has grown, or a load is over.
  virtual void store_moved() noexcept = 0;
  // What load() asked for, in order; may be empty.
  virtual void store_loaded(std::uint8_t lane, std::vector<StoredMessage>& messages) noexcept = 0;
  // Nothing more can be made safe; or, where it is corrupt, nothing more can be read.
  virtual void store_failed(const runtime::Status& why) noexcept = 0;

 protected:
  ~StoreOwner() = default;
};

// Lives in its queue, on the queue's shard.
class QueueStore final : public JournalUser {
 public:
  // A durable queue's messages survive a restart where they are persistent; those of another one
  // only leave memory.
  QueueStore(StoreShard& shared, const cluster::metadata::QueueRecord& record, StoreOwner& owner);
  ~QueueStore();

  // Whoever has the messages from here on.
  void set_owner(StoreOwner& owner) { owner_ = &owner; }
  bool durable() const { return durable_; }
  // It has nothing in segments.
  bool empty() const { return segments_.empty(); }
  const runtime::Status& failure() const { return failure_; }

  // --- what happens to messages ---
  // publish() for each persistent message, then end_publish() before anything else.
  void publish(Position position, const Message& message, Terms terms, bool delivered);
  void end_publish();
  // When what was published since the last call will be kept; 0: nothing was.
  JournalPosition take_published() { return std::exchange(published_, 0); }
  // A message has left the queue, for whatever reason. It is written at the turn's end, by
  // end_turn().
  void removed(Position position, const Message& message, Terms terms);
  // All messages up to `number` have left, of all lanes, but these.
  void purged(std::uint64_t number, std::size_t lanes, std::vector<SegmentTable::Kept> kept);
  void end_turn();
  JournalPosition kept() const { return shared_.journal().kept(); }
  // store_kept() when more is kept.
  void await();

  // Whether the disk knows that this message may have been delivered. False: store_kept() will tell
  // when to ask again.
  bool may_deliver(Position position);

  // --- paging ---
  std::uint64_t written() const { return written_; }
  // Writes to segments what is in memory above written(), about a mebioctet for each call.
  void write_some();
  bool writing() const { return writing_ || committing_; }
  // The first message of the lane that is not in memory any more; before its first load().

  void paged_from(Position first) { cursors_[lane_of(first)] = Cursor{.next = first}; }
  // Reads messages of the lane behind those it has read before, about `octets` of the file, `limit`
  // messages at most: so many are out of memory.
  void load(std::uint8_t lane, std::size_t octets, std::uint64_t limit);
  bool loading(std::uint8_t lane) const;

  // --- the queue's life ---
  // What a restart found. `done` when it is known how many messages there are: restored().
  struct Restored {
    struct Lane {
      std::uint64_t count = 0;
      std::uint64_t bytes = 0;
      std::uint64_t expiring = 0;
    };
    std::map<std::uint8_t, Lane> lanes;   // in segments
    std::vector<StoredMessage> messages;  // behind them, from the journals
    std::uint64_t next = 1;
    runtime::Status damage;  // the queue must not be used
  };
  void restore(JournaledQueue journaled, std::function<void(Restored&)> done);
  // They say something of it.
  bool has_former() const { return former_; }
  // Makes safe what the journals of former starts say; `done` when they are not needed. For a queue
  // that could not be restored that is a journal of its own in its directory, which the next start
  // reads. Where nothing can be written they stay needed.
  void leave_former_journals(std::function<void()> done);
  // The queue is deleted, with all it has on the disk.
  void erase();
  // Was this message perhaps delivered by a former run of the node?
  bool was_delivered(Position position) const;

  // --- JournalUser ---
  bool journal_kept(JournalPosition kept) noexcept override;
  void journal_failed(const runtime::Status& why) noexcept override;
  void leave_journal(JournalFileNumber last) noexcept override;

 private:
  struct Cursor {
    Position next = 0;          // the first message that was not read
    std::uint64_t segment = 0;  // where it is, as far as known; 0: to be found
    std::uint64_t offset = 0;   // there
    std::size_t needs = 0;      // its record is so long, at least
    std::uint64_t limit = 0;    // of the load under way
    bool loading = false;
  };
  // How far deliveries of a lane are noted.
  struct Mark {
    std::uint64_t kept = 0;   // on stable storage
    std::uint64_t asked = 0;  // in the journal
    JournalPosition position = 0;
    std::uint64_t step = 0;
  };
  // The journal files that are to be left.
  struct Leaving {
    bool wanted = false;
    std::uint64_t up_to = 0;            // messages that must be covered
    JournalFileNumber needed = 0;       // for Journal::left(); 0: it has not asked
    JournalPosition written_again = 0;  // 0: not so
    bool committing = false;            // the index that is being written says all of it
  };
  // Of one lane, on its way to a segment.
  struct Outgoing {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
    ByteBuffer bytes;
  };
  // A restart's work.
  struct Restoring {
    JournaledQueue journaled;
    std::function<void(Restored&)> done;
    std::uint64_t next = 1;
    std::vector<std::uint64_t> to_count;  // segments
    runtime::Status damage;
  };

  // --- queue_store.cc ---
  void write_removals();
  std::uint64_t expires_wall(Terms terms) const;
  void ask_for_mark(Mark& mark, std::uint8_t lane, std::uint64_t number);
  void fail(const runtime::Status& status);
  void damaged(const runtime::Status& status);
  void former_left();

  // --- queue_store_segments.cc ---
  std::vector<StoredMessage> collect(std::uint64_t& up_to) const;
  void encode(const std::vector<StoredMessage>& messages);
  void send(Outgoing& outgoing);
  void write_done(const runtime::Status& status);
  void continue_leaving();
  bool leave_lightly();
  void cover();
  void commit_index(std::uint64_t covered);
  void committed(std::uint64_t covered, const runtime::Status& status);
  void left();
  void reap();

  void commit_if_due();

  // --- queue_store_compact.cc ---
  // Segments that are being put together.
  struct Compaction {
    std::vector<std::uint64_t> from;
    std::size_t read = 0;  // of them
    std::unique_ptr<Segment> made;
    std::vector<std::pair<std::uint64_t, MessageFacts>> kept;  // by number
    ByteBuffer bytes;
  };
  void compact();
  void compact_next();
  runtime::Status take_alive(const Segment& segment, std::span<const std::uint8_t> content);
  void compacted();
  void end_compaction();

  // --- queue_store_load.cc ---
  void read_done(std::uint8_t lane, std::uint64_t segment, const runtime::Status& status,
                 std::vector<std::uint8_t>& bytes);
  runtime::Status take_records(Cursor& cursor, Segment& segment,
                               std::span<const std::uint8_t> bytes,
                               std::vector<StoredMessage>& messages);
  void next_segment(Cursor& cursor, const Segment& segment);

  // --- queue_store_restore.cc ---
  void read_own_journal();
  void take_own_journal(std::span<const std::uint8_t> content);
  void keep_own_journal();
  void read_name();
  void set_aside(const std::string& why);
  void read_index();
  runtime::Status take_index(std::span<const std::uint8_t> content);
  void apply_removals();
  void count_next();
  runtime::Status count(Segment& segment, std::span<const std::uint8_t> content);
  void end_restore(const runtime::Status& damage);

  StoreShard& shared_;
  StoreOwner* owner_;
  const Qid qid_;
  const bool durable_;
  QueueFiles files_;
  SegmentTable segments_;
  runtime::Status failure_;
  runtime::Status damage_;  // found since the start: nothing is read any more

  bool open_record_ = false;
  JournalPosition published_ = 0;
  std::vector<PositionRange> removing_;
  bool awaiting_ = false;
  bool in_journal_call_ = false;
  std::map<std::uint8_t, Mark> marks_;
  bool marks_changed_ = false;                              // the index does not say what they are
  std::map<std::uint8_t, std::uint64_t> delivered_before_;  // by former runs

  std::uint64_t assigned_ = 0;  // numbers up to here are in a segment, or on the way
  std::uint64_t written_ = 0;
  std::uint64_t covered_ = 0;
  bool writing_ = false;
  bool committing_ = false;
  std::uint64_t index_salt_ = 0;
  int writes_under_way_ = 0;
  std::vector<std::uint64_t> gone_;  // segments that the index has yet to forget
  Leaving leaving_;
  std::size_t light_ = 0;  // octets that are written to the journal again
  bool former_ = false;
  std::function<void()> former_left_;
  bool has_own_journal_ = false;
  std::unique_ptr<JournaledQueue> not_restored_;  // of a damaged queue
  std::unique_ptr<Restoring> restoring_;
  std::unique_ptr<Compaction> compaction_;
  std::map<std::uint8_t, Cursor> cursors_;
};

}  // namespace ringtail::queue::store
