#include "queue/store/segment_format.h"

#include <limits>
#include <utility>

#include "queue/store/format_parts.h"

namespace ringtail::queue::store {

namespace {

using runtime::Result;
using runtime::Status;

constexpr std::string_view kMagic = "RTSEGMNT";
enum : std::uint8_t { kExpires = 2, kDelivered = 8 };
constexpr std::size_t kSumAt = 4;  // in a record, behind its size

std::uint32_t record_checksum(std::uint64_t salt, std::span<const std::uint8_t> record) {
  const std::uint32_t size = checksum(checksum_of_salt(salt), record.first(kSumAt));
  return checksum(size, record.subspan(kSegmentRecordHeaderSize));
}

// What stands before the content.
struct RecordHead {
  std::uint64_t number = 0;
  std::uint64_t expires_at_ms = kNoExpiration;
  bool delivered = false;
};

bool read_head(ByteReader& in, RecordHead& head) {
  const std::uint8_t bits = in.get_octet();
  head.number = in.get_varint();
  if ((bits & kExpires) != 0) head.expires_at_ms = in.get_varint();
  head.delivered = (bits & kDelivered) != 0;
  return in.ok() && (bits & ~(kExpires | kDelivered)) == 0 && head.number > 0 &&
         head.number <= kNumberMask;
}

}  // namespace

void put_segment_header(ByteBuffer& out, const SegmentHeader& header) {
  const std::size_t begin = out.size();
  out.append(kMagic);
  out.put(kSegmentVersion);
  out.put(header.qid.value);
  out.put(header.lane);
  out.put(std::uint8_t{0});
  out.put(std::uint16_t{0});
  out.put(header.number);
  out.put(header.salt);
  out.put(checksum(0, out.span().subspan(begin)));
}

Result<SegmentHeader> read_segment_header(std::span<const std::uint8_t> content,
                                          const std::string& name) {
  RT_TRY(check_header(content, kMagic, kSegmentHeaderSize, kSegmentVersion, name));
  SegmentHeader header;
  header.qid = {number_at<std::uint64_t>(content, 12)};
  header.lane = content[20];
  header.number = number_at<std::uint64_t>(content, 24);
  header.salt = number_at<std::uint64_t>(content, 32);
  return header;
}

std::size_t segment_record_size_max(const Message& message) {
  constexpr std::size_t kHeadMax = 1 + 2 * ByteBuffer::kVarintMax;
  return kSegmentRecordHeaderSize + kHeadMax + content_size_max(message);
}

void put_segment_record(ByteBuffer& out, std::uint64_t salt, Position position,
                        const Message& message, std::uint64_t expires_at_ms, bool delivered) {
  RT_DCHECK(number_of(position) > 0, "messages are counted from 1");
  const bool expires = expires_at_ms != kNoExpiration;
  std::uint8_t* const begin = out.reserve(segment_record_size_max(message));
  std::uint8_t* at = begin + kSegmentRecordHeaderSize;
  *at++ = static_cast<std::uint8_t>((expires ? kExpires : 0) | (delivered ? kDelivered : 0));
  at = write_varint(at, number_of(position));
  if (expires) at = write_varint(at, expires_at_ms);
  at = write_content(at, message);
  const auto whole = static_cast<std::size_t>(at - begin);
  RT_CHECK(whole <= std::numeric_limits<std::uint32_t>::max(), "a message of 4 GiB");
  write_number(begin, static_cast<std::uint32_t>(whole - kSegmentRecordHeaderSize));
  write_number(begin + kSumAt, record_checksum(salt, {begin, whole}));
  out.advance(whole);
}

SegmentWalk::SegmentWalk(const SegmentHeader& header, std::span<const std::uint8_t> part,
                         std::uint64_t offset, std::string name)
    : header_(header), part_(part), part_offset_(offset), name_(std::move(name)) {}

std::uint64_t SegmentWalk::offset() const { return part_offset_ + at_; }

SegmentWalk::Next SegmentWalk::next() {
  if (damaged_) return Next::kDamaged;
  at_ = end_;
  const std::span<const std::uint8_t> rest = part_.subspan(at_);
  needs_ = kSegmentRecordHeaderSize;
  if (rest.size() < needs_) return Next::kPartial;
  needs_ += number_at<std::uint32_t>(rest, 0);
  if (rest.size() < needs_) return Next::kPartial;
  record_size_ = needs_;
  const auto record = rest.first(static_cast<std::size_t>(record_size_));
  end_ = at_ + record.size();
  if (number_at<std::uint32_t>(record, kSumAt) != record_checksum(header_.salt, record)) {
    return damage("the checksum of a record is wrong");
  }
  ByteReader in(record.subspan(kSegmentRecordHeaderSize));
  RecordHead head;
  if (!read_head(in, head)) return damage("a record without a message's head");
  position_ = position_at(header_.lane, head.number);
  return Next::kRecord;
}

SegmentWalk::Next SegmentWalk::damage(std::string_view rule) {
  damaged_ = true;
  status_ = damaged(name_, offset(), rule);
  return Next::kDamaged;
}

bool SegmentWalk::skip() {
  if (!damaged_) return false;
  if (end_ < part_.size()) {
    SegmentWalk behind(header_, part_.subspan(end_), part_offset_ + end_, name_);
    if (behind.next() != Next::kRecord) return false;
  }
  damaged_ = false;
  at_ = end_;
  return true;
}

Result<StoredMessage> SegmentWalk::message() const {
  const std::size_t begin = at_ + kSegmentRecordHeaderSize;
  if (damaged_ || end_ < begin)
    return status_.ok() ? damaged(name_, offset(), "no record") : status_;
  ByteReader in(part_.subspan(begin, end_ - begin));
  RecordHead head;
  StoredMessage message;
  if (read_head(in, head)) message.message = get_content(in);
  if (!message.message || !in.at_end()) {
    return damaged(name_, offset(), "a record whose content is none");
  }
  message.position = position_;
  message.expires_at_ms = head.expires_at_ms;
  message.delivered = head.delivered;
  return message;
}

}  // namespace ringtail::queue::store
