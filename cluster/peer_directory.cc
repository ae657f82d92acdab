#include "cluster/peer_directory.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::cluster {

using runtime::LetterPtr;
using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;
using runtime::ShardId;

PeerDirectory::PeerDirectory(runtime::Shard& shard, std::uint16_t data_shards)
    : shard_(shard), data_shards_(data_shards), address_(shard.add(kPeerDirectoryActor, *this)) {
  RT_CHECK(shard.id().value == data_shards, "the directory lives on the control shard");
}

PeerDirectory::~PeerDirectory() { shard_.remove(kPeerDirectoryActor); }

void PeerDirectory::transition(Entry& entry, State to) {
  const auto legal = [&entry, to] {
    switch (entry.state) {
      case State::kNone:
        return to == State::kComing;
      case State::kComing:
        return to == State::kUp || to == State::kEnding;
      case State::kUp:
        return to == State::kEnding;
      case State::kEnding:
        return to == State::kNone;
    }
    return false;
  };
  RT_CHECK(legal(), "a peer changes to a state that does not follow");
  entry.state = to;
  entry.answers = 0;
}

void PeerDirectory::set_own(const LinkIdentity& own) {
  if (own == own_) return;
  const bool other_life = own.life != own_.life;
  own_ = own;
  std::vector<NodeId> nodes;
  for (auto& [node, entry] : entries_) {
    if (other_life) entry.over = 0;
    nodes.push_back(node);
  }
  for (const NodeId node : nodes) {
    Entry& entry = entries_[node];
    if (!other_life && entry.wanted && entry.state != State::kNone &&
        entry.state != State::kEnding) {
      tell_up(*entry.wanted);
    }
    reconcile(node);
  }
}

void PeerDirectory::peer_up(const PeerNode& peer) {
  RT_CHECK(peer.life != 0 && peer.shards != 0, "a peer without a life or shards is up");
  Entry& entry = entries_[peer.node];
  const bool changed = entry.wanted && *entry.wanted != peer;
  entry.wanted = peer;
  const bool there = entry.state == State::kComing || entry.state == State::kUp;
  if (there && changed && entry.actual.peer_life == peer.life &&
      entry.actual.own_life == own_.life) {
    tell_up(peer);
  }
  reconcile(peer.node);
}

void PeerDirectory::peer_down(NodeId node) {
  const auto found = entries_.find(node);
  if (found == entries_.end()) return;
  found->second.wanted.reset();
  reconcile(node);
}

void PeerDirectory::set_reached(NodeId node, bool reached) {
  const auto found = entries_.find(node);
  if (found == entries_.end()) return;
  const State state = found->second.state;
  if (state != State::kComing && state != State::kUp) return;
  for (std::uint16_t shard = 0; shard < data_shards_; ++shard) {
    to_bus(shard, std::make_unique<PairLetter>(reached ? kPeerReached : kPeerUnreached,
                                               found->second.actual));
  }
}

bool PeerDirectory::is_up(NodeId node) const {
  const auto found = entries_.find(node);
  return found != entries_.end() && found->second.state == State::kUp;
}

void PeerDirectory::reconcile(NodeId node) {
  Entry& entry = entries_[node];
  switch (entry.state) {
    case State::kNone:
      if (entry.wanted && own_.life != 0 && own_.cluster != ClusterId{}) begin(entry);
      return;
    case State::kComing:
    case State::kUp:
      if (!entry.wanted || entry.wanted->life != entry.actual.peer_life ||
          own_.life != entry.actual.own_life) {
        end(entry);
      }
      return;
    case State::kEnding:
      return;  // goes on in gone()
  }
}

void PeerDirectory::begin(Entry& entry) {
  const LifePair pair{entry.wanted->node, own_.life, entry.wanted->life};
  if (pair.peer_life <= entry.over) {
    // CL5: what one side has forgotten of a session the other still counts on.
    log(LogLevel::kError, "link", "node {} cannot come back in life {}, which has ended",
        entry.wanted->name, pair.peer_life);
    return;
  }
  transition(entry, State::kComing);
  entry.actual = pair;
  tell_up(*entry.wanted);
}

void PeerDirectory::end(Entry& entry) {
  transition(entry, State::kEnding);
  for (std::uint16_t shard = 0; shard < data_shards_; ++shard) {
    to_bus(shard, std::make_unique<PairLetter>(kPeerDown, entry.actual));
  }
}

void PeerDirectory::tell_up(const PeerNode& peer) {
  for (std::uint16_t shard = 0; shard < data_shards_; ++shard) {
    to_bus(shard, std::make_unique<PeerUpLetter>(own_, peer));
  }
}

void PeerDirectory::to_bus(std::uint16_t data_shard, LetterPtr letter) {
  shard_.post(address_, {shard_.node(), ShardId{data_shard}, kMessageBusActor}, std::move(letter));
}

void PeerDirectory::receive(LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kPeerReady:
      return ready(runtime::letter_cast<PairLetter>(*letter).pair);
    case kPeerGone:
      return gone(runtime::letter_cast<PairLetter>(*letter).pair);
    default:
      log(LogLevel::kError, "link", "a letter of kind {} to the directory of peers", letter->kind);
  }
}

void PeerDirectory::ready(const LifePair& pair) {
  Entry& entry = entries_[pair.peer];
  // Ended before all had it.
  if (entry.state != State::kComing || entry.actual != pair) return;
  if (++entry.answers < data_shards_) return;
  transition(entry, State::kUp);
  for (PeerWatcher* const watcher : watchers_) watcher->peer_up(pair.peer, pair.peer_life);
}

void PeerDirectory::gone(const LifePair& pair) {
  Entry& entry = entries_[pair.peer];
  RT_CHECK(entry.state == State::kEnding && entry.actual == pair, "an end that was not asked for");
  if (++entry.answers < data_shards_) return;
  transition(entry, State::kNone);
  if (pair.own_life == own_.life) entry.over = std::max(entry.over, pair.peer_life);
  for (PeerWatcher* const watcher : watchers_) watcher->peer_down(pair.peer, pair.peer_life);
  reconcile(pair.peer);
}

Refusal PeerDirectory::admit(const LinkHello& hello, std::string& reason) const {
  const LinkIdentity& peer = hello.identity;
  const auto found = entries_.find(peer.node);
  if (found == entries_.end()) {
    reason = peer.name + " is not known to be up";
    return Refusal::kUnknownNode;
  }
  const Entry& entry = found->second;
  const LifePair pair{peer.node, hello.to_life, peer.life};
  if (entry.state == State::kNone || entry.actual != pair) {
    reason = peer.name + " is not known to be up in life " + std::to_string(peer.life);
    return Refusal::kUnknownLife;
  }
  if (entry.state != State::kUp) {  // CL4
    reason = "not all shards know of " + peer.name + " yet";
    return Refusal::kNotReady;
  }
  return Refusal::kNone;
}

void PeerDirectory::link_arrived(IncomingLink link) {
  const auto shard = static_cast<std::uint16_t>(link.handshake.hello().shard % data_shards_);
  to_bus(shard, std::make_unique<DataLinkLetter>(std::move(link)));
}

}  // namespace ringtail::cluster
