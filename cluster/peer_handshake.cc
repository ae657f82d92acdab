// greeting  = magic versions nonce(32 bytes)                        ; 43 bytes with the magic
// challenge = magic versions nonce(32 bytes)
// hello     = size:short version:octet kind:octet identity shard:short to-node:long
//             to-life:longlong proof(32 bytes)
// welcome   = size:short refusal:octet reason:short-string identity last-received:longlong
//             proof(32 bytes)
// identity  = cluster(16 bytes) force:longlong node:long name:short-string life:longlong
//             shards:short
// magic     = "RINGLINK"
// versions  = lowest:octet highest:octet
//
// `size` is that of what follows it, the proof included.
#include "cluster/peer_handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>

#include "broker/runtime/check.h"
#include "cluster/link_limits.h"
#include "cluster/wire_numbers.h"

namespace ringtail::cluster {

namespace {

using runtime::Code;
using runtime::NodeId;
using runtime::Status;

constexpr std::string_view kMagic = "RINGLINK";
constexpr std::size_t kOpeningSize = 8 + 2 + sizeof(Nonce);
constexpr std::size_t kNameMax = 255;
// Labels of the two proofs: what one side computes is never what the other awaits.
constexpr std::string_view kDialerLabel = "ringtail link 1 dialer";
constexpr std::string_view kAcceptorLabel = "ringtail link 1 acceptor";

Proof prove(std::string_view cookie, std::string_view label, std::string_view said,
            std::string_view says) {
  std::string message(label);
  message.append(said).append(says);
  Proof proof{};
  unsigned size = 0;
  // An empty key is a pointer to something all the same: OpenSSL reads null as "the last key".
  const unsigned char* const done = HMAC(
      EVP_sha256(), cookie.empty() ? "" : cookie.data(), static_cast<int>(cookie.size()),
      reinterpret_cast<const unsigned char*>(message.data()), message.size(), proof.data(), &size);
  RT_CHECK(done != nullptr && size == proof.size(), "SHA-256 is always there");
  return proof;
}

void append_proof(std::string& to, const Proof& proof) {
  to.append(reinterpret_cast<const char*>(proof.data()), proof.size());
}

bool proves(std::string_view shown, const Proof& expected) {
  return shown.size() == expected.size() &&
         CRYPTO_memcmp(shown.data(), expected.data(), expected.size()) == 0;
}

std::string opening(const Nonce& nonce) {
  std::string out(kMagic);
  append_number(out, kLinkVersionMin);
  append_number(out, kLinkVersionMax);
  out.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  return out;
}

bool begins_as_link(std::string_view input) {
  const std::size_t size = std::min(input.size(), kMagic.size());
  return input.substr(0, size) == kMagic.substr(0, size);
}

std::uint8_t octet(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

// The highest version that both speak; 0: none.
std::uint8_t common_version(std::string_view opening_of_peer) {
  const std::uint8_t lowest = octet(opening_of_peer, kMagic.size());
  const std::uint8_t highest = octet(opening_of_peer, kMagic.size() + 1);
  const std::uint8_t version = std::min(highest, kLinkVersionMax);
  return version >= std::max(lowest, kLinkVersionMin) ? version : std::uint8_t{0};
}

std::string versions_of(std::string_view opening_of_peer) {
  return std::to_string(octet(opening_of_peer, kMagic.size())) + " to " +
         std::to_string(octet(opening_of_peer, kMagic.size() + 1));
}

void append_short_string(std::string& to, std::string_view text) {
  text = text.substr(0, kNameMax);
  append_number(to, static_cast<std::uint8_t>(text.size()));
  to.append(text);
}

void append_identity(std::string& to, const LinkIdentity& identity) {
  to.append(reinterpret_cast<const char*>(identity.cluster.data()), identity.cluster.size());
  append_number(to, identity.force_generation);
  append_number(to, identity.node.value);
  append_short_string(to, identity.name);
  append_number(to, identity.life);
  append_number(to, identity.shards);
  append_number(to, static_cast<std::uint8_t>(identity.tls));
}

// Reads fields from the front; once something is missing, everything is.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  template <typename Number>
  Number number() {
    const std::string_view bytes = take(sizeof(Number));
    if (bytes.empty()) return 0;
    return get_number<Number>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  std::string short_string() { return std::string(take(number<std::uint8_t>())); }
  LinkIdentity identity() {
    LinkIdentity identity;
    const std::string_view cluster = take(identity.cluster.size());
    std::copy(cluster.begin(), cluster.end(), identity.cluster.begin());
    identity.force_generation = number<std::uint64_t>();
    identity.node = NodeId{number<std::uint32_t>()};
    identity.name = short_string();
    identity.life = number<std::uint64_t>();
    identity.shards = number<std::uint16_t>();
    identity.tls = number<std::uint8_t>() != 0;
    return identity;
  }
  // All was there, and nothing else.
  bool whole() const { return !short_ && text_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (size > text_.size()) {
      short_ = true;
      text_ = {};
      return {};
    }
    const std::string_view taken = text_.substr(0, size);
    text_.remove_prefix(size);
    return taken;
  }

  std::string_view text_;
  bool short_ = false;
};

// Moves bytes from `data` to `input` until it has `size`; true: it has.
bool fill(std::string& input, std::span<const std::uint8_t>& data, std::size_t size) {
  if (input.size() < size) {
    const std::size_t part = std::min(size - input.size(), data.size());
    input.append(reinterpret_cast<const char*>(data.data()), part);
    data = data.subspan(part);
  }
  return input.size() >= size;
}

enum class Filled : std::uint8_t { kMore, kWhole, kTooLarge };

// The same for a message that begins with its size.
Filled fill_sized(std::string& input, std::span<const std::uint8_t>& data) {
  if (!fill(input, data, 2)) return Filled::kMore;
  const std::size_t size =
      get_number<std::uint16_t>(reinterpret_cast<const std::uint8_t*>(input.data()));
  if (size + 2 > kHandshakeMessageMax || size < sizeof(Proof)) return Filled::kTooLarge;
  return fill(input, data, size + 2) ? Filled::kWhole : Filled::kMore;
}

struct Proven {
  std::string_view said;  // with its size, without the proof
  std::string_view proof;
};

Proven split(std::string_view message) {
  const std::size_t said = message.size() - sizeof(Proof);
  return {message.substr(0, said), message.substr(said)};
}

// A message with its size, without its proof, from the fields behind the size.
std::string sized(const std::string& fields) {
  std::string out;
  append_number(out, static_cast<std::uint16_t>(fields.size() + sizeof(Proof)));
  return out + fields;
}

bool is_kind(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(LinkKind::kControl) &&
         kind <= static_cast<std::uint8_t>(LinkKind::kJoin);
}

}  // namespace

std::string_view to_text(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "none";
    case Refusal::kWrongCluster:
      return "wrong cluster";
    case Refusal::kWrongNode:
      return "wrong node";
    case Refusal::kUnknownLife:
      return "unknown life";
    case Refusal::kUnknownNode:
      return "unknown node";
    case Refusal::kNotReady:
      return "not ready";
    case Refusal::kOtherTls:
      return "TLS on one side";
    case Refusal::kForgotten:
      return "forgotten";
  }
  return "for a reason that this version does not know";
}

bool may_pass(Refusal refusal) {
  return refusal == Refusal::kUnknownLife || refusal == Refusal::kUnknownNode ||
         refusal == Refusal::kNotReady;
}

// --- the dialer ---

DialerHandshake::DialerHandshake(const LinkHello& hello, const Nonce& nonce)
    : hello_(hello), greeting_(opening(nonce)), transcript_(greeting_) {}

DialerHandshake::Step DialerHandshake::fail(std::string text) {
  state_ = State::kDone;
  failure_ = Status(Code::kCorrupt, std::move(text));
  return Step::kFailed;
}

DialerHandshake::Step DialerHandshake::take(std::string_view cookie,
                                            std::span<const std::uint8_t>& data,
                                            std::string& send) {
  switch (state_) {
    case State::kAwaitsChallenge: {
      const bool whole = fill(input_, data, kOpeningSize);
      if (!begins_as_link(input_)) return fail("it does not speak the protocol of the links");
      return whole ? challenge(cookie, send) : Step::kMore;
    }
    case State::kAwaitsWelcome:
      switch (fill_sized(input_, data)) {
        case Filled::kMore:
          return Step::kMore;
        case Filled::kTooLarge:
          return fail("an answer of an impossible size");
        case Filled::kWhole:
          return welcome(cookie);
      }
      break;
    case State::kDone:
      break;
  }
  return fail("input after the end of the handshake");
}

DialerHandshake::Step DialerHandshake::challenge(std::string_view cookie, std::string& send) {
  const std::uint8_t version = common_version(input_);
  if (version == 0) {
    return fail("it speaks versions " + versions_of(input_) + " of the links, this node " +
                std::to_string(kLinkVersionMin) + " to " + std::to_string(kLinkVersionMax));
  }
  if (input_ == greeting_) return fail("it answers with our own greeting");
  transcript_ += input_;
  input_.clear();
  std::string fields;
  append_number(fields, version);
  append_number(fields, static_cast<std::uint8_t>(hello_.kind));
  append_identity(fields, hello_.identity);
  append_number(fields, hello_.shard);
  append_number(fields, hello_.to_node.value);
  append_number(fields, hello_.to_life);
  std::string hello = sized(fields);
  append_proof(hello, prove(cookie, kDialerLabel, transcript_, hello));
  transcript_ += hello;
  send = std::move(hello);
  state_ = State::kAwaitsWelcome;
  return Step::kSend;
}

DialerHandshake::Step DialerHandshake::welcome(std::string_view cookie) {
  const Proven message = split(input_);
  if (!proves(message.proof, prove(cookie, kAcceptorLabel, transcript_, message.said))) {
    return fail("it does not prove that it has the cookie");
  }
  Fields fields(message.said.substr(2));
  welcome_.refusal = static_cast<Refusal>(fields.number<std::uint8_t>());
  welcome_.reason = fields.short_string();
  welcome_.identity = fields.identity();
  welcome_.last_received = fields.number<std::uint64_t>();
  if (!fields.whole()) return fail("an answer whose fields do not fit its size");
  state_ = State::kDone;
  return Step::kWelcome;
}

// --- the acceptor ---

AcceptorHandshake::Step AcceptorHandshake::fail(std::string text) {
  failure_ = Status(Code::kCorrupt, std::move(text));
  return Step::kFailed;
}

AcceptorHandshake::Step AcceptorHandshake::take(std::string_view cookie,
                                                std::span<const std::uint8_t>& data,
                                                std::string& send) {
  if (!failure_.ok()) return Step::kFailed;
  switch (state_) {
    case State::kAwaitsGreeting: {
      const bool whole = fill(input_, data, kOpeningSize);
      if (!begins_as_link(input_)) return fail("it does not speak the protocol of the links");
      return whole ? greeting(send) : Step::kMore;
    }
    case State::kAwaitsHello:
      switch (fill_sized(input_, data)) {
        case Filled::kMore:
          return Step::kMore;
        case Filled::kTooLarge:
          return fail("a hello of an impossible size");
        case Filled::kWhole:
          return hello(cookie);
      }
      break;
    case State::kProven:
      break;
  }
  return fail("input before the handshake was answered");
}

AcceptorHandshake::Step AcceptorHandshake::greeting(std::string& send) {
  // Who speaks no version of ours is told ours, and finds out by itself.
  send = opening(nonce_);
  transcript_ = input_ + send;
  input_.clear();
  state_ = State::kAwaitsHello;
  return Step::kSend;
}

AcceptorHandshake::Step AcceptorHandshake::hello(std::string_view cookie) {
  // CL1: nothing of the hello is looked at before its proof.
  const Proven message = split(input_);
  if (!proves(message.proof, prove(cookie, kDialerLabel, transcript_, message.said))) {
    return fail("it does not prove that it has the cookie");
  }
  Fields fields(message.said.substr(2));
  const auto version = fields.number<std::uint8_t>();
  const auto kind = fields.number<std::uint8_t>();
  hello_.identity = fields.identity();
  hello_.shard = fields.number<std::uint16_t>();
  hello_.to_node = NodeId{fields.number<std::uint32_t>()};
  hello_.to_life = fields.number<std::uint64_t>();
  if (!fields.whole()) return fail("a hello whose fields do not fit its size");
  if (version != common_version(transcript_)) return fail("a hello of a version not agreed on");
  if (!is_kind(kind)) return fail("a link of unknown kind " + std::to_string(kind));
  hello_.kind = static_cast<LinkKind>(kind);
  transcript_ += input_;
  input_.clear();
  state_ = State::kProven;
  return Step::kProven;
}

std::string AcceptorHandshake::answer(std::string_view cookie, const LinkWelcome& welcome) const {
  RT_CHECK(state_ == State::kProven, "an answer to who has not proven himself");
  std::string fields;
  append_number(fields, static_cast<std::uint8_t>(welcome.refusal));
  append_short_string(fields, welcome.reason);
  append_identity(fields, welcome.identity);
  append_number(fields, welcome.last_received);
  std::string out = sized(fields);
  append_proof(out, prove(cookie, kAcceptorLabel, transcript_, out));
  return out;
}

Refusal check_hello(const LinkHello& hello, const LinkIdentity& own, std::string& reason) {
  if (hello.to_node != NodeId{} && hello.to_node != own.node) {
    reason = "this is " + own.name + ", another node than the one meant";
    return Refusal::kWrongNode;
  }
  if (hello.identity.tls != own.tls) {
    const std::string& with = own.tls ? own.name : hello.identity.name;
    const std::string& without = own.tls ? hello.identity.name : own.name;
    reason = with + " has cluster_ssl_options, " + without + " has none";
    return Refusal::kOtherTls;
  }
  if (hello.kind == LinkKind::kJoin) return Refusal::kNone;
  if (own.cluster == ClusterId{}) {
    reason = own.name + " is no member of a cluster yet";
    return Refusal::kNotReady;
  }
  // CL2: clusters do not merge by accident.
  if (hello.identity.cluster != own.cluster) {
    reason = own.name + " belongs to another cluster than " + hello.identity.name;
    return Refusal::kWrongCluster;
  }
  if (hello.identity.force_generation != own.force_generation) {
    reason = own.name + " is of force generation " + std::to_string(own.force_generation) + ", " +
             hello.identity.name + " of " + std::to_string(hello.identity.force_generation);
    return Refusal::kWrongCluster;
  }
  if (hello.to_life != 0 && hello.to_life != own.life) {
    reason = own.name + " is in life " + std::to_string(own.life) + ", not " +
             std::to_string(hello.to_life);
    return Refusal::kUnknownLife;
  }
  return Refusal::kNone;
}

}  // namespace ringtail::cluster
