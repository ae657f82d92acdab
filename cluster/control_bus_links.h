// The links of a control bus. Parts of control_bus.h; included by its .cc files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/control_bus.h"
#include "cluster/control_lanes.h"
#include "cluster/inbound_link.h"
#include "cluster/link_frame.h"

namespace ringtail::cluster {

// A question that is not answered in so long has ended.
inline constexpr std::uint64_t kAnswerTimeoutMs = 10'000;
// Questions under way.
inline constexpr std::size_t kQuestionsMax = 64;

class ControlBus::Peer final : public PeerLinkOwner, private runtime::TurnTask {
 public:
  Peer(ControlBus& bus, runtime::NodeId node, LinkSetup setup);

  PeerLink& link() { return link_; }
  bool send(ControlKind kind, std::string_view header, runtime::OutChain& body);
  void tick(std::uint64_t now_ms);
  // Nothing is told or sent from here on.
  void stop();

 private:
  void turn_end() noexcept override { write(); }
  void link_opened(PeerLink& link, const LinkWelcome& welcome) noexcept override;
  void link_read(PeerLink& link, std::span<const std::uint8_t> data) noexcept override;
  void link_written(PeerLink& link) noexcept override;
  void link_lost(PeerLink& link, bool was_open, LinkEnd end,
                 const runtime::Status& status) noexcept override;
  void write();

  ControlBus& bus_;
  const runtime::NodeId node_;
  std::unique_ptr<ControlLanes> lanes_;  // of the connection that stands
  AcknowledgementReader acknowledgements_;
  std::uint64_t sent_ms_ = 0;
  std::uint64_t progress_ms_ = 0;  // when the peer has last shown that it takes frames
  PeerLink link_;
};

class ControlBus::Inbound final : public InboundLinkOwner, private EnvelopeSink {
 public:
  Inbound(ControlBus& bus, runtime::NodeId node, std::unique_ptr<runtime::Stream> stream)
      : bus_(bus),
        node_(node),
        heard_ms_(bus.now_ms()),
        link_(bus.shard_, std::move(stream), *this) {}

  void start(const std::string& welcome) { link_.start(welcome, bus_.security_); }
  void end() { link_.end(); }
  std::uint64_t heard_ms() const { return heard_ms_; }

 private:
  runtime::Status inbound_frame(InboundLink& link,
                                const FrameReader::Frame& frame) noexcept override;
  void inbound_ended(InboundLink& link, const runtime::Status& status) noexcept override;
  bool envelope(const EnvelopePrefix& prefix, std::string_view header,
                std::span<const std::uint8_t> body) noexcept override;

  ControlBus& bus_;
  const runtime::NodeId node_;
  EnvelopeReader lanes_[kLanes];
  std::uint64_t heard_ms_;
  InboundLink link_;
};

class ControlBus::Question final : public PeerLinkOwner, private EnvelopeSink {
 public:
  using Done = std::function<void(runtime::Result<ControlAnswer>)>;
  Question(ControlBus& bus, QuestionId id, LinkSetup setup, std::string text, Done done);
  void start();

 private:
  void link_opened(PeerLink& link, const LinkWelcome& welcome) noexcept override;
  void link_read(PeerLink& link, std::span<const std::uint8_t> data) noexcept override;
  void link_written(PeerLink&) noexcept override {}
  void link_lost(PeerLink& link, bool was_open, LinkEnd end,
                 const runtime::Status& status) noexcept override;
  bool envelope(const EnvelopePrefix& prefix, std::string_view header,
                std::span<const std::uint8_t> body) noexcept override;
  void finish(runtime::Result<ControlAnswer> answer);

  ControlBus& bus_;
  const QuestionId id_;
  const std::string text_;
  Done done_;  // empty: told
  LinkIdentity from_;
  FrameReader frames_;
  EnvelopeReader envelopes_;
  std::unique_ptr<runtime::Timer> timer_;
  PeerLink link_;
};

class ControlBus::Asked final : public InboundLinkOwner, private EnvelopeSink {
 public:
  Asked(ControlBus& bus, QuestionId id, LinkIdentity from, std::unique_ptr<runtime::Stream> stream)
      : bus_(bus),
        id_(id),
        from_(std::move(from)),
        since_ms_(bus.now_ms()),
        link_(bus.shard_, std::move(stream), *this) {}

  void start(const std::string& welcome) { link_.start(welcome, bus_.security_); }
  void answer(std::string_view text);
  bool over(std::uint64_t now_ms) const {
    return link_.ended() || now_ms - since_ms_ >= kAnswerTimeoutMs;
  }

 private:
  runtime::Status inbound_frame(InboundLink& link,
                                const FrameReader::Frame& frame) noexcept override;
  void inbound_ended(InboundLink& link, const runtime::Status& status) noexcept override;
  bool envelope(const EnvelopePrefix& prefix, std::string_view header,
                std::span<const std::uint8_t> body) noexcept override;

  ControlBus& bus_;
  const QuestionId id_;
  const LinkIdentity from_;
  EnvelopeReader envelopes_;
  const std::uint64_t since_ms_;
  bool asked_ = false;
  InboundLink link_;
};

}  // namespace ringtail::cluster
