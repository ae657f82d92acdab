#include "cluster/peer_link.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

namespace {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::OutChain;
using runtime::Result;
using runtime::Status;
using runtime::Stream;

LinkEnd end_of(const Status& status) {
  switch (status.code()) {
    case Code::kRefused:
      return LinkEnd::kRefused;
    case Code::kClosed:
    case Code::kOk:
      return LinkEnd::kClosed;
    case Code::kTimeout:
      return LinkEnd::kTimeout;
    case Code::kCorrupt:
      return LinkEnd::kBroken;
    case Code::kInvalid:
    case Code::kNotFound:
    case Code::kExists:
    case Code::kUnavailable:
    case Code::kBusy:
    case Code::kNoSpace:
    case Code::kIo:
      return LinkEnd::kUnreachable;
  }
  return LinkEnd::kUnreachable;
}

void write_text(Stream& stream, const std::string& text) {
  OutChain chain;
  chain.append_copy(text.data(), text.size());
  stream.write(chain);
}

}  // namespace

std::string_view to_text(LinkEnd end) {
  switch (end) {
    case LinkEnd::kRefused:
      return "refused";
    case LinkEnd::kClosed:
      return "closed";
    case LinkEnd::kTimeout:
      return "timed out";
    case LinkEnd::kUnreachable:
      return "unreachable";
    case LinkEnd::kRejected:
      return "rejected";
    case LinkEnd::kForgotten:
      return "forgotten";
    case LinkEnd::kBroken:
      return "broken";
  }
  return "";
}

PeerLink::PeerLink(runtime::Env& env, LinkSecurity& security, LinkSetup setup, PeerLinkOwner& owner)
    : env_(env),
      security_(security),
      setup_(std::move(setup)),
      owner_(owner),
      timer_(env.timers().make([this] { timer_fired(); })) {}

PeerLink::~PeerLink() = default;

void PeerLink::transition(State to) {
  const auto legal = [this, to] {
    switch (state_) {
      case State::kWaiting:
        return to == State::kResolving;
      case State::kResolving:
        return to == State::kConnecting || to == State::kResolving || to == State::kWaiting ||
               to == State::kEnded;
      case State::kConnecting:
        return to == State::kHandshake || to == State::kResolving || to == State::kConnecting ||
               to == State::kWaiting || to == State::kEnded;
      case State::kHandshake:
        return to == State::kSecuring || to == State::kOpen || to == State::kWaiting ||
               to == State::kEnded;
      case State::kSecuring:
        return to == State::kOpen || to == State::kWaiting || to == State::kEnded;
      case State::kOpen:
        return to == State::kWaiting || to == State::kEnded;
      case State::kEnded:
        return false;
    }
    return false;
  };
  RT_CHECK(legal(), "a link changes to a state that does not follow");
  state_ = to;
}

void PeerLink::start() { timer_->start(0); }

void PeerLink::retry_now() {
  if (state_ != State::kWaiting) return;
  failures_ = 1;
  timer_->start(0);
}

void PeerLink::timer_fired() {
  switch (state_) {
    case State::kWaiting:
      return attempt();
    case State::kResolving:
    case State::kConnecting:
    case State::kHandshake:
    case State::kSecuring:
      return fail(
          LinkEnd::kTimeout,
          Status(Code::kTimeout, "no answer within " + std::to_string(setup_.timeout_ms) + " ms"));
    case State::kOpen:
    case State::kEnded:
      return;
  }
}

// --- one attempt: all addresses, one after the other, until one answers ---

void PeerLink::attempt() {
  next_host_ = 0;
  numeric_.clear();
  worst_.reset();
  timer_->start(setup_.timeout_ms);
  resolve_next();
}

void PeerLink::resolve_next() {
  transition(State::kResolving);
  if (next_host_ == setup_.addresses.size()) {
    if (!worst_) {
      worst_ = LinkEnd::kUnreachable;
      worst_status_ = Status(Code::kInvalid, "no address is known");
    }
    return fail(*worst_, worst_status_);
  }
  env_.net().resolve(
      setup_.addresses[next_host_].host,
      attempt_.guard([this](Result<std::vector<std::string>> addresses) { resolved(addresses); }));
}

void PeerLink::resolved(const Result<std::vector<std::string>>& addresses) {
  const std::uint16_t port = setup_.addresses[next_host_++].port;
  if (!addresses.ok()) {
    address_failed(LinkEnd::kUnreachable, addresses.status());
    return resolve_next();
  }
  // Tried from the back.
  for (auto host = addresses.value().rbegin(); host != addresses.value().rend(); ++host) {
    numeric_.push_back({*host, port});
  }
  connect_next();
}

void PeerLink::connect_next() {
  if (numeric_.empty()) return resolve_next();
  transition(State::kConnecting);
  const PeerAddress address = std::move(numeric_.back());
  numeric_.pop_back();
  env_.net().connect(address.host, address.port,
                     attempt_.guard([this](Result<std::unique_ptr<Stream>> stream) {
                       connected(std::move(stream));
                     }),
                     setup_.timeout_ms);
}

// One address that answers in another way than "refused" makes the whole attempt doubtful.
void PeerLink::address_failed(LinkEnd end, const Status& status) {
  if (worst_ && end == LinkEnd::kRefused) return;
  worst_ = end;
  worst_status_ = status;
}

void PeerLink::connected(Result<std::unique_ptr<Stream>> stream) {
  if (!stream.ok()) {
    address_failed(end_of(stream.status()), stream.status());
    return connect_next();
  }
  transition(State::kHandshake);
  stream_ = std::move(stream).value();
  Nonce nonce;
  env_.rng().fill_secure(nonce);
  handshake_.emplace(setup_.hello, nonce);
  write_text(*stream_, handshake_->greeting());
  if (setup_.silence_ms != 0) stream_->set_peer_timeouts(setup_.silence_ms);
  stream_->start(*this);
}

// --- the connection ---

void PeerLink::on_read(std::span<std::uint8_t> data) noexcept {
  std::span<const std::uint8_t> left = data;
  if (state_ == State::kHandshake && !shake_hands(left)) return;
  if (state_ == State::kSecuring && !secured(left)) return;
  if (state_ == State::kOpen && !left.empty()) owner_.link_read(*this, left);
}

// True: the link is open, and `data` is what follows.
bool PeerLink::shake_hands(std::span<const std::uint8_t>& data) {
  std::string send;
  switch (handshake_->take(security_.cookie(), data, send)) {
    case DialerHandshake::Step::kMore:
      return false;
    case DialerHandshake::Step::kSend:
      if (stream_->pending_write()) {
        fail(LinkEnd::kBroken, Status(Code::kCorrupt, "an answer before the question was sent"));
      } else {
        write_text(*stream_, send);
      }
      return false;
    case DialerHandshake::Step::kWelcome:
      if (security_.has_tls() && !data.empty()) {
        fail(LinkEnd::kBroken, Status(Code::kCorrupt, "more than a welcome in front of TLS"));
        return false;
      }
      welcomed();
      return state_ == State::kOpen;
    case DialerHandshake::Step::kFailed:
      fail(LinkEnd::kBroken, Status(handshake_->failure()));
      return false;
  }
  return false;
}

void PeerLink::welcomed() {
  const LinkWelcome& welcome = handshake_->welcome();
  const LinkHello& hello = setup_.hello;
  if (welcome.refusal != Refusal::kNone) {
    refused_for_now_ = may_pass(welcome.refusal);
    // What another cluster has forgotten is nothing to us.
    const bool forgotten = welcome.refusal == Refusal::kForgotten &&
                           welcome.identity.cluster == hello.identity.cluster &&
                           welcome.identity.force_generation == hello.identity.force_generation;
    return fail(
        forgotten ? LinkEnd::kForgotten : LinkEnd::kRejected,
        Status(Code::kUnavailable, std::string(to_text(welcome.refusal)) + ": " + welcome.reason));
  }
  std::string reason;
  LinkHello other = hello;  // what it says, measured as it measures us
  other.identity = welcome.identity;
  LinkIdentity meant = hello.identity;
  meant.node = welcome.identity.node;
  other.to_life = 0;
  if (check_hello(other, meant, reason) != Refusal::kNone ||
      (hello.to_life != 0 && hello.to_life != welcome.identity.life)) {
    return fail(LinkEnd::kRejected, Status(Code::kUnavailable, "it is another than the one meant"));
  }
  welcome_ = welcome;
  handshake_.reset();
  if (!security_.has_tls()) return open();
  transition(State::kSecuring);
  stream_ = security_.dialed(std::move(stream_));
  stream_->start(*this);
}

// True: the link is open, and `data` is what follows.
bool PeerLink::secured(std::span<const std::uint8_t>& data) {
  if (data.empty()) return false;
  if (data.front() != kTlsReady) {
    fail(LinkEnd::kBroken, Status(Code::kCorrupt, "TLS begins with another octet than 1"));
    return false;
  }
  data = data.subspan(1);
  open();
  return state_ == State::kOpen;
}

void PeerLink::open() {
  timer_->stop();
  opened_ms_ = env_.clock().monotonic_ms();
  transition(State::kOpen);
  quiet_.reset();
  refused_since_ms_.reset();
  owner_.link_opened(*this, std::exchange(welcome_, {}));
}

void PeerLink::on_written() noexcept {
  if (state_ == State::kOpen) owner_.link_written(*this);
}

void PeerLink::on_closed(const Status& status) noexcept {
  // It does not accept our certificate, or we do not accept its.
  const bool rejected = state_ == State::kSecuring && status.code() == Code::kInvalid;
  fail(rejected ? LinkEnd::kRejected : end_of(status), status);
}

void PeerLink::fail(LinkEnd end, const Status& status) {
  if (state_ == State::kWaiting || state_ == State::kEnded) return;
  const bool was_open = is_open();
  const bool answered = state_ == State::kHandshake;
  const std::uint64_t now = env_.clock().monotonic_ms();
  attempt_.cut();
  stream_.reset();
  handshake_.reset();
  timer_->stop();
  std::string text = "link to " + setup_.peer_name + ": " + std::string(to_text(end));
  if (!status.ok()) text += ": " + status.text();
  // A wrong cookie gets no reason, so the guess is ours to make.
  if (answered && end == LinkEnd::kClosed) text += " (another cookie?)";
  if (is_expected(now)) {
    log(LogLevel::kDebug, "link", "{}", text);
  } else if (quiet_.due(text, now)) {
    log(LogLevel::kWarning, "link", "{}", text);
  }
  if (was_open) {
    // At once after a loss; but not for ever when each connection is lost as soon as it stands.
    short_lives_ = now - opened_ms_ < kReconnectMaxMs ? short_lives_ + 1 : 1;
    failures_ = short_lives_;
  } else {
    ++failures_;
  }
  if (setup_.again) {
    transition(State::kWaiting);
    wait();
  } else {
    transition(State::kEnded);
  }
  owner_.link_lost(*this, was_open, end, status);
}

// Whether the link was refused for what passes by itself, and not for too long yet.
bool PeerLink::is_expected(std::uint64_t now_ms) {
  if (!std::exchange(refused_for_now_, false)) {
    refused_since_ms_.reset();
    return false;
  }
  if (!refused_since_ms_) refused_since_ms_ = now_ms;
  return now_ms - *refused_since_ms_ < kRefusalPassesMs;
}

void PeerLink::stop() {
  attempt_.cut();
  stream_.reset();
  handshake_.reset();
  timer_->stop();
  if (state_ == State::kWaiting) return;
  if (state_ != State::kEnded) transition(State::kEnded);
}

void PeerLink::wait() {
  if (failures_ <= 1) return timer_->start(0);
  const unsigned doublings = std::min(failures_ - 2, 16U);
  const std::uint64_t longest = std::min(kReconnectMinMs << doublings, kReconnectMaxMs);
  // By chance, so that two nodes that found each other gone do not go on in step.
  timer_->start(longest / 2 + env_.rng().below(longest / 2 + 1));
}

}  // namespace ringtail::cluster
