#include "tools/ctl/queue_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace ringtail::ctl {

using queue::Position;
using queue::store::lane_of;
using queue::store::number_of;
using queue::store::SegmentHeader;
using queue::store::SegmentState;
using queue::store::SegmentWalk;
using queue::store::StoredMessage;
using runtime::Code;
using runtime::Qid;

namespace {

std::string segment_name(std::uint64_t number) { return fmt::format("{:010}.seg", number); }

}  // namespace

QueueContents::QueueContents(DataDirectory& data, std::string directory, Qid qid,
                             Findings& findings)
    : data_(data),
      directory_(std::move(directory)),
      qid_(qid),
      findings_(findings),
      journaled_(data.journaled(qid)),
      index_path_(directory_ + "/index") {}

std::string QueueContents::segment_path(std::uint64_t number) const {
  return directory_ + "/" + segment_name(number);
}

void QueueContents::read() {
  read_own_journal();
  if (read_index()) read_segments();
  take_journaled();
}

// One is there when a start found the queue damaged.
void QueueContents::read_own_journal() {
  const std::string path = directory_ + "/" + queue::store::kOwnJournal;
  const auto content = data_.disk().read(path);
  if (content.status().code() == Code::kNotFound) return;
  if (!content.ok()) return findings_.damage(content.status().text());
  queue::store::JournaledQueue own = queue::store::read_own_journal(content.value(), path, qid_);
  if (!own.damage.empty()) findings_.damage(own.damage);
  own.merge(std::move(journaled_));
  journaled_ = std::move(own);
}

// False: what its segments are worth is not known.
bool QueueContents::read_index() {
  const auto content = data_.disk().read(index_path_);
  if (content.status().code() == Code::kNotFound) return true;  // it never had a segment
  if (!content.ok()) {
    findings_.damage(content.status().text());
    return false;
  }
  auto scan = queue::store::scan_index(content.value(), index_path_);
  if (!scan.ok()) {
    findings_.damage(scan.status().text());
    return false;
  }
  if (scan.value().header.qid != qid_) {
    findings_.damage(fmt::format("{}: at offset 12: is of the queue with the number {}, not {}",
                                 index_path_, scan.value().header.qid.value, qid_.value));
    return false;
  }
  if (scan.value().torn > 0) {
    findings_.note(fmt::format("{}: the last write was cut off: {} bytes at {}", index_path_,
                               scan.value().torn, scan.value().end));
  }
  index_ = std::move(scan.value().state);
  return true;
}

void QueueContents::read_segments() {
  for (const auto& [number, state] : index_.segments) {
    if (number >= index_.next_segment) {
      findings_.damage(fmt::format("{}: names segment {}, and the next is to be {}", index_path_,
                                   number, index_.next_segment));
    }
    if (state.last > index_.covered) {
      findings_.damage(
          fmt::format("{}: segment {} has numbers up to {}, and those up to {} are "
                      "covered",
                      index_path_, number, state.last, index_.covered));
    }
    read_segment(state);
  }
  look_for_others();
}

// Files that the index does not name: of a write that was cut off, or given up.
void QueueContents::look_for_others() {
  const auto names = data_.disk().list(directory_);
  if (!names.ok()) return;
  for (const std::string& name : names.value()) {
    if (name == "queue" || name == "index" || name == queue::store::kOwnJournal) continue;
    const bool known =
        std::any_of(index_.segments.begin(), index_.segments.end(),
                    [&](const auto& one) { return name == segment_name(one.first); });
    if (!known) {
      findings_.note(fmt::format("{}/{}: the index does not name it; a start will not read it",
                                 directory_, name));
    }
  }
}

void QueueContents::read_segment(const SegmentState& state) {
  const std::string path = segment_path(state.number);
  const auto content = data_.disk().read(path);
  if (!content.ok()) return findings_.damage(content.status().text());
  std::span<const std::uint8_t> bytes = content.value();
  const auto header = queue::store::read_segment_header(bytes, path);
  if (!header.ok()) return findings_.damage(header.status().text());
  const SegmentHeader& found = header.value();
  if (found.qid != qid_ || found.number != state.number || found.lane != state.lane) {
    return findings_.damage(fmt::format(
        "{}: its header is that of segment {} of lane {} of queue {}, not {}, {}, {}", path,
        found.number, found.lane, found.qid.value, state.number, state.lane, qid_.value));
  }
  if (bytes.size() < state.bytes) {
    findings_.damage(fmt::format("{}: ends at offset {}, {} bytes of it count", path, bytes.size(),
                                 state.bytes));
  }
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(state.bytes)));
  walk(state, found, bytes, path);
}

void QueueContents::walk(const SegmentState& state, const SegmentHeader& header,
                         std::span<const std::uint8_t> content, const std::string& path) {
  constexpr std::size_t kBegin = queue::store::kSegmentHeaderSize;
  if (content.size() < kBegin) return;  // told already
  SegmentWalk walk(header, content.subspan(kBegin), kBegin, path);
  bool whole = true;
  Counts counts;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (auto next = walk.next(); next != SegmentWalk::Next::kPartial; next = walk.next()) {
    if (next == SegmentWalk::Next::kDamaged) {
      whole = false;
      findings_.damage(walk.status().text());
      if (!walk.skip()) return;
      continue;
    }
    const auto message = walk.message();
    if (!message.ok()) {
      whole = false;
      findings_.damage(message.status().text());
      continue;
    }
    const std::uint64_t number = number_of(walk.position());
    if (number <= last) {
      findings_.damage(fmt::format("{}: at offset {}: number {} stands behind {}", path,
                                   walk.offset(), number, last));
    }
    first = std::min(first, number);
    last = std::max(last, number);
    take(state, message.value(), {state.number, walk.offset(), walk.record_size()}, counts);
  }
  if (walk.offset() != state.bytes) {
    findings_.damage(fmt::format("{}: its records end at offset {}, {} bytes of it count", path,
                                 walk.offset(), state.bytes));
  } else if (whole) {
    compare(state, counts, first, last, path);
  }
}

void QueueContents::take(const SegmentState& state, const StoredMessage& message,
                         const Place& place, Counts& counts) {
  const std::uint64_t number = number_of(message.position);
  if (!message.message->traits().persistent || state.removed.contains(number)) return;
  ++counts.live;
  counts.live_bytes += message.message->body_size();
  if (message.expires_at_ms != queue::kNoExpiration) ++counts.expiring;
  const auto removed = journaled_.removed.find(lane_of(message.position));
  if (removed != journaled_.removed.end() && removed->second.contains(number)) return;
  if (!places_.emplace(message.position, place).second) {
    findings_.damage(fmt::format("{}: at offset {}: message {} is in another segment, too",
                                 segment_path(place.segment), place.offset, number));
  }
}

// What the index says of the segment, and what is in it.
void QueueContents::compare(const SegmentState& state, const Counts& counts, std::uint64_t first,
                            std::uint64_t last, const std::string& path) {
  const Counts said{state.live, state.live_bytes, state.expiring};
  if (counts != said) {
    findings_.damage(fmt::format(
        "{}: {} messages are alive with {} octets, {} of them expire; {} says {}, {} and {}", path,
        counts.live, counts.live_bytes, counts.expiring, index_path_, said.live, said.live_bytes,
        said.expiring));
  }
  if (last == 0) return;  // it has none
  if (first < state.first || last > state.last) {
    findings_.damage(fmt::format("{}: has numbers {} to {}; {} says {} to {}", path, first, last,
                                 index_path_, state.first, state.last));
  }
}

void QueueContents::take_journaled() {
  const auto& published = journaled_.published;
  for (std::size_t at = 0; at < published.size(); ++at) {
    if (number_of(published[at].position) <= index_.covered) continue;
    if (!places_.emplace(published[at].position, Place{0, at, 0}).second) {
      findings_.damage(fmt::format("{}: message {} is in a segment and in a journal as well",
                                   index_path_, number_of(published[at].position)));
    }
  }
}

bool QueueContents::was_delivered(Position position) const {
  const auto up_to = [&](const std::map<std::uint8_t, std::uint64_t>& marks) {
    const auto mark = marks.find(lane_of(position));
    return mark == marks.end() ? 0 : mark->second;
  };
  return number_of(position) <= std::max(up_to(index_.delivered), up_to(journaled_.delivered));
}

void QueueContents::for_each(const Visit& visit) {
  std::uint64_t held = 0;  // which segment `content` is
  std::vector<std::uint8_t> content;
  SegmentHeader header;
  for (const auto& [position, place] : places_) {
    if (place.segment == 0) {
      StoredMessage message = journaled_.published[static_cast<std::size_t>(place.offset)];
      message.delivered = message.delivered || was_delivered(position);
      visit(message);
      continue;
    }
    const std::string path = segment_path(place.segment);
    if (held != place.segment) {
      auto read = data_.disk().read(path);
      if (!read.ok()) return findings_.damage(read.status().text());
      content = std::move(read).value();
      const auto found = queue::store::read_segment_header(content, path);
      if (!found.ok()) return findings_.damage(found.status().text());
      header = found.value();
      held = place.segment;
    }
    const auto record = std::span<const std::uint8_t>(content).subspan(
        static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.size));
    SegmentWalk walk(header, record, place.offset, path);
    if (walk.next() != SegmentWalk::Next::kRecord) return findings_.damage(walk.status().text());
    auto message = walk.message();
    if (!message.ok()) return findings_.damage(message.status().text());
    message.value().delivered = message.value().delivered || was_delivered(position);
    visit(message.value());
  }
}

}  // namespace ringtail::ctl
