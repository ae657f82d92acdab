#include "cluster/peer_session.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "broker/runtime/memory_gauge.h"
#include "broker/runtime/sim/sim_world.h"
#include "cluster/wire_numbers.h"

namespace peer_session_test {

using namespace ringtail;
using namespace ringtail::cluster;
using runtime::ActorId;
using runtime::Bytes;
using runtime::Code;
using runtime::OutChain;
using runtime::ShardId;
using runtime::SimRng;
using runtime::Status;

namespace {

std::string text_of(OutChain& chain) {
  std::string text;
  while (!chain.empty()) {
    std::array<OutChain::Piece, 8> pieces;
    const std::size_t count = chain.peek(pieces);
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      text.append(reinterpret_cast<const char*>(pieces[i].data), pieces[i].size);
      size += pieces[i].size;
    }
    chain.consume(size);
  }
  return text;
}

struct Seen {
  EnvelopePrefix prefix;
  std::string header;
  std::string body;
  bool operator==(const Seen&) const = default;
};

struct Sink final : EnvelopeSink {
  bool envelope(const EnvelopePrefix& prefix, std::string_view header,
                std::span<const std::uint8_t> body) noexcept override {
    seen.push_back({prefix, std::string(header), std::string(runtime::as_text(body))});
    return more;
  }
  std::vector<Seen> seen;
  bool more = true;
};

Seen make(std::uint64_t number, std::size_t header_size, std::size_t body_size) {
  Seen made;
  made.prefix = {static_cast<std::uint16_t>(number),
                 ShardId{static_cast<std::uint16_t>(number % 5)},
                 ActorId{number | runtime::kInventedActorBit}, ActorId{~number}};
  for (std::size_t i = 0; i < header_size; ++i) made.header += static_cast<char>(number + i);
  for (std::size_t i = 0; i < body_size; ++i) made.body += static_cast<char>(number * 3 + i * 7);
  return made;
}

void append(SendSession& session, const Seen& envelope) {
  OutChain body;
  // Half of it as a slice, as large bodies come.
  const std::size_t half = envelope.body.size() / 2;
  body.append_copy(envelope.body.data(), half);
  body.append(Bytes::copy(runtime::as_bytes(std::string_view(envelope.body).substr(half))));
  REQUIRE(append_envelope(session.stream(), envelope.prefix, envelope.header, body));
  CHECK(body.empty());
}

// Both ends of a session and a connection between them that is cut anywhere.
struct Line {
  explicit Line(std::size_t payload_max = kFramePayloadMax) : sender(payload_max) {}

  // Delivers at most `size` bytes of what was sent, in pieces of at most `piece`.
  void deliver(std::size_t size, std::size_t piece) {
    size = std::min(size, on_wire.size());
    for (std::size_t at = 0; at < size;) {
      const std::size_t part = std::min(piece, size - at);
      // A block of its own, gone afterwards, as a read buffer's content is.
      std::vector<std::uint8_t> data(on_wire.begin() + static_cast<std::ptrdiff_t>(at),
                                     on_wire.begin() + static_cast<std::ptrdiff_t>(at + part));
      std::span<const std::uint8_t> left(data);
      FrameReader::Frame frame;
      FrameReader::Step step;
      while ((step = reader.next(left, frame)) == FrameReader::Step::kFrame) {
        REQUIRE(receiver.receive(frame, sink).ok());
      }
      REQUIRE(step == FrameReader::Step::kMore);
      REQUIRE(left.empty());
      at += part;
    }
    on_wire.erase(0, size);
  }
  void send(std::size_t max = 1 << 30) {
    sender.cut();
    OutChain out;
    sender.take(out, max);
    on_wire += text_of(out);
  }
  void acknowledge() { REQUIRE(sender.acknowledge(receiver.last_received()).ok()); }
  void reconnect() {
    on_wire.clear();
    reader = FrameReader();
    REQUIRE(sender.resume(receiver.last_received()).ok());
  }

  SendSession sender;
  ReceiveSession receiver;
  FrameReader reader;
  Sink sink;
  std::string on_wire;
};

}  // namespace

TEST_CASE("session: letters of any size arrive once and in order, however the line is cut") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SimRng rng(seed);
    Line line(1 + rng.below(seed % 3 == 0 ? 40 : 3000));
    std::vector<Seen> sent;
    for (int step = 0; step < 120; ++step) {
      for (std::uint64_t i = rng.below(4); i > 0; --i) {
        const std::size_t body = rng.chance(0.1) ? rng.below(40'000) : rng.below(200);
        sent.push_back(make(sent.size(), rng.below(100), body));
        append(line.sender, sent.back());
      }
      if (rng.chance(0.7)) line.send(1 + rng.below(5000));
      if (rng.chance(0.7)) line.deliver(rng.below(8000), 1 + rng.below(rng.chance(0.3) ? 4 : 3000));
      if (rng.chance(0.3)) line.acknowledge();
      if (rng.chance(0.1)) line.reconnect();
    }
    line.reconnect();
    line.send();
    line.deliver(line.on_wire.size(), 1 << 20);
    line.acknowledge();
    CHECK(line.sink.seen == sent);
    CHECK(line.sender.kept() == 0);
    CHECK_FALSE(line.sender.awaits_acknowledgement());
  }
}

TEST_CASE("session: a reconnection at every byte") {
  std::vector<Seen> sent;
  for (std::uint64_t i = 0; i < 12; ++i) sent.push_back(make(i, i * 3, i * 11));
  std::size_t all = 0;
  {
    Line line(50);
    for (const Seen& envelope : sent) append(line.sender, envelope);
    line.send();
    all = line.on_wire.size();
  }
  for (std::size_t cut = 0; cut <= all; ++cut) {
    Line line(50);
    for (const Seen& envelope : sent) append(line.sender, envelope);
    line.send();
    line.deliver(cut, 17);
    line.reconnect();
    line.send();
    line.deliver(line.on_wire.size(), 17);
    REQUIRE(line.sink.seen == sent);
  }
}

TEST_CASE("session: frames that come again are passed over, gaps and nonsense end it") {
  SendSession sender(100);
  append(sender, make(1, 10, 150));
  sender.cut();
  OutChain out;
  sender.take(out, 1 << 20);
  const std::string wire = text_of(out);
  std::vector<std::string> payloads;
  std::vector<FrameReader::Frame> frames;
  FrameReader reader;
  FrameReader::Frame frame;
  std::span<const std::uint8_t> data = runtime::as_bytes(wire);
  while (reader.next(data, frame) == FrameReader::Step::kFrame) frames.push_back(frame);
  REQUIRE(frames.size() == 2);

  ReceiveSession receiver;
  Sink sink;
  CHECK(receiver.receive(frames[1], sink).code() == Code::kCorrupt);  // a gap
  REQUIRE(receiver.receive(frames[0], sink).ok());
  REQUIRE(receiver.receive(frames[0], sink).ok());
  REQUIRE(receiver.receive(frames[1], sink).ok());
  REQUIRE(receiver.receive(frames[1], sink).ok());
  REQUIRE(receiver.receive(frames[0], sink).ok());
  CHECK(sink.seen == std::vector<Seen>{make(1, 10, 150)});
  CHECK(receiver.last_received() == 2);

  // An envelope that cannot be: the session is over for good.
  const std::string nonsense(28, '\xFF');
  CHECK(receiver.receive({kLane, 3, runtime::as_bytes(nonsense)}, sink).code() == Code::kCorrupt);
  CHECK(receiver.receive({kLane, 4, {}}, sink).code() == Code::kCorrupt);
  CHECK(receiver.receive({kBulkLane, 4, {}}, sink).code() == Code::kCorrupt);
}

TEST_CASE("session: acknowledgements that cannot be") {
  SendSession sender(100);
  append(sender, make(1, 10, 500));
  sender.cut();
  CHECK(sender.acknowledge(1).code() == Code::kCorrupt);  // not sent yet
  OutChain out;
  sender.take(out, 1);
  CHECK(sender.awaits_acknowledgement());
  CHECK(sender.has_unsent());
  CHECK(sender.acknowledge(2).code() == Code::kCorrupt);
  CHECK(sender.acknowledge(1).ok());
  CHECK(sender.acknowledge(1).ok());
  CHECK(sender.acknowledge(0).code() == Code::kCorrupt);
  CHECK(sender.acknowledge(~std::uint64_t{0}).code() == Code::kCorrupt);
  CHECK(sender.resume(0).code() == Code::kCorrupt);  // that is forgotten
  CHECK(sender.resume(100).code() == Code::kCorrupt);
  CHECK(sender.resume(2).ok());
}

TEST_CASE("session: memory is given back, and small letters share theirs") {
  const auto before = runtime::MemoryGauge::total();
  {
    Line line;
    for (int i = 0; i < 1000; ++i) {
      append(line.sender, make(static_cast<std::uint64_t>(i), 20, 20));
      line.send();  // a turn each
    }
    // 1000 small letters, none acknowledged: not a block each.
    CHECK(runtime::MemoryGauge::total() - before < 10 * static_cast<std::int64_t>(64 * 1024));
    line.deliver(line.on_wire.size(), 1 << 20);
    line.acknowledge();
    CHECK(line.sender.kept() == 0);
    CHECK(runtime::MemoryGauge::total() == before);
  }
}

TEST_CASE("frames: a wrong byte anywhere is noticed") {
  SendSession sender;
  append(sender, make(3, 20, 50));
  sender.cut();
  OutChain out;
  sender.take(out, 1 << 20);
  const std::string wire = text_of(out);
  for (std::size_t at = 0; at < wire.size() * 8; ++at) {
    std::string changed = wire;
    changed[at / 8] = static_cast<char>(changed[at / 8] ^ (1 << at % 8));
    FrameReader reader;
    FrameReader::Frame frame;
    std::span<const std::uint8_t> data = runtime::as_bytes(changed);
    CHECK(reader.next(data, frame) != FrameReader::Step::kFrame);
  }
}

TEST_CASE("frames: acknowledgements, cut anywhere") {
  std::uint8_t bytes[3 * kAcknowledgementSize];
  for (std::uint64_t i = 0; i < 3; ++i) {
    put_acknowledgement(bytes + i * kAcknowledgementSize, 1000 + i);
  }
  for (std::size_t piece = 1; piece <= sizeof bytes; ++piece) {
    AcknowledgementReader reader;
    std::uint64_t latest = 0;
    for (std::size_t at = 0; at < sizeof bytes; at += piece) {
      REQUIRE(reader.read({bytes + at, std::min(piece, sizeof bytes - at)}, latest).ok());
    }
    CHECK(latest == 1002);
  }
  bytes[7] ^= 1;
  std::uint64_t latest = 0;
  CHECK_FALSE(AcknowledgementReader().read({bytes, sizeof bytes}, latest).ok());
}

TEST_CASE("envelopes: what is too large is neither written nor believed") {
  OutChain stream;
  OutChain body;
  for (std::size_t i = 0; i <= kEnvelopeMax / (32 << 20); ++i) {
    static const Bytes part = Bytes::copy(std::vector<std::uint8_t>(32 << 20));
    body.append(part);
  }
  CHECK_FALSE(append_envelope(stream, {}, "", body));
  CHECK(stream.empty());

  std::uint8_t prefix[kEnvelopePrefixSize] = {};
  put_number(prefix + 20, std::uint32_t{0xFFFF'FFFF});
  put_number(prefix + 24, std::uint32_t{0xFFFF'FFFF});
  Sink sink;
  EnvelopeReader whole;
  CHECK(whole.read(prefix, sink).code() == Code::kCorrupt);
  EnvelopeReader parts;
  Status status;
  for (std::size_t i = 0; i < sizeof prefix && status.ok(); ++i) {
    status = parts.read({prefix + i, 1}, sink);
  }
  CHECK(status.code() == Code::kCorrupt);
}

}  // namespace peer_session_test
