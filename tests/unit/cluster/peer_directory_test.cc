#include "cluster/peer_directory.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_shard.h"

namespace peer_directory_test {

using namespace ringtail;
using namespace ringtail::cluster;
using runtime::LetterKind;
using runtime::LetterPtr;
using runtime::NodeId;
using runtime::ShardId;

namespace {

constexpr std::uint16_t kShards = 3;
constexpr NodeId kPeer{7};

// In the place of a message bus: keeps what it is told, answers when the test says so.
class Bus final : public runtime::Actor {
 public:
  explicit Bus(runtime::Shard& shard)
      : shard_(shard), address_(shard.add(kMessageBusActor, *this)) {}
  ~Bus() override { shard_.remove(kMessageBusActor); }
  void receive(LetterPtr letter) noexcept override { told.push_back(std::move(letter)); }
  void answer(LetterKind kind, const LifePair& pair) {
    shard_.post(address_, {shard_.node(), ShardId{kShards}, kPeerDirectoryActor},
                std::make_unique<PairLetter>(kind, pair));
  }
  LetterKind last() const { return told.empty() ? LetterKind{0} : told.back()->kind; }

  std::vector<LetterPtr> told;

 private:
  runtime::Shard& shard_;
  const runtime::Address address_;
};

struct Watcher final : PeerWatcher {
  void peer_up(NodeId, NodeLife life) noexcept override { said += "+" + std::to_string(life); }
  void peer_down(NodeId, NodeLife life) noexcept override { said += "-" + std::to_string(life); }
  std::string said;
};

struct Scene {
  Scene() : world(3), host(world), node(host, NodeId{1}, kShards + 1) {
    for (std::uint16_t i = 0; i < kShards; ++i) {
      buses.push_back(std::make_unique<Bus>(node.shard(i)));
    }
    on_control([&] { directory = std::make_unique<PeerDirectory>(node.shard(kShards), kShards); });
    directory->add_watcher(watcher);
    own.cluster.fill(1);
    own.node = NodeId{1};
    own.name = "own";
    own.life = 4;
    own.shards = kShards;
    set_own();
  }
  void on_control(const std::function<void()>& code) {
    node.driver(kShards).run(code);
    settle();
  }
  void settle() { world.run_for(runtime::kMillisecondNs); }
  void set_own() {
    on_control([&] { directory->set_own(own); });
  }
  void up(NodeLife life, const std::string& host_name = "h") {
    on_control([&] { directory->peer_up({kPeer, "peer", life, 2, {{host_name, 1}}}); });
  }
  void down() {
    on_control([&] { directory->peer_down(kPeer); });
  }
  void answer(std::size_t bus, LetterKind kind, NodeLife own_life, NodeLife peer_life) {
    node.driver(bus).run([&] { buses[bus]->answer(kind, {kPeer, own_life, peer_life}); });
    settle();
  }
  void all_answer(LetterKind kind, NodeLife own_life, NodeLife peer_life) {
    for (std::size_t i = 0; i < kShards; ++i) answer(i, kind, own_life, peer_life);
  }
  Refusal admit(NodeLife to_life, NodeLife life) {
    LinkHello hello;
    hello.kind = LinkKind::kData;
    hello.identity.node = kPeer;
    hello.identity.life = life;
    hello.to_life = to_life;
    std::string reason;
    return directory->admit(hello, reason);
  }
  std::size_t told() const { return buses[0]->told.size(); }

  runtime::SimWorld world;
  runtime::SimHost host;
  runtime::SimNode node;
  std::vector<std::unique_ptr<Bus>> buses;
  std::unique_ptr<PeerDirectory> directory;
  Watcher watcher;
  LinkIdentity own;
};

}  // namespace

TEST_CASE("directory: links are admitted when every shard knows the peer, and no longer") {
  Scene scene;
  CHECK(scene.admit(4, 9) == Refusal::kUnknownNode);
  scene.up(9);
  for (const auto& bus : scene.buses) CHECK(bus->last() == kPeerUp);
  CHECK(scene.admit(4, 9) == Refusal::kNotReady);
  scene.answer(0, kPeerReady, 4, 9);
  scene.answer(1, kPeerReady, 4, 9);
  CHECK(scene.admit(4, 9) == Refusal::kNotReady);
  CHECK(scene.watcher.said.empty());
  scene.answer(2, kPeerReady, 4, 9);
  CHECK(scene.admit(4, 9) == Refusal::kNone);
  CHECK(scene.admit(4, 8) == Refusal::kUnknownLife);
  CHECK(scene.admit(3, 9) == Refusal::kUnknownLife);
  CHECK(scene.admit(0, 9) == Refusal::kUnknownLife);
  CHECK(scene.watcher.said == "+9");
  CHECK(scene.directory->is_up(kPeer));
  scene.down();
  for (const auto& bus : scene.buses) CHECK(bus->last() == kPeerDown);
  CHECK(scene.admit(4, 9) == Refusal::kNotReady);
  scene.all_answer(kPeerGone, 4, 9);
  CHECK(scene.admit(4, 9) == Refusal::kUnknownLife);
  CHECK(scene.watcher.said == "+9-9");
}

TEST_CASE("directory: the next life waits until every shard has seen the end of the former") {
  Scene scene;
  scene.up(9);
  scene.all_answer(kPeerReady, 4, 9);
  scene.up(10);
  scene.up(11);  // what is wanted in the end counts
  CHECK(scene.buses[0]->last() == kPeerDown);
  scene.answer(0, kPeerGone, 4, 9);
  scene.answer(1, kPeerGone, 4, 9);
  CHECK(scene.buses[0]->last() == kPeerDown);
  scene.answer(2, kPeerGone, 4, 9);
  REQUIRE(scene.buses[0]->last() == kPeerUp);
  CHECK(static_cast<PeerUpLetter&>(*scene.buses[0]->told.back()).peer.life == 11);
  CHECK(scene.admit(4, 11) == Refusal::kNotReady);
  scene.all_answer(kPeerReady, 4, 11);
  CHECK(scene.watcher.said == "+9-9+11");
}

TEST_CASE("directory: an end before all shards knew of it") {
  Scene scene;
  scene.up(9);
  scene.answer(0, kPeerReady, 4, 9);
  scene.down();
  scene.answer(1, kPeerReady, 4, 9);  // too late
  scene.answer(2, kPeerReady, 4, 9);
  CHECK(scene.watcher.said.empty());
  scene.all_answer(kPeerGone, 4, 9);
  scene.up(10);
  scene.all_answer(kPeerReady, 4, 10);
  CHECK(scene.watcher.said == "-9+10");
}

TEST_CASE("directory: a new life of our own ends every session and begins it anew") {
  Scene scene;
  scene.up(9);
  scene.all_answer(kPeerReady, 4, 9);
  scene.own.life = 5;
  scene.set_own();
  CHECK(scene.buses[0]->last() == kPeerDown);
  scene.all_answer(kPeerGone, 4, 9);
  REQUIRE(scene.buses[0]->last() == kPeerUp);
  CHECK(static_cast<PeerUpLetter&>(*scene.buses[0]->told.back()).own.life == 5);
  scene.all_answer(kPeerReady, 5, 9);
  CHECK(scene.admit(5, 9) == Refusal::kNone);
  // Without a life there are none.
  scene.own.life = 0;
  scene.set_own();
  scene.all_answer(kPeerGone, 5, 9);
  CHECK(scene.buses[0]->last() == kPeerDown);
  CHECK(scene.watcher.said == "+9-9+9-9");
}

TEST_CASE("directory: a life that has ended does not come back") {
  Scene scene;
  scene.up(9);
  scene.all_answer(kPeerReady, 4, 9);
  scene.down();
  scene.all_answer(kPeerGone, 4, 9);
  const std::size_t told = scene.told();
  scene.up(9);
  scene.up(8);
  CHECK(scene.told() == told);
  scene.up(10);
  CHECK(scene.buses[0]->last() == kPeerUp);
}

TEST_CASE("directory: new addresses and a new name of ours reach the shards, and end nothing") {
  Scene scene;
  scene.up(9);
  scene.all_answer(kPeerReady, 4, 9);
  std::size_t told = scene.told();
  scene.up(9);  // the same
  CHECK(scene.told() == told);
  scene.up(9, "elsewhere");
  REQUIRE(scene.told() == told + 1);
  CHECK(static_cast<PeerUpLetter&>(*scene.buses[0]->told.back()).peer.addresses[0].host ==
        "elsewhere");
  told = scene.told();
  scene.own.name = "another name";
  scene.set_own();
  CHECK(scene.told() == told + 1);
  CHECK(scene.buses[0]->last() == kPeerUp);
  CHECK(scene.directory->is_up(kPeer));
}

}  // namespace peer_directory_test
