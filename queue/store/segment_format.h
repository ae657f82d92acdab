// A message segment as bytes (docs/FORMATS.md, "Segments"): messages of one lane of one queue in
// the order of their numbers. Pure functions.
//
//   segment  = header record*
//   header   = "RTSEGMNT" version:long qid:longlong lane:octet 0:octet 0:short number:longlong
//              salt:longlong crc:long
//   record   = size:long crc:long head:octet number:varint [expires-at:varint] content
//   head     = 2 expires-at follows | 8 perhaps delivered before
//
// `size` counts what follows the crc; the crc is that of salt, size and what follows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broker/runtime/ids.h"
#include "broker/runtime/status.h"
#include "queue/store/byte_buffer.h"
#include "queue/store/message_codec.h"

namespace ringtail::queue::store {

inline constexpr std::uint32_t kSegmentVersion = 1;
inline constexpr std::size_t kSegmentHeaderSize = 44;
inline constexpr std::size_t kSegmentRecordHeaderSize = 8;

struct SegmentHeader {
  runtime::Qid qid;
  std::uint8_t lane = 0;
  std::uint64_t number = 0;  // of the queue's segments, never used again
  std::uint64_t salt = 0;
};

void put_segment_header(ByteBuffer& out, const SegmentHeader& header);
runtime::Result<SegmentHeader> read_segment_header(std::span<const std::uint8_t> content,
                                                   const std::string& name);

// Octets that the message's record takes at most.
std::size_t segment_record_size_max(const Message& message);
// `position` is in the segment's lane.
void put_segment_record(ByteBuffer& out, std::uint64_t salt, Position position,
                        const Message& message, std::uint64_t expires_at_ms, bool delivered);

// Walks over a part of a segment that begins with a record.
class SegmentWalk {
 public:
  // `offset` is where `part` begins in the file, for messages.
  SegmentWalk(const SegmentHeader& header, std::span<const std::uint8_t> part, std::uint64_t offset,
              std::string name);

  enum class Next : std::uint8_t {
    kRecord,   // position() is the next record's
    kPartial,  // the part ends inside a record, or here: it takes needs() bytes from offset() on
    kDamaged,  // status() says where and why; next() says the same again until skip()
  };
  // Reads the head of the next record and checks its sum.
  Next next();
  // After kDamaged: goes behind that record. False: its size cannot be believed, since no whole
  // record and not the part's end is where it says.
  bool skip();
  // Where the record that next() spoke of begins in the file; after the last, where more would.
  std::uint64_t offset() const;
  std::uint64_t needs() const { return needs_; }  // after kPartial
  Position position() const { return position_; }
  std::uint64_t record_size() const { return record_size_; }  // with its header
  // Makes the record's message. Its failure is kCorrupt.
  runtime::Result<StoredMessage> message() const;
  runtime::Status status() const { return status_; }

 private:
  Next damage(std::string_view rule);

  const SegmentHeader header_;
  const std::span<const std::uint8_t> part_;
  const std::uint64_t part_offset_;
  const std::string name_;
  std::size_t at_ = 0;   // of the current record in part_
  std::size_t end_ = 0;  // behind it
  bool damaged_ = false;
  std::uint64_t needs_ = 0;
  Position position_ = 0;
  std::uint64_t record_size_ = 0;
  runtime::Status status_;
};

}  // namespace ringtail::queue::store
