// Channels that have ended, until the mirrored queues that they used know it: what they published
// stays owed until it is committed, whatever happens to a master meanwhile. To the queues each is
// still the channel that it was, under the same address; when a queue has another master it is sent
// again what was not settled, and that the channel has gone.
//
// Owned by the BrokerShard, on its shard.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "broker/peers.h"
#include "broker/queue_link.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/view.h"
#include "queue/letters.h"

namespace ringtail::broker {

class Departures final : private runtime::TurnTask {
 public:
  Departures(runtime::Shard& shard, const cluster::metadata::View& view, const Peers& peers);
  ~Departures();
  Departures(const Departures&) = delete;
  Departures& operator=(const Departures&) = delete;

  // The channel at `address`, an address that is free, has ended; `lines` are those to mirrored
  // queues that are not down. `notify` (null: nobody) gets a ChannelForgotten with this request for
  // each line that was not idle, when its queue knows or nobody could tell it.
  void take(const runtime::Address& address, const std::vector<QueueLink*>& lines,
            const runtime::Address* notify, queue::RequestId request);

  void queue_changed(const cluster::metadata::QueueRecord& record);
  void queue_removed(runtime::Qid qid);
  void peer_changed(runtime::NodeId peer, bool up);
  void peer_unreached(runtime::NodeId peer);

  // Lines whose queues have not answered.
  std::size_t lines() const { return lines_.size(); }

 private:
  // Takes what queues say to a channel.
  struct Departed final : runtime::Actor {
    Departed(Departures& departures, runtime::ActorId actor) : owner(departures), id(actor) {}
    void receive(runtime::LetterPtr letter) noexcept override { owner.receive(id, *letter); }
    Departures& owner;
    const runtime::ActorId id;
    std::size_t lines = 0;
  };
  struct Line {
    std::shared_ptr<const cluster::metadata::QueueRecord> record;
    std::uint64_t epoch = 0;  // that it was sent for
    bool waits_for_node = false;
    std::deque<queue::MessageRef> kept;
    std::uint64_t kept_from = 0;
    bool wants_notice = false;
    runtime::Address notify;
    queue::RequestId request = 0;
  };
  using Key = std::pair<runtime::Qid, runtime::ActorId>;
  using Lines = std::map<Key, Line>;

  void receive(runtime::ActorId channel, runtime::Letter& letter);
  void settled(Line& line, std::uint64_t up_to);
  void move(const Key& key, std::shared_ptr<const cluster::metadata::QueueRecord> record);
  void send(const Key& key, Line& line);
  void say_gone(const Key& key, Line& line);
  void done(const Key& key);
  runtime::Address address_of(runtime::ActorId channel) const {
    return {shard_.node(), shard_.id(), channel};
  }
  std::shared_ptr<const cluster::metadata::QueueRecord> current(
      const cluster::metadata::QueueRecord& record) const;
  std::vector<Key> keys_of(runtime::Qid qid) const;
  std::vector<Key> keys_at(runtime::NodeId peer) const;
  void turn_end() noexcept override { buried_.clear(); }

  runtime::Shard& shard_;
  const cluster::metadata::View& view_;
  const Peers& peers_;
  Lines lines_;
  std::map<runtime::ActorId, std::unique_ptr<Departed>> channels_;
  std::vector<std::unique_ptr<Departed>> buried_;  // may be on the stack
};

}  // namespace ringtail::broker
