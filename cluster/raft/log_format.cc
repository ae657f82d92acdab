#include "cluster/raft/log_format.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/checksum.h"
#include "cluster/wire_numbers.h"

namespace ringtail::cluster::raft {

namespace {

// The caller has seen that there is so much.
template <typename Number>
Number get(std::string_view bytes, std::size_t at) {
  return get_number<Number>(runtime::as_bytes(bytes).data() + at);
}

std::uint32_t checksum(std::uint32_t so_far, std::string_view bytes) {
  return runtime::checksum(so_far, runtime::as_bytes(bytes));
}

using runtime::Code;
using runtime::Result;
using runtime::Status;

constexpr std::string_view kLogMagic = "RTRFTLOG";
constexpr std::string_view kSnapshotMagic = "RTRFTSNP";
constexpr std::string_view kBallotMagic = "RTRFTBAL";
constexpr std::size_t kMagicSize = 8;
constexpr std::size_t kBallotSize = 28;

enum class Operation : std::uint8_t { kEntry = 1, kTruncate = 2, kRestart = 3 };
constexpr std::size_t kEntryHeaderSize = 22;  // with the operation's number
constexpr std::size_t kTruncateSize = 9;
constexpr std::size_t kRestartSize = 17;

Status damaged(const std::string& name, std::uint64_t offset, std::string_view how) {
  return {Code::kCorrupt, fmt::format("{} is damaged at offset {}: {}", name, offset, how)};
}

Status other_version(const std::string& name, std::uint32_t version) {
  return {Code::kCorrupt, fmt::format("{} has format version {}; this node reads {}", name, version,
                                      kFilesVersion)};
}

std::string start_of(std::string_view magic) {
  std::string out(magic);
  append_number(out, kFilesVersion);
  return out;
}

std::uint32_t record_checksum(const LogHeader& header, std::uint64_t number,
                              std::string_view operations) {
  std::string facts;
  append_number(facts, header.salt);
  append_number(facts, static_cast<std::uint32_t>(operations.size()));
  append_number(facts, number);
  return checksum(checksum(0, facts), operations);
}

struct Record {
  std::uint64_t number = 0;
  std::string_view operations;
  std::uint64_t end = 0;
};

// The record at an offset, if there is one that is whole.
std::optional<Record> record_at(std::string_view content, std::uint64_t offset,
                                const LogHeader& header) {
  if (content.size() - offset < kRecordHeaderSize) return std::nullopt;
  const auto length = get<std::uint32_t>(content, offset);
  const std::uint64_t begin = offset + kRecordHeaderSize;
  if (length > content.size() - begin) return std::nullopt;
  Record record;
  record.number = get<std::uint64_t>(content, offset + 8);
  record.operations = content.substr(begin, length);
  record.end = begin + length;
  if (get<std::uint32_t>(content, offset + 4) !=
      record_checksum(header, record.number, record.operations)) {
    return std::nullopt;
  }
  return record;
}

// Whether a later record is whole. Each write is one record, and the next is made when it is on the
// disk: then what is bad before it was good once.
bool later_record(std::string_view content, std::uint64_t offset, std::uint64_t number,
                  const LogHeader& header) {
  const std::uint64_t most = number + content.size() / kRecordHeaderSize + 1;
  for (std::uint64_t at = offset + 1; at + kRecordHeaderSize <= content.size(); ++at) {
    const auto found = get<std::uint64_t>(content, at + 8);
    if (found > number && found <= most && record_at(content, at, header)) return true;
  }
  return false;
}

}  // namespace

// --- the log ---

std::string encode_header(const LogHeader& header) {
  std::string out = start_of(kLogMagic);
  append_number(out, header.number);
  append_number(out, header.previous_end);
  append_number(out, header.salt);
  append_number(out, checksum(0, out));
  RT_CHECK(out.size() == kLogHeaderSize, "the header's size");
  return out;
}

void append_record(std::string& out, const LogHeader& header, std::uint64_t number,
                   std::string_view operations) {
  RT_CHECK(operations.size() <= std::numeric_limits<std::int32_t>::max(), "a record of 2 GiB");
  append_number(out, static_cast<std::uint32_t>(operations.size()));
  append_number(out, record_checksum(header, number, operations));
  append_number(out, number);
  out += operations;
}

void append_entry(std::string& operations, Index index, const EntryView& entry) {
  RT_CHECK(entry.payload.size() <= std::numeric_limits<std::int32_t>::max(), "an entry of 2 GiB");
  append_number(operations, static_cast<std::uint8_t>(Operation::kEntry));
  append_number(operations, index);
  append_number(operations, entry.term);
  append_number(operations, static_cast<std::uint8_t>(entry.kind));
  append_number(operations, static_cast<std::uint32_t>(entry.payload.size()));
  operations += entry.payload;
}

void append_truncate(std::string& operations, Index index) {
  append_number(operations, static_cast<std::uint8_t>(Operation::kTruncate));
  append_number(operations, index);
}

void append_restart(std::string& operations, Index index, Term term) {
  append_number(operations, static_cast<std::uint8_t>(Operation::kRestart));
  append_number(operations, index);
  append_number(operations, term);
}

namespace {

Status cut_off() { return {Code::kCorrupt, "it ends within an operation"}; }

Status visit_entry(std::string_view& rest, const LogVisitor& visitor) {
  if (rest.size() < kEntryHeaderSize) return cut_off();
  const auto kind = get<std::uint8_t>(rest, 17);
  const auto size = get<std::uint32_t>(rest, 18);
  if (kind < RAFT_COMMAND || kind > RAFT_CHANGE) {
    return {Code::kCorrupt, fmt::format("entry kind {} is unknown", kind)};
  }
  if (rest.size() - kEntryHeaderSize < size) return cut_off();
  const EntryView entry{get<std::uint64_t>(rest, 9), static_cast<EntryKind>(kind),
                        rest.substr(kEntryHeaderSize, size)};
  if (entry.term == 0) return {Code::kCorrupt, "an entry has term 0"};
  RT_TRY(visitor.entry(get<std::uint64_t>(rest, 1), entry));
  rest.remove_prefix(kEntryHeaderSize + size);
  return {};
}

}  // namespace

Status visit_operations(std::string_view operations, const LogVisitor& visitor) {
  while (!operations.empty()) {
    const auto operation = get<std::uint8_t>(operations, 0);
    switch (static_cast<Operation>(operation)) {
      case Operation::kEntry:
        RT_TRY(visit_entry(operations, visitor));
        break;
      case Operation::kTruncate:
        if (operations.size() < kTruncateSize) return cut_off();
        RT_TRY(visitor.truncate(get<std::uint64_t>(operations, 1)));
        operations.remove_prefix(kTruncateSize);
        break;
      case Operation::kRestart:
        if (operations.size() < kRestartSize) return cut_off();
        RT_TRY(
            visitor.restart(get<std::uint64_t>(operations, 1), get<std::uint64_t>(operations, 9)));
        operations.remove_prefix(kRestartSize);
        break;
      default:
        return {Code::kCorrupt, fmt::format("operation {} is unknown", operation)};
    }
  }
  return {};
}

Result<LogScan> scan_header(std::string_view content, const std::string& name) {
  if (content.size() < kLogHeaderSize || content.substr(0, kMagicSize) != kLogMagic ||
      get<std::uint32_t>(content, kLogHeaderSize - 4) !=
          checksum(0, content.substr(0, kLogHeaderSize - 4))) {
    return damaged(name, 0, "it does not begin with a whole header");
  }
  const auto version = get<std::uint32_t>(content, kMagicSize);
  if (version != kFilesVersion) return other_version(name, version);
  LogScan scan;
  scan.header = {get<std::uint64_t>(content, 12), get<std::uint64_t>(content, 20),
                 get<std::uint64_t>(content, 28)};
  scan.end = kLogHeaderSize;
  return scan;
}

Result<LogScan> scan_log(std::string_view content, std::optional<std::uint64_t> end,
                         const std::string& name, const LogVisitor& visitor) {
  auto found = scan_header(content, name);
  if (!found.ok()) return found;
  LogScan scan = found.value();
  if (end && (*end > content.size() || *end < kLogHeaderSize)) {
    return damaged(name, content.size(), fmt::format("it ends here, and not at {}", *end));
  }
  const std::string_view counted = end ? content.substr(0, *end) : content;
  std::uint64_t number = 1;
  while (scan.end < counted.size()) {
    const auto record = record_at(counted, scan.end, scan.header);
    if (!record || record->number != number) {
      if (end || record || later_record(counted, scan.end, number, scan.header)) {
        return damaged(name, scan.end, "no whole record where one must be");
      }
      scan.torn = counted.size() - scan.end;
      return scan;
    }
    if (const Status status = visit_operations(record->operations, visitor); !status.ok()) {
      return damaged(name, scan.end, status.text());
    }
    scan.last_record = std::exchange(scan.end, record->end);
    ++number;
  }
  return scan;
}

// --- a snapshot ---

std::string encode_snapshot_header(SnapshotHeader header, std::string_view configuration) {
  header.configuration_size = static_cast<std::uint32_t>(configuration.size());
  std::string out = start_of(kSnapshotMagic);
  append_number(out, header.index);
  append_number(out, header.term);
  append_number(out, header.configuration_index);
  append_number(out, header.configuration_size);
  append_number(out, header.payload_size);
  append_number(out, header.salt);
  append_number(out, static_cast<std::uint32_t>(header.installed));
  append_number(out, checksum(checksum(0, out), configuration));
  RT_CHECK(out.size() == kSnapshotHeaderSize, "the header's size");
  out += configuration;
  return out;
}

Result<SnapshotHeader> scan_snapshot_header(std::string_view bytes, const std::string& name) {
  if (bytes.size() < kSnapshotHeaderSize || bytes.substr(0, kMagicSize) != kSnapshotMagic) {
    return damaged(name, 0, "it does not begin with a whole header");
  }
  const auto version = get<std::uint32_t>(bytes, kMagicSize);
  if (version != kFilesVersion) return other_version(name, version);
  SnapshotHeader header;
  header.index = get<std::uint64_t>(bytes, 12);
  header.term = get<std::uint64_t>(bytes, 20);
  header.configuration_index = get<std::uint64_t>(bytes, 28);
  header.configuration_size = get<std::uint32_t>(bytes, 36);
  header.payload_size = get<std::uint64_t>(bytes, 40);
  header.salt = get<std::uint64_t>(bytes, 48);
  header.installed = get<std::uint32_t>(bytes, 56) != 0;
  return header;
}

Status check_snapshot_header(std::string_view bytes, const std::string& name) {
  const std::uint32_t sum = checksum(checksum(0, bytes.substr(0, kSnapshotHeaderSize - 4)),
                                     bytes.substr(kSnapshotHeaderSize));
  if (get<std::uint32_t>(bytes, kSnapshotHeaderSize - 4) == sum) return {};
  return damaged(name, 0, "the checksum of its header is wrong");
}

namespace {

std::uint32_t chunk_checksum(std::uint64_t salt, std::uint64_t number, std::string_view chunk) {
  std::string facts;
  append_number(facts, salt);
  append_number(facts, number);
  append_number(facts, static_cast<std::uint32_t>(chunk.size()));
  return checksum(checksum(0, facts), chunk);
}

}  // namespace

std::string encode_chunk_header(std::uint64_t salt, std::uint64_t number, std::string_view chunk) {
  std::string out;
  append_number(out, static_cast<std::uint32_t>(chunk.size()));
  append_number(out, chunk_checksum(salt, number, chunk));
  return out;
}

Status check_chunk(std::string_view header, std::uint64_t salt, std::uint64_t number,
                   std::string_view chunk, std::uint64_t offset, const std::string& name) {
  if (header == encode_chunk_header(salt, number, chunk)) return {};
  return damaged(name, offset, "the checksum of this part is wrong");
}

// --- term and vote ---

std::string encode_ballot(const Ballot& ballot) {
  std::string out = start_of(kBallotMagic);
  append_number(out, ballot.term);
  append_number(out, ballot.vote.value);
  append_number(out, checksum(0, out));
  RT_CHECK(out.size() == kBallotSize, "the size of term and vote");
  return out;
}

Result<Ballot> decode_ballot(std::string_view content, const std::string& name) {
  if (content.size() != kBallotSize || content.substr(0, kMagicSize) != kBallotMagic ||
      get<std::uint32_t>(content, kBallotSize - 4) !=
          checksum(0, content.substr(0, kBallotSize - 4))) {
    return damaged(name, 0, "it is not a term and a vote");
  }
  const auto version = get<std::uint32_t>(content, kMagicSize);
  if (version != kFilesVersion) return other_version(name, version);
  Ballot ballot;
  ballot.term = get<std::uint64_t>(content, 12);
  ballot.vote.value = get<std::uint32_t>(content, 20);
  return ballot;
}

}  // namespace ringtail::cluster::raft
