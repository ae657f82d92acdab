#include "cluster/message_bus.h"

#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "cluster/link_limits.h"
#include "cluster/message_bus_peer.h"

namespace ringtail::cluster {

using runtime::Address;
using runtime::Code;
using runtime::LetterCodec;
using runtime::LetterPtr;
using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;
using runtime::Result;
using runtime::ShardId;
using runtime::Status;

namespace {

// Room for the headers of letters that is kept from one to the next.
constexpr std::size_t kHeaderKept = 1024 * 1024;

}  // namespace

MessageBus::MessageBus(runtime::Shard& shard, std::uint16_t data_shards, std::string_view cookie,
                       const runtime::LetterCodecs& codecs, const LinkTls* tls)
    : shard_(shard),
      data_shards_(data_shards),
      security_(shard.env(), cookie, tls),
      codecs_(codecs),
      address_(shard.add(kMessageBusActor, *this)),
      silence_(shard.env().timers().make([this] { look_for_silence(); })),
      acknowledging_(shard.env().timers().make([this] { acknowledge_now(); })) {
  RT_CHECK(shard.id().value < data_shards, "a message bus on a shard without data");
}

MessageBus::~MessageBus() { shard_.remove(kMessageBusActor); }

MessageBus::Peer* MessageBus::find(NodeId peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() || found->second->ending() ? nullptr : found->second.get();
}

bool MessageBus::is_up(NodeId peer) const { return find(peer) != nullptr; }

bool MessageBus::is_linked(NodeId peer) const {
  const Peer* const found = find(peer);
  return found != nullptr && found->linked();
}

std::size_t MessageBus::kept_for(NodeId peer) const {
  const Peer* const found = find(peer);
  return found == nullptr ? 0 : found->kept();
}

// --- letters that go ---

void MessageBus::post(const Address& to, LetterPtr letter) noexcept {
  Peer* const peer = find(to.node);
  if (peer == nullptr) return;  // who awaits an answer is told by peer_down()
  const LetterCodec* const codec = codecs_.find(letter->kind);
  if (codec == nullptr) {
    return note("a letter of kind " + std::to_string(letter->kind) +
                " cannot leave its node: dropped");
  }
  codec->encode(*letter, encoded_);
  const EnvelopePrefix prefix{letter->kind, to.shard, letter->from.actor, to.actor};
  if (!append_envelope(peer->stream(), prefix, encoded_.header, encoded_.body)) {
    note("a letter of kind " + std::to_string(letter->kind) + " is too large: dropped");
  }
  encoded_.body.clear();
  if (encoded_.header.capacity() > kHeaderKept) encoded_.header.shrink_to_fit();
  encoded_.header.clear();
  if (peer->flush_due) return;
  peer->flush_due = true;
  to_flush_.push_back(peer);
  shard_.write_output_at_turn_end(*this);
}

void MessageBus::turn_end() noexcept {
  for (Peer* const peer : to_flush_) {
    peer->flush_due = false;
    peer->flush();
  }
  to_flush_.clear();
}

// --- letters that come ---

void MessageBus::deliver(const Address& from, const EnvelopePrefix& prefix, std::string_view header,
                         std::span<const std::uint8_t> body) {
  const LetterCodec* const codec = codecs_.find(prefix.kind);
  if (codec == nullptr || prefix.to_shard.value > data_shards_) {
    return note("a letter of kind " + std::to_string(prefix.kind) + " to shard " +
                std::to_string(prefix.to_shard.value) + " came from another node: dropped");
  }
  Result<LetterPtr> letter = codec->decode(header, body);
  if (!letter.ok()) {
    return note("a letter of kind " + std::to_string(prefix.kind) +
                " from another node is no such: " + letter.status().text());
  }
  shard_.post(from, {shard_.node(), prefix.to_shard, prefix.to_actor}, std::move(letter).value());
}

// --- what the directory and the other buses say ---

void MessageBus::receive(LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kPeerUp:
      return peer_up(runtime::letter_cast<PeerUpLetter>(*letter));
    case kPeerDown:
      return peer_down(runtime::letter_cast<PairLetter>(*letter).pair);
    case kPeerMarker:
      return marker(runtime::letter_cast<PairLetter>(*letter).pair);
    case kPeerReached:
    case kPeerUnreached:
      return reached(runtime::letter_cast<PairLetter>(*letter).pair, letter->kind == kPeerReached);
    case kDataLink:
      return data_link(runtime::letter_cast<DataLinkLetter>(*letter));
    default:
      return note("a letter of kind " + std::to_string(letter->kind) + " to the message bus");
  }
}

void MessageBus::peer_up(const PeerUpLetter& letter) {
  std::unique_ptr<Peer>& peer = peers_[letter.peer.node];
  if (peer != nullptr) {
    RT_CHECK(peer->pair() == letter.pair() && !peer->ending(),
             "a peer is up before its former life has ended");
    return peer->update(letter);
  }
  peer = std::make_unique<Peer>(*this, letter);
  peer->start();
  for (PeerWatcher* const watcher : watchers_) watcher->peer_up(letter.peer.node, letter.peer.life);
  to_directory(kPeerReady, letter.pair());
}

void MessageBus::peer_down(const LifePair& pair) {
  Peer* const peer = find(pair.peer);
  RT_CHECK(peer != nullptr && peer->pair() == pair, "the end of a peer that is not up");
  peer->end();
  // CL4: behind everything that came for that shard through this one.
  for (std::uint16_t shard = 0; shard < data_shards_; ++shard) {
    shard_.post(address_, {shard_.node(), ShardId{shard}, kMessageBusActor},
                std::make_unique<PairLetter>(kPeerMarker, pair));
  }
}

void MessageBus::reached(const LifePair& pair, bool is_reached) {
  const Peer* const peer = find(pair.peer);
  if (peer == nullptr || peer->pair() != pair) return;
  for (PeerWatcher* const watcher : watchers_) watcher->peer_reached(pair.peer, is_reached);
}

void MessageBus::marker(const LifePair& pair) {
  // The marker of another bus may be here before the directory's letter to this one.
  std::size_t& count = markers_[pair];
  if (++count < data_shards_) return;
  markers_.erase(pair);
  // CL4: all buses are done with it, this one too.
  std::erase(to_flush_, peers_[pair.peer].get());
  peers_.erase(pair.peer);
  for (PeerWatcher* const watcher : watchers_) watcher->peer_down(pair.peer, pair.peer_life);
  to_directory(kPeerGone, pair);
}

void MessageBus::to_directory(runtime::LetterKind kind, const LifePair& pair) {
  shard_.post(address_, {shard_.node(), ShardId{data_shards_}, kPeerDirectoryActor},
              std::make_unique<PairLetter>(kind, pair));
}

void MessageBus::data_link(DataLinkLetter& letter) {
  const AcceptorHandshake& handshake = letter.link.handshake;
  const LinkHello& hello = handshake.hello();
  Result<std::unique_ptr<runtime::Stream>> stream =
      shard_.env().net().adopt(std::move(letter.link.socket));
  if (!stream.ok()) return note(stream.status().text());
  Peer* const peer = find(hello.identity.node);
  const LifePair lives{hello.identity.node, hello.to_life, hello.identity.life};
  // The directory has looked at it, but the letter was on its way.
  if (peer == nullptr || peer->pair() != lives || hello.shard >= peer->shards()) {
    return refuse(*stream.value(), handshake);
  }
  Arrival& arrival = peer->arrival(hello.shard);
  arrival.carry(std::move(stream).value());
  LinkWelcome welcome;
  welcome.identity = peer->own();
  welcome.last_received = arrival.last_received();
  arrival.welcome(handshake.answer(security_.cookie(), welcome));
}

void MessageBus::refuse(runtime::Stream& stream, const AcceptorHandshake& handshake) {
  LinkWelcome welcome;
  welcome.identity.node = shard_.node();
  welcome.refusal = Refusal::kNotReady;
  welcome.reason = "its life has just ended here";
  const std::string answer = handshake.answer(security_.cookie(), welcome);
  runtime::OutChain chain;
  chain.append_copy(answer.data(), answer.size());
  stream.write(chain);
}

// --- the rest ---

void MessageBus::look_for_silence() {
  const std::uint64_t now = shard_.env().clock().monotonic_ms();
  // This process has stood still: what has come meanwhile is read first.
  const bool late = now - looked_ms_ >= 4 * kAcknowledgeCheckMs;
  looked_ms_ = now;
  if (late) return;
  bool awaited = false;
  for (const auto& [id, peer] : peers_) awaited |= peer->look_for_silence(now);
  if (awaited) return;
  silence_->stop();
  silence_running_ = false;
}

void MessageBus::acknowledge_later() {
  if (acknowledging_runs_) return;
  acknowledging_runs_ = true;
  acknowledging_->start(kAcknowledgeDelayMs);
}

void MessageBus::acknowledge_now() {
  acknowledging_runs_ = false;
  for (const auto& [id, peer] : peers_) peer->acknowledge();
}

void MessageBus::congestion(NodeId peer, bool congested) {
  for (PeerWatcher* const watcher : watchers_) watcher->peer_congested(peer, congested);
}

void MessageBus::note(const std::string& line) {
  if (!quiet_.due(line, shard_.env().clock().monotonic_ms())) return;
  log(LogLevel::kError, "link", "{}", line);
}

}  // namespace ringtail::cluster
