// The journal on this node's disk: a log of changes, and from time to time a snapshot that takes
// the place of the logs before it (docs/FORMATS.md, "Metadata").
//
// All that is appended while one write is under way goes into the next: one record, one sync. The
// next write begins when the last one is on the disk, so that at a crash at most one record is
// torn, the last. When the log has outgrown the state, a new log is begun, then the snapshot of
// that number is written beside it, then what came before is removed.
//
// A write or sync that fails ends it: nothing is kept from there on, nothing is called kept, and
// `lost` is told. Nobody knows what reached the disk then; the node has to end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "broker/runtime/env.h"
#include "cluster/metadata/journal.h"
#include "cluster/metadata/log_reader.h"
#include "cluster/metadata/snapshot_writer.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

// On the owner's shard; its directory is `metadata` in the node's data directory.
class DurableLog final : public Journal {
 public:
  struct Callbacks {
    std::function<void()> kept;                            // kept() has grown
    std::function<void(const runtime::Status& why)> lost;  // once
  };
  // `store` outlives it, and has applied what open() brought before anything is appended.
  DurableLog(runtime::Env& env, Store& store, std::string data_dir, Callbacks callbacks);
  ~DurableLog() override;

  // Makes and locks the data directory, reads what is there, begins a new log. `done` runs once,
  // perhaps at once; after a failure there is nothing to do but close().
  void open(std::function<void(runtime::Result<SavedState>)> done);

  void append(std::string changes) override;
  void flush() override;
  std::uint64_t appended() const override { return appended_; }
  std::uint64_t kept() const override { return kept_; }
  void close(std::function<void()> done) override;

 private:
  runtime::Status prepare_directory();
  void opened(runtime::Result<ReadLogs> read);
  void open_failed(const runtime::Status& status);
  // Makes the next log; its header, and `changes` as its first record, are on the disk when `done`
  // runs.
  void begin_log(const std::string& changes, std::function<void(const runtime::Status&)> done);
  // Appends the buffer and syncs; synced() follows.
  void write_buffer(runtime::File& file);
  void synced(const runtime::Status& status);
  void header_synced(const runtime::Status& status);
  void write_pending();
  void write_synced(const runtime::Status& status);
  bool outgrown() const;
  void begin_snapshot();
  void new_log_begun(const runtime::Status& status);
  void snapshot_ended(const runtime::Status& status, std::uint64_t bytes);
  void remove_older();
  void fail(const runtime::Status& why);
  void end_if_idle();

  runtime::Env& env_;
  runtime::Disk& disk_;
  Store& store_;
  const std::string data_dir_;
  const std::string directory_;
  const std::string unfinished_log_;
  const Callbacks callbacks_;
  std::unique_ptr<runtime::FileLock> lock_;
  std::unique_ptr<LogReader> reader_;
  std::function<void(runtime::Result<SavedState>)> opened_;
  SavedState saved_;

  // The log that is written.
  std::unique_ptr<runtime::File> file_;
  LogHeader header_;
  std::uint64_t index_ = 0;  // of its last record
  std::uint64_t size_ = 0;

  std::deque<std::string> pending_;  // appended, not yet written
  std::uint64_t appended_ = 0;
  std::uint64_t written_ = 0;  // the last change of the record under way
  std::uint64_t kept_ = 0;
  bool writing_ = false;
  bool failed_ = false;
  std::string buffer_;
  runtime::DiskRequest write_;
  runtime::DiskRequest sync_;
  runtime::Status write_status_;

  // The log that is begun.
  std::unique_ptr<runtime::File> next_file_;
  LogHeader next_header_;
  std::uint64_t next_index_ = 0;
  std::function<void(const runtime::Status&)> begun_;

  std::unique_ptr<SnapshotWriter> snapshot_;
  bool ended_snapshot_ = false;  // destroyed when nothing of it is on the stack
  std::uint64_t snapshot_number_ = 0;
  std::uint64_t snapshot_bytes_ = 0;
  std::uint64_t first_log_ = 1;    // the oldest that is there
  std::uint64_t logs_bytes_ = 0;   // of all logs since the snapshot
  std::uint64_t snapshot_at_ = 0;  // not before the logs have this size
  std::function<void()> closed_;
};

}  // namespace ringtail::cluster::metadata
