#include "cluster/message_bus_peer.h"

#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::OutChain;
using runtime::Status;

namespace {

LinkHello hello_of(const PeerUpLetter& letter, runtime::ShardId shard) {
  LinkHello hello;
  hello.kind = LinkKind::kData;
  hello.identity = letter.own;
  hello.shard = shard.value;
  hello.to_node = letter.peer.node;
  hello.to_life = letter.peer.life;
  return hello;
}

}  // namespace

// --- what comes ---

void MessageBus::Arrival::carry(std::unique_ptr<runtime::Stream> stream) {
  link_ = std::make_unique<InboundLink>(bus_.shard_, std::move(stream), *this);
  unacknowledged_ = 0;  // the welcome says what has come
}

Status MessageBus::Arrival::inbound_frame(InboundLink&, const FrameReader::Frame& frame) noexcept {
  RT_TRY(session_.receive(frame, *this));
  // What was handed to the shard cannot be lost while this life lasts.
  unacknowledged_ += kFrameHeaderSize + frame.payload.size();
  if (unacknowledged_ >= kAcknowledgeBytes) {
    acknowledge();
  } else {
    bus_.acknowledge_later();
  }
  return {};
}

void MessageBus::Arrival::acknowledge() {
  if (unacknowledged_ == 0) return;
  unacknowledged_ = 0;
  link_->acknowledge(session_.last_received());
}

void MessageBus::Arrival::inbound_ended(InboundLink&, const Status& status) noexcept {
  if (InboundLink::is_fault(status)) {
    bus_.note("link from " + peer_name_ + ": " + status.text());
  }
}

bool MessageBus::Arrival::envelope(const EnvelopePrefix& prefix, std::string_view header,
                                   std::span<const std::uint8_t> body) noexcept {
  bus_.deliver({from_.node, from_.shard, prefix.from_actor}, prefix, header, body);
  return true;
}

// --- what goes ---

MessageBus::Peer::Peer(MessageBus& bus, const PeerUpLetter& letter)
    : bus_(bus), pair_(letter.pair()), own_(letter.own), shards_(letter.peer.shards) {
  LinkSetup setup;
  setup.hello = hello_of(letter, bus.shard_.id());
  setup.peer_name = letter.peer.name;
  setup.addresses = letter.peer.addresses;
  setup.timeout_ms = kLinkTimeoutMs;
  setup.silence_ms = kAcknowledgeTimeoutMs;
  link_ = std::make_unique<PeerLink>(bus.shard_.env(), bus.security_, std::move(setup), *this);
}

void MessageBus::Peer::update(const PeerUpLetter& letter) {
  own_ = letter.own;
  link_->set_hello(hello_of(letter, bus_.shard_.id()));
  link_->set_addresses(letter.peer.addresses);
  link_->retry_now();
}

void MessageBus::Peer::end() {
  link_.reset();
  arrivals_.clear();
  session_.clear();
}

MessageBus::Arrival& MessageBus::Peer::arrival(std::uint16_t shard) {
  std::unique_ptr<Arrival>& found = arrivals_[shard];
  if (found == nullptr) found = std::make_unique<Arrival>(bus_, pair_.peer, shard, name());
  return *found;
}

void MessageBus::Peer::acknowledge() {
  for (const auto& [shard, arrival] : arrivals_) arrival->acknowledge();
}

void MessageBus::Peer::flush() {
  if (ending()) return;
  session_.cut();
  write();
  look_for_congestion();
}

void MessageBus::Peer::write() {
  while (link_->is_writable() && session_.has_unsent()) {
    if (!session_.awaits_acknowledgement()) {
      progress_ms_ = bus_.shard_.env().clock().monotonic_ms();
    }
    OutChain out;
    session_.take(out, kWriteAtOnceMax);
    link_->write(out);
    if (!bus_.silence_running_) {
      bus_.silence_running_ = true;
      bus_.looked_ms_ = progress_ms_;
      bus_.silence_->start(kAcknowledgeCheckMs, kAcknowledgeCheckMs);
    }
  }
}

void MessageBus::Peer::look_for_congestion() {
  const bool congested = session_.kept() > (congested_ ? kKeptLowMark : kKeptHighMark);
  if (congested == congested_) return;
  congested_ = congested;
  bus_.congestion(pair_.peer, congested);
}

void MessageBus::Peer::link_opened(PeerLink& link, const LinkWelcome& welcome) noexcept {
  acknowledgements_ = AcknowledgementReader();
  if (const Status status = session_.resume(welcome.last_received); !status.ok()) {
    return link.fail(LinkEnd::kBroken, status);
  }
  log(LogLevel::kDebug, "link", "link to {} stands", name());
  progress_ms_ = bus_.shard_.env().clock().monotonic_ms();
  write();
  look_for_congestion();
}

void MessageBus::Peer::link_read(PeerLink& link, std::span<const std::uint8_t> data) noexcept {
  std::uint64_t number = session_.acknowledged();
  Status status = acknowledgements_.read(data, number);
  if (status.ok()) status = session_.acknowledge(number);
  if (!status.ok()) return link.fail(LinkEnd::kBroken, status);
  progress_ms_ = bus_.shard_.env().clock().monotonic_ms();
  look_for_congestion();
}

void MessageBus::Peer::link_written(PeerLink&) noexcept { write(); }

void MessageBus::Peer::link_lost(PeerLink&, bool, LinkEnd, const Status&) noexcept {
  // The session goes on when the link stands again, or ends with peer_down().
}

bool MessageBus::Peer::look_for_silence(std::uint64_t now_ms) {
  if (ending() || !link_->is_open() || !session_.awaits_acknowledgement()) return false;
  if (now_ms - progress_ms_ >= kAcknowledgeTimeoutMs) {
    link_->fail(LinkEnd::kTimeout,
                Status(Code::kTimeout, "nothing acknowledged for " +
                                           std::to_string(kAcknowledgeTimeoutMs) + " ms"));
    return false;
  }
  return true;
}

}  // namespace ringtail::cluster
