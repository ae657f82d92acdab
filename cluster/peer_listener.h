// Where other nodes connect: accepts, lets them prove themselves, and hands those that may have a
// link to their owner. A stranger costs a place among kUnprovenMax for at most kHandshakeTimeoutMs,
// and is told nothing but a nonce (CL1). On the control shard.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/env.h"
#include "cluster/peer_handshake.h"
#include "cluster/quiet_log.h"

namespace ringtail::cluster {

// A connection whose other end has proven itself and awaits its welcome.
struct IncomingLink {
  std::unique_ptr<runtime::AcceptedSocket> socket;  // for any shard's adopt()
  AcceptorHandshake handshake;                      // hello(), and what makes the answer
};

class PeerListenerOwner {
 public:
  virtual ~PeerListenerOwner() = default;
  virtual const LinkIdentity& own_identity() const noexcept = 0;
  // Beyond check_hello(). `reason` is for the log and the peer.
  virtual Refusal admit(const LinkHello& hello, std::string& reason) noexcept = 0;
  virtual void link_arrived(IncomingLink link) noexcept = 0;
};

class PeerListener {
 public:
  // `cookie`, `env` and `owner` outlive this.
  PeerListener(runtime::Env& env, std::string_view cookie, PeerListenerOwner& owner);
  ~PeerListener();
  PeerListener(const PeerListener&) = delete;
  PeerListener& operator=(const PeerListener&) = delete;

  // Listens on a numeric address and port (0: any); several times for several addresses.
  runtime::Status listen(const std::string& address, std::uint16_t port);
  std::uint16_t port() const;  // the first one
  // "127.0.0.1:25672" of each.
  std::vector<std::string> listening() const;
  // Connections that have not proven themselves.
  std::size_t unproven() const { return receptions_.size(); }
  // How many were closed at once because there were too many of those.
  std::uint64_t turned_away() const { return turned_away_; }

 private:
  class Reception;
  friend class Reception;

  void accepted(std::unique_ptr<runtime::AcceptedSocket> socket);
  void ended(Reception& reception);
  void note(const std::string& line);

  runtime::Env& env_;
  const std::string_view cookie_;
  PeerListenerOwner& owner_;
  std::vector<std::unique_ptr<runtime::Listener>> listeners_;
  std::list<std::unique_ptr<Reception>> receptions_;
  std::uint64_t turned_away_ = 0;
  QuietLog quiet_;
};

}  // namespace ringtail::cluster
