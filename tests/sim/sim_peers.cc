#include "tests/sim/sim_peers.h"

#include <algorithm>
#include <utility>

#include "broker/letters_codec.h"
#include "queue/letters_codec.h"

namespace ringtail::sim {

using cluster::metadata::Command;
using cluster::metadata::CommandResult;
using cluster::metadata::QueueRecord;
using runtime::Address;
using runtime::NodeId;
using runtime::ShardId;

// One shard's way out.
class SimPeers::Post final : public runtime::RemotePost {
 public:
  Post(SimPeers& peers, ShardId shard) : peers_(peers), shard_(shard) {}
  void post(const Address& to, runtime::LetterPtr letter) noexcept override {
    peers_.send(shard_, to, std::move(letter));
  }

 private:
  SimPeers& peers_;
  const ShardId shard_;
};

SimPeers::SimPeers(runtime::SimWorld& world) : world_(world) {
  queue::add_codecs(codecs_);
  broker::add_codecs(codecs_);
}

SimPeers::~SimPeers() = default;

void SimPeers::link(std::vector<BrokerNode*> nodes) {
  nodes_ = std::move(nodes);
  for (BrokerNode* node : nodes_) {
    for (std::size_t at = 0; at < node->shards(); ++at) {
      broker::BrokerShard& shard = node->shard(at);
      posts_.push_back(std::make_unique<Post>(*this, shard.shard().id()));
      shard.shard().set_remote(posts_.back().get());
    }
  }
  // Each has begun alone; now everybody knows everybody.
  for (const BrokerNode* node : nodes_) {
    const auto record = const_cast<BrokerNode*>(node)->shard(0).view().node(node->id());
    for (BrokerNode* other : nodes_) {
      if (other == node) continue;
      for (std::size_t at = 0; at < other->shards(); ++at) {
        other->run_on_shard(at, [&] {
          other->shard(at).metadata().store().apply(cluster::metadata::NodeUp{*record});
        });
      }
    }
  }
  each_shard(true);
}

BrokerNode* SimPeers::node_of(NodeId id) {
  for (BrokerNode* node : nodes_) {
    if (node->id() == id) return node;
  }
  return nullptr;
}

void SimPeers::send(ShardId from_shard, const Address& to, runtime::LetterPtr letter) {
  if (!joined_ || node_of(to.node) == nullptr) return;
  const runtime::LetterCodec* const codec = codecs_.find(letter->kind);
  RT_CHECK(codec != nullptr, "a letter that stays within its node");
  runtime::EncodedLetter encoded;
  codec->encode(*letter, encoded);
  std::string body;
  while (!encoded.body.empty()) {
    runtime::OutChain::Piece piece{};
    encoded.body.peek({&piece, 1});
    body.append(reinterpret_cast<const char*>(piece.data), piece.size);
    encoded.body.consume(piece.size);
  }
  const Address from = letter->from;
  std::uint64_t& last = last_arrival_[{{from.node, from_shard, {}}, {to.node, to.shard, {}}}];
  last = std::max(last, world_.now_ns() + world_.rng().between(delay_ns_, 2 * delay_ns_));
  world_.at(last, runtime::SimEventKind::kWork,
            [this, session = session_, from, to, kind = letter->kind,
             header = std::move(encoded.header), body = std::move(body)] {
              if (session == session_) arrive(from, to, kind, header, body);
            });
}

void SimPeers::arrive(const Address& from, const Address& to, runtime::LetterKind kind,
                      const std::string& header, const std::string& body) {
  BrokerNode* const node = node_of(to.node);
  if (to.shard.value >= node->shards()) return;
  ++letters_;
  bytes_ += header.size() + body.size();
  auto letter = codecs_.find(kind)->decode(header, runtime::as_bytes(body));
  RT_CHECK(letter.ok(), "what was written is not read");
  node->run_on_shard(to.shard.value, [&] {
    node->shard(to.shard.value).shard().post(from, to, std::move(letter).value());
  });
}

void SimPeers::cut() {
  joined_ = false;
  ++session_;
  each_shard(false);
}

void SimPeers::join() {
  joined_ = true;
  each_shard(true);
}

void SimPeers::each_shard(bool up) {
  for (BrokerNode* node : nodes_) {
    for (std::size_t at = 0; at < node->shards(); ++at) {
      node->run_on_shard(at, [&] {
        for (const BrokerNode* other : nodes_) {
          if (other == node) continue;
          if (up) {
            node->shard(at).peer_up(other->id());
          } else {
            node->shard(at).peer_down(other->id());
          }
        }
      });
    }
  }
}

CommandResult SimPeers::apply(const Command& command) {
  CommandResult result;
  for (BrokerNode* node : nodes_) {
    for (std::size_t at = 0; at < node->shards(); ++at) {
      node->run_on_shard(at, [&] { result = node->shard(at).metadata().store().apply(command); });
    }
  }
  return result;
}

std::shared_ptr<const QueueRecord> SimPeers::declare(const std::string& name,
                                                     const BrokerNode& home, bool durable,
                                                     bool auto_delete) {
  cluster::metadata::DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = name;
  command.record.home = home.id();
  command.record.durable = durable;
  command.record.auto_delete = auto_delete;
  return apply(command).queue;
}

queue::QueueProcess* SimPeers::process(const QueueRecord& record) {
  BrokerNode* const node = node_of(record.home);
  return node->shard(record.shard.value).queues().find(record.qid);
}

}  // namespace ringtail::sim
