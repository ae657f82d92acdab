// Writing a journal.
#include <limits>

#include "queue/store/format_parts.h"
#include "queue/store/journal_format.h"
#include "queue/store/journal_parts.h"

namespace ringtail::queue::store {

namespace {

// A batch is this large when many clients publish at once; more than that is kept for nobody.
constexpr std::size_t kKeptMax = std::size_t{1} << 20;

}  // namespace

void put_journal_header(ByteBuffer& out, const JournalHeader& header) {
  const std::size_t begin = out.size();
  out.append(kJournalMagic);
  out.put(kJournalVersion);
  out.put(header.shard);
  out.put(std::uint16_t{0});
  out.put(header.number);
  out.put(header.salt);
  out.put(checksum(0, out.span().subspan(begin)));
}

void BatchWriter::begin(std::uint64_t salt, std::uint64_t index, std::uint64_t file_offset) {
  if (!finished_) drop_shared();
  out_.clear();
  salt_sum_ = checksum_of_salt(salt);
  index_ = index;
  file_offset_ = file_offset;
  records_ = 0;
  finished_ = false;
}

void BatchWriter::begin_record(RecordType type, Qid qid) {
  RT_DCHECK(!finished_, "a record behind the batch's end");
  if (out_.empty()) {
    out_.reserve(kBatchHeaderSize);
    out_.advance(kBatchHeaderSize);
  }
  record_at_ = out_.size();
  record_qid_ = qid;
  std::uint8_t* at = out_.reserve(kRecordHeaderSize);
  at[kRecordTypeAt] = static_cast<std::uint8_t>(type);
  write_number(at + kRecordQidAt, qid.value);
  out_.advance(kRecordHeaderSize);
  ++records_;
}

void BatchWriter::end_record() {
  const std::size_t payload_at = record_at_ + kRecordHeaderSize;
  const std::size_t size = out_.size() - payload_at;
  RT_CHECK(out_.size() <= std::numeric_limits<std::uint32_t>::max(), "a batch of 4 GiB");
  out_.patch(record_at_, static_cast<std::uint32_t>(size));
  const std::span<const std::uint8_t> all = out_.span();
  const std::uint32_t head = checksum(salt_sum_, all.subspan(record_at_, kRecordHeadSumAt));
  out_.patch(record_at_ + kRecordHeadSumAt, head);
  out_.patch(record_at_ + kRecordSumAt, checksum(head, all.subspan(payload_at)));
}

void BatchWriter::begin_publish(Qid qid) {
  begin_record(RecordType::kPublish, qid);
  last_number_ = 0;
}

void BatchWriter::add(Position position, const Message& message, std::uint64_t expires_at_ms,
                      bool delivered) {
  const std::uint64_t number = number_of(position);
  RT_DCHECK(number > 0, "messages are counted from 1");
  if (number <= last_number_) {
    end_record();
    begin_publish(record_qid_);
  }
  // Where it was written before in this batch, or (0) will have been.
  std::uint64_t* shared_at = nullptr;
  if (message.shared()) shared_at = &written_.try_emplace(&message, 0).first->second;
  const bool elsewhere = shared_at != nullptr && *shared_at != 0;
  const std::uint8_t lane = lane_of(position);
  const bool expires = expires_at_ms != kNoExpiration;
  constexpr std::size_t kHeadMax = 2 + 3 * ByteBuffer::kVarintMax;
  std::uint8_t* const begin = out_.reserve(kHeadMax + (elsewhere ? 0 : content_size_max(message)));
  std::uint8_t* at = begin;
  *at++ = static_cast<std::uint8_t>((lane != 0 ? kHeadLane : 0) | (expires ? kHeadExpires : 0) |
                                    (elsewhere ? kHeadElsewhere : 0) |
                                    (delivered ? kHeadDelivered : 0));
  at = write_varint(at, number - last_number_ - 1);
  last_number_ = number;
  if (lane != 0) *at++ = lane;
  if (expires) at = write_varint(at, expires_at_ms);
  if (elsewhere) {
    at = write_varint(at, *shared_at);
  } else {
    if (shared_at != nullptr) {
      *shared_at = file_offset_ + out_.size() + static_cast<std::uint64_t>(at - begin);
      hold(message);
    }
    at = write_content(at, message);
  }
  out_.advance(static_cast<std::size_t>(at - begin));
}

void BatchWriter::hold(const Message& message) {
  auto& mine = const_cast<Message&>(message);  // its count is no part of what it says
  mine.ref();
  held_.emplace_back(&mine);
}

void BatchWriter::remove(Qid qid, std::span<const PositionRange> ranges) {
  if (ranges.empty()) return;
  begin_record(RecordType::kRemove, qid);
  for (const PositionRange& range : ranges) {
    RT_DCHECK(range.first <= range.last && lane_of(range.first) == lane_of(range.last),
              "a range is of one lane");
    std::uint8_t* const begin = out_.reserve(1 + 2 * ByteBuffer::kVarintMax);
    std::uint8_t* at = begin;
    *at++ = lane_of(range.first);
    at = write_varint(at, number_of(range.first));
    at = write_varint(at, range.last - range.first);
    out_.advance(static_cast<std::size_t>(at - begin));
  }
  end_record();
}

void BatchWriter::delivered(Qid qid, Position up_to) {
  begin_record(RecordType::kDelivered, qid);
  out_.put(lane_of(up_to));
  out_.put_varint(number_of(up_to));
  end_record();
}

void BatchWriter::deleted(Qid qid) {
  begin_record(RecordType::kDeleted, qid);
  end_record();
}

void BatchWriter::drop_shared() {
  if (!written_.empty()) written_.clear();
  held_.clear();
}

std::span<const std::uint8_t> BatchWriter::finish() {
  RT_CHECK(records_ > 0, "a batch without records");
  finished_ = true;
  drop_shared();
  out_.patch(0, static_cast<std::uint32_t>(out_.size() - kBatchHeaderSize));
  out_.patch(4, records_);
  out_.patch(8, index_);
  out_.patch(kBatchSumAt, checksum(salt_sum_, out_.span().first(kBatchSumAt)));
  return out_.span();
}

void BatchWriter::trim() {
  if (out_.capacity() <= kKeptMax || (records_ > 0 && !finished_)) return;
  out_.release();
  records_ = 0;
}

}  // namespace ringtail::queue::store
