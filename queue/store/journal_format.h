// The journal of one shard as bytes (docs/FORMATS.md, "Journal"). Pure functions.
//
//   journal  = header batch*
//   header   = "RTJOURNL" version:long shard:short 0:short number:longlong salt:longlong crc:long
//   batch    = size:long records:long index:longlong crc:long record*    ; size of the records
//   record   = size:long type:octet qid:longlong head-crc:long crc:long payload(size bytes)
//   payload  = publish | remove | delivered | (nothing)
//   publish  = (head:octet gap:varint [lane:octet] [expires-at:varint] (content | at:varint))*
//   remove   = (lane:octet first:varint more:varint)*
//   delivered= lane:octet up-to:varint
//
// A batch is what one write brought; the next one was written after it was synced. Its crc is that
// of salt, size, records and index. A record's head-crc is that of salt, size, type and qid, so
// that damage is never laid at another queue's door; its crc that of the same and the payload.
// `index` counts the batches of a file from 1. A content elsewhere stands in a publish record of
// the same batch, before what refers to it. A file may be longer than its batches: behind them lies
// what it held before under another salt, or zeros.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/runtime/ids.h"
#include "broker/runtime/status.h"
#include "queue/entry.h"
#include "queue/store/byte_buffer.h"
#include "queue/store/message_codec.h"
#include "queue/store/range_set.h"

namespace ringtail::queue::store {

using runtime::Qid;

inline constexpr std::uint32_t kJournalVersion = 1;
inline constexpr std::size_t kJournalHeaderSize = 36;
inline constexpr std::size_t kBatchHeaderSize = 20;
inline constexpr std::size_t kRecordHeaderSize = 21;

struct JournalHeader {
  std::uint16_t shard = 0;
  std::uint64_t number = 0;
  std::uint64_t salt = 0;
};

enum class RecordType : std::uint8_t {
  // Messages of one queue. `gap` is how far a message's number lies behind the one before it in the
  // record (before the first: 0), less one.
  kPublish = 1,
  // Messages that have left their queue: `more` numbers behind `first` in a lane. Numbers that
  // never were, or left before, are harmless.
  kRemove = 2,
  // Of this lane, messages up to this number were perhaps delivered.
  kDelivered = 3,
  // The queue was deleted: nothing of it counts any more.
  kDeleted = 4,
};
// Of a message in a publish record.
enum : std::uint8_t {
  kHeadLane = 1,       // a lane follows; else it is 0
  kHeadExpires = 2,    // expires-at follows
  kHeadElsewhere = 4,  // its content stands at this offset of the same file
  kHeadDelivered = 8,  // perhaps delivered before
};

// One run of positions of one lane.
struct PositionRange {
  Position first = 0;
  Position last = 0;  // of the same lane
};

void put_journal_header(ByteBuffer& out, const JournalHeader& header);

// Builds one batch of less than 4 GiB. Use: begin(); then records; finish().
class BatchWriter {
 public:
  // `file_offset`: where the batch will begin in the file, which need not exist yet.
  void begin(std::uint64_t salt, std::uint64_t index, std::uint64_t file_offset);
  bool empty() const { return records_ == 0; }
  std::size_t size() const { return out_.size(); }

  // One publish record: begin, add() at least once, end. A number that is not above the one before
  // it makes it two records.
  void begin_publish(Qid qid);
  // A message that other queues have, too (Message::shared()), is written once for the batch.
  void add(Position position, const Message& message, std::uint64_t expires_at_ms, bool delivered);
  void end_publish() { end_record(); }
  // No record if there are no ranges.
  void remove(Qid qid, std::span<const PositionRange> ranges);
  void delivered(Qid qid, Position up_to);
  void deleted(Qid qid);

  // The whole batch, valid until the next begin() or trim(). Only when not empty().
  std::span<const std::uint8_t> finish();
  // Gives back the memory of an unusually large batch; not while one is being built.
  void trim();

 private:
  void begin_record(RecordType type, Qid qid);
  void end_record();
  void hold(const Message& message);
  void drop_shared();

  ByteBuffer out_;
  std::uint32_t salt_sum_ = 0;  // the checksum of the salt alone
  std::uint64_t index_ = 0;
  std::uint64_t file_offset_ = 0;
  std::uint32_t records_ = 0;
  bool finished_ = false;
  std::size_t record_at_ = 0;  // where the open record's header stands in out_
  Qid record_qid_;
  std::uint64_t last_number_ = 0;  // of the open publish record
  // Contents that were shared when written and where, each kept alive until the batch is finished,
  // so that no other message has its address.
  std::unordered_map<const Message*, std::uint64_t> written_;
  std::vector<MessageRef> held_;
};

// What publish records of a batch may refer to; kept by the scan (queue/store/batch_contents.h).
class BatchContents;

// A record as it is read. Valid while it is visited.
struct JournalRecord {
  RecordType type;
  Qid qid;
  std::uint64_t offset = 0;  // in the file, of the record's header
  std::span<const std::uint8_t> payload;
  BatchContents* contents = nullptr;  // none: contents elsewhere are not found
};

// What is wrong with a file, for the report and for who has to be told.
struct JournalDamage {
  std::uint64_t offset = 0;
  std::string what;  // names file, offset and rule
  Qid qid;           // the queue that is concerned; 0: unknown
};

struct JournalScan {
  JournalHeader header;
  std::uint64_t end = 0;  // of the batches that count
  std::uint64_t batches = 0;
  // Bytes of the last write behind it, which was cut off. 0: there is none, or not even its header
  // came so far, which looks like what the file held before.
  std::uint64_t torn = 0;
  std::vector<JournalDamage> damages;
};

// Reads a whole file. `visit` gets every good record in order; its failure (a payload that is
// nothing) becomes a damage of that record's queue. A bad batch without the header of a later one
// behind it is a torn tail: nothing of it counts. In any other, a record whose head is good and
// whose payload is not is a damage of its queue; behind a bad head the rest of the batch is lost,
// behind a bad batch header all up to the next good one: damage of a queue unknown. `name` is for
// messages. kCorrupt: no header of ours.
using RecordVisitor = std::function<runtime::Status(const JournalRecord&)>;
runtime::Result<JournalScan> scan_journal(std::span<const std::uint8_t> content,
                                          const std::string& name, const RecordVisitor& visit);

// Payloads, appended to what is there; nothing is when they fail, with kCorrupt. `file`: the whole
// file, for contents elsewhere. All messages that have a content in common share it.
runtime::Status read_publish(const JournalRecord& record, std::span<const std::uint8_t> file,
                             std::vector<StoredMessage>& messages);
runtime::Status read_remove(const JournalRecord& record, std::vector<PositionRange>& ranges);
runtime::Result<Position> read_delivered(const JournalRecord& record);

}  // namespace ringtail::queue::store
