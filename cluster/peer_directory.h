// Which nodes the message buses of this node keep sessions with. The control side (membership) says
// what is wanted; the directory brings the buses there, one step after the other for each node, so
// that every shard has seen the end of a pair of lives before the next begins (CL4), and knows a
// node before a letter of it can come.
//
//   none --wanted--> coming --ready from all buses--> up --unwanted, or other lives--> ending
//   ending --gone from all buses--> none
//
// On the control shard.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/shard.h"
#include "cluster/peer_letters.h"
#include "cluster/peer_watcher.h"

namespace ringtail::cluster {

class PeerDirectory final : public runtime::Actor {
 public:
  // The data shards have the ids 0 to data_shards - 1, and a MessageBus each before the first
  // peer_up().
  PeerDirectory(runtime::Shard& shard, std::uint16_t data_shards);
  ~PeerDirectory() override;
  PeerDirectory(const PeerDirectory&) = delete;
  PeerDirectory& operator=(const PeerDirectory&) = delete;

  // Who this node is. Without a cluster or a life there are no sessions. With a new life all
  // sessions end, and those that are wanted begin anew.
  void set_own(const LinkIdentity& own);
  // Keep sessions with this node in this life; again when its addresses change. A pair of lives
  // that has ended does not come back: that is logged and left.
  void peer_up(const PeerNode& peer);
  // That life of it is over, as far as this node is concerned.
  void peer_down(runtime::NodeId node);
  // Whether there is a connection to it, for those who wait for it (PeerWatcher::peer_reached).
  void set_reached(runtime::NodeId node, bool reached);

  // Told on this shard: peer_up when all data shards know it, peer_down when all have told theirs.
  void add_watcher(PeerWatcher& watcher) { watchers_.push_back(&watcher); }
  void remove_watcher(PeerWatcher& watcher) { std::erase(watchers_, &watcher); }
  // All data shards know it, and none has been told of its end.
  bool is_up(runtime::NodeId node) const;

  // Whether the sender of this hello for a data link may have one now.
  Refusal admit(const LinkHello& hello, std::string& reason) const;
  // Hands it to its data shard, which answers.
  void link_arrived(IncomingLink link);

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  enum class State : std::uint8_t { kNone, kComing, kUp, kEnding };
  struct Entry {
    State state = State::kNone;
    std::optional<PeerNode> wanted;
    LifePair actual;          // but in kNone
    std::size_t answers = 0;  // of buses, for the present state
    NodeLife over = 0;        // its last life that has ended within our present one
  };

  static void transition(Entry& entry, State to);
  void reconcile(runtime::NodeId node);
  void begin(Entry& entry);
  void end(Entry& entry);
  void ready(const LifePair& pair);
  void gone(const LifePair& pair);
  void tell_up(const PeerNode& peer);
  void to_bus(std::uint16_t data_shard, runtime::LetterPtr letter);

  runtime::Shard& shard_;
  const std::uint16_t data_shards_;
  const runtime::Address address_;
  LinkIdentity own_;
  std::map<runtime::NodeId, Entry> entries_;
  std::vector<PeerWatcher*> watchers_;
};

}  // namespace ringtail::cluster
