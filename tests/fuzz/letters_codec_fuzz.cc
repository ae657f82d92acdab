// Letters of queues from another node: what is taken can be sent on, and is the same when it comes
// back. An input is the kind (an octet), the size of the header (an octet), the header, the rest.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broker/runtime/check.h"
#include "broker/runtime/envelope.h"
#include "queue/letters.h"
#include "queue/letters_codec.h"

namespace {

using namespace ringtail;

const runtime::LetterCodecs& codecs() {
  static const runtime::LetterCodecs all = [] {
    runtime::LetterCodecs made;
    queue::add_codecs(made);
    return made;
  }();
  return all;
}

struct Wire {
  std::string header;
  std::string body;
  bool operator==(const Wire&) const = default;
};

Wire wire_of(const runtime::LetterCodec& codec, const runtime::Letter& letter) {
  runtime::EncodedLetter encoded;
  codec.encode(letter, encoded);
  Wire wire{std::move(encoded.header), {}};
  while (!encoded.body.empty()) {
    runtime::OutChain::Piece piece{};
    encoded.body.peek({&piece, 1});
    wire.body.append(reinterpret_cast<const char*>(piece.data), piece.size);
    encoded.body.consume(piece.size);
  }
  return wire;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr unsigned kKinds = queue::kChannelForgotten - queue::kPublish + 1;
  const auto kind = static_cast<runtime::LetterKind>(queue::kPublish + data[0] % kKinds);
  const runtime::LetterCodec* const codec = codecs().find(kind);
  RT_CHECK(codec != nullptr, "a kind without a codec");
  const std::size_t header_size = std::min<std::size_t>(data[1], size - 2);
  const std::string_view header(reinterpret_cast<const char*>(data) + 2, header_size);
  const auto letter = codec->decode(header, {data + 2 + header_size, size - 2 - header_size});
  if (!letter.ok()) {
    RT_CHECK(letter.status().code() == runtime::Code::kCorrupt, "another code");
    return 0;
  }
  RT_CHECK(letter.value()->kind == kind, "a letter of another kind");
  const Wire first = wire_of(*codec, *letter.value());
  const auto again = codec->decode(first.header, runtime::as_bytes(first.body));
  RT_CHECK(again.ok(), "what was written is not read");
  RT_CHECK(wire_of(*codec, *again.value()) == first, "another letter comes back");
  return 0;
}
