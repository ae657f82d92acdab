// Raft's log, term, vote and snapshots on this node's disk (docs/FORMATS.md, "Raft").
//
// All that is asked for while one write is under way goes into the next: one record, one sync. The
// next write begins when the last one is on the disk, so that at a crash at most one record is
// torn, the last. Files of the log that a snapshot covers are removed; a new one is begun when the
// last has grown, and at each start.
//
// A write or sync that fails ends it: nothing is kept from there on, nothing is called kept, and
// `lost` is told, once. Nobody knows what reached the disk then; the node has to end. (A snapshot
// of the node's own that cannot be written is no such failure: the log is whole without it.)
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/env.h"
#include "cluster/raft/log_loader.h"

namespace ringtail::cluster::raft {

struct LogStoreOptions {
  std::uint64_t file_bytes =
      8 * 1024 * 1024;  // a file of the log that has so much is the last no more
  // How many entries before the end of a snapshot stay, for followers that are a little behind. At
  // least 1.
  Index trailing = 4096;
};

// On the owner's shard. `directory` is its own; the owner has locked the data directory.
class RaftLogStore {
 public:
  using Done = std::function<void(const runtime::Status&)>;

  RaftLogStore(runtime::Env& env, std::string directory, LogStoreOptions options, Done lost);
  ~RaftLogStore();
  RaftLogStore(const RaftLogStore&) = delete;
  RaftLogStore& operator=(const RaftLogStore&) = delete;

  // Makes the directory, reads what is there, begins a new file. `done` runs once, perhaps at once;
  // after a failure there is nothing to do but close(). kCorrupt names file and offset.
  void open(std::function<void(runtime::Result<LoadedLog>)> done);

  // Of a pristine directory that was opened: term 1, and entry 1, a configuration. `done` says when
  // it is on stable storage.
  void bootstrap(const Configuration& configuration, Done done);

  // Both block and are on stable storage when they return. A new term begins without a vote. After
  // a failure `lost` has been told, and nothing may leave this node any more.
  runtime::Status set_term(Term term);
  runtime::Status set_vote(runtime::NodeId vote);
  const Ballot& ballot() const { return ballot_; }

  // Entries `first` and on, which follow the last one. `done` runs in a later turn, when they are
  // on stable storage, in the order of the calls; never after a failure.
  void append(Index first, std::span<const EntryView> entries, std::function<void()> done);
  // The entry of this index and all behind it are gone; takes its place between the appends.
  void truncate(Index index);
  // Whether everything that was asked for is on stable storage.
  bool idle() const { return pending_.empty() && !writing_; }

  // Writes a snapshot; one at a time. `source` points to bytes that live until `done` has run. With
  // `replaces`, the log is empty afterwards and begins behind it (another node's snapshot is
  // installed); no append may be under way or asked for meanwhile. Without, entries up to the
  // trailing ones go.
  void put_snapshot(SnapshotSource source, bool replaces, Done done);
  bool putting_snapshot() const { return put_done_ != nullptr; }
  // Reads the newest snapshot; one at a time.
  void get_snapshot(std::function<void(runtime::Result<StoredSnapshot>)> done);
  bool getting_snapshot() const { return get_done_ != nullptr; }
  Index snapshot_index() const { return snapshot_; }  // 0: there is none

  // Of the log's files, with those that a snapshot covers and that are not yet removed.
  std::uint64_t log_bytes() const { return older_bytes_ + size_; }
  std::size_t log_files() const { return older_.size() + 1; }

  // What was appended is written, a snapshot is not finished. `done` runs when nothing is under way
  // any more, perhaps at once. Callbacks that were still due never run, but for those of snapshots,
  // with kClosed.
  void close(std::function<void()> done);

 private:
  struct Pending {
    std::string operations;
    Index highest = 0;  // of its entries
    std::function<void()> done;
  };

  void opened(runtime::Result<LoadedLog> loaded);
  void first_log_begun(const runtime::Status& status);
  void open_failed(const runtime::Status& status);
  runtime::Status write_ballot(const Ballot& ballot);
  // Makes the next file with `operations` as its first record; `done` runs when it is on the disk.
  void begin_log(const std::string& operations, Index highest, Done done);
  void log_begun(const runtime::Status& status);
  void enqueue(Pending pending);
  void write_next();
  void write_pending();
  void written(const runtime::Status& status);
  void snapshot_written(const runtime::Status& status);
  void snapshot_put(const runtime::Status& status);
  void snapshot_got(runtime::Result<StoredSnapshot> result);
  void remove_covered();
  void fail(const runtime::Status& why);
  void end_if_idle();

  runtime::Env& env_;
  runtime::Disk& disk_;
  const std::string directory_;
  const LogStoreOptions options_;
  Done lost_;
  std::unique_ptr<LogLoader> loader_;
  std::function<void(runtime::Result<LoadedLog>)> opened_;
  LoadedLog loaded_;
  Ballot ballot_;

  // The file that is written.
  std::unique_ptr<runtime::File> file_;
  LogHeader header_;
  std::uint64_t record_ = 0;  // the number of its last one
  std::uint64_t size_ = 0;
  Index highest_ = 0;
  std::deque<LogFileFacts> older_;  // oldest first
  std::uint64_t older_bytes_ = 0;

  std::deque<Pending> pending_;  // asked for, not yet written
  std::vector<Pending> under_way_;
  bool writing_ = false;
  bool failed_ = false;
  std::string buffer_;
  runtime::DiskRequest write_;

  // The file that is begun.
  std::unique_ptr<runtime::File> next_file_;
  LogHeader next_header_;
  Index next_highest_ = 0;
  std::uint64_t next_records_ = 0;
  Done begun_;

  Index snapshot_ = 0;
  std::unique_ptr<SnapshotWriter> writer_;
  std::unique_ptr<SnapshotReader> reader_;
  bool writing_snapshot_ = false;
  bool replaces_ = false;
  Index putting_ = 0;
  Term putting_term_ = 0;
  Done put_done_;
  std::function<void(runtime::Result<StoredSnapshot>)> get_done_;
  std::function<void()> closed_;
};

}  // namespace ringtail::cluster::raft
