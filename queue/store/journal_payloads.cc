// Reading a journal: what its records say.
#include <utility>

#include "queue/store/batch_contents.h"
#include "queue/store/format_parts.h"
#include "queue/store/journal_format.h"

namespace ringtail::queue::store {

namespace {

using runtime::Result;
using runtime::Status;

constexpr std::uint8_t kHeadAll = kHeadLane | kHeadExpires | kHeadElsewhere | kHeadDelivered;

Status bad(std::string_view record, std::size_t at, std::string_view rule) {
  return corrupt(fmt::format("the {} record, at byte {} of its payload: {}", record, at, rule));
}

// The next message of a publish record; the number of the one before it is in `number`.
std::string_view read_message(ByteReader& in, const JournalRecord& record,
                              std::span<const std::uint8_t> file, std::uint64_t& number,
                              StoredMessage& message) {
  const std::uint64_t payload_at = record.offset + kRecordHeaderSize;
  const std::uint64_t head_at = payload_at + in.offset();
  const std::uint8_t head = in.get_octet();
  if ((head & ~kHeadAll) != 0) return "a head with unknown bits";
  const std::uint64_t gap = in.get_varint();
  if (gap >= kNumberMask - number) return "a message's number is too high";
  number += gap + 1;
  const std::uint8_t lane = (head & kHeadLane) != 0 ? in.get_octet() : std::uint8_t{0};
  message.position = position_at(lane, number);
  if ((head & kHeadExpires) != 0) message.expires_at_ms = in.get_varint();
  message.delivered = (head & kHeadDelivered) != 0;
  if ((head & kHeadElsewhere) != 0) {
    const std::uint64_t at = in.get_varint();
    if (in.ok() && record.contents != nullptr) {
      message.message = record.contents->find(at, head_at, file);
    }
    return message.message ? "" : "no content where it says that one is";
  }
  const std::uint64_t content_at = payload_at + in.offset();
  message.message = get_content(in);
  if (!message.message) return "no whole content";
  if (record.contents != nullptr) record.contents->add(content_at, message.message);
  return "";
}

}  // namespace

Status read_publish(const JournalRecord& record, std::span<const std::uint8_t> file,
                    std::vector<StoredMessage>& messages) {
  const std::size_t before = messages.size();
  ByteReader in(record.payload);
  std::uint64_t number = 0;
  while (!in.at_end()) {
    const std::size_t at = in.offset();
    StoredMessage message;
    const std::string_view wrong = read_message(in, record, file, number, message);
    if (!wrong.empty()) {
      messages.resize(before);
      return bad("publish", at, wrong);
    }
    messages.push_back(std::move(message));
  }
  return {};
}

Status read_remove(const JournalRecord& record, std::vector<PositionRange>& ranges) {
  const std::size_t before = ranges.size();
  ByteReader in(record.payload);
  while (!in.at_end()) {
    const std::size_t at = in.offset();
    const std::uint8_t lane = in.get_octet();
    const std::uint64_t first = in.get_varint();
    const std::uint64_t more = in.get_varint();
    if (!in.ok() || first > kNumberMask || more > kNumberMask - first) {
      ranges.resize(before);
      return bad("remove", at, "no range of numbers");
    }
    ranges.push_back({position_at(lane, first), position_at(lane, first + more)});
  }
  return {};
}

Result<Position> read_delivered(const JournalRecord& record) {
  ByteReader in(record.payload);
  const std::uint8_t lane = in.get_octet();
  const std::uint64_t number = in.get_varint();
  if (!in.ok() || !in.at_end() || number > kNumberMask) {
    return bad("delivered", 0, "not a lane and a number");
  }
  return position_at(lane, number);
}

}  // namespace ringtail::queue::store
