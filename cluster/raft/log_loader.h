// Reads what Raft left on the disk: the newest snapshot, the log's files in order, term and vote
// (docs/FORMATS.md, "Raft"). Damage is reported, never guessed around.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/disk.h"
#include "cluster/raft/log_format.h"
#include "cluster/raft/snapshot_file.h"

namespace ringtail::cluster::raft {

inline constexpr const char* kUnfinishedLog = "log.tmp";
inline constexpr const char* kBallotFile = "ballot";

std::string log_path(const std::string& directory, std::uint64_t number);
// Named after the last entry that it stands for.
std::string snapshot_path(const std::string& directory, Index index);

// A file of the log that is no longer written.
struct LogFileFacts {
  std::uint64_t number = 0;
  Index highest = 0;  // of the entries that it holds, or held; 0: none
  std::uint64_t bytes = 0;
};

// What the disk has.
struct LoadedLog {
  Ballot ballot;
  std::optional<StoredSnapshot> snapshot;
  Index first = 1;  // the index of entries[0], or of the next one
  std::vector<StoredEntry> entries;

  std::vector<LogFileFacts> files;  // oldest first
  std::uint64_t last_end = 0;       // of the last file: what counts, without its last record
  std::string last_operations;      // of that record, which goes into the next file again
  // The log did not reach the snapshot (one was installed): the next file begins with its restart.
  bool restart = false;
  std::vector<std::string> leftovers;  // paths that are to be removed
};

// One use; on the owner's shard.
class LogLoader {
 public:
  using Done = std::function<void(runtime::Result<LoadedLog>)>;
  // Entries further than `trailing` before the snapshot's end are left out.
  LogLoader(runtime::Disk& disk, std::string directory, Index trailing);

  // `done` runs once, perhaps at once, and may destroy the loader.
  void start(Done done);

 private:
  runtime::Status find_files();
  void read_next();
  void file_read(const runtime::Status& status);
  runtime::Status take(std::uint64_t number, std::string content);
  // `end`: see scan_log().
  runtime::Status replay(std::optional<std::uint64_t> end);
  runtime::Status entry(Index index, const EntryView& entry);
  runtime::Status truncate(Index index);
  void read_snapshot();
  runtime::Status ballot_read(std::string_view content);
  runtime::Status fit_together();
  void drop_before(Index first);
  runtime::Status check_ballot() const;
  void end(const runtime::Status& status);

  runtime::Disk& disk_;
  const std::string directory_;
  const Index trailing_;
  Done done_;
  LoadedLog result_;
  std::optional<Index> snapshot_;
  std::vector<std::uint64_t> logs_;
  bool has_ballot_ = false;
  std::size_t next_ = 0;  // in logs_; then the ballot

  // The file whose end the next one will tell.
  std::optional<LogFileFacts> waiting_;
  std::string waiting_content_;

  std::optional<Index> next_index_;
  std::deque<StoredEntry> entries_;  // up to *next_index_ - 1

  std::unique_ptr<runtime::File> file_;
  std::string content_;
  runtime::DiskRequest request_;
  std::unique_ptr<SnapshotReader> reader_;
};

}  // namespace ringtail::cluster::raft
