#include "cluster/peer_handshake.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "broker/runtime/bytes.h"
#include "cluster/link_limits.h"

namespace peer_handshake_test {

using namespace ringtail;
using namespace ringtail::cluster;
using runtime::as_bytes;
using runtime::NodeId;

namespace {

constexpr char kCookie[] = "a secret of two nodes";

Nonce nonce(std::uint8_t value) {
  Nonce made;
  made.fill(value);
  return made;
}

ClusterId cluster_id(std::uint8_t value) {
  ClusterId made;
  made.fill(value);
  return made;
}

LinkIdentity identity(std::uint32_t node) {
  LinkIdentity made;
  made.cluster = cluster_id(7);
  made.force_generation = 2;
  made.node = NodeId{node};
  made.name = "rabbit@host" + std::to_string(node);
  made.life = 40 + node;
  made.shards = 3;
  return made;
}

LinkHello hello() {
  LinkHello made;
  made.kind = LinkKind::kData;
  made.identity = identity(1);
  made.shard = 2;
  made.to_node = NodeId{2};
  made.to_life = 42;
  return made;
}

// Both sides, and what each said.
struct Pair {
  explicit Pair(const LinkHello& dialer_hello = hello(), std::string acceptor_cookie = kCookie)
      : dialer(dialer_hello, nonce(1)), acceptor(nonce(2)), cookie(std::move(acceptor_cookie)) {}

  DialerHandshake::Step to_dialer(const std::string& text) {
    std::span<const std::uint8_t> data = as_bytes(text);
    const auto step = dialer.take(kCookie, data, from_dialer);
    left = data.size();
    return step;
  }
  AcceptorHandshake::Step to_acceptor(const std::string& text) {
    std::span<const std::uint8_t> data = as_bytes(text);
    const auto step = acceptor.take(cookie, data, from_acceptor);
    left = data.size();
    return step;
  }
  // Up to the dialer's hello, which is in from_dialer.
  void greet() {
    REQUIRE(to_acceptor(dialer.greeting()) == AcceptorHandshake::Step::kSend);
    REQUIRE(to_dialer(from_acceptor) == DialerHandshake::Step::kSend);
  }
  void prove() {
    greet();
    REQUIRE(to_acceptor(from_dialer) == AcceptorHandshake::Step::kProven);
  }

  DialerHandshake dialer;
  AcceptorHandshake acceptor;
  std::string cookie;
  std::string from_dialer;
  std::string from_acceptor;
  std::size_t left = 0;
};

LinkWelcome welcome() {
  LinkWelcome made;
  made.identity = identity(2);
  made.last_received = 0x0102030405060708ULL;
  return made;
}

}  // namespace

TEST_CASE("handshake: both sides prove themselves and learn who the other is") {
  Pair pair;
  pair.prove();
  const LinkHello& seen = pair.acceptor.hello();
  CHECK(seen.kind == LinkKind::kData);
  CHECK(seen.identity == identity(1));
  CHECK(seen.shard == 2);
  CHECK(seen.to_node == NodeId{2});
  CHECK(seen.to_life == 42);
  REQUIRE(pair.to_dialer(pair.acceptor.answer(kCookie, welcome())) ==
          DialerHandshake::Step::kWelcome);
  CHECK(pair.dialer.welcome().identity == identity(2));
  CHECK(pair.dialer.welcome().last_received == 0x0102030405060708ULL);
  CHECK(pair.dialer.welcome().refusal == Refusal::kNone);
}

TEST_CASE("handshake: the cookie is nowhere on the wire") {
  Pair pair;
  pair.prove();
  const std::string all = pair.dialer.greeting() + pair.from_acceptor + pair.from_dialer +
                          pair.acceptor.answer(kCookie, welcome());
  CHECK(all.find(kCookie) == std::string::npos);
}

TEST_CASE("handshake: byte by byte, and with what follows left alone") {
  Pair pair;
  const auto feed = [](auto& side, const std::string& text, std::string& out) {
    std::span<const std::uint8_t> none;
    auto step = side.take(kCookie, none, out);
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::span<const std::uint8_t> data = as_bytes(std::string_view(text).substr(i, 1));
      step = side.take(kCookie, data, out);
      CHECK(data.empty());
    }
    return step;
  };
  REQUIRE(feed(pair.acceptor, pair.dialer.greeting(), pair.from_acceptor) ==
          AcceptorHandshake::Step::kSend);
  REQUIRE(feed(pair.dialer, pair.from_acceptor, pair.from_dialer) == DialerHandshake::Step::kSend);
  REQUIRE(feed(pair.acceptor, pair.from_dialer, pair.from_acceptor) ==
          AcceptorHandshake::Step::kProven);
  const std::string answer = pair.acceptor.answer(kCookie, welcome()) + "frames";
  REQUIRE(pair.to_dialer(answer) == DialerHandshake::Step::kWelcome);
  CHECK(pair.left == 6);
}

TEST_CASE("handshake: a refusal says its reason, proven") {
  for (const Refusal refusal : {Refusal::kWrongCluster, Refusal::kWrongNode, Refusal::kUnknownLife,
                                Refusal::kUnknownNode, Refusal::kNotReady}) {
    Pair pair;
    pair.prove();
    LinkWelcome refused;
    refused.identity = identity(2);
    refused.refusal = refusal;
    refused.reason = std::string(300, 'x');  // cut, not broken
    REQUIRE(pair.to_dialer(pair.acceptor.answer(kCookie, refused)) ==
            DialerHandshake::Step::kWelcome);
    CHECK(pair.dialer.welcome().refusal == refusal);
    CHECK(pair.dialer.welcome().reason == std::string(255, 'x'));
  }
}

TEST_CASE("handshake: with another cookie each side fails, without a reason from the other") {
  Pair pair(hello(), "another secret");
  pair.greet();
  CHECK(pair.to_acceptor(pair.from_dialer) == AcceptorHandshake::Step::kFailed);
  CHECK(pair.acceptor.failure().text().find("cookie") != std::string::npos);
  // Whoever answers without the cookie is found out too.
  Pair impostor;
  impostor.prove();
  CHECK(impostor.to_dialer(impostor.acceptor.answer("another secret", welcome())) ==
        DialerHandshake::Step::kFailed);
}

TEST_CASE("handshake: every changed bit is noticed") {
  Pair honest;
  honest.prove();
  const std::string hello_said = honest.from_dialer;
  for (std::size_t at = 0; at < hello_said.size() * 8; ++at) {
    Pair pair;
    pair.greet();
    std::string changed = hello_said;
    changed[at / 8] = static_cast<char>(changed[at / 8] ^ (1 << at % 8));
    CHECK(pair.to_acceptor(changed) != AcceptorHandshake::Step::kProven);
  }
  const std::string answer = honest.acceptor.answer(kCookie, welcome());
  for (std::size_t at = 0; at < answer.size() * 8; ++at) {
    Pair pair;
    pair.prove();
    std::string changed = answer;
    changed[at / 8] = static_cast<char>(changed[at / 8] ^ (1 << at % 8));
    CHECK(pair.to_dialer(changed) != DialerHandshake::Step::kWelcome);
  }
}

TEST_CASE("handshake: a proof is of no use a second time, elsewhere, or sent back") {
  Pair first;
  first.prove();
  // Played back to another connection of the same acceptor.
  AcceptorHandshake other(nonce(3));
  std::string send;
  std::span<const std::uint8_t> data = as_bytes(first.dialer.greeting());
  REQUIRE(other.take(kCookie, data, send) == AcceptorHandshake::Step::kSend);
  data = as_bytes(first.from_dialer);
  CHECK(other.take(kCookie, data, send) == AcceptorHandshake::Step::kFailed);
  // The dialer's own words sent back to it.
  DialerHandshake reflected(hello(), nonce(1));
  data = as_bytes(reflected.greeting());
  CHECK(reflected.take(kCookie, data, send) == DialerHandshake::Step::kFailed);
  Pair back;
  back.greet();
  CHECK(back.to_dialer(back.from_dialer) == DialerHandshake::Step::kFailed);
  // An answer of another handshake.
  Pair second(hello(), kCookie);
  second.acceptor = AcceptorHandshake(nonce(9));
  second.prove();
  CHECK(second.to_dialer(first.acceptor.answer(kCookie, welcome())) ==
        DialerHandshake::Step::kFailed);
}

TEST_CASE("handshake: strangers, and sizes that cannot be") {
  AcceptorHandshake::Step step;
  {
    Pair pair;
    CHECK(pair.to_acceptor("GET / HTTP/1.1\r\n") == AcceptorHandshake::Step::kFailed);
    CHECK(pair.from_acceptor.empty());  // told nothing at all
    CHECK(pair.to_acceptor(pair.dialer.greeting()) == AcceptorHandshake::Step::kFailed);
  }
  {
    Pair pair;
    CHECK(pair.to_acceptor("RING") == AcceptorHandshake::Step::kMore);
    CHECK(pair.to_acceptor("TONE") == AcceptorHandshake::Step::kFailed);
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{31}, kHandshakeMessageMax - 1, std::size_t{0xFFFF}}) {
    Pair pair;
    pair.greet();
    std::string message;
    message.push_back(static_cast<char>(size >> 8));
    message.push_back(static_cast<char>(size));
    step = pair.to_acceptor(message + std::string(2000, 'x'));
    CHECK(step == AcceptorHandshake::Step::kFailed);
    Pair answered;
    answered.prove();
    CHECK(answered.to_dialer(message + std::string(2000, 'x')) == DialerHandshake::Step::kFailed);
  }
  Pair pair;
  pair.prove();
  CHECK(pair.to_acceptor("more") == AcceptorHandshake::Step::kFailed);
}

TEST_CASE("handshake: versions without one in common") {
  Pair pair;
  REQUIRE(pair.to_acceptor(pair.dialer.greeting()) == AcceptorHandshake::Step::kSend);
  std::string challenge = pair.from_acceptor;
  challenge[8] = kLinkVersionMax + 1;
  challenge[9] = kLinkVersionMax + 3;
  CHECK(pair.to_dialer(challenge) == DialerHandshake::Step::kFailed);
  CHECK(pair.dialer.failure().text().find("3 to 5") != std::string::npos);
  // One that also speaks newer ones is understood.
  Pair newer;
  REQUIRE(newer.to_acceptor(newer.dialer.greeting()) == AcceptorHandshake::Step::kSend);
  challenge = newer.from_acceptor;
  challenge[9] = 5;
  CHECK(newer.to_dialer(challenge) == DialerHandshake::Step::kSend);
}

TEST_CASE("handshake: who is refused, and why") {
  const LinkIdentity own = identity(2);
  std::string reason;
  const auto check = [&](const LinkHello& said) {
    reason.clear();
    return check_hello(said, own, reason);
  };
  LinkHello said = hello();
  CHECK(check(said) == Refusal::kNone);
  said.to_node = NodeId{3};
  CHECK(check(said) == Refusal::kWrongNode);
  said.to_node = NodeId{};
  CHECK(check(said) == Refusal::kNone);
  said.to_life = 41;
  CHECK(check(said) == Refusal::kUnknownLife);
  CHECK(reason.find("life 42") != std::string::npos);
  said.to_life = 0;
  CHECK(check(said) == Refusal::kNone);
  said.identity.force_generation = 3;
  CHECK(check(said) == Refusal::kWrongCluster);
  said = hello();
  said.identity.cluster = cluster_id(8);
  CHECK(check(said) == Refusal::kWrongCluster);
  said.kind = LinkKind::kJoin;
  CHECK(check(said) == Refusal::kNone);
  LinkIdentity fresh = own;
  fresh.cluster = {};
  said = hello();
  CHECK(check_hello(said, fresh, reason) == Refusal::kNotReady);
}

}  // namespace peer_handshake_test
