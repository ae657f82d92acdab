// The broker's letters that cross to another node: direct replies.
#include "broker/letters_codec.h"

#include <doctest/doctest.h>

#include <string>

#include "broker/direct_reply.h"
#include "queue/message.h"

namespace ringtail::broker::letters_codec_test {
namespace {

using runtime::LetterCodecs;
using runtime::LetterPtr;
using runtime::Result;

struct Wire {
  std::string header;
  std::string body;
};

const runtime::LetterCodec& codec_of(runtime::LetterKind kind) {
  static const LetterCodecs all = [] {
    LetterCodecs made;
    add_codecs(made);
    return made;
  }();
  const runtime::LetterCodec* codec = all.find(kind);
  REQUIRE(codec != nullptr);
  return *codec;
}

Wire to_wire(const runtime::Letter& letter) {
  runtime::EncodedLetter encoded;
  codec_of(letter.kind).encode(letter, encoded);
  Wire wire{encoded.header, {}};
  while (!encoded.body.empty()) {
    runtime::OutChain::Piece piece{};
    encoded.body.peek({&piece, 1});
    wire.body.append(reinterpret_cast<const char*>(piece.data), piece.size);
    encoded.body.consume(piece.size);
  }
  return wire;
}

Result<LetterPtr> from_wire(runtime::LetterKind kind, const Wire& wire) {
  return codec_of(kind).decode(wire.header, runtime::as_bytes(wire.body));
}

}  // namespace

TEST_CASE("a direct reply comes out as it went in") {
  DirectReply letter;
  letter.name = "amq.rabbitmq.reply-to.00000007.0003.text";
  queue::Message::Traits traits;
  traits.persistent = true;
  queue::Message* message = queue::Message::create(runtime::as_bytes("\x01x\x01y"),
                                                   runtime::as_bytes("properties"), 10'000, traits);
  message->append_body(runtime::as_bytes(std::string(10'000, 'b')));
  letter.message = queue::MessageRef(message);
  const Wire wire = to_wire(letter);
  auto result = from_wire(kDirectReply, wire);
  REQUIRE(result.ok());
  const auto& got = static_cast<const DirectReply&>(*result.value());
  CHECK(got.name == letter.name);
  CHECK(got.message->traits().persistent);
  CHECK(got.message->routing_key() == "y");
  CHECK(runtime::as_text(got.message->properties()) == "properties");
  CHECK(got.message->large_body().size() == 10'000);
  for (std::size_t cut = 0; cut < wire.body.size(); cut += 99) {
    CHECK(!from_wire(kDirectReply, {wire.header, wire.body.substr(0, cut)}).ok());
  }
  CHECK(!from_wire(kDirectReply, {wire.header, wire.body + "x"}).ok());
  CHECK(!from_wire(kDirectReply, {"", ""}).ok());
  CHECK(!from_wire(kDirectReply, {"\xFF\xFF", wire.body}).ok());
}

TEST_CASE("a question for an asker and its answer come out as they went in") {
  ProbeReply probe;
  probe.request = UINT64_MAX;
  probe.name = "some name";
  auto asked = from_wire(kProbeReply, to_wire(probe));
  REQUIRE(asked.ok());
  CHECK(static_cast<const ProbeReply&>(*asked.value()).request == UINT64_MAX);
  CHECK(static_cast<const ProbeReply&>(*asked.value()).name == "some name");
  ReplyProbed probed;
  probed.request = 3;
  probed.exists = true;
  auto answered = from_wire(kReplyProbed, to_wire(probed));
  REQUIRE(answered.ok());
  CHECK(static_cast<const ReplyProbed&>(*answered.value()).request == 3);
  CHECK(static_cast<const ReplyProbed&>(*answered.value()).exists);
  CHECK(!from_wire(kReplyProbed, {to_wire(probed).header, "x"}).ok());
  CHECK(!from_wire(kProbeReply, {"\x0A", ""}).ok());
}

TEST_CASE("what stays within a node has no codec") {
  LetterCodecs codecs;
  add_codecs(codecs);
  CHECK(codecs.find(kAdopt) == nullptr);
  CHECK(codecs.find(kPeerDown) == nullptr);
}

TEST_CASE("a reply name leads to a node and a shard") {
  const auto place = place_of_reply_name("amq.rabbitmq.reply-to.89abcdef.001f.xyz");
  REQUIRE(place);
  CHECK(place->node == runtime::NodeId{0x89abcdef});
  CHECK(place->shard == runtime::ShardId{0x1f});
  for (const char* name :
       {"amq.rabbitmq.reply-to", "amq.rabbitmq.reply-to.", "amq.rabbitmq.reply",
        "amq.rabbitmq.reply-to.001f.xyz", "amq.rabbitmq.reply-to.89abcdef.001f",
        "amq.rabbitmq.reply-to.89abcdeg.001f.x", "amq.rabbitmq.reply-to.-9abcdef.001f.x",
        "amq.rabbitmq.reply-to.89abcdef.1f.x"}) {
    CAPTURE(name);
    CHECK(!place_of_reply_name(name));
  }
}

}  // namespace ringtail::broker::letters_codec_test
