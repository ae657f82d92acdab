// The dialing end of a link to another node: connects, proves itself, and when the connection is
// lost or cannot be had tries again, at once after a loss and then ever more slowly. Carries bytes;
// what they mean is its owner's affair (message_bus.h, control_bus.h). Payload goes away from here,
// acknowledgements come back.
//
// Lifecycle: constructed, start()ed, destroyed by its owner, not from within a call to the owner.
// On one shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/env.h"
#include "broker/runtime/lifeline.h"
#include "cluster/link_tls.h"
#include "cluster/peer_handshake.h"
#include "cluster/quiet_log.h"

namespace ringtail::cluster {

// Why a link is not open.
enum class LinkEnd : std::uint8_t {
  kRefused,      // the machine answers that nobody listens: the process is gone
  kClosed,       // the peer, or its kernel, ended the connection
  kTimeout,      // no answer, or silence
  kUnreachable,  // no way to the machine, or its name is not known
  kRejected,     // the peer answered, and wants no link with us now, or we none with it
  kForgotten,    // the peer answered that the cluster of both has forgotten us, for ever
  kBroken,       // what came made no sense
};
std::string_view to_text(LinkEnd end);

class PeerLink;

class PeerLinkOwner {
 public:
  virtual ~PeerLinkOwner() = default;
  // The connection stands and both sides are proven; write from now on. May call fail().
  virtual void link_opened(PeerLink& link, const LinkWelcome& welcome) noexcept = 0;
  // Bytes from the peer. May call fail().
  virtual void link_read(PeerLink& link, std::span<const std::uint8_t> data) noexcept = 0;
  // What write() could not write at once is written.
  virtual void link_written(PeerLink& link) noexcept = 0;
  // The link was lost (`was_open`), or an attempt failed. Another follows by itself.
  virtual void link_lost(PeerLink& link, bool was_open, LinkEnd end,
                         const runtime::Status& status) noexcept = 0;
};

struct LinkSetup {
  LinkHello hello;
  std::string peer_name;  // for the log
  std::vector<PeerAddress> addresses;
  std::uint64_t timeout_ms = 5000;  // of an attempt: name, connection, handshake
  // An open link whose peer's kernel takes nothing for so long has ended; 0: however long.
  std::uint64_t silence_ms = 0;
  bool again = true;  // false: one attempt
};

class PeerLink final : public runtime::StreamEvents {
 public:
  // `env`, `security` and `owner` outlive this.
  PeerLink(runtime::Env& env, LinkSecurity& security, LinkSetup setup, PeerLinkOwner& owner);
  ~PeerLink() override;
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  void start();
  // Ends a wait between two attempts: there is reason to believe that the peer is there.
  void retry_now();
  // From the next attempt on.
  void set_hello(const LinkHello& hello) { setup_.hello = hello; }
  void set_addresses(std::vector<PeerAddress> addresses) {
    setup_.addresses = std::move(addresses);
  }

  const LinkSetup& setup() const { return setup_; }
  bool is_open() const { return state_ == State::kOpen; }
  // Open, and no earlier write under way.
  bool is_writable() const { return is_open() && !stream_->pending_write(); }
  // As Stream::write(); is_writable() holds.
  bool write(runtime::OutChain& chain) { return stream_->write(chain); }
  // Ends it for good, without a word to the owner.
  void stop();
  // Ends the connection; link_lost() is called, unless it had ended already.
  void fail(LinkEnd end, const runtime::Status& status);

 private:
  enum class State : std::uint8_t {
    kWaiting,
    kResolving,
    kConnecting,
    kHandshake,
    kSecuring,  // the handshake is done, the peer has not said yet that TLS stands
    kOpen,
    kEnded
  };

  void transition(State to);
  void on_read(std::span<std::uint8_t> data) noexcept override;
  void on_written() noexcept override;
  void on_closed(const runtime::Status& status) noexcept override;

  void attempt();
  void resolve_next();
  void resolved(const runtime::Result<std::vector<std::string>>& addresses);
  void connect_next();
  void connected(runtime::Result<std::unique_ptr<runtime::Stream>> stream);
  void address_failed(LinkEnd end, const runtime::Status& status);
  bool shake_hands(std::span<const std::uint8_t>& data);
  void welcomed();
  bool secured(std::span<const std::uint8_t>& data);
  void open();
  void timer_fired();
  void wait();
  bool is_expected(std::uint64_t now_ms);

  runtime::Env& env_;
  LinkSecurity& security_;
  LinkSetup setup_;
  PeerLinkOwner& owner_;
  State state_ = State::kWaiting;
  std::unique_ptr<runtime::Timer> timer_;  // of the wait, or of the attempt
  runtime::Lifeline attempt_;              // callbacks of the present attempt
  std::size_t next_host_ = 0;              // of setup_.addresses, in this attempt
  std::vector<PeerAddress> numeric_;       // what the last of them resolved to, still to be tried
  std::optional<LinkEnd> worst_;           // of the addresses tried in this attempt
  runtime::Status worst_status_;
  std::unique_ptr<runtime::Stream> stream_;
  std::optional<DialerHandshake> handshake_;
  LinkWelcome welcome_;
  std::uint64_t opened_ms_ = 0;
  unsigned failures_ = 1;     // in a row; what the next wait depends on
  unsigned short_lives_ = 0;  // connections in a row that did not last
  QuietLog quiet_;
  bool refused_for_now_ = false;                   // this attempt was (may_pass)
  std::optional<std::uint64_t> refused_since_ms_;  // and all attempts since then
};

}  // namespace ringtail::cluster
