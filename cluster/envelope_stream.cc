#include "cluster/envelope_stream.h"

#include <algorithm>
#include <array>

#include "cluster/link_limits.h"
#include "cluster/wire_numbers.h"

namespace ringtail::cluster {

namespace {

using runtime::ActorId;
using runtime::Code;
using runtime::OutChain;
using runtime::ShardId;
using runtime::Status;

struct Sizes {
  std::size_t header;
  std::size_t body;
  std::size_t whole() const { return kEnvelopePrefixSize + header + body; }
  bool fit() const { return whole() <= kEnvelopeMax; }
};

Sizes sizes_of(const std::uint8_t* prefix) {
  return {get_number<std::uint32_t>(prefix + 20), get_number<std::uint32_t>(prefix + 24)};
}

Status too_large() { return {Code::kCorrupt, "an envelope that is too large"}; }

// `whole` is one envelope.
bool hand_on(const std::uint8_t* whole, const Sizes& sizes, EnvelopeSink& sink) {
  EnvelopePrefix prefix;
  prefix.kind = get_number<std::uint16_t>(whole);
  prefix.to_shard = ShardId{get_number<std::uint16_t>(whole + 2)};
  prefix.from_actor = ActorId{get_number<std::uint64_t>(whole + 4)};
  prefix.to_actor = ActorId{get_number<std::uint64_t>(whole + 12)};
  const std::uint8_t* const header = whole + kEnvelopePrefixSize;
  return sink.envelope(prefix, runtime::as_text({header, sizes.header}),
                       {header + sizes.header, sizes.body});
}

// A small body is copied, a large one slipped in.
void append_body(OutChain& to, OutChain& body) {
  if (body.size() > kCopyBodyMax) {
    to.splice(body);
    return;
  }
  while (!body.empty()) {
    std::array<OutChain::Piece, 16> pieces;
    const std::size_t count = body.peek(pieces);
    std::size_t copied = 0;
    for (std::size_t i = 0; i < count; ++i) {
      to.append_copy(pieces[i].data, pieces[i].size);
      copied += pieces[i].size;
    }
    body.consume(copied);
  }
}

}  // namespace

bool append_envelope(OutChain& to, const EnvelopePrefix& prefix, std::string_view header,
                     OutChain& body) {
  if (!Sizes{header.size(), body.size()}.fit()) return false;
  const std::size_t front = kEnvelopePrefixSize + header.size();
  std::uint8_t* at = to.reserve(front);
  at = put_number(at, prefix.kind);
  at = put_number(at, prefix.to_shard.value);
  at = put_number(at, prefix.from_actor.value);
  at = put_number(at, prefix.to_actor.value);
  at = put_number(at, static_cast<std::uint32_t>(header.size()));
  at = put_number(at, static_cast<std::uint32_t>(body.size()));
  std::copy(header.begin(), header.end(), at);
  to.advance(front);
  append_body(to, body);
  return true;
}

bool EnvelopeReader::collect(std::span<const std::uint8_t>& bytes, std::size_t size) {
  if (partial_.size() < size) {
    const std::size_t part = std::min(size - partial_.size(), bytes.size());
    partial_.insert(partial_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(part));
    bytes = bytes.subspan(part);
  }
  return partial_.size() >= size;
}

Status EnvelopeReader::read_partial(std::span<const std::uint8_t>& bytes, EnvelopeSink& sink) {
  if (!collect(bytes, kEnvelopePrefixSize)) return {};
  const Sizes sizes = sizes_of(partial_.data());
  if (!sizes.fit()) return too_large();
  // What was announced gets memory up to a bound; beyond it, as it comes.
  partial_.reserve(std::min(sizes.whole(), kAssemblyAtOnceMax));
  if (!collect(bytes, sizes.whole())) return {};
  std::vector<std::uint8_t> whole;
  whole.swap(partial_);  // the sink may end this reader
  const bool more = hand_on(whole.data(), sizes, sink);
  if (!more) return {Code::kClosed, "ended by its receiver"};
  if (whole.capacity() <= kAssemblyKept) {
    whole.clear();
    partial_.swap(whole);
  }
  return {};
}

Status EnvelopeReader::read(std::span<const std::uint8_t> bytes, EnvelopeSink& sink) {
  while (!bytes.empty()) {
    if (partial_.empty() && bytes.size() >= kEnvelopePrefixSize) {
      const Sizes sizes = sizes_of(bytes.data());
      if (!sizes.fit()) return too_large();
      if (bytes.size() >= sizes.whole()) {
        if (!hand_on(bytes.data(), sizes, sink)) return {Code::kClosed, "ended by its receiver"};
        bytes = bytes.subspan(sizes.whole());
        continue;
      }
    }
    RT_TRY(read_partial(bytes, sink));
  }
  return {};
}

}  // namespace ringtail::cluster
