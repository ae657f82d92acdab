// How two nodes prove to each other that they hold the same cookie, and say who they are. Pure:
// bytes in, bytes out; both sides of it. The cookie never travels. Challenge and response with
// HMAC-SHA-256 (RFC 2104) over everything that was said so far; grammar in docs/FORMATS.md.
//
//   dialer    greeting: versions, a nonce                                            acceptor
//             <- challenge: versions, a nonce
//             hello: who I am, whom I mean, proof                                    proven
//   proven    <- welcome: who I am, last frame; or a refusal with its reason; proof
//
// The dialer proves itself first: a stranger is told a nonce and nothing else (CL1). Each side's
// proof has a label of its own and covers both nonces, so that neither can be played back to where
// it came from or used a second time. A hello names the node that it is meant for, so that it is of
// no use to a third one that it is handed on to.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broker/runtime/status.h"
#include "cluster/link_identity.h"

namespace ringtail::cluster {

inline constexpr std::uint8_t kLinkVersionMin = 2;
inline constexpr std::uint8_t kLinkVersionMax = 2;

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;

enum class LinkKind : std::uint8_t {
  kControl = 1,
  kData = 2,
  kJoin = 3,  // one question of a node that need not be a member, and its answer
};

// What the dialer says.
struct LinkHello {
  LinkKind kind = LinkKind::kControl;
  LinkIdentity identity;
  std::uint16_t shard = 0;  // of the dialer
  runtime::NodeId to_node;  // whom it means; 0: whoever answers
  NodeLife to_life = 0;     // and in which life; 0: in any
};

// Why a link that was proven is refused. Nothing else is said to who did not prove himself.
enum class Refusal : std::uint8_t {
  kNone = 0,
  kWrongCluster = 1,  // another cluster, or another force generation of it
  kWrongNode = 2,     // the hello is meant for another node
  kUnknownLife = 3,   // of either; may pass
  kUnknownNode = 4,   // it is no member, as far as is known here; may pass
  kNotReady = 5,      // may pass
  kOtherTls = 6,      // one of the two secures its links by TLS, the other does not
  kForgotten = 7,     // the cluster of both has forgotten the dialer, for ever
};
std::string_view to_text(Refusal refusal);
// One that is expected while either side starts, ends or changes its life, and passes by itself.
bool may_pass(Refusal refusal);

struct LinkWelcome {
  LinkIdentity identity;
  // Of a data link: the last frame of this session that has arrived.
  std::uint64_t last_received = 0;
  Refusal refusal = Refusal::kNone;
  std::string reason;  // of a refusal, for the log; at most 255 bytes
};

// The side that connects. Begin by sending greeting().
class DialerHandshake {
 public:
  enum class Step : std::uint8_t {
    kMore,     // needs more input
    kSend,     // `send` holds what to send now
    kWelcome,  // done: the other side is proven, and welcome() says what it said
    kFailed,   // failure() says why; end the connection
  };

  DialerHandshake(const LinkHello& hello, const Nonce& nonce);

  const std::string& greeting() const { return greeting_; }
  // Takes what it needs from the front of `data`.
  Step take(std::string_view cookie, std::span<const std::uint8_t>& data, std::string& send);
  const LinkWelcome& welcome() const { return welcome_; }
  const runtime::Status& failure() const { return failure_; }

 private:
  enum class State : std::uint8_t { kAwaitsChallenge, kAwaitsWelcome, kDone };

  Step challenge(std::string_view cookie, std::string& send);
  Step welcome(std::string_view cookie);
  Step fail(std::string text);

  State state_ = State::kAwaitsChallenge;
  LinkHello hello_;
  std::string greeting_;
  std::string transcript_;  // greeting, challenge, hello
  std::string input_;
  LinkWelcome welcome_;
  runtime::Status failure_;
};

// The side that was connected to. A value: it begins on the shard that listens and is moved to the
// one that will have the connection, which answers.
class AcceptorHandshake {
 public:
  enum class Step : std::uint8_t {
    kMore,
    kSend,
    kProven,  // hello() is to be answered by welcome() or refuse()
    kFailed,  // end the connection without a word
  };

  explicit AcceptorHandshake(const Nonce& nonce) : nonce_(nonce) {}

  Step take(std::string_view cookie, std::span<const std::uint8_t>& data, std::string& send);
  // What was proven.
  const LinkHello& hello() const { return hello_; }
  const runtime::Status& failure() const { return failure_; }

  // The answer, to be sent: a welcome, or (with `refusal` set) a refusal.
  std::string answer(std::string_view cookie, const LinkWelcome& welcome) const;

 private:
  enum class State : std::uint8_t { kAwaitsGreeting, kAwaitsHello, kProven };

  Step greeting(std::string& send);
  Step hello(std::string_view cookie);
  Step fail(std::string text);

  State state_ = State::kAwaitsGreeting;
  Nonce nonce_;
  std::string transcript_;  // greeting, challenge, hello with its proof
  std::string input_;
  LinkHello hello_;
  runtime::Status failure_;
};

// Whether the hello is one for this node, as far as only the two of them are concerned. `reason` is
// for the log and the peer.
Refusal check_hello(const LinkHello& hello, const LinkIdentity& own, std::string& reason);

}  // namespace ringtail::cluster
