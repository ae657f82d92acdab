// Reading a journal: batches and records. Nothing is believed that a checksum does not confirm.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "queue/store/batch_contents.h"
#include "queue/store/format_parts.h"
#include "queue/store/journal_format.h"
#include "queue/store/journal_parts.h"

namespace ringtail::queue::store {

namespace {

using runtime::Result;
using runtime::Status;

struct BatchHeader {
  std::uint64_t records = 0;
  std::uint64_t index = 0;
  std::uint64_t end = 0;  // where its size says that it ends; perhaps behind the file
};

struct RecordFound {
  JournalRecord record;
  bool good = false;
};

// What stands in a batch.
struct BatchFound {
  std::vector<RecordFound> records;  // those with a good head
  std::uint64_t end = 0;             // of them
  bool all_good = false;
};

class Scanner {
 public:
  Scanner(std::span<const std::uint8_t> content, const std::string& name,
          const RecordVisitor& visit)
      : content_(content), name_(name), visit_(visit) {}

  Result<JournalScan> run();

 private:
  std::optional<BatchHeader> header_at(std::uint64_t offset) const;
  std::uint64_t zeros_end(std::uint64_t offset) const;
  // The first header from an offset on of a batch behind number `index`.
  std::optional<std::uint64_t> later_header(std::uint64_t offset, std::uint64_t index) const;
  bool head_sum_is_good(std::uint64_t offset) const;
  bool head_is_good(std::uint64_t offset, std::uint64_t end) const;
  // Bytes from an offset on to the end of the last record of this file that is found.
  std::uint64_t traces(std::uint64_t offset) const;
  void read_batch(std::uint64_t offset, const BatchHeader& header);
  void visit_batch(const BatchHeader& header);
  void visit_record(const JournalRecord& record);
  void damage(std::uint64_t offset, std::string_view rule, Qid qid);

  const std::span<const std::uint8_t> content_;
  const std::string& name_;
  const RecordVisitor& visit_;
  std::uint32_t salt_sum_ = 0;
  BatchFound batch_;  // its memory is used again
  BatchContents contents_;
  JournalScan scan_;
};

std::optional<BatchHeader> Scanner::header_at(std::uint64_t offset) const {
  if (content_.size() - offset < kBatchHeaderSize) return std::nullopt;
  const auto bytes = content_.subspan(static_cast<std::size_t>(offset), kBatchHeaderSize);
  if (number_at<std::uint32_t>(bytes, kBatchSumAt) !=
      checksum(salt_sum_, bytes.first(kBatchSumAt))) {
    return std::nullopt;
  }
  BatchHeader header;
  header.end = offset + kBatchHeaderSize + number_at<std::uint32_t>(bytes, 0);
  header.records = number_at<std::uint32_t>(bytes, 4);
  header.index = number_at<std::uint64_t>(bytes, 8);
  return header;
}

// Up to where there are zeros from an offset on, about: most of a file that was never full.
std::uint64_t Scanner::zeros_end(std::uint64_t offset) const {
  constexpr std::size_t kStep = 256;
  static constexpr std::uint8_t kZeros[kStep] = {};
  while (offset + kStep <= content_.size() &&
         std::memcmp(content_.data() + offset, kZeros, kStep) == 0) {
    offset += kStep;
  }
  while (offset + 8 <= content_.size() &&
         number_at<std::uint64_t>(content_, static_cast<std::size_t>(offset)) == 0) {
    offset += 8;
  }
  return offset;
}

std::optional<std::uint64_t> Scanner::later_header(std::uint64_t offset,
                                                   std::uint64_t index) const {
  // A batch has a record, so that there are not more of them; which spares most checksums.
  const std::uint64_t most = index + content_.size() / (kBatchHeaderSize + kRecordHeaderSize) + 1;
  for (std::uint64_t at = offset; at + kBatchHeaderSize <= content_.size(); ++at) {
    const auto found = number_at<std::uint64_t>(content_, static_cast<std::size_t>(at) + 8);
    if (found > index && found <= most && header_at(at)) return at;
    if (found == 0) at = zeros_end(at + 16) - 16;
  }
  return std::nullopt;
}

bool Scanner::head_sum_is_good(std::uint64_t offset) const {
  const auto head = content_.subspan(static_cast<std::size_t>(offset), kRecordHeaderSize);
  return number_at<std::uint32_t>(head, kRecordHeadSumAt) ==
         checksum(salt_sum_, head.first(kRecordHeadSumAt));
}

bool Scanner::head_is_good(std::uint64_t offset, std::uint64_t end) const {
  return end - offset >= kRecordHeaderSize && head_sum_is_good(offset) &&
         number_at<std::uint32_t>(content_, static_cast<std::size_t>(offset)) <=
             end - offset - kRecordHeaderSize;
}

std::uint64_t Scanner::traces(std::uint64_t offset) const {
  std::uint64_t end = offset;
  for (std::uint64_t at = offset; at + kRecordHeaderSize <= content_.size();) {
    // Most bytes are no record's type: that spares their checksum.
    const auto type = RecordType{content_[static_cast<std::size_t>(at) + kRecordTypeAt]};
    if (type == RecordType{0}) {
      at = std::max(at + 1, zeros_end(at + kRecordTypeAt) - kRecordTypeAt);
      continue;
    }
    if (type < RecordType::kPublish || type > RecordType::kDeleted || !head_sum_is_good(at)) {
      ++at;
      continue;
    }
    at += kRecordHeaderSize + number_at<std::uint32_t>(content_, static_cast<std::size_t>(at));
    end = std::min<std::uint64_t>(at, content_.size());
  }
  return end - offset;
}

void Scanner::read_batch(std::uint64_t offset, const BatchHeader& header) {
  const std::uint64_t end = std::min<std::uint64_t>(header.end, content_.size());
  batch_.records.clear();
  batch_.all_good = true;
  std::uint64_t at = offset + kBatchHeaderSize;
  for (; at < end && head_is_good(at, end); at = batch_.end) {
    const auto head = content_.subspan(static_cast<std::size_t>(at), kRecordHeaderSize);
    RecordFound found;
    found.record.type = static_cast<RecordType>(head[kRecordTypeAt]);
    found.record.qid = Qid{number_at<std::uint64_t>(head, kRecordQidAt)};
    found.record.offset = at;
    found.record.payload = content_.subspan(static_cast<std::size_t>(at) + kRecordHeaderSize,
                                            number_at<std::uint32_t>(head, 0));
    found.record.contents = &contents_;
    found.good = number_at<std::uint32_t>(head, kRecordSumAt) ==
                 checksum(number_at<std::uint32_t>(head, kRecordHeadSumAt), found.record.payload);
    if (!found.good) batch_.all_good = false;
    batch_.end = at + kRecordHeaderSize + found.record.payload.size();
    batch_.records.push_back(found);
  }
  batch_.end = at;
  if (at != header.end || batch_.records.size() != header.records) batch_.all_good = false;
}

void Scanner::visit_batch(const BatchHeader& header) {
  contents_.begin_batch();
  for (const RecordFound& found : batch_.records) {
    if (found.good) {
      visit_record(found.record);
    } else {
      damage(found.record.offset, "the checksum of a record's payload is wrong", found.record.qid);
    }
  }
  if (batch_.end != header.end) {
    damage(batch_.end, "no whole record where one must be; the rest of the batch is lost", Qid{});
  } else if (batch_.records.size() != header.records) {
    damage(batch_.end,
           fmt::format("the batch holds {} records, and not {}", batch_.records.size(),
                       header.records),
           Qid{});
  }
}

void Scanner::visit_record(const JournalRecord& record) {
  if (record.type < RecordType::kPublish || record.type > RecordType::kDeleted) {
    damage(record.offset,
           fmt::format("record type {} is unknown", static_cast<unsigned>(record.type)),
           record.qid);
    return;
  }
  if (record.type == RecordType::kPublish) {
    const std::uint64_t begin = record.offset + kRecordHeaderSize;
    contents_.add_good(begin, begin + record.payload.size());
  }
  if (const Status status = visit_(record); !status.ok()) {
    damage(record.offset, status.text(), record.qid);
  }
}

void Scanner::damage(std::uint64_t offset, std::string_view rule, Qid qid) {
  scan_.damages.push_back({offset, damage_text(name_, offset, rule), qid});
}

Result<JournalScan> Scanner::run() {
  RT_TRY(check_header(content_, kJournalMagic, kJournalHeaderSize, kJournalVersion, name_));
  scan_.header.shard = number_at<std::uint16_t>(content_, kJournalShardAt);
  scan_.header.number = number_at<std::uint64_t>(content_, kJournalNumberAt);
  scan_.header.salt = number_at<std::uint64_t>(content_, kJournalSaltAt);
  scan_.end = kJournalHeaderSize;
  salt_sum_ = checksum_of_salt(scan_.header.salt);
  std::uint64_t last = 0;  // index of the batch before
  while (true) {
    const auto header = header_at(scan_.end);
    if (!header || header->index != last + 1) {
      const auto later = later_header(scan_.end, last + 1);
      if (!later) {
        scan_.torn = traces(scan_.end);
        return std::move(scan_);
      }
      damage(scan_.end, fmt::format("no whole batch where one must be; the next is at {}", *later),
             Qid{});
      scan_.end = *later;
      last = number_at<std::uint64_t>(content_, static_cast<std::size_t>(*later) + 8) - 1;
      continue;
    }
    read_batch(scan_.end, *header);
    // What is bad now was good once if a later write began.
    if (!batch_.all_good &&
        !later_header(std::min<std::uint64_t>(header->end, content_.size()), header->index)) {
      scan_.torn = std::min<std::uint64_t>(header->end, content_.size()) - scan_.end;
      return std::move(scan_);
    }
    visit_batch(*header);
    scan_.end = header->end;
    scan_.batches += 1;
    last = header->index;
  }
}

}  // namespace

Result<JournalScan> scan_journal(std::span<const std::uint8_t> content, const std::string& name,
                                 const RecordVisitor& visit) {
  return Scanner(content, name, visit).run();
}

}  // namespace ringtail::queue::store
