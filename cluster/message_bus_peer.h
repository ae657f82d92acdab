// The two halves of a message bus that have to do with one other node: what goes to it (Peer) and
// what comes from one of its shards (Arrival). Parts of message_bus.h; included by its .cc files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/inbound_link.h"
#include "cluster/link_frame.h"
#include "cluster/message_bus.h"
#include "cluster/peer_link.h"
#include "cluster/peer_session.h"

namespace ringtail::cluster {

// One direction of one session's receiving side, and the connection that now carries it.
class MessageBus::Arrival final : public InboundLinkOwner, private EnvelopeSink {
 public:
  Arrival(MessageBus& bus, runtime::NodeId node, std::uint16_t shard, std::string peer_name)
      : bus_(bus),
        from_{node, runtime::ShardId{shard}, runtime::ActorId{}},
        peer_name_(std::move(peer_name)) {}

  // Another connection carries it from now on; the former one, if any, is ended.
  void carry(std::unique_ptr<runtime::Stream> stream);
  void welcome(const std::string& answer) { link_->start(answer, bus_.security_); }
  std::uint64_t last_received() const { return session_.last_received(); }
  // Of what has come and was not acknowledged yet.
  void acknowledge();

 private:
  runtime::Status inbound_frame(InboundLink& link,
                                const FrameReader::Frame& frame) noexcept override;
  void inbound_ended(InboundLink& link, const runtime::Status& status) noexcept override;
  bool envelope(const EnvelopePrefix& prefix, std::string_view header,
                std::span<const std::uint8_t> body) noexcept override;

  MessageBus& bus_;
  const runtime::Address from_;  // but for the actor
  const std::string peer_name_;
  ReceiveSession session_;
  std::unique_ptr<InboundLink> link_;
  std::size_t unacknowledged_ = 0;  // bytes
};

class MessageBus::Peer final : public PeerLinkOwner {
 public:
  Peer(MessageBus& bus, const PeerUpLetter& letter);

  const LifePair& pair() const { return pair_; }
  const LinkIdentity& own() const { return own_; }
  std::uint16_t shards() const { return shards_; }
  const std::string& name() const { return link_->setup().peer_name; }
  std::size_t kept() const { return session_.kept(); }
  bool linked() const { return !ending() && link_->is_open(); }
  bool ending() const { return link_ == nullptr; }

  void start() { link_->start(); }
  // Addresses, or what we say of ourselves, have changed.
  void update(const PeerUpLetter& letter);
  // Ends all connections, forgets all that is kept. Only letters of the barrier follow.
  void end();
  // Where a letter is written.
  runtime::OutChain& stream() { return session_.stream(); }
  // At the end of a turn: frames what was gathered, and writes it.
  void flush();
  bool flush_due = false;  // is in to_flush_

  Arrival& arrival(std::uint16_t shard);
  // What has come from all its shards.
  void acknowledge();
  // True: acknowledgements are awaited. Ends the link when they are overdue.
  bool look_for_silence(std::uint64_t now_ms);

 private:
  void link_opened(PeerLink& link, const LinkWelcome& welcome) noexcept override;
  void link_read(PeerLink& link, std::span<const std::uint8_t> data) noexcept override;
  void link_written(PeerLink& link) noexcept override;
  void link_lost(PeerLink& link, bool was_open, LinkEnd end,
                 const runtime::Status& status) noexcept override;
  void write();
  void look_for_congestion();

  MessageBus& bus_;
  const LifePair pair_;
  LinkIdentity own_;
  const std::uint16_t shards_;
  SendSession session_;
  std::unique_ptr<PeerLink> link_;  // null: the pair is over
  AcknowledgementReader acknowledgements_;
  std::uint64_t progress_ms_ = 0;  // when it was last seen that the peer takes frames
  bool congested_ = false;
  std::map<std::uint16_t, std::unique_ptr<Arrival>> arrivals_;
};

}  // namespace ringtail::cluster
