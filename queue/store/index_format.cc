#include "queue/store/index_format.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "queue/store/format_parts.h"
#include "queue/store/message_codec.h"

namespace ringtail::queue::store {

namespace {

using runtime::Result;
using runtime::Status;

constexpr std::string_view kMagic = "RTQINDEX";
constexpr std::string_view kIdentityMagic = "RTQUEUE1";
constexpr std::uint32_t kIdentityVersion = 1;
constexpr std::size_t kIdentityFixedSize = 28;  // without the names
constexpr std::size_t kCommitHeaderSize = 8;
constexpr std::size_t kSumAt = 4;  // in a commit, behind its size
enum : std::uint8_t { kSegment = 1, kGone = 2, kState = 3 };

void put_segment(ByteBuffer& out, const SegmentState& segment) {
  RT_DCHECK(segment.first <= segment.last, "a segment whose last message is before its first");
  out.put(std::uint8_t{kSegment});
  out.put_varint(segment.number);
  out.put(segment.lane);
  for (const std::uint64_t number : {segment.first, segment.last, segment.bytes, segment.live,
                                     segment.live_bytes, segment.expiring}) {
    out.put_varint(number);
  }
  const auto& ranges = segment.removed.ranges();
  auto begin = ranges.upper_bound(segment.first);
  if (begin != ranges.begin() && std::prev(begin)->second >= segment.first) --begin;
  const auto end = ranges.upper_bound(segment.last);
  out.put_varint(static_cast<std::uint64_t>(std::distance(begin, end)));
  std::uint64_t from = segment.first;
  for (; begin != end; ++begin) {
    const std::uint64_t first = std::max(begin->first, segment.first);
    const std::uint64_t last = std::min(begin->second, segment.last);
    out.put_varint(first - from);
    out.put_varint(last - first);
    from = last + 1;
  }
}

bool read_segment(ByteReader& in, SegmentState& segment) {
  segment.number = in.get_varint();
  segment.lane = in.get_octet();
  for (std::uint64_t* number : {&segment.first, &segment.last, &segment.bytes, &segment.live,
                                &segment.live_bytes, &segment.expiring}) {
    *number = in.get_varint();
  }
  if (segment.first > segment.last || segment.last > kNumberMask) return false;
  std::uint64_t from = segment.first;
  for (std::uint64_t ranges = in.get_varint(); ranges > 0 && in.ok(); --ranges) {
    const std::uint64_t gap = in.get_varint();
    const std::uint64_t more = in.get_varint();
    // `from` may be one behind the segment's last number.
    if (!in.ok() || from > segment.last || gap > segment.last - from ||
        more > segment.last - from - gap) {
      return false;
    }
    segment.removed.add(from + gap, from + gap + more);
    from += gap + more + 1;
  }
  return in.ok();
}

bool read_state(ByteReader& in, IndexState& state) {
  state.covered = in.get_varint();
  state.next = in.get_varint();
  state.next_segment = in.get_varint();
  state.delivered.clear();
  for (std::uint64_t marks = in.get_varint(); marks > 0 && in.ok(); --marks) {
    const std::uint8_t lane = in.get_octet();
    state.delivered[lane] = in.get_varint();
  }
  return in.ok() && in.at_end();
}

// What a commit says; `into`: where to. Whether it is one.
bool read_commit(std::span<const std::uint8_t> payload, IndexState& into) {
  ByteReader in(payload);
  bool gone = false;
  while (true) {
    switch (in.get_octet()) {
      case kSegment: {
        SegmentState segment;
        if (gone || !read_segment(in, segment)) return false;
        into.segments.insert_or_assign(segment.number, std::move(segment));
        break;
      }
      case kGone:
        gone = true;
        into.segments.erase(in.get_varint());
        if (!in.ok()) return false;
        break;
      case kState:
        return read_state(in, into);
      default:
        return false;
    }
  }
}

// Walks over the same without keeping anything: the cheap way to see that bytes are no commit.
bool looks_like_commit(std::span<const std::uint8_t> payload) {
  ByteReader in(payload);
  while (true) {
    switch (in.get_octet()) {
      case kSegment: {
        in.get_varint();
        in.get_octet();
        for (int i = 0; i < 6; ++i) in.get_varint();
        for (std::uint64_t ranges = in.get_varint(); ranges > 0 && in.ok(); --ranges) {
          in.get_varint();
          in.get_varint();
        }
        break;
      }
      case kGone:
        in.get_varint();
        break;
      case kState:
        for (int i = 0; i < 3; ++i) in.get_varint();
        for (std::uint64_t marks = in.get_varint(); marks > 0 && in.ok(); --marks) {
          in.get_octet();
          in.get_varint();
        }
        return in.ok() && in.at_end();
      default:
        return false;
    }
    if (!in.ok()) return false;
  }
}

// The payload of the commit at an offset, if one is whole there.
std::optional<std::span<const std::uint8_t>> commit_at(std::span<const std::uint8_t> content,
                                                       std::size_t offset, std::uint32_t salt_sum,
                                                       bool search) {
  const auto rest = content.subspan(offset);
  if (rest.size() < kCommitHeaderSize) return std::nullopt;
  const auto size = number_at<std::uint32_t>(rest, 0);
  if (size > rest.size() - kCommitHeaderSize) return std::nullopt;
  const auto payload = rest.subspan(kCommitHeaderSize, size);
  if (search && !looks_like_commit(payload)) return std::nullopt;
  const std::uint32_t sum = checksum(checksum(salt_sum, rest.first(kSumAt)), payload);
  if (number_at<std::uint32_t>(rest, kSumAt) != sum) return std::nullopt;
  return payload;
}

bool later_commit(std::span<const std::uint8_t> content, std::size_t offset,
                  std::uint32_t salt_sum) {
  for (std::size_t at = offset; at < content.size(); ++at) {
    if (commit_at(content, at, salt_sum, true)) return true;
  }
  return false;
}

}  // namespace

void put_index_header(ByteBuffer& out, const IndexHeader& header) {
  const std::size_t begin = out.size();
  out.append(kMagic);
  out.put(kIndexVersion);
  out.put(header.qid.value);
  out.put(header.salt);
  out.put(checksum(0, out.span().subspan(begin)));
}

void put_index_commit(ByteBuffer& out, std::uint64_t salt,
                      std::span<const SegmentState* const> changed,
                      std::span<const std::uint64_t> gone, const IndexState& state) {
  const std::size_t begin = out.size();
  out.put(std::uint32_t{0});  // size and sum, to come
  out.put(std::uint32_t{0});
  for (const SegmentState* segment : changed) put_segment(out, *segment);
  for (const std::uint64_t number : gone) {
    out.put(std::uint8_t{kGone});
    out.put_varint(number);
  }
  out.put(std::uint8_t{kState});
  out.put_varint(state.covered);
  out.put_varint(state.next);
  out.put_varint(state.next_segment);
  out.put_varint(state.delivered.size());
  for (const auto& [lane, up_to] : state.delivered) {
    out.put(lane);
    out.put_varint(up_to);
  }
  const std::size_t size = out.size() - begin - kCommitHeaderSize;
  RT_CHECK(size <= std::numeric_limits<std::uint32_t>::max(), "a commit of 4 GiB");
  out.patch(begin, static_cast<std::uint32_t>(size));
  const auto whole = out.span().subspan(begin);
  const std::uint32_t sum = checksum(checksum_of_salt(salt), whole.first(kSumAt));
  out.patch(begin + kSumAt, checksum(sum, whole.subspan(kCommitHeaderSize)));
}

Result<IndexScan> scan_index(std::span<const std::uint8_t> content, const std::string& name) {
  RT_TRY(check_header(content, kMagic, kIndexHeaderSize, kIndexVersion, name));
  IndexScan scan;
  scan.header.qid = {number_at<std::uint64_t>(content, 12)};
  scan.header.salt = number_at<std::uint64_t>(content, 20);
  const std::uint32_t salt_sum = checksum_of_salt(scan.header.salt);
  std::size_t at = kIndexHeaderSize;
  while (at < content.size()) {
    const auto payload = commit_at(content, at, salt_sum, false);
    if (!payload) {
      if (later_commit(content, at + 1, salt_sum)) {
        return damaged(name, at, "no whole commit where one must be");
      }
      scan.torn = content.size() - at;
      break;
    }
    if (!read_commit(*payload, scan.state)) {
      return damaged(name, at, "a commit that breaks the grammar");
    }
    at += kCommitHeaderSize + payload->size();
  }
  scan.end = at;
  return scan;
}

void put_identity(ByteBuffer& out, const QueueIdentity& identity) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  RT_CHECK(identity.vhost.size() <= kMost && identity.name.size() <= kMost, "a name of 64 KiB");
  const std::size_t begin = out.size();
  out.append(kIdentityMagic);
  out.put(kIdentityVersion);
  out.put(identity.qid.value);
  out.put(static_cast<std::uint16_t>(identity.vhost.size()));
  out.append(identity.vhost);
  out.put(static_cast<std::uint16_t>(identity.name.size()));
  out.append(identity.name);
  out.put(checksum(0, out.span().subspan(begin)));
}

Result<QueueIdentity> read_identity(std::span<const std::uint8_t> content,
                                    const std::string& file) {
  // The checksum is the file's last field: the whole of it is the header.
  const std::size_t size = std::max(content.size(), kIdentityFixedSize);
  RT_TRY(check_header(content, kIdentityMagic, size, kIdentityVersion, file));
  ByteReader in(content.first(size - sizeof(std::uint32_t)));
  in.take(kIdentityMagic.size() + sizeof(std::uint32_t));
  QueueIdentity identity;
  identity.qid = {in.get<std::uint64_t>()};
  identity.vhost = runtime::as_text(in.take(in.get<std::uint16_t>()));
  identity.name = runtime::as_text(in.take(in.get<std::uint16_t>()));
  if (!in.ok() || !in.at_end()) return damaged(file, in.offset(), "its names do not fill it");
  return identity;
}

}  // namespace ringtail::queue::store
