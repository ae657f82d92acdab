// Raft's files as bytes (docs/FORMATS.md, "Raft"): the log, the header of a snapshot, term and
// vote. Pure functions; the others of this folder bring the bytes to the disk and back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/raft/types.h"

namespace ringtail::cluster::raft {

inline constexpr std::uint32_t kFilesVersion = 1;
inline constexpr std::size_t kLogHeaderSize = 40;
inline constexpr std::size_t kRecordHeaderSize = 16;
inline constexpr std::size_t kSnapshotHeaderSize = 64;
inline constexpr std::size_t kChunkHeaderSize = 8;
inline constexpr std::size_t kChunkBytes = 1024 * 1024;  // of a snapshot; the last may be shorter

// --- the log: a header, then records, each of which holds operations ---

struct LogHeader {
  std::uint64_t number = 0;  // that of the file's name; they follow each other without a gap
  // How much of log number - 1 counts, in bytes. What stands behind it was never answered for, or
  // stands in this log again. 0: there is none before it, or it does not matter any more.
  std::uint64_t previous_end = 0;
  std::uint64_t salt = 0;  // part of every checksum, so that no record is taken for another file's
};

std::string encode_header(const LogHeader& header);
// Records are numbered from 1 in each file.
void append_record(std::string& out, const LogHeader& header, std::uint64_t number,
                   std::string_view operations);

void append_entry(std::string& operations, Index index, const EntryView& entry);
// The entry of this index and all behind it are gone.
void append_truncate(std::string& operations, Index index);
// The log is empty; a snapshot stands for everything up to this index.
void append_restart(std::string& operations, Index index, Term term);

struct LogVisitor {
  std::function<runtime::Status(Index, const EntryView&)> entry;
  std::function<runtime::Status(Index)> truncate;
  std::function<runtime::Status(Index, Term)> restart;
};
// kCorrupt (of the visitor, or of operations that are none) without a place: the caller knows it.
runtime::Status visit_operations(std::string_view operations, const LogVisitor& visitor);

// What a file is found to be.
struct LogScan {
  LogHeader header;
  std::uint64_t end = 0;          // of what counts
  std::uint64_t last_record = 0;  // where the last record of that begins; 0: there is none
  std::uint64_t torn = 0;         // bytes behind it, of a write that was cut off
};

// The header alone. A file gets its name when its header is on the disk, so one without is damaged.
// `name` is for messages.
runtime::Result<LogScan> scan_header(std::string_view content, const std::string& name);
// The records too. `end`: where they end, as the next file says; none: this is the last file, and
// its last write may be torn. Damage anywhere else is kCorrupt, naming file and offset.
runtime::Result<LogScan> scan_log(std::string_view content, std::optional<std::uint64_t> end,
                                  const std::string& name, const LogVisitor& visitor);

// --- a snapshot: a header, the configuration, then the payload in chunks ---

struct SnapshotHeader {
  Index index = 0;
  Term term = 0;
  Index configuration_index = 0;
  std::uint32_t configuration_size = 0;
  std::uint64_t payload_size = 0;
  std::uint64_t salt = 0;
  bool installed = false;  // it came from another node: the log may not reach it yet
};

// With the configuration, whose size is set.
std::string encode_snapshot_header(SnapshotHeader header, std::string_view configuration);
// Of the first kSnapshotHeaderSize bytes alone; the checksum is the next step's.
runtime::Result<SnapshotHeader> scan_snapshot_header(std::string_view bytes,
                                                     const std::string& name);
// `bytes` is the header and the configuration.
runtime::Status check_snapshot_header(std::string_view bytes, const std::string& name);
std::string encode_chunk_header(std::uint64_t salt, std::uint64_t number, std::string_view chunk);
// `offset` is where the chunk's header lies in the file.
runtime::Status check_chunk(std::string_view header, std::uint64_t salt, std::uint64_t number,
                            std::string_view chunk, std::uint64_t offset, const std::string& name);

// --- term and vote ---

struct Ballot {
  Term term = 0;
  runtime::NodeId vote;  // 0: for nobody
};
std::string encode_ballot(const Ballot& ballot);
runtime::Result<Ballot> decode_ballot(std::string_view content, const std::string& name);

}  // namespace ringtail::cluster::raft
