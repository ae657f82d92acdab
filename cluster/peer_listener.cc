#include "cluster/peer_listener.h"

#include <utility>

#include "broker/runtime/log.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

namespace {

using runtime::AcceptedSocket;
using runtime::log;
using runtime::LogLevel;
using runtime::OutChain;
using runtime::Result;
using runtime::Status;
using runtime::Stream;

Nonce draw_nonce(runtime::Env& env) {
  Nonce nonce;
  env.rng().fill_secure(nonce);
  return nonce;
}

}  // namespace

// One connection until it has proven itself. Destroys itself through ended(), as the last thing.
class PeerListener::Reception final : public runtime::StreamEvents {
 public:
  Reception(PeerListener& listener, std::unique_ptr<Stream> stream)
      : listener_(listener),
        stream_(std::move(stream)),
        name_(stream_->peer_name()),
        handshake_(draw_nonce(listener.env_)),
        timer_(listener.env_.timers().make([this] { give_up("said too little in time"); })) {}

  void start() {
    timer_->start(kHandshakeTimeoutMs);
    stream_->start(*this);
  }

 private:
  enum class State : std::uint8_t { kHandshake, kProven, kRefused };

  void on_read(std::span<std::uint8_t> data) noexcept override {
    if (state_ == State::kRefused) return;
    std::span<const std::uint8_t> left = data;
    std::string send;
    const AcceptorHandshake::Step step = handshake_.take(listener_.cookie_, left, send);
    if (step != AcceptorHandshake::Step::kFailed && !left.empty()) {
      return give_up("said too much too early");
    }
    switch (step) {
      case AcceptorHandshake::Step::kMore:
        return;
      case AcceptorHandshake::Step::kSend:
        write(send);
        return;
      case AcceptorHandshake::Step::kProven:
        return proven();
      case AcceptorHandshake::Step::kFailed:
        return give_up(handshake_.failure().text());
    }
  }

  void on_written() noexcept override {
    switch (state_) {
      case State::kHandshake:
        return;
      case State::kProven:
        return hand_over();
      case State::kRefused:
        return listener_.ended(*this);
    }
  }

  void on_closed(const Status& status) noexcept override {
    // Port scanners and health checks connect and go.
    if (state_ == State::kHandshake) log(LogLevel::kDebug, "link", "{}: {}", name_, status.text());
    listener_.ended(*this);
  }

  bool write(const std::string& text) {
    OutChain chain;
    chain.append_copy(text.data(), text.size());
    return stream_->write(chain);
  }

  void proven() {
    const LinkHello& hello = handshake_.hello();
    LinkWelcome answer;
    answer.identity = listener_.owner_.own_identity();
    answer.refusal = check_hello(hello, answer.identity, answer.reason);
    if (answer.refusal == Refusal::kNone) {
      answer.refusal = listener_.owner_.admit(hello, answer.reason);
    }
    if (answer.refusal != Refusal::kNone) return refuse(answer);
    state_ = State::kProven;
    stream_->pause_reading();
    if (!stream_->pending_write()) hand_over();
  }

  void refuse(const LinkWelcome& answer) {
    state_ = State::kRefused;
    const std::string line = "link of " + handshake_.hello().identity.name +
                             " refused: " + std::string(to_text(answer.refusal)) + ": " +
                             answer.reason;
    // Of what does not pass the other side complains (PeerLink).
    if (may_pass(answer.refusal)) {
      log(LogLevel::kDebug, "link", "{}", line);
    } else {
      listener_.note(line);
    }
    if (stream_->pending_write()) return listener_.ended(*this);
    if (write(handshake_.answer(listener_.cookie_, answer))) listener_.ended(*this);
  }

  void hand_over() {
    std::unique_ptr<AcceptedSocket> socket = stream_->detach();
    if (socket == nullptr) return;  // it has ended: on_closed() follows
    PeerListenerOwner& owner = listener_.owner_;
    IncomingLink link{std::move(socket), std::move(handshake_)};
    listener_.ended(*this);
    owner.link_arrived(std::move(link));
  }

  void give_up(const std::string& why) {
    listener_.note("connection from " + name_ + " ended: " + why);
    listener_.ended(*this);
  }

  PeerListener& listener_;
  std::unique_ptr<Stream> stream_;
  const std::string name_;
  AcceptorHandshake handshake_;
  std::unique_ptr<runtime::Timer> timer_;
  State state_ = State::kHandshake;
};

PeerListener::PeerListener(runtime::Env& env, std::string_view cookie, PeerListenerOwner& owner)
    : env_(env), cookie_(cookie), owner_(owner) {}

PeerListener::~PeerListener() = default;

Status PeerListener::listen(const std::string& address, std::uint16_t port) {
  Result<std::unique_ptr<runtime::Listener>> made = env_.net().listen(
      address, port,
      [this](std::unique_ptr<AcceptedSocket> socket) { accepted(std::move(socket)); });
  RT_TRY(made.status());
  listeners_.push_back(std::move(made).value());
  log(LogLevel::kInfo, "link", "other nodes on {}", listeners_.back()->local_name());
  return {};
}

std::uint16_t PeerListener::port() const {
  return listeners_.empty() ? std::uint16_t{0} : listeners_.front()->port();
}

std::vector<std::string> PeerListener::listening() const {
  std::vector<std::string> names;
  for (const auto& listener : listeners_) names.push_back(listener->local_name());
  return names;
}

void PeerListener::accepted(std::unique_ptr<AcceptedSocket> socket) {
  if (receptions_.size() >= kUnprovenMax) {
    ++turned_away_;
    return note("more than " + std::to_string(kUnprovenMax) +
                " connections that have not proven themselves; more are closed at once");
  }
  Result<std::unique_ptr<Stream>> stream = env_.net().adopt(std::move(socket));
  if (!stream.ok()) return note(stream.status().text());
  receptions_.push_back(std::make_unique<Reception>(*this, std::move(stream).value()));
  receptions_.back()->start();
}

void PeerListener::ended(Reception& reception) {
  receptions_.remove_if(
      [&](const std::unique_ptr<Reception>& one) { return one.get() == &reception; });
}

void PeerListener::note(const std::string& line) {
  if (quiet_.due(line, env_.clock().monotonic_ms())) log(LogLevel::kWarning, "link", "{}", line);
}

}  // namespace ringtail::cluster
