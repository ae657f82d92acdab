// What the control shard and the message buses of a node tell each other about other nodes.
// None of it crosses nodes.
#pragma once

#include <compare>
#include <utility>

#include "broker/runtime/letter.h"
#include "cluster/link_identity.h"
#include "cluster/peer_listener.h"

namespace ringtail::cluster {

inline constexpr runtime::LetterKind kPeerUp = runtime::kClusterLetters + 0x01;
inline constexpr runtime::LetterKind kPeerReady = runtime::kClusterLetters + 0x02;
inline constexpr runtime::LetterKind kPeerDown = runtime::kClusterLetters + 0x03;
inline constexpr runtime::LetterKind kPeerMarker = runtime::kClusterLetters + 0x04;
inline constexpr runtime::LetterKind kPeerGone = runtime::kClusterLetters + 0x05;
inline constexpr runtime::LetterKind kDataLink = runtime::kClusterLetters + 0x06;
inline constexpr runtime::LetterKind kPeerReached = runtime::kClusterLetters + 0x07;
inline constexpr runtime::LetterKind kPeerUnreached = runtime::kClusterLetters + 0x08;

// Where the actors of the links are found: the same place on every shard.
inline constexpr runtime::ActorId kMessageBusActor{runtime::kInventedActorBit | 1ULL << 62 | 1};
inline constexpr runtime::ActorId kPeerDirectoryActor{runtime::kInventedActorBit | 1ULL << 62 | 2};

// Two lives that have to do with each other: sessions are between them. Once it has ended, a pair
// never comes back.
struct LifePair {
  runtime::NodeId peer;
  NodeLife own_life = 0;
  NodeLife peer_life = 0;
  friend auto operator<=>(const LifePair&, const LifePair&) = default;
};

// Directory to every bus: keep sessions with this peer. Again for the same pair: addresses or what
// we say of ourselves have changed.
struct PeerUpLetter final : runtime::Letter {
  PeerUpLetter(LinkIdentity our_identity, PeerNode peer_node)
      : Letter(kPeerUp), own(std::move(our_identity)), peer(std::move(peer_node)) {}
  LifePair pair() const { return {peer.node, own.life, peer.life}; }
  LinkIdentity own;
  PeerNode peer;
};

// About a pair: bus to directory "letters to it are taken here" (kPeerReady); directory to every
// bus "it is over" (kPeerDown); bus to every bus "no letter of it comes through me any more"
// (kPeerMarker); bus to directory "watchers here have been told" (kPeerGone); directory to every
// bus "it has not been reached for a while", and "it is reached again".
struct PairLetter final : runtime::Letter {
  PairLetter(runtime::LetterKind letter_kind, const LifePair& of) : Letter(letter_kind), pair(of) {}
  LifePair pair;
};

// Directory to a bus: a data link that this bus is to have.
struct DataLinkLetter final : runtime::Letter {
  explicit DataLinkLetter(IncomingLink incoming) : Letter(kDataLink), link(std::move(incoming)) {}
  IncomingLink link;
};

}  // namespace ringtail::cluster
