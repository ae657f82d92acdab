// The letters of one data shard to and from other nodes. Takes what actors of this shard post to
// other nodes, gathers it per node for a turn, and keeps a session with each node (peer_session.h)
// over a link of its own; answers travel on the other node's links, which come in here. Letters
// that arrive go on by Shard::post(), so to other shards of this node through their mailboxes.
//
// Which nodes there are, and in which lives, is said by the directory (peer_directory.h) on the
// control shard. While a pair of lives lasts nothing is lost, doubled or reordered between two
// actors. When it ends, every shard is told once nothing of it can come any more (CL4):
//
//   directory   --kPeerDown-->  every bus u: ends its sessions with the peer
//   bus u       --kPeerMarker-> every bus t, behind the last letter that u has handed to shard t
//   bus t       has all markers: tells its watchers; --kPeerGone--> directory
//   directory   has it from all: admits the peer's next life
//
// Lifecycle: made on its shard with the shard's other actors, destroyed before the shard. Install
// with Shard::set_remote().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/envelope.h"
#include "broker/runtime/shard.h"
#include "cluster/envelope_stream.h"
#include "cluster/link_tls.h"
#include "cluster/peer_letters.h"
#include "cluster/peer_watcher.h"
#include "cluster/quiet_log.h"

namespace ringtail::cluster {

class MessageBus final : public runtime::Actor,
                         public runtime::RemotePost,
                         private runtime::TurnTask {
 public:
  // The node's data shards have the ids 0 to data_shards - 1, its control shard the id data_shards.
  // The rest outlives this.
  MessageBus(runtime::Shard& shard, std::uint16_t data_shards, std::string_view cookie,
             const runtime::LetterCodecs& codecs, const LinkTls* tls = nullptr);
  ~MessageBus() override;
  MessageBus(const MessageBus&) = delete;
  MessageBus& operator=(const MessageBus&) = delete;

  // Watchers are told in the order in which they were added.
  void add_watcher(PeerWatcher& watcher) { watchers_.push_back(&watcher); }
  void remove_watcher(PeerWatcher& watcher) { std::erase(watchers_, &watcher); }

  // Letters to this node are taken now.
  bool is_up(runtime::NodeId peer) const;
  // And the connection to it stands.
  bool is_linked(runtime::NodeId peer) const;
  // Bytes that wait for it or are not acknowledged; 0: it is not up.
  std::size_t kept_for(runtime::NodeId peer) const;

  // --- RemotePost ---
  void post(const runtime::Address& to, runtime::LetterPtr letter) noexcept override;

  // --- Actor: letters of the directory and of other buses ---
  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  class Peer;     // a node that is up
  class Arrival;  // what one shard of it sends here
  friend class Peer;
  friend class Arrival;

  void turn_end() noexcept override;
  void peer_up(const PeerUpLetter& letter);
  void peer_down(const LifePair& pair);
  void reached(const LifePair& pair, bool is_reached);
  void marker(const LifePair& pair);
  void data_link(DataLinkLetter& letter);
  void refuse(runtime::Stream& stream, const AcceptorHandshake& handshake);
  void deliver(const runtime::Address& from, const EnvelopePrefix& prefix, std::string_view header,
               std::span<const std::uint8_t> body);
  void to_directory(runtime::LetterKind kind, const LifePair& pair);
  void look_for_silence();
  void acknowledge_later();
  void acknowledge_now();
  void congestion(runtime::NodeId peer, bool congested);
  void note(const std::string& line);
  Peer* find(runtime::NodeId peer) const;

  runtime::Shard& shard_;
  const std::uint16_t data_shards_;
  LinkSecurity security_;
  const runtime::LetterCodecs& codecs_;
  const runtime::Address address_;
  std::vector<PeerWatcher*> watchers_;
  std::map<runtime::NodeId, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> to_flush_;              // something was gathered for them in this turn
  std::map<LifePair, std::size_t> markers_;  // how many buses have said that it is over
  std::unique_ptr<runtime::Timer> silence_;  // runs while acknowledgements are awaited
  bool silence_running_ = false;
  std::unique_ptr<runtime::Timer> acknowledging_;  // runs while something is not acknowledged
  bool acknowledging_runs_ = false;
  std::uint64_t looked_ms_ = 0;     // when it was last looked for
  runtime::EncodedLetter encoded_;  // one after the other is written here
  QuietLog quiet_;
};

}  // namespace ringtail::cluster
