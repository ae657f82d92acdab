// Raft under simulated networks and disks (raft_cluster.h says what is checked).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "tests/sim/raft_cluster.h"
#include "tests/sim/seeds.h"

namespace raft_test {

using namespace ringtail;
using namespace ringtail::sim;

namespace {

raft::RaftNodeOptions small() {
  raft::RaftNodeOptions options;
  options.election_timeout_ms = 200;
  options.heartbeat_ms = 20;
  options.tick_ms = 25;
  options.install_timeout_ms = 500;
  options.snapshot_entries = 40;
  options.snapshot_log_files = 12;
  options.log.file_bytes = 2000;
  options.log.trailing = 10;
  options.io.append_bytes = 400;
  options.io.answer_ms = 200;
  options.io.transfer.part_bytes = 300;
  options.io.transfer.resend_ms = 50;
  options.io.transfer.give_up_ms = 1000;
  return options;
}

// Brings the cluster to `count` voters.
void grow(RaftCluster& cluster, std::size_t count) {
  const NodeId first = cluster.add_host(true);
  REQUIRE(cluster.world().run_until([&] { return cluster.process(first)->up(); }));
  for (std::size_t i = 1; i < count; ++i) {
    const NodeId id = cluster.add_host(false);
    REQUIRE(cluster.world().run_until([&] { return cluster.process(id)->up(); }));
    REQUIRE(cluster.set_server(id, raft::Role::kVoter));
  }
}

// One life of a cluster, by chance.
class Storm {
 public:
  Storm(RaftCluster& cluster, std::size_t nodes) : cluster_(cluster), nodes_(nodes) {}

  void act() {
    runtime::SimRng& rng = cluster_.world().rng();
    switch (rng.between(0, 29)) {
      case 0:
        return crash();
      case 1:
      case 2:
        return restart();
      case 3:
        return partition();
      case 4:
      case 5:
        return cluster_.heal();
      case 6:
        return weather();
      case 7:
        return change_members();
      case 8:
        return transfer();
      case 9:
        return shake_disk();
      default:
        return propose();
    }
  }

  void calm() {
    cluster_.heal();
    cluster_.net() = {};
    for (const NodeId id : cluster_.hosts()) {
      cluster_.host(id).drive().options() = {};
      if (cluster_.process(id) == nullptr) cluster_.start(id);
    }
  }

 private:
  NodeId any() {
    const auto hosts = cluster_.hosts();
    return hosts[cluster_.world().rng().below(hosts.size())];
  }

  void crash() {
    const NodeId id = any();
    if (cluster_.process(id) == nullptr) return;
    const bool led = cluster_.process(id)->node().leads();
    cluster_.crash(id, cluster_.world().rng().chance(0.7));
    if (!led || cluster_.world().rng().chance(0.3)) return;
    unsigned rank = 0;
    for (const NodeId other : cluster_.hosts()) {
      RaftProcess* const process = cluster_.process(other);
      if (process == nullptr || !process->up()) continue;
      process->enter([&] { process->node().leader_seen_dead(id, rank); });
      ++rank;
    }
  }

  void restart() {
    const NodeId id = any();
    if (cluster_.process(id) == nullptr) cluster_.start(id);
  }

  void partition() {
    runtime::SimRng& rng = cluster_.world().rng();
    const double share = rng.chance(0.5) ? 0.5 : 0.2;
    const bool one_way = rng.chance(0.3);
    for (const NodeId a : cluster_.hosts()) {
      for (const NodeId b : cluster_.hosts()) {
        if (a >= b || !rng.chance(share)) continue;
        cluster_.cut(a, b);
        if (!one_way) cluster_.cut(b, a);
      }
    }
  }

  void weather() {
    runtime::SimRng& rng = cluster_.world().rng();
    cluster_.net().loss = rng.chance(0.5) ? 0 : 0.05;
    cluster_.net().repeat = rng.chance(0.5) ? 0 : 0.1;
    cluster_.net().late = rng.chance(0.5) ? 0 : 0.1;
    cluster_.net().most_ns =
        rng.chance(0.3) ? 30 * runtime::kMillisecondNs : 600 * runtime::kMicrosecondNs;
  }

  void shake_disk() {
    runtime::SimRng& rng = cluster_.world().rng();
    auto& options = cluster_.host(any()).drive().options();
    options.sync_max_ns = rng.between(1, 150) * runtime::kMillisecondNs;
  }

  void propose() {
    RaftProcess* leader = cluster_.leader();
    if (leader == nullptr) return;
    std::vector<std::string> payloads;
    const std::uint64_t count = cluster_.world().rng().between(1, 6);
    for (std::uint64_t i = 0; i < count; ++i) {
      payloads.push_back("p" + std::to_string(++proposed_) +
                         std::string(cluster_.world().rng().below(150), '.'));
    }
    cluster_.propose(*leader, std::move(payloads));
  }

  void change_members() {
    RaftProcess* const leader = cluster_.leader();
    if (leader == nullptr) return;
    runtime::SimRng& rng = cluster_.world().rng();
    const auto members = leader->node().members();
    if (cluster_.hosts().size() < nodes_ + 1) {
      cluster_.add_host(false);
      return;
    }
    const NodeId id = any();
    const bool known = std::any_of(members.begin(), members.end(),
                                   [&](const auto& server) { return server.id == id; });
    const auto ignore = [](const runtime::Status&) {};
    leader->enter([&] {
      if (known && members.size() > nodes_ / 2 + 1 && rng.chance(0.3)) {
        leader->node().remove_server(id, ignore);
      } else {
        const auto role = rng.chance(0.7) ? raft::Role::kVoter : raft::Role::kStandby;
        leader->node().set_server({id, "node" + std::to_string(id.value), role}, ignore);
      }
    });
  }

  void transfer() {
    RaftProcess* const leader = cluster_.leader();
    if (leader == nullptr) return;
    const NodeId to = cluster_.world().rng().chance(0.5) ? NodeId{} : any();
    leader->enter([&] { leader->node().transfer_leadership(to, [](const runtime::Status&) {}); });
  }

  RaftCluster& cluster_;
  const std::size_t nodes_;
  std::uint64_t proposed_ = 0;
};

void storm(std::uint64_t seed) {
  RaftCluster cluster(seed, small());
  cluster.world().set_buggify(seed % 2 == 0);
  const std::size_t nodes = 1 + seed % 7;
  grow(cluster, nodes);
  Storm storm(cluster, nodes);
  const std::uint64_t steps = cluster.world().rng().between(100, 400);
  for (std::uint64_t step = 0; step < steps && cluster.failures() == 0; ++step) {
    storm.act();
    cluster.world().run_for(cluster.world().rng().between(0, 20) * runtime::kMillisecondNs);
    cluster.check_leaders();
    cluster.check_bounds();
  }
  if (cluster.failures() > 0) return;
  storm.calm();
  bool done = false;
  for (int attempt = 0; attempt < 60 && !done; ++attempt) {
    if (!cluster.await_leader()) break;
    const std::string last = "last" + std::to_string(attempt);
    const std::size_t before = cluster.acknowledged();
    cluster.propose(*cluster.leader(), {last});
    done = cluster.world().run_until([&] { return cluster.acknowledged() > before; },
                                     2 * runtime::kSecondNs);
  }
  CHECK_MESSAGE(done, "a calm cluster takes no proposals");
  const bool equal = cluster.await_equal();
  CHECK_MESSAGE(equal, "a calm cluster does not become equal");
  if (!equal) {
    std::printf("%s", cluster.describe().c_str());
    return;
  }
  if (RaftProcess* const leader = cluster.leader()) {
    for (const raft::Server& server : leader->node().members()) {
      RaftProcess* const process = cluster.process(server.id);
      if (server.role == raft::Role::kSpare || process == nullptr) continue;
      CHECK(process->lost().ok());
      CHECK(process->machine().applied() == leader->machine().applied());
      cluster.check_nothing_lost(process->machine());
    }
  }
}

}  // namespace

TEST_CASE("raft: clusters of any size keep what they acknowledged through everything") {
  const std::uint64_t first = first_seed();
  for (std::uint64_t seed = first; seed < first + seeds(40); ++seed) {
    CAPTURE(seed);
    storm(seed);
  }
}

TEST_CASE("raft: the successor of a leader that is seen dead is there within some messages") {
  const std::uint64_t first = first_seed();
  std::uint64_t fast = 0;
  for (std::uint64_t seed = first; seed < first + seeds(20); ++seed) {
    CAPTURE(seed);
    RaftCluster cluster(seed, small());
    grow(cluster, 3 + 2 * (seed % 3));
    REQUIRE(cluster.await_equal());
    const NodeId dead = cluster.leader()->id();
    cluster.crash(dead, true);
    const std::uint64_t begun = cluster.world().now_ns();
    unsigned rank = 0;
    for (const NodeId other : cluster.hosts()) {
      RaftProcess* const process = cluster.process(other);
      if (process == nullptr) continue;
      process->enter([&] { process->node().leader_seen_dead(dead, rank); });
      ++rank;
    }
    REQUIRE(cluster.await_leader());
    // 5 ms for each rank until a majority of candidates is there, two round trips, and the barrier
    // on the disks of a majority; and perhaps once more.
    const std::uint64_t took_ms = (cluster.world().now_ns() - begun) / runtime::kMillisecondNs;
    CHECK(took_ms <= 2 * 7 * 5 + 3 + 3 * 9);
    if (took_ms <= 15 + 3 + 2 * 9) ++fast;
  }
  CHECK(fast * 10 >= seeds(20) * 7);
}

TEST_CASE("raft: a commit reaches the followers in the time of one message") {
  RaftCluster cluster(first_seed(), small());
  grow(cluster, 3);
  REQUIRE(cluster.await_equal());
  std::uint64_t worst_ns = 0;
  for (int i = 0; i < 100; ++i) {
    RaftProcess* const leader = cluster.leader();
    const std::size_t before = cluster.acknowledged();
    cluster.propose(*leader, {"p" + std::to_string(i)});
    REQUIRE(cluster.world().run_until([&] { return cluster.acknowledged() > before; }));
    const std::uint64_t begun = cluster.world().now_ns();
    // A follower whose disk is slower than the other's has to store the entry first.
    const raft::Index index = leader->node().last_applied();
    std::size_t done = 0;
    REQUIRE(cluster.world().run_until([&] {
      done = 0;
      for (const NodeId id : cluster.hosts()) {
        if (cluster.process(id)->node().last_applied() >= index) ++done;
      }
      return done >= 2;
    }));
    worst_ns = std::max(worst_ns, cluster.world().now_ns() - begun);
    cluster.world().run_for(runtime::kMillisecondNs * (1 + i % 7));
  }
  CHECK(worst_ns <= cluster.net().most_ns);
}

}  // namespace raft_test
