// The files of the metadata as bytes: a header, then records (docs/FORMATS.md, "Metadata"). Pure
// functions; durable_log.h and log_reader.h bring the bytes to the disk and back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "broker/runtime/status.h"

namespace ringtail::cluster::metadata {

inline constexpr std::uint32_t kLogVersion = 1;
inline constexpr std::size_t kLogHeaderSize = 48;
inline constexpr std::size_t kLogRecordHeaderSize = 17;

enum class LogFileKind : std::uint8_t { kLog, kSnapshot };

struct LogHeader {
  LogFileKind kind = LogFileKind::kLog;
  // Snapshot n holds what was so before the first record of log n.
  std::uint64_t number = 0;
  // Of a log: how much of log number - 1 counts, in bytes. What stands behind it was never answered
  // for, or stands in this log again. 0: there is none before it.
  std::uint64_t previous_end = 0;
  std::uint64_t boot = 0;  // which start of the node wrote it; counts from 0
  std::uint64_t salt = 0;  // part of every checksum, so that no record is taken for another file's
};

enum class LogRecordType : std::uint8_t {
  kChanges = 1,  // saved.proto, Changes
  kEnd = 2,      // of a snapshot: it is whole
};

std::string encode_header(const LogHeader& header);
// Records are numbered from 1 in each file.
void append_record(std::string& out, const LogHeader& header, std::uint64_t index,
                   LogRecordType type, std::string_view payload);

// What a file is found to be.
struct LogScan {
  LogHeader header;
  std::uint64_t end = 0;          // of what counts
  std::uint64_t last_record = 0;  // where the last record of that begins; 0: there is none
  std::uint64_t torn = 0;         // bytes behind it, of a write that was cut off
  bool complete = false;          // a snapshot with its end
};

// Reads the header alone. A file gets its name when its header is on the disk, so one without is
// damaged. `name` is for messages.
runtime::Result<LogScan> scan_header(std::string_view content, LogFileKind kind,
                                     const std::string& name);

// Reads the records too. `end`: where they end, as the next file says; none: this is the last file,
// and its last write may be torn. Damage anywhere else is kCorrupt, naming file and offset; so is
// what `visit` returns.
using LogVisitor = std::function<runtime::Status(std::string_view payload)>;
runtime::Result<LogScan> scan_log(std::string_view content, LogFileKind kind,
                                  std::optional<std::uint64_t> end, const std::string& name,
                                  const LogVisitor& visit);

}  // namespace ringtail::cluster::metadata
