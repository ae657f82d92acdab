// What one shard of a node runs: the metadata replica, the route table, the queues that live here,
// and the connections that were handed to it. Made on the shard's thread when it starts, destroyed
// there when it stops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/access_control.h"
#include "broker/connection_registry.h"
#include "broker/dead_letters.h"
#include "broker/departures.h"
#include "broker/peers.h"
#include "broker/queue_calls.h"
#include "broker/recent_history.h"
#include "broker/routing/route_table.h"
#include "broker/runtime/config.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/memory_gauge.h"
#include "broker/runtime/net.h"
#include "broker/runtime/shard.h"
#include "broker/runtime/tls/tls_stream.h"
#include "cluster/metadata/service.h"
#include "cluster/peer_watcher.h"
#include "queue/queue_registry.h"
#include "queue/recovery.h"

namespace ringtail::broker {

class Channel;
class Connection;
class DiskMonitor;
class MemoryMonitor;

// Some travel between nodes: what a number means is for ever.
enum BrokerLetterKind : runtime::LetterKind {
  kAdopt = runtime::kBrokerLetters,  // listener -> shard: a connection to own
  kConnectionEnded,                  // shard -> listener: one connection less
  kMemoryAlarm,                      // memory monitor -> shard
  kDiskAlarm,                        // disk monitor -> shard
  kCheckMemory,                      // shard -> memory monitor: it looks full from here
  kTrimMemory,                       // memory monitor -> shard
  kShutDown,                         // node -> shard: close every connection
  kDirectReply,                      // direct_reply.h
  kProbeReply,
  kReplyProbed,
  kShutDownDone,    // shard -> node's first shard: all are closed
  kUseCertificate,  // listener -> shard: for connections over TLS from now on
  kPeerDown,        // to itself: behind what has come from that node
  kPeerUp,
  kPeerCongested,
  kPeerReached,
  kPeerUnreached,
  kPeerRelieved,
};

struct Adopt : runtime::Letter {
  Adopt() : Letter(kAdopt) {}
  std::unique_ptr<runtime::AcceptedSocket> socket;
  bool tls = false;  // it came to a listener for TLS
};
struct UseCertificate : runtime::Letter {
  explicit UseCertificate(runtime::TlsContext own)
      : Letter(kUseCertificate), context(std::move(own)) {}
  runtime::TlsContext context;
};
struct ConnectionEnded : runtime::Letter {
  ConnectionEnded() : Letter(kConnectionEnded) {}
};
struct MemoryAlarm : runtime::Letter {
  MemoryAlarm() : Letter(kMemoryAlarm) {}
  bool on = false;
  std::uint64_t limit = 0;
};
struct DiskAlarm : runtime::Letter {
  DiskAlarm() : Letter(kDiskAlarm) {}
  bool on = false;
};
struct CheckMemory : runtime::Letter {
  CheckMemory() : Letter(kCheckMemory) {}
};
struct TrimMemory : runtime::Letter {
  TrimMemory() : Letter(kTrimMemory) {}
};
struct ShutDown : runtime::Letter {
  ShutDown() : Letter(kShutDown) {}
};
struct ShutDownDone : runtime::Letter {
  ShutDownDone() : Letter(kShutDownDone) {}
};
struct PeerChanged : runtime::Letter {
  PeerChanged(BrokerLetterKind what, runtime::NodeId peer) : Letter(what), node(peer) {}
  runtime::NodeId node;
};

class BrokerShard : public runtime::Actor,
                    public cluster::metadata::Observer,
                    public cluster::PeerWatcher {
 public:
  BrokerShard(runtime::Shard& shard, const runtime::Config& config, std::uint16_t shards);
  ~BrokerShard() override;

  // The address of the BrokerShard on shard `shard`.
  static runtime::Address address_of(runtime::NodeId node, runtime::ShardId shard);

  runtime::Shard& shard() { return shard_; }
  const runtime::Config& config() const { return config_; }
  const cluster::metadata::Store& view() const { return store_; }
  cluster::metadata::Service& metadata() { return metadata_; }
  RouteTable& routes() { return routes_; }
  AccessControl& access() { return access_; }
  RecentHistory& recent_history() { return recent_history_; }
  // For Routable::chance.
  std::uint64_t chance() { return chance_ += 0x9E3779B97F4A7C15ULL; }
  queue::QueueRegistry& queues() { return queues_; }
  queue::store::StoreShard& stores() { return stores_; }
  queue::Recovery& recovery() { return recovery_; }
  QueueCalls& queue_calls() { return queue_calls_; }
  const DeadLetters& dead_letters() const { return dead_letters_; }
  std::uint16_t shards() const { return shards_; }
  // Before input is taken: above the watermark this shard has the alarm at once, whatever the
  // monitor's next look will find; a fast publisher brings a lot between two looks.
  void look_at_memory() {
    const auto limit = static_cast<std::int64_t>(memory_limit_);
    const std::int64_t used = runtime::MemoryGauge::total();
    stores_.set_memory_is_short(static_cast<double>(used) >
                                config_.paging_ratio * static_cast<double>(limit));
    if (!memory_alarm_ && used > limit) raise_memory_alarm();
  }
  // The high watermark in force, in bytes.
  std::uint64_t memory_limit() const { return memory_limit_; }
  bool memory_alarm() const { return memory_alarm_; }
  bool disk_alarm() const { return disk_alarm_; }
  // Publishers are to be blocked, and why as RabbitMQ says it: "low on memory & disk".
  bool alarm() const { return memory_alarm_ || disk_alarm_; }
  std::string_view alarm_reason() const;
  // On shard 0, from the boot to the end: the monitors; null otherwise.
  void set_memory_monitor(MemoryMonitor* monitor) { memory_monitor_ = monitor; }
  MemoryMonitor* memory_monitor() { return memory_monitor_; }
  void set_disk_monitor(DiskMonitor* monitor) { disk_monitor_ = monitor; }
  DiskMonitor* disk_monitor() { return disk_monitor_; }
  bool shutting_down() const { return shutting_down_; }

  // --- other nodes (broker_shard_peers.cc) ---
  // Letters reach it, as far as is known here. This node is always up.
  bool node_is_up(runtime::NodeId node) const { return peers_.is_up(node); }
  // It is up, and has not been reached for too long (peer_reached below).
  bool node_is_unreached(runtime::NodeId node) const { return peers_.is_unreached(node); }
  bool node_is_congested(runtime::NodeId node) const { return peers_.is_congested(node); }
  bool knows_node(runtime::NodeId node) const { return peers_.knows(node); }
  std::string node_name(runtime::NodeId node) const { return peers_.name(node); }
  // The node is one of the cluster, under this name; or not any more (an empty one).
  void set_node_name(runtime::NodeId node, const std::string& name);
  // No letter from that node comes to this shard any more, none from it arrives: everything of it
  // ends as if it had said so, and what was asked of it is answered. Takes effect when the letters
  // that came from it before have been handled, within this turn or the next; the links begin
  // nothing new with the node before that.
  void peer_down(runtime::NodeId node);
  // Letters reach it again; it knows nothing of what was before.
  void peer_up(runtime::NodeId node);
  void peer_up(runtime::NodeId node, cluster::NodeLife) noexcept override { peer_up(node); }
  void peer_down(runtime::NodeId node, cluster::NodeLife) noexcept override { peer_down(node); }
  void peer_congested(runtime::NodeId node, bool congested) noexcept override;
  // Nobody has said that it is down, but it is as good as that for whoever waits for it.
  void peer_reached(runtime::NodeId node, bool reached) noexcept override;

  // --- mirrored queues (broker_shard_peers.cc) ---
  // A channel of this shard has a line to that queue, or has none any more.
  void line_made(runtime::Qid qid, runtime::ActorId channel, Channel& owner);
  void line_ended(runtime::Qid qid, runtime::ActorId channel);
  Departures& departures() { return departures_; }

  // A change of the metadata on behalf of nobody's channel; `done` runs when every shard has it.
  // Queues are placed (placement.h). A patient one is never given up (cluster/metadata/service.h).
  void propose(cluster::metadata::Command command,
               std::function<void(const cluster::metadata::CommandResult&)> done,
               bool patient = false);

  // Unique in the life of the node, never 0.
  std::uint64_t next_connection_id();
  // "amq.gen-<22 characters>": not to be guessed, so that nobody declares it first.
  std::string generate_name(std::string_view prefix);

  // Channels of this shard that consume direct replies, by name (direct_reply.h).
  void add_reply_consumer(const std::string& name, const runtime::Address& channel) {
    reply_consumers_[name] = channel;
  }
  void remove_reply_consumer(const std::string& name) { reply_consumers_.erase(name); }

  // For listings: the connections of this shard by age. `visit` must not end one.
  void for_each_connection(const std::function<void(Connection&)>& visit);
  // Null when there is none of that id on this shard.
  Connection* connection(std::uint64_t id);

  // The connection has another number of channels than before: the registry hears it at the turn's
  // end.
  void channels_changed(Connection& connection);
  // A failed login waits for its answer. False: too many do on this shard, answer at once. Every
  // true is given back with refusal_over().
  bool hold_refusal();
  void refusal_over() { --refusals_held_; }
  // On shard 0: who is connected; null on the others.
  const ConnectionRegistry* registry() const { return registry_.get(); }

  // The connection has ended for good; destroys it at the end of the turn.
  void connection_ended(Connection& connection);

  // For shard 0: all shards have closed their connections.
  void set_shut_down_done(std::function<void()> done) { shut_down_done_ = std::move(done); }
  // For shard 0: a connection of shard `from` has ended.
  void set_connection_ended(std::function<void(runtime::ShardId)> ended) {
    count_ended_ = std::move(ended);
  }

  void receive(runtime::LetterPtr letter) noexcept override;
  // Hands an exclusive queue to the connection that declared it; one whose owner went while it was
  // being declared is removed.
  void queue_added(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override;
  void queue_removed(const cluster::metadata::QueueRecord& record) override;
  // Whoever has to do with a mirrored queue hears of its next master.
  void queue_changed(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override;
  // Connections of what is gone are closed; RabbitMQ's texts.
  void vhost_removed(const cluster::metadata::VhostRecord& record) override;
  void user_removed(const cluster::metadata::UserRecord& record) override;
  // Names of nodes.
  void node_changed(const std::shared_ptr<const cluster::metadata::NodeRecord>& record) override;
  void node_removed(const cluster::metadata::NodeRecord& record) override;

 private:
  void close_connections(const std::function<bool(const Connection&)>& which,
                         const std::string& text);
  void report_channels();
  Connection* exclusive_owner(const cluster::metadata::QueueRecord& record);
  void raise_memory_alarm();
  void alarm_changed();
  void pass_reply(runtime::LetterPtr letter);
  void answer_probe(runtime::LetterPtr letter);
  void peer_changed(runtime::NodeId node, bool up);
  void congestion_changed(runtime::NodeId node, bool congested);
  void reach_changed(runtime::NodeId node, bool reached);
  std::vector<std::uint64_t> connection_ids() const;
  void queue_gone(const cluster::metadata::QueueRecord& record);
  template <typename Tell>
  void tell_lines(runtime::Qid qid, Tell tell);
  void adopt(Adopt& letter);
  void shut_down();
  void report_shut_down_if_done();
  void bury();

  // Destroys ended connections when nothing of them is on the stack any more.
  struct BuryTask : runtime::TurnTask {
    explicit BuryTask(BrokerShard& broker_shard) : owner(broker_shard) {}
    void turn_end() noexcept override { owner.bury(); }
    BrokerShard& owner;
  };

  struct ChannelCountTask : runtime::TurnTask {
    explicit ChannelCountTask(BrokerShard& broker_shard) : owner(broker_shard) {}
    void turn_end() noexcept override { owner.report_channels(); }
    BrokerShard& owner;
  };

  runtime::Shard& shard_;
  const runtime::Config& config_;
  Peers peers_{shard_.node()};
  cluster::metadata::Service metadata_;
  cluster::metadata::Store& store_;
  RouteTable routes_;
  AccessControl access_;
  std::unique_ptr<ConnectionRegistry> registry_;  // on shard 0
  std::vector<std::uint64_t> channels_changed_;   // connections, in this turn
  ChannelCountTask channel_count_task_{*this};
  std::size_t refusals_held_ = 0;
  RecentHistory recent_history_;
  DeadLetters dead_letters_;
  queue::store::StoreShard stores_;
  queue::QueueRegistry queues_;
  queue::Recovery recovery_;
  QueueCalls queue_calls_;
  Departures departures_;
  // By queue and channel, in the order of their numbers.
  std::map<std::pair<runtime::Qid, runtime::ActorId>, Channel*> lines_;
  std::uint64_t chance_;
  std::uint64_t memory_limit_;
  bool memory_alarm_ = false;
  bool disk_alarm_ = false;
  MemoryMonitor* memory_monitor_ = nullptr;
  DiskMonitor* disk_monitor_ = nullptr;
  bool shutting_down_ = false;
  std::uint64_t next_connection_ = 1;
  std::uint64_t next_request_ = 1;
  std::unordered_map<std::uint64_t, std::function<void(const cluster::metadata::CommandResult&)>>
      proposals_;
  std::unordered_map<std::string, runtime::Address> reply_consumers_;
  runtime::TlsContext tls_context_;
  runtime::TlsHandshakes tls_handshakes_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;  // by id
  std::vector<std::unique_ptr<Connection>> ended_;
  BuryTask bury_task_{*this};
  std::unique_ptr<runtime::Timer> shut_down_timer_;
  std::function<void()> shut_down_done_;
  std::uint16_t shards_shut_down_ = 0;
  const std::uint16_t shards_;
  std::function<void(runtime::ShardId)> count_ended_;
};

}  // namespace ringtail::broker
