// Reads the metadata's directory when a node starts: the newest snapshot and the logs from its
// number on. On the owner's shard; lives until `done` has run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/disk.h"
#include "broker/runtime/status.h"
#include "cluster/metadata/log_file.h"
#include "cluster/metadata/saved_codec.h"

namespace ringtail::cluster::metadata {

std::string log_path(const std::string& directory, LogFileKind kind, std::uint64_t number);
// Number of a file of that kind; none: another file.
std::optional<std::uint64_t> log_number(const std::string& name, LogFileKind kind);
// The names of files until they are whole, or have their header.
inline constexpr const char* kUnfinishedSnapshot = "snapshot.tmp";
inline constexpr const char* kUnfinishedLog = "log.tmp";

// What was read, and where writing goes on.
struct ReadLogs {
  SavedState state;
  bool fresh = false;          // there was nothing
  std::uint64_t boot = 0;      // of this start
  std::uint64_t snapshot = 0;  // number of the newest; 0: none
  std::uint64_t snapshot_bytes = 0;
  std::uint64_t last_log = 0;  // number; 0: none
  // How much of it counts: all but the last record, and that. Nobody knows whether the last one is
  // on stable storage (its sync may have failed, or never come), so it goes into the new log again.
  std::uint64_t last_end = 0;
  std::string last_changes;
  std::uint64_t log_bytes = 0;         // of all logs since the snapshot
  std::vector<std::string> leftovers;  // paths of files that no start needs any more
};

class LogReader {
 public:
  using Done = std::function<void(runtime::Result<ReadLogs>)>;
  LogReader(runtime::Disk& disk, std::string directory);
  // kCorrupt: the text names file and offset. `done` runs once, perhaps inside this call; it must
  // not destroy the reader.
  void start(Done done);

 private:
  struct Source {
    LogFileKind kind = LogFileKind::kLog;
    std::uint64_t number = 0;
    std::string path;
  };

  runtime::Status find_sources();
  void read_next();
  void read_done(const runtime::Status& status);
  runtime::Status take(const Source& source, std::string content);
  runtime::Status take_log(const Source& source, std::optional<std::uint64_t> end);
  void finish();
  void fail(const runtime::Status& status);

  runtime::Disk& disk_;
  const std::string directory_;
  Done done_;
  ReadLogs result_;
  SavedStateBuilder builder_;
  std::vector<Source> sources_;
  std::size_t next_ = 0;
  std::unique_ptr<runtime::File> file_;
  std::string content_;
  runtime::DiskRequest request_;
  // A log waits until the next one has said how much of it counts.
  std::optional<Source> waiting_;
  std::string waiting_content_;
};

}  // namespace ringtail::cluster::metadata
