// Snapshots of Raft on the disk: written aside in chunks, synced, renamed; read back into memory
// that libraft takes over. Neither holds a copy of the payload.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/disk.h"
#include "cluster/raft/log_format.h"

namespace ringtail::cluster::raft {

inline constexpr const char* kUnfinishedSnapshot = "snapshot.tmp";

// What a snapshot is to hold; the bytes belong to the caller until the writer is done.
struct SnapshotSource {
  SnapshotHeader header;
  std::string configuration;
  std::vector<std::string_view> payload;  // pieces, in order
};

// One use each; on the owner's shard. A file that is not whole has no name of a snapshot.
class SnapshotWriter {
 public:
  using Done = std::function<void(const runtime::Status&)>;
  // `path` lies in `directory`.
  SnapshotWriter(runtime::Disk& disk, std::string directory, std::string path,
                 SnapshotSource source);

  // `done` runs once, perhaps at once, and may destroy the writer. After ok the file is on stable
  // storage under its name.
  void start(Done done);
  // It ends as soon as the disk has answered, with kClosed.
  void abort() { aborted_ = true; }

 private:
  void step();
  // The next at most kChunkBytes of the payload, in one piece; copied only where a chunk spans two.
  std::string_view next_chunk();
  void written(const runtime::Status& status);
  runtime::Status rename();
  void end(const runtime::Status& status);

  runtime::Disk& disk_;
  const std::string directory_;
  const std::string unfinished_;
  const std::string path_;
  const SnapshotSource source_;
  Done done_;
  std::unique_ptr<runtime::File> file_;
  runtime::DiskRequest head_;
  runtime::DiskRequest body_;
  runtime::Status head_status_;
  std::string head_bytes_;
  std::string gathered_;
  std::size_t piece_ = 0;
  std::size_t piece_offset_ = 0;
  std::uint64_t chunk_ = 0;
  std::uint64_t left_ = 0;
  bool syncing_ = false;
  bool aborted_ = false;
};

class SnapshotReader {
 public:
  using Done = std::function<void(runtime::Result<StoredSnapshot>)>;
  SnapshotReader(runtime::Disk& disk, std::string path);

  // `done` runs once, perhaps at once, and may destroy the reader. kCorrupt names file and offset.
  void start(Done done);

 private:
  using Then = void (SnapshotReader::*)(const runtime::Status&);

  void header_read(const runtime::Status& status);
  void configuration_read(const runtime::Status& status);
  void read_chunk();
  void chunk_read(const runtime::Status& status);
  void read(std::span<std::uint8_t> into, std::uint64_t offset, Then then);
  void read_done(const runtime::Status& status);
  void end(runtime::Result<StoredSnapshot> result);

  runtime::Disk& disk_;
  const std::string path_;
  Done done_;
  std::unique_ptr<runtime::File> file_;
  runtime::DiskRequest request_;
  Then then_ = nullptr;
  std::string head_;
  std::string chunk_head_;
  SnapshotHeader header_;
  StoredSnapshot result_;
  std::uint64_t chunk_ = 0;
  std::uint64_t offset_ = 0;  // of the next chunk's header
  std::uint64_t begun_ = 0;   // payload bytes up to the end of the chunk that is read
  bool chunk_head_read_ = false;
};

}  // namespace ringtail::cluster::raft
