// The examples of docs/FORMATS.md, "Between nodes", are what is written.
#include <doctest/doctest.h>

#include <array>
#include <cctype>
#include <fstream>
#include <string>
#include <vector>

#include "cluster/link_frame.h"
#include "cluster/peer_handshake.h"
#include "cluster/peer_session.h"

namespace link_examples_test {

using namespace ringtail;
using namespace ringtail::cluster;
using runtime::OutChain;

namespace {

std::uint8_t digit(char text) {
  return static_cast<std::uint8_t>(text <= '9' ? text - '0' : text - 'a' + 10);
}

// The octets that a line begins with.
void read_line(const std::string& line, std::string& octets) {
  std::size_t at = 0;
  while (at + 2 <= line.size() && std::isxdigit(static_cast<unsigned char>(line[at])) != 0 &&
         std::isxdigit(static_cast<unsigned char>(line[at + 1])) != 0) {
    octets += static_cast<char>(digit(line[at]) << 4 | digit(line[at + 1]));
    if (at + 2 >= line.size() || line[at + 2] != ' ') return;
    at += 3;
  }
}

// The block behind the line that begins so.
std::string example(const std::string& title) {
  std::ifstream document(RINGTAIL_SOURCE_DIR "/docs/FORMATS.md");
  REQUIRE(document.good());
  std::string octets;
  bool found = false;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (!found) {
      found = line.rfind(title, 0) == 0;
    } else if (line == "```") {
      if (inside) return octets;
      inside = true;
    } else if (inside) {
      read_line(line, octets);
    }
  }
  FAIL("no block behind the line \"" << title << "\"");
  return octets;
}

std::string text_of(OutChain& chain) {
  std::string text;
  while (!chain.empty()) {
    const runtime::Bytes piece = chain.take_front(chain.size());
    text += runtime::as_text(piece.span());
  }
  return text;
}

Nonce nonce(std::uint8_t value) {
  Nonce made;
  made.fill(value);
  return made;
}

}  // namespace

TEST_CASE("the frame and the acknowledgement in docs/FORMATS.md") {
  SendSession session;
  OutChain body;
  body.append_copy("xyz", 3);
  const EnvelopePrefix prefix{0x0101, runtime::ShardId{2}, runtime::ActorId{5},
                              runtime::ActorId{6}};
  REQUIRE(append_envelope(session.stream(), prefix, "ab", body));
  session.cut();
  OutChain out;
  session.take(out, kWriteAtOnceMax);
  std::uint8_t acknowledgement[kAcknowledgementSize];
  put_acknowledgement(acknowledgement, 1);
  out.append_copy(acknowledgement, sizeof acknowledgement);
  CHECK(text_of(out) == example("Example: a letter of kind 0x0101"));
}

TEST_CASE("the hello in docs/FORMATS.md") {
  LinkHello hello;
  hello.kind = LinkKind::kData;
  hello.identity.cluster.fill(7);
  hello.identity.node = runtime::NodeId{9};
  hello.identity.name = "a@h";
  hello.identity.life = 3;
  hello.identity.shards = 2;
  hello.shard = 1;
  hello.to_node = runtime::NodeId{10};
  hello.to_life = 4;
  DialerHandshake dialer(hello, nonce(1));
  AcceptorHandshake acceptor(nonce(2));
  std::string challenge;
  std::span<const std::uint8_t> data = runtime::as_bytes(dialer.greeting());
  REQUIRE(acceptor.take("cookie", data, challenge) == AcceptorHandshake::Step::kSend);
  std::string said;
  data = runtime::as_bytes(challenge);
  REQUIRE(dialer.take("cookie", data, said) == DialerHandshake::Step::kSend);
  CHECK(said == example("Example: with the cookie"));
}

}  // namespace link_examples_test
