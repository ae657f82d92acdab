#include "tools/dump/dump.h"

#include <fmt/format.h>
#include <zlib.h>

#include <string_view>
#include <utility>
#include <vector>

#include "broker/runtime/bytes.h"
#include "queue/store/directory_name.h"
#include "queue/store/index_format.h"
#include "queue/store/journal_format.h"
#include "queue/store/segment_format.h"

namespace ringtail::dump {

namespace {

using queue::Message;
using queue::store::JournalRecord;
using queue::store::RecordType;
using queue::store::SegmentWalk;
using queue::store::StoredMessage;
using runtime::Status;

using Content = std::span<const std::uint8_t>;

std::string printable(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    const auto octet = static_cast<unsigned char>(byte);
    if (octet > 0x20 && octet < 0x7F && octet != '%') {
      out += byte;
    } else {
      out += fmt::format("%{:02X}", octet);
    }
  }
  return out;
}

std::string hex(Content bytes) {
  std::string out;
  for (const std::uint8_t octet : bytes) out += fmt::format("{:02x}", octet);
  return out;
}

std::uint32_t body_sum(const Message& message) {
  uLong sum = 0;
  const auto add = [&sum](Content bytes) {
    if (!bytes.empty()) sum = crc32_z(sum, bytes.data(), bytes.size());
  };
  if (message.body_is_inline()) {
    add(message.inline_body());
  } else {
    for (const runtime::Bytes& piece : message.large_body().pieces()) add(piece.span());
  }
  return static_cast<std::uint32_t>(sum);
}

void add_message(Line& line, const StoredMessage& stored) {
  const Message& message = *stored.message;
  const Message::Traits& traits = message.traits();
  line["number"] = queue::store::number_of(stored.position);
  line["lane"] = queue::store::lane_of(stored.position);
  if (stored.expires_at_ms != queue::kNoExpiration) line["expires-at"] = stored.expires_at_ms;
  line["delivered"] = stored.delivered;
  line["persistent"] = traits.persistent;
  if (traits.has_priority) line["priority"] = traits.priority;
  if (traits.expiration_ms != queue::kNoExpiration) line["expiration"] = traits.expiration_ms;
  line["exchange"] = printable(message.exchange());
  line["routing-key"] = printable(message.routing_key());
  line["properties"] = hex(message.properties());
  if (!message.blind_keys().empty()) line["blind-keys"] = hex(message.blind_keys());
  line["body-size"] = message.body_size();
  line["body-crc"] = body_sum(message);
}

// --- journal ---

Line record_line(const JournalRecord& record, std::string_view type) {
  return {{"at", record.offset}, {"record", type}, {"qid", record.qid.value}};
}

Status dump_record(const JournalRecord& record, Content file, const Sink& out) {
  switch (record.type) {
    case RecordType::kPublish: {
      std::vector<StoredMessage> messages;
      RT_TRY(read_publish(record, file, messages));
      Line line = record_line(record, "publish");
      line["messages"] = Line::array();
      for (const StoredMessage& message : messages) {
        Line inner = Line::object();
        add_message(inner, message);
        line["messages"].push_back(std::move(inner));
      }
      out(line);
      return {};
    }
    case RecordType::kRemove: {
      std::vector<queue::store::PositionRange> ranges;
      RT_TRY(read_remove(record, ranges));
      Line line = record_line(record, "remove");
      line["ranges"] = Line::array();
      for (const auto& range : ranges) {
        line["ranges"].push_back({{"lane", queue::store::lane_of(range.first)},
                                  {"first", queue::store::number_of(range.first)},
                                  {"last", queue::store::number_of(range.last)}});
      }
      out(line);
      return {};
    }
    case RecordType::kDelivered: {
      const auto up_to = read_delivered(record);
      if (!up_to.ok()) return up_to.status();
      Line line = record_line(record, "delivered");
      line["lane"] = queue::store::lane_of(up_to.value());
      line["up-to"] = queue::store::number_of(up_to.value());
      out(line);
      return {};
    }
    case RecordType::kDeleted:
      out(record_line(record, "deleted"));
      return {};
  }
  return {};
}

Status dump_journal(Content content, const std::string& name, const Sink& out, bool& damaged) {
  // The header comes with the whole scan, and should be said first.
  std::vector<Line> lines;
  const auto scan = queue::store::scan_journal(content, name, [&](const JournalRecord& record) {
    return dump_record(record, content, [&](const Line& line) { lines.push_back(line); });
  });
  if (!scan.ok()) return scan.status();
  const auto& header = scan.value().header;
  out({{"file", name},
       {"kind", "journal"},
       {"shard", header.shard},
       {"number", header.number},
       {"salt", header.salt}});
  for (const Line& line : lines) out(line);
  for (const auto& damage : scan.value().damages) {
    damaged = true;
    out({{"at", damage.offset}, {"damage", damage.what}, {"qid", damage.qid.value}});
  }
  out({{"end", scan.value().end},
       {"batches", scan.value().batches},
       {"torn", scan.value().torn},
       {"behind", content.size() - scan.value().end - scan.value().torn}});
  return {};
}

// --- a queue's own files ---

Status dump_segment(Content content, const std::string& name, const Sink& out, bool& damaged) {
  const auto header = queue::store::read_segment_header(content, name);
  if (!header.ok()) return header.status();
  out({{"file", name},
       {"kind", "segment"},
       {"qid", header.value().qid.value},
       {"lane", header.value().lane},
       {"number", header.value().number},
       {"salt", header.value().salt}});
  constexpr std::size_t kBegin = queue::store::kSegmentHeaderSize;
  SegmentWalk walk(header.value(), content.subspan(kBegin), kBegin, name);
  const auto damage = [&](const Status& status) {
    damaged = true;
    out({{"at", walk.offset()}, {"damage", status.text()}});
  };
  for (auto next = walk.next(); next != SegmentWalk::Next::kPartial; next = walk.next()) {
    if (next == SegmentWalk::Next::kDamaged) {
      damage(walk.status());
      if (!walk.skip()) break;
      continue;
    }
    const auto message = walk.message();
    if (!message.ok()) {
      damage(message.status());
      continue;
    }
    Line line = {{"at", walk.offset()}, {"size", walk.record_size()}};
    add_message(line, message.value());
    out(line);
  }
  out({{"end", walk.offset()}, {"behind", content.size() - walk.offset()}});
  return {};
}

Status dump_index(Content content, const std::string& name, const Sink& out) {
  const auto scan = queue::store::scan_index(content, name);
  if (!scan.ok()) return scan.status();
  const auto& state = scan.value().state;
  out({{"file", name},
       {"kind", "index"},
       {"qid", scan.value().header.qid.value},
       {"salt", scan.value().header.salt}});
  Line marks = Line::array();
  for (const auto& [lane, up_to] : state.delivered) {
    marks.push_back({{"lane", lane}, {"up-to", up_to}});
  }
  out({{"covered", state.covered},
       {"next", state.next},
       {"next-segment", state.next_segment},
       {"delivered", marks}});
  for (const auto& [number, segment] : state.segments) {
    Line removed = Line::array();
    for (const auto& [first, last] : segment.removed.ranges()) {
      removed.push_back({{"first", first}, {"last", last}});
    }
    out({{"segment", number},
         {"lane", segment.lane},
         {"first", segment.first},
         {"last", segment.last},
         {"bytes", segment.bytes},
         {"live", segment.live},
         {"live-bytes", segment.live_bytes},
         {"expiring", segment.expiring},
         {"removed", removed}});
  }
  out({{"end", scan.value().end}, {"torn", scan.value().torn}});
  return {};
}

Status dump_identity(Content content, const std::string& name, const Sink& out) {
  const auto identity = queue::store::read_identity(content, name);
  if (!identity.ok()) return identity.status();
  Line line = {{"file", name},
               {"kind", "queue"},
               {"qid", identity.value().qid.value},
               {"vhost", printable(identity.value().vhost)},
               {"name", printable(identity.value().name)}};
  const auto directory =
      queue::store::directory_name(identity.value().vhost, identity.value().name);
  if (directory.ok()) line["directory"] = directory.value();
  out(line);
  return {};
}

Status dump_any(Content content, const std::string& name, const Sink& out, bool& damaged) {
  constexpr std::size_t kMagicSize = 8;
  const std::string_view magic = runtime::as_text(content).substr(0, kMagicSize);
  if (magic == "RTJOURNL") return dump_journal(content, name, out, damaged);
  if (magic == "RTSEGMNT") return dump_segment(content, name, out, damaged);
  if (magic == "RTQINDEX") return dump_index(content, name, out);
  if (magic == "RTQUEUE1") return dump_identity(content, name, out);
  return {runtime::Code::kCorrupt,
          fmt::format("{} is no file of a queue: it begins with \"{}\"", name, printable(magic))};
}

// --- text ---

std::string scalar(const Line& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Line::error_handler_t::replace);
}

}  // namespace

bool dump_file(Content content, const std::string& name, const Sink& out) {
  bool damaged = false;
  if (const Status status = dump_any(content, name, out, damaged); !status.ok()) {
    out({{"file", name}, {"damage", status.text()}});
    return false;
  }
  return !damaged;
}

std::string text_of(const Line& line) {
  std::string text;
  std::string below;  // what stands in lists, a line each
  for (const auto& [key, value] : line.items()) {
    if (value.is_array()) {
      for (const Line& item : value) below += fmt::format("\n    {} {}", key, text_of(item));
      if (!value.empty()) continue;
    }
    if (!text.empty()) text += "  ";
    text += key + " " + (value.is_array() ? "none" : scalar(value));
  }
  return text + below;
}

}  // namespace ringtail::dump
