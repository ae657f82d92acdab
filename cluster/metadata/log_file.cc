#include "cluster/metadata/log_file.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/checksum.h"

namespace ringtail::cluster::metadata {

namespace {

using runtime::Code;
using runtime::Result;
using runtime::Status;

constexpr std::string_view kLogMagic = "RTMETLOG";
constexpr std::string_view kSnapshotMagic = "RTMETSNP";
constexpr std::size_t kMagicSize = 8;

std::string_view magic_of(LogFileKind kind) {
  return kind == LogFileKind::kLog ? kLogMagic : kSnapshotMagic;
}

// Numbers are in network order.
template <typename Number>
void put(std::string& out, Number number) {
  for (int shift = static_cast<int>(sizeof(Number)) * 8 - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<unsigned char>(number >> shift));
  }
}

template <typename Number>
Number get(std::string_view bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number << 8) | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

std::uint32_t checksum(std::uint32_t so_far, std::string_view bytes) {
  return runtime::checksum(so_far,
                           {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// Of a record: the file's salt, its length, number and type, its payload.
std::uint32_t record_checksum(const LogHeader& header, std::uint64_t index, std::uint8_t type,
                              std::string_view payload) {
  std::string facts;
  put(facts, header.salt);
  put(facts, static_cast<std::uint32_t>(payload.size()));
  put(facts, index);
  put(facts, type);
  return checksum(checksum(0, facts), payload);
}

struct Record {
  std::uint64_t index = 0;
  std::uint8_t type = 0;
  std::string_view payload;
  std::uint64_t end = 0;
};

// The record at an offset, if there is one that is whole.
std::optional<Record> record_at(std::string_view content, std::uint64_t offset,
                                const LogHeader& header) {
  if (content.size() - offset < kLogRecordHeaderSize) return std::nullopt;
  const auto length = get<std::uint32_t>(content, offset);
  const std::uint64_t begin = offset + kLogRecordHeaderSize;
  if (length > content.size() - begin) return std::nullopt;
  Record record;
  record.index = get<std::uint64_t>(content, offset + 8);
  record.type = static_cast<std::uint8_t>(content[offset + 16]);
  record.payload = content.substr(begin, length);
  record.end = begin + length;
  const std::uint32_t expected = record_checksum(header, record.index, record.type, record.payload);
  if (get<std::uint32_t>(content, offset + 4) != expected) return std::nullopt;
  return record;
}

// Whether a later record is whole. Each write is one record, and the next is made when it is on the
// disk: then what is bad before it was good once.
bool later_record(std::string_view content, std::uint64_t offset, std::uint64_t index,
                  const LogHeader& header) {
  const std::uint64_t most = index + content.size() / kLogRecordHeaderSize + 1;
  for (std::uint64_t at = offset + 1; at + kLogRecordHeaderSize <= content.size(); ++at) {
    const auto number = get<std::uint64_t>(content, at + 8);
    if (number > index && number <= most && record_at(content, at, header)) return true;
  }
  return false;
}

Status damaged(const std::string& name, std::uint64_t offset, std::string_view how) {
  return {Code::kCorrupt, fmt::format("{} is damaged at offset {}: {}", name, offset, how)};
}

}  // namespace

std::string encode_header(const LogHeader& header) {
  std::string out(magic_of(header.kind));
  put(out, kLogVersion);
  put(out, header.number);
  put(out, header.previous_end);
  put(out, header.boot);
  put(out, header.salt);
  put(out, checksum(0, out));
  RT_CHECK(out.size() == kLogHeaderSize, "the header's size");
  return out;
}

void append_record(std::string& out, const LogHeader& header, std::uint64_t index,
                   LogRecordType type, std::string_view payload) {
  RT_CHECK(payload.size() <= std::numeric_limits<std::int32_t>::max(), "a change of 2 GiB");
  put(out, static_cast<std::uint32_t>(payload.size()));
  put(out, record_checksum(header, index, static_cast<std::uint8_t>(type), payload));
  put(out, index);
  put(out, static_cast<std::uint8_t>(type));
  out += payload;
}

Result<LogScan> scan_header(std::string_view content, LogFileKind kind, const std::string& name) {
  if (content.size() < kLogHeaderSize || content.substr(0, kMagicSize) != magic_of(kind) ||
      get<std::uint32_t>(content, kLogHeaderSize - 4) !=
          checksum(0, content.substr(0, kLogHeaderSize - 4))) {
    return damaged(name, 0, "it does not begin with a whole header");
  }
  const auto version = get<std::uint32_t>(content, kMagicSize);
  if (version != kLogVersion) {
    return Status(Code::kCorrupt, fmt::format("{} has format version {}; this node reads {}", name,
                                              version, kLogVersion));
  }
  LogScan scan;
  scan.header = {kind, get<std::uint64_t>(content, 12), get<std::uint64_t>(content, 20),
                 get<std::uint64_t>(content, 28), get<std::uint64_t>(content, 36)};
  scan.end = kLogHeaderSize;
  return scan;
}

Result<LogScan> scan_log(std::string_view content, LogFileKind kind,
                         std::optional<std::uint64_t> end, const std::string& name,
                         const LogVisitor& visit) {
  auto found = scan_header(content, kind, name);
  if (!found.ok()) return found;
  LogScan scan = found.value();
  if (end && *end > content.size()) {
    return damaged(name, content.size(), fmt::format("it ends here, and not at {}", *end));
  }
  const std::string_view counted = end ? content.substr(0, *end) : content;
  std::uint64_t index = 1;
  while (scan.end < counted.size()) {
    const auto record = record_at(counted, scan.end, scan.header);
    if (!record || record->index != index || scan.complete) {
      const bool damage = end || kind == LogFileKind::kSnapshot || record ||
                          later_record(counted, scan.end, index, scan.header);
      if (damage) return damaged(name, scan.end, "no whole record where one must be");
      scan.torn = counted.size() - scan.end;
      return scan;
    }
    switch (static_cast<LogRecordType>(record->type)) {
      case LogRecordType::kChanges:
        if (Status status = visit(record->payload); !status.ok()) {
          return damaged(name, scan.end, "the record " + status.text());
        }
        break;
      case LogRecordType::kEnd:
        scan.complete = true;
        break;
      default:
        return damaged(name, scan.end, fmt::format("record type {} is unknown", record->type));
    }
    scan.last_record = std::exchange(scan.end, record->end);
    ++index;
  }
  return scan;
}

}  // namespace ringtail::cluster::metadata
