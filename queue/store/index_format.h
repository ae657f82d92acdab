// A queue's index as bytes (docs/FORMATS.md, "Queue index"): which messages its segments hold. Pure
// functions.
//
//   index    = header commit*
//   header   = "RTQINDEX" version:long qid:longlong salt:longlong crc:long
//   commit   = size:long crc:long segment* gone* state          ; size of what follows the crc
//   segment  = 1:octet number:varint lane:octet first:varint last:varint bytes:varint
//              live:varint live-bytes:varint expiring:varint ranges:varint (gap:varint
//              more:varint)*
//   gone     = 2:octet number:varint
//   state    = 3:octet covered:varint next:varint next-segment:varint marks:varint
//              (lane:octet up-to:varint)*
//
// A commit holds all or nothing: its crc is that of salt, size and what follows. The last commit of
// a file may be torn. What a later commit says of a segment, or the state, replaces what an earlier
// one said. `gap` counts the numbers that are not removed before a range of removed ones, from
// `first` or the range before it on; `more` how many numbers the range has behind its first.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/ids.h"
#include "broker/runtime/status.h"
#include "queue/store/byte_buffer.h"
#include "queue/store/range_set.h"

namespace ringtail::queue::store {

inline constexpr std::uint32_t kIndexVersion = 1;
inline constexpr std::size_t kIndexHeaderSize = 32;

// One segment: what of it counts. Transient messages in it count for nothing here: they are gone
// after a restart.
struct SegmentState {
  std::uint64_t number = 0;
  std::uint8_t lane = 0;
  std::uint64_t first = 0;  // numbers of its messages, the lowest and the highest
  std::uint64_t last = 0;
  std::uint64_t bytes = 0;       // of the file that count; what lies behind is of a write cut off
  std::uint64_t live = 0;        // persistent messages that are not removed,
  std::uint64_t live_bytes = 0;  // their bodies,
  std::uint64_t expiring = 0;    // and how many of them expire
  RangeSet removed = {};         // numbers
  bool operator==(const SegmentState&) const = default;
};

struct IndexState {
  std::uint64_t covered =
      0;                   // of all messages up to this number it is known whether they are alive
  std::uint64_t next = 1;  // numbers from here on may be given to new messages
  std::uint64_t next_segment = 1;
  std::map<std::uint8_t, std::uint64_t> delivered;  // by lane: perhaps delivered up to this number
  std::map<std::uint64_t, SegmentState> segments;   // by number
  bool operator==(const IndexState&) const = default;
};

struct IndexHeader {
  runtime::Qid qid;
  std::uint64_t salt = 0;
};

void put_index_header(ByteBuffer& out, const IndexHeader& header);
// What changed; `state.segments` is not looked at. Of what is removed only that between a segment's
// `first` and `last` is written.
void put_index_commit(ByteBuffer& out, std::uint64_t salt,
                      std::span<const SegmentState* const> changed,
                      std::span<const std::uint64_t> gone, const IndexState& state);

struct IndexScan {
  IndexHeader header;
  IndexState state;
  std::uint64_t end = 0;   // of the commits that count
  std::uint64_t torn = 0;  // bytes behind them
};
// A bad commit with a good one behind it is kCorrupt, as is a header that is not ours; both name
// file, offset and rule.
runtime::Result<IndexScan> scan_index(std::span<const std::uint8_t> content,
                                      const std::string& name);

// Who a directory belongs to: the file "queue" in it.
//
//   queue    = "RTQUEUE1" version:long qid:longlong vhost-size:short vhost name-size:short name
//              crc:long                                  ; of what stands before it
struct QueueIdentity {
  runtime::Qid qid;
  std::string vhost;
  std::string name;
};
void put_identity(ByteBuffer& out, const QueueIdentity& identity);
runtime::Result<QueueIdentity> read_identity(std::span<const std::uint8_t> content,
                                             const std::string& file);

}  // namespace ringtail::queue::store
