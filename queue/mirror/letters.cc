#include "queue/mirror/letters.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "broker/runtime/check.h"
#include "queue/message_wire.h"
#include "queue/mirror/letters.pb.h"
#include "queue/store/format_parts.h"

namespace ringtail::queue {

using runtime::EncodedLetter;
using runtime::Letter;
using runtime::LetterPtr;
using runtime::Result;
using store::ByteReader;
using store::write_varint;

namespace {

using Octets = std::span<const std::uint8_t>;
// Why a letter is none; null: it is one.
using Fault = const char*;

constexpr std::size_t kOlderHeadMax = 1 + 2 * store::ByteBuffer::kVarintMax + kMessageHeadMax;
constexpr std::size_t kOlderHeadMin = 2 + kMessageHeadMin;

runtime::Status not_of_mirror(const char* why) {
  return {runtime::Code::kCorrupt, std::string("a letter of a mirror: ") + why};
}

void put(const gm::MemberId& id, mirror::wire::Member& member) {
  member.set_node(id.node.value);
  member.set_life(id.life);
  member.set_joined(id.joined);
}
gm::MemberId take(const mirror::wire::Member& member) {
  return {runtime::NodeId{member.node()}, member.life(), member.joined()};
}

void put(const Missing& letter, mirror::wire::Missing& header, runtime::OutChain&) {
  header.set_above(letter.above);
}
Fault take(const mirror::wire::Missing& header, Octets octets, Missing& letter) {
  letter.above = header.above();
  return octets.empty() ? nullptr : "octets behind a question";
}

void put(const Older& letter, mirror::wire::Older& header, runtime::OutChain& octets) {
  header.set_above(letter.above);
  header.set_up_to(letter.up_to);
  header.set_last(letter.last);
  header.set_next(letter.next);
  header.set_entry(letter.entry);
  header.set_mark(letter.mark);
  header.set_count(static_cast<std::uint32_t>(letter.messages.size()));
  std::string& heads = *header.mutable_heads();
  std::uint8_t head[kOlderHeadMax];
  for (const Older::Message& one : letter.messages) {
    const bool expires = one.expires_at_ms != kNoExpiration;
    std::uint8_t* at = write_varint(head, one.position);
    *at++ = expires ? 1 : 0;
    if (expires) at = write_varint(at, one.expires_at_ms);
    at = write_message_head(at, *one.message);
    heads.append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(at - head));
    put_message_octets(*one.message, octets);
  }
  for (const Older::Known& one : letter.producers) {
    mirror::wire::Producer& producer = *header.add_producers();
    producer.set_node(one.producer.channel.node.value);
    producer.set_life(one.producer.life);
    producer.set_shard(one.producer.channel.shard.value);
    producer.set_actor(one.producer.channel.actor.value);
    producer.set_applied(one.applied);
  }
}

Fault take_messages(const mirror::wire::Older& header, Octets body, Older& letter) {
  ByteReader heads(runtime::as_bytes(header.heads()));
  ByteReader octets(body);
  if (header.count() > heads.left() / kOlderHeadMin) return "more messages than heads";
  letter.messages.resize(header.count());
  for (Older::Message& one : letter.messages) {
    one.position = heads.get_varint();
    const std::uint8_t flags = heads.get_octet();
    if (flags > 1) return "an unknown flag of a message";
    if (flags == 1) one.expires_at_ms = heads.get_varint();
    one.message = take_message(heads, octets);
    if (!one.message) return "a message that is cut off or breaks a rule";
  }
  if (!heads.at_end()) return "more heads than messages";
  return octets.at_end() ? nullptr : "more octets than its messages have";
}

Fault take(const mirror::wire::Older& header, Octets body, Older& letter) {
  letter.above = header.above();
  letter.up_to = header.up_to();
  letter.last = header.last();
  letter.next = header.next();
  letter.entry = header.entry();
  letter.mark = header.mark();
  for (const mirror::wire::Producer& one : header.producers()) {
    if (one.shard() > std::numeric_limits<std::uint16_t>::max()) {
      return "a shard's number that is too large";
    }
    const runtime::Address channel{runtime::NodeId{one.node()},
                                   runtime::ShardId{static_cast<std::uint16_t>(one.shard())},
                                   runtime::ActorId{one.actor()}};
    letter.producers.push_back({{channel, one.life()}, one.applied()});
  }
  return take_messages(header, body, letter);
}

template <typename LetterType, typename Header>
void encode(const Letter& letter, EncodedLetter& out) {
  const auto& own = static_cast<const LetterType&>(letter);
  Header header;
  header.set_ring(own.ring);
  put(own.sender, *header.mutable_from());
  put(own.receiver, *header.mutable_to());
  header.set_epoch(own.epoch);
  put(own, header, out.body);
  RT_CHECK(header.SerializeToString(&out.header), "a header of two gigabytes");
}

template <typename LetterType, typename Header>
Result<LetterPtr> decode(std::string_view bytes, Octets octets) {
  Header header;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return not_of_mirror("a header that is none");
  }
  auto letter = std::make_unique<LetterType>(header.ring());
  letter->sender = take(header.from());
  letter->receiver = take(header.to());
  letter->epoch = header.epoch();
  if (const Fault fault = take(header, octets, *letter)) return not_of_mirror(fault);
  return LetterPtr(std::move(letter));
}

template <typename LetterType, typename Header>
constexpr runtime::LetterCodec kCodec{&encode<LetterType, Header>, &decode<LetterType, Header>};

}  // namespace

void add_mirror_codecs(runtime::LetterCodecs& codecs) {
  codecs.add(kMissing, kCodec<Missing, mirror::wire::Missing>);
  codecs.add(kOlder, kCodec<Older, mirror::wire::Older>);
}

}  // namespace ringtail::queue
