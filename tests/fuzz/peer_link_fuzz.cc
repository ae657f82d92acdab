// What comes from the other end of a link between nodes: handshakes, frames, envelopes and
// acknowledgements. However the input is cut, the same comes out.
// Input: 1 octet that names the reader, 1 that seeds the cutting, then what arrives.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "cluster/link_frame.h"
#include "cluster/peer_handshake.h"
#include "cluster/peer_session.h"

namespace {

using namespace ringtail::cluster;
using ringtail::runtime::as_bytes;
using ringtail::runtime::as_text;

constexpr char kCookie[] = "fuzz";
constexpr std::size_t kProofSize = sizeof(Proof);

// Feeds the input in pieces, each in memory of its own; `take` says whether to go on.
template <typename Take>
void feed(std::span<const std::uint8_t> input, std::uint32_t seed, Take take) {
  while (!input.empty()) {
    seed = seed * 1664525u + 1013904223u;
    const std::size_t wanted = seed % 4 == 0 ? seed >> 16 : seed >> 28;
    const std::size_t part = std::clamp<std::size_t>(wanted, 1, input.size());
    const std::vector<std::uint8_t> piece(input.begin(),
                                          input.begin() + static_cast<std::ptrdiff_t>(part));
    input = input.subspan(part);
    if (!take(std::span<const std::uint8_t>(piece))) return;
  }
}

template <typename Side>
std::string shake(Side side, std::span<const std::uint8_t> input, std::uint32_t seed) {
  std::string seen;
  feed(input, seed, [&](std::span<const std::uint8_t> piece) {
    while (!piece.empty()) {
      std::string send;
      const std::size_t before = piece.size();
      const auto step = side.take(kCookie, piece, send);
      seen += send;
      if (step == Side::Step::kSend && piece.size() < before) continue;
      if (step != Side::Step::kMore) {
        seen += std::to_string(static_cast<int>(step)) + side.failure().text();
        return false;
      }
    }
    return true;
  });
  return seen;
}

std::string prove(std::string message, std::string_view label, const std::string& said) {
  const std::string all = std::string(label) + said + message;
  Proof proof{};
  unsigned size = 0;
  HMAC(EVP_sha256(), kCookie, 4, reinterpret_cast<const unsigned char*>(all.data()), all.size(),
       proof.data(), &size);
  return message.append(reinterpret_cast<const char*>(proof.data()), size);
}

// The input as the fields of a message that is proven.
std::string sized(std::span<const std::uint8_t> fields) {
  const std::size_t size = fields.size() + kProofSize;
  std::string message{static_cast<char>(size >> 8), static_cast<char>(size)};
  return message.append(as_text(fields));
}

void proven_fields(std::span<const std::uint8_t> fields) {
  fields = fields.first(std::min<std::size_t>(fields.size(), 980));
  DialerHandshake dialer(LinkHello{}, Nonce{1});
  AcceptorHandshake acceptor(Nonce{2});
  std::string challenge;
  std::span<const std::uint8_t> data = as_bytes(dialer.greeting());
  acceptor.take(kCookie, data, challenge);
  const std::string opened = dialer.greeting() + challenge;
  std::string none;
  const std::string hello = prove(sized(fields), "ringtail link 1 dialer", opened);
  data = as_bytes(hello);
  RT_CHECK(acceptor.take(kCookie, data, none) != AcceptorHandshake::Step::kMore, "decided");
  std::string own_hello;
  data = as_bytes(challenge);
  RT_CHECK(dialer.take(kCookie, data, own_hello) == DialerHandshake::Step::kSend, "answered");
  const std::string welcome = prove(sized(fields), "ringtail link 1 acceptor", opened + own_hello);
  data = as_bytes(welcome);
  RT_CHECK(dialer.take(kCookie, data, none) != DialerHandshake::Step::kMore, "decided");
}

struct Sink final : EnvelopeSink {
  bool envelope(const EnvelopePrefix& prefix, std::string_view header,
                std::span<const std::uint8_t> body) noexcept override {
    seen += std::to_string(prefix.kind) + ":" + std::to_string(prefix.to_actor.value) + ":";
    seen.append(header).append("|").append(as_text(body)).append("\n");
    return true;
  }
  std::string seen;
};

std::string frames(std::span<const std::uint8_t> input, std::uint32_t seed) {
  FrameReader reader;
  ReceiveSession session;
  Sink sink;
  feed(input, seed, [&](std::span<const std::uint8_t> piece) {
    FrameReader::Frame frame;
    FrameReader::Step step;
    while ((step = reader.next(piece, frame)) == FrameReader::Step::kFrame) {
      const auto status = session.receive(frame, sink);
      sink.seen += status.text() + std::to_string(session.last_received());
    }
    RT_CHECK(step == FrameReader::Step::kFailed || piece.empty(), "all is taken");
    if (step == FrameReader::Step::kFailed) sink.seen += reader.failure().text();
    return step == FrameReader::Step::kMore;
  });
  return sink.seen;
}

std::string envelopes(std::span<const std::uint8_t> input, std::uint32_t seed) {
  EnvelopeReader reader;
  Sink sink;
  feed(input, seed, [&](std::span<const std::uint8_t> piece) {
    const auto status = reader.read(piece, sink);
    if (!status.ok()) sink.seen += status.text();
    return status.ok();
  });
  return sink.seen;
}

std::string acknowledgements(std::span<const std::uint8_t> input, std::uint32_t seed) {
  AcknowledgementReader reader;
  std::uint64_t latest = 0;
  std::string seen;
  feed(input, seed, [&](std::span<const std::uint8_t> piece) {
    const auto status = reader.read(piece, latest);
    if (!status.ok()) seen = status.text();
    return status.ok();
  });
  return seen + std::to_string(latest);
}

std::string run(std::uint8_t which, std::span<const std::uint8_t> input, std::uint32_t seed) {
  switch (which % 5) {
    case 0:
      return shake(AcceptorHandshake(Nonce{1}), input, seed);
    case 1:
      return shake(DialerHandshake(LinkHello{}, Nonce{2}), input, seed);
    case 2:
      return frames(input, seed);
    case 3:
      return envelopes(input, seed);
    default:
      return acknowledgements(input, seed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::span<const std::uint8_t> input(data + 2, size - 2);
  if (data[0] == 0xFF) {
    proven_fields(input);
    return 0;
  }
  const std::string once = run(data[0], input, data[1]);
  RT_CHECK(once == run(data[0], input, data[1] * 7u + 1), "another cutting gives another result");
  return 0;
}
