#include "gm/letters.h"

#include <limits>
#include <memory>
#include <utility>

#include "gm/letters.pb.h"

namespace ringtail::gm {

using runtime::Bytes;
using runtime::EncodedLetter;
using runtime::Letter;
using runtime::LetterPtr;
using runtime::Result;

namespace {

using Octets = std::span<const std::uint8_t>;
// Why a letter is none; null: it is one.
using Fault = const char*;

runtime::Status corrupt(const char* why) {
  return {runtime::Code::kCorrupt, std::string("a letter of a ring: ") + why};
}

void put(const MemberId& id, wire::Member& member) {
  member.set_node(id.node.value);
  member.set_life(id.life);
  member.set_joined(id.joined);
}
MemberId take(const wire::Member& member) {
  return {runtime::NodeId{member.node()}, member.life(), member.joined()};
}

void put(const Position& at, wire::Position& position) {
  position.set_epoch(at.epoch);
  position.set_number(at.number);
}
Position take(const wire::Position& position) { return {position.epoch(), position.number()}; }

void put(const HandOn& frame, wire::HandOn& header, runtime::OutChain& octets) {
  header.set_session(frame.session);
  put(frame.previous, *header.mutable_previous());
  header.set_begins_here(frame.begins_here);
  header.set_committed(frame.committed);
  for (const Entry& entry : frame.entries) {
    wire::Entry& head = *header.add_entries();
    head.set_epoch(entry.at.epoch);
    head.set_begins_epoch(entry.begins_epoch);
    head.set_changes_size(entry.changes.size());
    head.set_bodies_size(entry.bodies.size());
    octets.append(entry.changes);
    for (const Bytes& piece : entry.bodies.pieces()) octets.append(piece);
  }
}

// All entries share one copy of the octets.
Fault take(const wire::HandOn& header, Octets octets, HandOn& frame) {
  frame.session = header.session();
  frame.previous = take(header.previous());
  frame.begins_here = header.begins_here();
  frame.committed = header.committed();
  const Bytes all = octets.empty() ? Bytes() : Bytes::copy(octets);
  std::size_t at = 0;
  const auto next = [&](std::uint64_t size, Bytes& part) {
    if (size > all.size() - at) return false;
    if (size != 0) part = all.slice(at, static_cast<std::size_t>(size));
    at += static_cast<std::size_t>(size);
    return true;
  };
  Number number = frame.previous.number;
  frame.entries.reserve(static_cast<std::size_t>(header.entries_size()));
  for (const wire::Entry& head : header.entries()) {
    Entry& entry = frame.entries.emplace_back();
    entry.at = {head.epoch(), ++number};
    entry.begins_epoch = head.begins_epoch();
    Bytes bodies;
    if (!next(head.changes_size(), entry.changes) || !next(head.bodies_size(), bodies)) {
      return "an entry that is cut off";
    }
    entry.bodies.append(std::move(bodies));
  }
  return at == all.size() ? nullptr : "more octets than its entries have";
}

void put(const Report& frame, wire::Report& header, runtime::OutChain&) {
  header.set_to_left(frame.to_left);
  header.set_session(frame.session);
  header.set_matched(frame.matched);
  put(frame.at, *header.mutable_at());
  header.set_stored(frame.stored);
  header.set_complete(frame.complete);
}
Fault take(const wire::Report& header, Octets octets, Report& frame) {
  if (!octets.empty()) return "octets behind a report";
  frame.to_left = header.to_left();
  frame.session = header.session();
  frame.matched = header.matched();
  frame.at = take(header.at());
  frame.stored = header.stored();
  frame.complete = header.complete();
  return nullptr;
}

template <typename LetterType, typename Header>
void encode(const Letter& letter, EncodedLetter& out) {
  const auto& own = static_cast<const LetterType&>(letter);
  Header header;
  header.set_ring(own.ring);
  put(own.sender, *header.mutable_from());
  put(own.receiver, *header.mutable_to());
  header.set_epoch(own.frame.epoch);
  put(own.frame, header, out.body);
  RT_CHECK(header.SerializeToString(&out.header), "a header of two gigabytes");
}

template <typename LetterType, typename Header>
Result<LetterPtr> decode(std::string_view bytes, Octets octets) {
  Header header;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return corrupt("a header that is none");
  }
  auto letter = std::make_unique<LetterType>(header.ring());
  letter->sender = take(header.from());
  letter->receiver = take(header.to());
  letter->frame.epoch = header.epoch();
  if (const Fault fault = take(header, octets, letter->frame)) return corrupt(fault);
  return LetterPtr(std::move(letter));
}

template <typename LetterType, typename Header>
constexpr runtime::LetterCodec kCodec{&encode<LetterType, Header>, &decode<LetterType, Header>};

}  // namespace

void add_codecs(runtime::LetterCodecs& codecs) {
  codecs.add(kHandOn, kCodec<HandOnLetter, wire::HandOn>);
  codecs.add(kReport, kCodec<ReportLetter, wire::Report>);
}

}  // namespace ringtail::gm
