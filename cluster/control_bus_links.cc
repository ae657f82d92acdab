#include "cluster/control_bus_links.h"

#include <utility>

#include "broker/runtime/log.h"
#include "cluster/link_limits.h"
#include "cluster/peer_session.h"

namespace ringtail::cluster {

using runtime::ActorId;
using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;
using runtime::OutChain;
using runtime::Result;
using runtime::ShardId;
using runtime::Status;

namespace {

// In a control message the place of the sending actor holds the life of the sending node.
EnvelopePrefix prefix_of(ControlKind kind, NodeLife life) {
  return {kind, ShardId{}, ActorId{life}, ActorId{}};
}

// The one message that goes one way on a connection.
OutChain only_message(std::string_view text) {
  SendSession session;
  OutChain body;
  body.append_copy(text.data(), text.size());
  append_envelope(session.stream(), prefix_of(0, 0), "", body);
  session.cut();
  OutChain out;
  session.take(out, kEnvelopeMax);
  return out;
}

}  // namespace

// --- messages that go ---

ControlBus::Peer::Peer(ControlBus& bus, NodeId peer, LinkSetup setup)
    : bus_(bus), node_(peer), link_(bus.shard_.env(), bus.security_, std::move(setup), *this) {}

bool ControlBus::Peer::send(ControlKind kind, std::string_view header, OutChain& body) {
  if (lanes_ == nullptr) {
    body.clear();
    return false;
  }
  if (!lanes_->append(prefix_of(kind, bus_.own_.life), header, body)) {
    bus_.note("too much waits for " + link_.setup().peer_name + ": control messages are dropped");
    return false;
  }
  bus_.shard_.write_output_at_turn_end(*this);
  return true;
}

void ControlBus::Peer::stop() {
  lanes_.reset();
  link_.stop();
}

void ControlBus::Peer::link_opened(PeerLink& link, const LinkWelcome& welcome) noexcept {
  log(LogLevel::kInfo, "link", "control link to {} stands", link.setup().peer_name);
  static_cast<void>(welcome);
  lanes_ = std::make_unique<ControlLanes>();
  acknowledgements_ = AcknowledgementReader();
  progress_ms_ = bus_.now_ms();
  lanes_->ping();
  write();
  bus_.receiver_.control_connected(node_);
}

void ControlBus::Peer::link_read(PeerLink& link, std::span<const std::uint8_t> data) noexcept {
  std::uint64_t number = lanes_->acknowledged();
  Status status = acknowledgements_.read(data, number);
  if (status.ok()) status = lanes_->acknowledge(number);
  if (!status.ok()) return link.fail(LinkEnd::kBroken, status);
  progress_ms_ = bus_.now_ms();
  write();
}

void ControlBus::Peer::link_written(PeerLink&) noexcept { write(); }

void ControlBus::Peer::link_lost(PeerLink&, bool, LinkEnd end, const Status& status) noexcept {
  lanes_.reset();
  bus_.receiver_.control_disconnected(node_, end, status);
}

void ControlBus::Peer::write() {
  if (lanes_ == nullptr || !link_.is_writable() || !lanes_->has_output()) return;
  if (!lanes_->awaits_acknowledgement()) progress_ms_ = bus_.now_ms();
  OutChain out;
  lanes_->take(out);
  sent_ms_ = bus_.now_ms();
  link_.write(out);
}

void ControlBus::Peer::tick(std::uint64_t now_ms) {
  if (lanes_ == nullptr) return;
  if (lanes_->awaits_acknowledgement() && now_ms - progress_ms_ >= bus_.options_.silence_ms) {
    return link_.fail(
        LinkEnd::kTimeout,
        Status(Code::kTimeout, "silent for " + std::to_string(now_ms - progress_ms_) + " ms"));
  }
  if (now_ms - sent_ms_ < bus_.options_.ping_ms) return;
  lanes_->ping();
  write();
}

// --- messages that come ---

Status ControlBus::Inbound::inbound_frame(InboundLink& link,
                                          const FrameReader::Frame& frame) noexcept {
  heard_ms_ = bus_.now_ms();
  link.acknowledge(frame.number);
  return lanes_[frame.lane].read(frame.payload, *this);
}

bool ControlBus::Inbound::envelope(const EnvelopePrefix& prefix, std::string_view header,
                                   std::span<const std::uint8_t> body) noexcept {
  bus_.receiver_.control_received(node_, prefix.from_actor.value, prefix.kind, header, body);
  return !link_.ended();
}

void ControlBus::Inbound::inbound_ended(InboundLink&, const Status& status) noexcept {
  if (InboundLink::is_fault(status)) {
    bus_.note("control link from node " + std::to_string(node_.value) + ": " + status.text());
  }
  const auto found = bus_.inbound_.find(node_);
  if (found == bus_.inbound_.end() || found->second.get() != this) return;  // replaced
  bus_.burial_.bury(std::move(found->second));
  bus_.inbound_.erase(found);
}

// --- questions of this node ---

ControlBus::Question::Question(ControlBus& bus, QuestionId id, LinkSetup setup, std::string text,
                               Done done)
    : bus_(bus),
      id_(id),
      text_(std::move(text)),
      done_(std::move(done)),
      timer_(bus.shard_.env().timers().make(
          [this] { finish(Status(Code::kTimeout, link_.setup().peer_name + " did not answer")); })),
      link_(bus.shard_.env(), bus.security_, std::move(setup), *this) {}

void ControlBus::Question::start() {
  timer_->start(link_.setup().timeout_ms);
  link_.start();
}

void ControlBus::Question::link_opened(PeerLink& link, const LinkWelcome& welcome) noexcept {
  from_ = welcome.identity;
  OutChain out = only_message(text_);
  link.write(out);
}

void ControlBus::Question::link_read(PeerLink& link, std::span<const std::uint8_t> data) noexcept {
  FrameReader::Frame frame;
  while (done_) {
    const FrameReader::Step step = frames_.next(data, frame);
    if (step == FrameReader::Step::kMore) return;
    Status status = step == FrameReader::Step::kFrame ? envelopes_.read(frame.payload, *this)
                                                      : Status(frames_.failure());
    if (!status.ok() && done_) return link.fail(LinkEnd::kBroken, status);
  }
}

bool ControlBus::Question::envelope(const EnvelopePrefix&, std::string_view,
                                    std::span<const std::uint8_t> body) noexcept {
  finish(ControlAnswer{from_, std::string(runtime::as_text(body))});
  return false;
}

void ControlBus::Question::link_lost(PeerLink& link, bool, LinkEnd end,
                                     const Status& status) noexcept {
  const std::string who = link.setup().peer_name + ": " + std::string(to_text(end));
  finish(status.ok() ? Status(Code::kClosed, who) : status.within(who));
}

void ControlBus::Question::finish(Result<ControlAnswer> answer) {
  if (!done_) return;
  timer_->stop();
  link_.stop();
  const Done done = std::exchange(done_, nullptr);
  const auto found = bus_.questions_.find(id_);
  bus_.burial_.bury(std::move(found->second));
  bus_.questions_.erase(found);
  done(std::move(answer));
}

// --- questions of other nodes ---

Status ControlBus::Asked::inbound_frame(InboundLink&, const FrameReader::Frame& frame) noexcept {
  return envelopes_.read(frame.payload, *this);
}

bool ControlBus::Asked::envelope(const EnvelopePrefix&, std::string_view,
                                 std::span<const std::uint8_t> body) noexcept {
  if (asked_) return false;  // one is what a connection may ask
  asked_ = true;
  bus_.receiver_.control_asked(id_, from_, runtime::as_text(body));
  return true;
}

void ControlBus::Asked::answer(std::string_view text) {
  OutChain out = only_message(text);
  link_.write(out, true);
}

void ControlBus::Asked::inbound_ended(InboundLink&, const Status&) noexcept {
  // Forgotten with the next tick.
}

}  // namespace ringtail::cluster
