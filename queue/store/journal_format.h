// The journal of one shard as bytes (docs/FORMATS.md, "Journal"). Pure functions.
//
//   journal  = header batch*
//   header   = "RTJOURNL" version:long shard:short 0:short number:longlong salt:longlong crc:long
//   batch    = size:long records:long index:longlong crc:long record*    ; size of the records
//   record   = size:long type:octet qid:longlong crc:long payload(size bytes)
//   payload  = publish | remove | delivered | (nothing)
//   publish  = (head:octet gap:varint [lane:octet] [expires-at:varint] (content | at:varint))*
//   remove   = (lane:octet first:varint more:varint)*
//   delivered= lane:octet up-to:varint
//
// A batch is what one write brought; the next one was written after it was synced. Its crc is that
// of salt, size, records and index; a record's that of salt, size, type, qid and payload. `index`
// counts the batches of a file from 1. A file may be longer than its batches: behind them lies what
// it held before under another salt, or zeros.
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
inline constexpr std::size_t kRecordHeaderSize = 17;

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

// Builds one batch. Use: begin(); then records; finish(). A batch may be built before the file that
// it goes to is known, unless a content is shared.
class BatchWriter {
 public:
  // `file_offset`: where the batch will begin in the file.
  void begin(std::uint64_t salt, std::uint64_t index, std::uint64_t file_offset);
  bool empty() const { return records_ == 0; }
  std::size_t size() const { return out_.size(); }

  // One publish record: begin, add() at least once, end.
  void begin_publish(Qid qid);
  // A message that other queues have, too (Message::shared()), is written once for the batch.
  void add(Position position, const Message& message, std::uint64_t expires_at_ms, bool delivered);
  void end_publish() { end_record(); }
  void remove(Qid qid, std::span<const PositionRange> ranges);
  void delivered(Qid qid, Position up_to);
  void deleted(Qid qid);

  // The whole batch, valid until the next begin(). Only when not empty().
  std::span<const std::uint8_t> finish();
  // Gives back the memory of an unusually large batch.
  void trim();

 private:
  void begin_record(RecordType type, Qid qid);
  void end_record();

  ByteBuffer out_;
  std::uint64_t salt_ = 0;
  std::uint64_t index_ = 0;
  std::uint64_t file_offset_ = 0;
  std::uint32_t records_ = 0;
  std::size_t record_at_ = 0;      // where the open record's header stands in out_
  std::uint64_t last_number_ = 0;  // of the open publish record
  // Contents that were shared when written, each kept alive until the batch is finished and begun
  // anew, so that no other message has its address.
  std::unordered_map<const Message*, std::uint64_t> written_;
  std::vector<MessageRef> held_;
};

// A record as it is read.
struct JournalRecord {
  RecordType type;
  Qid qid;
  std::uint64_t offset = 0;  // in the file, of the record's header
  std::span<const std::uint8_t> payload;
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
  std::uint64_t torn = 0;  // bytes of the last write behind it, which was cut off; 0: none
  std::vector<JournalDamage> damages;
};

// Reads a whole file. `visit` gets every good record in order; its failure (a payload that is
// nothing) becomes a damage of that record's queue. A bad batch that no good one follows is a torn
// tail: nothing of it counts. A bad record in a batch that is followed by a good one is a damage:
// of its queue, when the record behind it is where its size says; else of a queue unknown, and the
// rest of the batch is lost. `name` is for messages. kCorrupt: no header of ours.
using RecordVisitor = std::function<runtime::Status(const JournalRecord&)>;
runtime::Result<JournalScan> scan_journal(std::span<const std::uint8_t> content,
                                          const std::string& name, const RecordVisitor& visit);

// Payloads. `file`: the whole file, for contents elsewhere. Failures are kCorrupt.
runtime::Status read_publish(const JournalRecord& record, std::span<const std::uint8_t> file,
                             std::vector<StoredMessage>& messages);
runtime::Status read_remove(const JournalRecord& record, std::vector<PositionRange>& ranges);
runtime::Result<Position> read_delivered(const JournalRecord& record);

}  // namespace ringtail::queue::store
