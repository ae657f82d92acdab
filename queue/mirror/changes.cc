#include "queue/mirror/changes.h"

#include <algorithm>
#include <utility>

#include "queue/message_wire.h"
#include "queue/store/format_parts.h"

namespace ringtail::queue {

using runtime::Bytes;
using store::ByteReader;

namespace {

constexpr std::uint8_t kChangesVersion = 1;
enum : std::uint8_t {
  kChangePublished = 1,
  kChangeRemoved = 2,
  kChangePurged = 3,
  kChangeProducerGone = 4
};
// A count is looked at before room is made for it: each takes an octet at least.
bool is_count(const ByteReader& reader, std::uint64_t count) { return count <= reader.left(); }

void put_ascending_numbers(store::ByteBuffer& out, std::span<const std::uint64_t> numbers) {
  out.put_varint(numbers.size());
  std::uint64_t before = 0;
  for (const std::uint64_t number : numbers) {
    out.put_varint(number - before);
    before = number;
  }
}

bool take_ascending(ByteReader& in, std::vector<std::uint64_t>& numbers) {
  const std::uint64_t count = in.get_varint();
  if (!in.ok() || !is_count(in, count)) return false;
  numbers.clear();
  numbers.reserve(static_cast<std::size_t>(count));
  std::uint64_t before = 0;
  for (std::uint64_t at = 0; at < count; ++at) numbers.push_back(before += in.get_varint());
  return in.ok();
}

Producer take_producer(ByteReader& in) {
  Producer producer;
  producer.channel.node = runtime::NodeId{static_cast<std::uint32_t>(in.get_varint())};
  producer.life = in.get_varint();
  producer.channel.shard = runtime::ShardId{static_cast<std::uint16_t>(in.get_varint())};
  producer.channel.actor = runtime::ActorId{in.get_varint()};
  return producer;
}

bool take_published_change(ByteReader& in, ByteReader& octets, Published& published) {
  published.producer = take_producer(in);
  published.first = in.get_varint();
  published.up_to = in.get_varint();
  if (!take_ascending(in, published.refused)) return false;
  const std::uint64_t count = in.get_varint();
  if (!in.ok() || !is_count(in, count)) return false;
  published.messages.clear();
  published.messages.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t at = 0; at < count; ++at) {
    PublishedMessage& one = published.messages.emplace_back();
    const bool expires = in.get_octet() != 0;
    one.message = take_message(in, octets);
    if (!one.message) return false;
    if (expires) one.expires_at_ms = in.get_varint();
  }
  return in.ok();
}

bool read_removed(ByteReader& in, ChangesReader& reader) {
  const std::uint64_t count = in.get_varint();
  if (!in.ok() || !is_count(in, count)) return false;
  std::uint64_t at = 0;
  for (std::uint64_t done = 0; done < count; ++done) {
    const std::uint64_t first = at + in.get_varint();
    at = first + in.get_varint();
    if (!in.ok()) return false;
    reader.removed({first, at});
  }
  return true;
}

// Large bodies of the origin's own entries are pieces beside the rest.
Bytes in_one_piece(const runtime::BytesChain& bodies) {
  if (bodies.empty()) return {};
  if (bodies.pieces().size() == 1) return bodies.pieces().front();
  store::ByteBuffer all;
  all.reserve(bodies.size());
  for (const Bytes& piece : bodies.pieces()) all.append(piece.span());
  return all.share();
}

}  // namespace

// --- writing ------------------------------------------------------------------------------------

void ChangesWriter::put_producer(const Producer& producer) {
  changes_.put_varint(producer.channel.node.value);
  changes_.put_varint(producer.life);
  changes_.put_varint(producer.channel.shard.value);
  changes_.put_varint(producer.channel.actor.value);
}

void ChangesWriter::publish(const Published& published) {
  put_removed();
  changes_.put(static_cast<std::uint8_t>(kChangePublished));
  put_producer(published.producer);
  changes_.put_varint(published.first);
  changes_.put_varint(published.up_to);
  put_ascending_numbers(changes_, published.refused);
  changes_.put_varint(published.messages.size());
  for (const PublishedMessage& one : published.messages) {
    const bool expires = one.expires_at_ms != kNoExpiration;
    std::uint8_t* const begin = changes_.reserve(1 + kMessageHeadMax);
    *begin = expires ? 1 : 0;
    const std::uint8_t* const end = write_message_head(begin + 1, *one.message);
    changes_.advance(static_cast<std::size_t>(end - begin));
    if (expires) changes_.put_varint(one.expires_at_ms);
    put_message_octets(*one.message, octets_);
  }
}

void ChangesWriter::remove(std::uint64_t number) { removed_.push_back(number); }

void ChangesWriter::put_removed() {
  if (removed_.empty()) return;
  std::sort(removed_.begin(), removed_.end());
  std::vector<NumberRange> ranges;
  for (const std::uint64_t number : removed_) {
    if (!ranges.empty() && ranges.back().last + 1 == number) {
      ranges.back().last = number;
    } else {
      ranges.push_back({number, number});
    }
  }
  removed_.clear();
  changes_.put(static_cast<std::uint8_t>(kChangeRemoved));
  changes_.put_varint(ranges.size());
  std::uint64_t at = 0;
  for (const NumberRange& range : ranges) {
    changes_.put_varint(range.first - at);
    changes_.put_varint(range.last - range.first);
    at = range.last;
  }
}

void ChangesWriter::purge(std::uint64_t up_to, std::span<const std::uint64_t> kept) {
  put_removed();
  changes_.put(static_cast<std::uint8_t>(kChangePurged));
  changes_.put_varint(up_to);
  put_ascending_numbers(changes_, kept);
}

void ChangesWriter::producer_gone(const Producer& producer) {
  put_removed();
  changes_.put(static_cast<std::uint8_t>(kChangeProducerGone));
  put_producer(producer);
}

gm::Entry ChangesWriter::finish(std::uint64_t next, std::uint64_t mark) {
  put_removed();
  gm::Entry entry;
  store::ByteBuffer all;
  all.reserve(1 + 2 * store::ByteBuffer::kVarintMax + changes_.size());
  all.put(kChangesVersion);
  all.put_varint(next);
  all.put_varint(mark);
  all.append(changes_.span());
  changes_.clear();
  entry.changes = all.share();
  while (!octets_.empty()) entry.bodies.append(octets_.take_front(octets_.size()));
  return entry;
}

// --- reading ------------------------------------------------------------------------------------

bool read_changes(const gm::Entry& entry, ChangesReader& reader) {
  const Bytes bodies = in_one_piece(entry.bodies);
  ByteReader in(entry.changes.span());
  ByteReader octets(bodies.span());
  if (in.get_octet() != kChangesVersion) return false;
  const std::uint64_t next = in.get_varint();
  const std::uint64_t mark = in.get_varint();
  if (!in.ok()) return false;
  reader.begins(next, mark);
  while (!in.at_end()) {
    switch (in.get_octet()) {
      case kChangePublished: {
        Published published;
        if (!take_published_change(in, octets, published)) return false;
        reader.published(published);
        break;
      }
      case kChangeRemoved:
        if (!read_removed(in, reader)) return false;
        break;
      case kChangePurged: {
        const std::uint64_t up_to = in.get_varint();
        std::vector<std::uint64_t> kept;
        if (!take_ascending(in, kept)) return false;
        reader.purged(up_to, kept);
        break;
      }
      case kChangeProducerGone: {
        const Producer producer = take_producer(in);
        if (!in.ok()) return false;
        reader.producer_gone(producer);
        break;
      }
      default:
        return false;
    }
  }
  return octets.at_end();
}

}  // namespace ringtail::queue
