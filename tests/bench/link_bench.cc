// What the link between two nodes costs for a message: encoding a batch, the session's frames and
// checksums, the copy into the receiver's read buffer (as the kernel makes it), and decoding. One
// core does both sides.
//
// usage: link_bench [bytes per message] [messages per letter] [millions of messages]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/copy_bytes.h"
#include "broker/runtime/envelope.h"
#include "broker/runtime/limits.h"
#include "cluster/peer_session.h"

namespace ringtail::cluster {
namespace {

using runtime::OutChain;

// Letters that are gathered in one turn.
constexpr std::size_t kLettersPerTurn = 8;

struct Batch {
  std::vector<runtime::Bytes> bodies;
};

// As a codec writes it: sizes into the header, small bodies side by side, large ones as slices.
void encode(const Batch& batch, runtime::EncodedLetter& out) {
  for (const runtime::Bytes& body : batch.bodies) {
    const auto size = static_cast<std::uint32_t>(body.size());
    out.header.append(reinterpret_cast<const char*>(&size), sizeof size);
    if (body.size() > runtime::kCopyOutMax) {
      out.body.append(body);
    } else {
      runtime::copy_bytes(out.body.reserve(body.size()), body.data(), body.size());
      out.body.advance(body.size());
    }
  }
}

struct Decoder final : EnvelopeSink {
  bool envelope(const EnvelopePrefix&, std::string_view header,
                std::span<const std::uint8_t> body) noexcept override {
    batch.bodies.clear();
    for (std::size_t at = 0; at + 4 <= header.size(); at += 4) {
      std::uint32_t size = 0;
      std::memcpy(&size, header.data() + at, sizeof size);
      batch.bodies.push_back(runtime::Bytes::copy(body.first(size)));
      body = body.subspan(size);
      ++messages;
    }
    return true;
  }
  Batch batch;
  std::uint64_t messages = 0;
};

class Line {
 public:
  void turn(const Batch& batch) {
    for (std::size_t i = 0; i < kLettersPerTurn; ++i) {
      encode(batch, encoded_);
      append_envelope(sender_.stream(), prefix_, encoded_.header, encoded_.body);
      encoded_.header.clear();
      encoded_.body.clear();
    }
    sender_.cut();
    OutChain out;
    while (sender_.has_unsent()) {
      sender_.take(out, kWriteAtOnceMax);
      carry(out);
    }
    RT_CHECK(sender_.acknowledge(receiver_.last_received()).ok(), "acknowledged");
  }
  std::uint64_t messages() const { return decoder_.messages; }

 private:
  void carry(OutChain& out) {
    while (!out.empty()) {
      std::array<OutChain::Piece, 64> pieces;
      const std::size_t count = out.peek(pieces);
      std::size_t taken = 0;
      std::size_t filled = 0;
      for (std::size_t i = 0; i < count && filled < read_.size(); ++i) {
        const std::size_t part = std::min(pieces[i].size, read_.size() - filled);
        runtime::copy_bytes(read_.data() + filled, pieces[i].data, part);
        filled += part;
        taken += part;
      }
      out.consume(taken);
      std::span<const std::uint8_t> data(read_.data(), filled);
      FrameReader::Frame frame;
      while (reader_.next(data, frame) == FrameReader::Step::kFrame) {
        RT_CHECK(receiver_.receive(frame, decoder_).ok(), "received");
      }
    }
  }

  const EnvelopePrefix prefix_{1, runtime::ShardId{0}, runtime::ActorId{1}, runtime::ActorId{2}};
  runtime::EncodedLetter encoded_;
  SendSession sender_;
  FrameReader reader_;
  ReceiveSession receiver_;
  Decoder decoder_;
  std::vector<std::uint8_t> read_ = std::vector<std::uint8_t>(runtime::kReadBufferSize);
};

}  // namespace
}  // namespace ringtail::cluster

int main(int argc, char** argv) {
  using namespace ringtail::cluster;
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  const std::size_t per_letter = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 200;
  const double millions = argc > 3 ? std::strtod(argv[3], nullptr) : 2;
  Batch batch;
  for (std::size_t i = 0; i < per_letter; ++i) {
    batch.bodies.push_back(ringtail::runtime::Bytes::copy(std::vector<std::uint8_t>(size, 'x')));
  }
  Line line;
  const auto begin = std::chrono::steady_clock::now();
  while (static_cast<double>(line.messages()) < millions * 1e6) line.turn(batch);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu bytes, %zu per letter: %.0f messages/s, %.2f GB/s, both sides on one core\n",
              size, per_letter, static_cast<double>(line.messages()) / took.count(),
              static_cast<double>(line.messages() * size) / took.count() / 1e9);
  return 0;
}
