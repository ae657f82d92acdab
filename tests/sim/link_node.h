// The links of one simulated node, with actors on every data shard that talk to those of other
// nodes and check what they hear: letters between two actors arrive once and in order within a pair
// of lives, and only between peer_up and peer_down of that life on the shard that receives them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/envelope.h"
#include "broker/runtime/sim/sim_shard.h"
#include "cluster/link_hub.h"
#include "cluster/message_bus.h"

namespace ringtail::sim {

inline constexpr runtime::LetterKind kTalk = runtime::kRuntimeLetters + 0x70;
// A letter that has no codec.
inline constexpr runtime::LetterKind kLocalTalk = runtime::kRuntimeLetters + 0x71;

struct Talk final : runtime::Letter {
  Talk() : Letter(kTalk) {}
  cluster::NodeLife from_life = 0;
  cluster::NodeLife to_life = 0;
  std::uint64_t number = 0;  // between these two actors, in this pair of lives, from 1
  std::string text;          // as long as the number says
};

runtime::LetterCodecs& talk_codecs();

// What a talker must find in a letter of this number.
std::string talk_text(std::uint64_t number, std::size_t size);

struct LinkCounts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t wrong_order = 0;  // lost, doubled or reordered
  std::uint64_t wrong_life = 0;   // outside of peer_up to peer_down of its life
  std::uint64_t wrong_text = 0;
};

class LinkNode;

// One data shard of it.
class LinkShard final : public cluster::PeerWatcher {
 public:
  LinkShard(LinkNode& node, std::uint16_t shard);
  ~LinkShard() override;

  cluster::MessageBus& bus() { return *bus_; }
  // A letter from actor `from` here to actor `to` of that shard, if the node is up.
  void talk(std::size_t from, runtime::NodeId node, std::uint16_t shard, std::size_t to,
            std::size_t size);
  cluster::NodeLife life_of(runtime::NodeId node) const;
  bool congested(runtime::NodeId node) const { return congested_.contains(node); }

  void peer_up(runtime::NodeId node, cluster::NodeLife life) noexcept override;
  void peer_down(runtime::NodeId node, cluster::NodeLife life) noexcept override;
  void peer_congested(runtime::NodeId node, bool congested) noexcept override;

  static constexpr std::size_t kActors = 3;
  static runtime::ActorId actor(std::size_t number) { return runtime::ActorId{1000 + number}; }

 private:
  class Talker;
  using Way = std::pair<runtime::Address, runtime::Address>;

  LinkNode& node_;
  runtime::Shard& shard_;
  std::unique_ptr<cluster::MessageBus> bus_;
  std::vector<std::unique_ptr<Talker>> talkers_;
  std::map<runtime::NodeId, cluster::NodeLife> up_;
  std::map<runtime::NodeId, bool> congested_;
  std::map<Way, std::uint64_t> sent_;
  std::map<Way, std::uint64_t> received_;
};

class LinkNode final : public cluster::ControlReceiver {
 public:
  static constexpr std::uint16_t kPort = 25672;

  LinkNode(runtime::SimHost& host, runtime::NodeId id, std::uint16_t shards, LinkCounts& counts,
           const std::string& cookie = "cookie", const cluster::LinkTls* tls = nullptr);
  ~LinkNode() override;

  runtime::NodeId id() const { return id_; }
  std::uint16_t shards() const { return data_shards_; }
  runtime::SimNode& node() { return node_; }
  cluster::LinkHub& hub() { return *hub_; }
  LinkShard& shard(std::size_t number) { return *shards_[number]; }
  LinkCounts& counts() { return counts_; }
  const std::string& cookie() const { return cookie_; }
  const cluster::LinkTls* tls() const { return tls_; }
  // Who it is, in this life.
  cluster::LinkIdentity identity(cluster::NodeLife life) const;
  cluster::PeerNode as_peer(cluster::NodeLife life) const;
  void set_life(cluster::NodeLife life);
  cluster::NodeLife life() const { return life_; }
  void on_control(const std::function<void()>& code) { node_.driver(data_shards_).run(code); }
  void on_shard(std::size_t shard, const std::function<void()>& code) {
    node_.driver(shard).run(code);
  }
  // Who it is to keep sessions with.
  void up(const cluster::PeerNode& peer) {
    on_control([&] { hub_->directory().peer_up(peer); });
  }
  void down(runtime::NodeId peer) {
    on_control([&] { hub_->directory().peer_down(peer); });
  }

  // --- what the control bus told ---
  struct Message {
    runtime::NodeId from;
    cluster::NodeLife life;
    cluster::ControlKind kind;
    std::string header;
    std::string body;
    std::uint64_t at_ns;
  };
  std::vector<Message> messages;
  std::map<runtime::NodeId, int> connected;
  std::map<runtime::NodeId, std::vector<cluster::LinkEnd>> disconnected;
  std::vector<std::string> questions;

  void control_received(runtime::NodeId from, cluster::NodeLife life, cluster::ControlKind kind,
                        std::string_view header,
                        std::span<const std::uint8_t> body) noexcept override;
  void control_connected(runtime::NodeId node) noexcept override { ++connected[node]; }
  void control_disconnected(runtime::NodeId node, cluster::LinkEnd end,
                            const runtime::Status&) noexcept override {
    disconnected[node].push_back(end);
  }
  // Answers with the question turned round.
  void control_asked(cluster::QuestionId id, const cluster::LinkIdentity& from,
                     std::string_view question) noexcept override;

 private:
  runtime::SimHost& host_;
  const runtime::NodeId id_;
  const std::uint16_t data_shards_;
  const std::string cookie_;
  const cluster::LinkTls* const tls_;
  LinkCounts& counts_;
  cluster::NodeLife life_ = 0;
  runtime::SimNode node_;
  std::unique_ptr<cluster::LinkHub> hub_;
  std::vector<std::unique_ptr<LinkShard>> shards_;
};

}  // namespace ringtail::sim
