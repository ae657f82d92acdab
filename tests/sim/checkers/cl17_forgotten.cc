// CL17: the number of a node that was forgotten is never used again, and who comes back with it
// ends.
#include <doctest/doctest.h>

#include <string>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim::forgotten_test {

namespace {

// How the node is away while it is forgotten.
enum class Away : std::uint8_t { kDead, kFrozen, kCutOff };

struct Forgotten {
  Forgotten(std::uint64_t seed, std::uint32_t machines = 3)
      : cluster(seed, machines),
        gone(static_cast<std::uint32_t>(1 + seed % machines)),
        other(gone % machines + 1) {
    cluster.start_all();
    REQUIRE(cluster.run_until([&] { return cluster.is_one(); }));
    id = cluster.node(gone)->id();
    CHECK(cluster.propose(other, queue("there", *cluster.node(gone))).outcome == Outcome::kDone);
  }

  void leave(Away how) {
    switch (how) {
      case Away::kDead:
        return cluster.kill(gone);
      case Away::kFrozen:
        return cluster.node(gone)->pause();
      case Away::kCutOff:
        return cluster.world.network().paths().isolate(cluster.host(gone));
    }
  }
  void come_back(Away how) {
    switch (how) {
      case Away::kDead:
        cluster.start(gone, cluster.together);
        return;
      case Away::kFrozen:
        return cluster.node(gone)->resume();
      case Away::kCutOff:
        return cluster.world.network().paths().heal_all();
    }
  }
  void forget() {
    REQUIRE(cluster.run_until([&] {
      const auto record = cluster.node(other)->store(0).node(id);
      return record != nullptr && !record->up;
    }));
    REQUIRE(cluster.propose(other, cluster::metadata::ForgetNode{id}).outcome == Outcome::kDone);
  }
  // Nothing is left of it on those that have stayed.
  void check_no_trace() {
    REQUIRE(cluster.run_until([&] {
      for (std::uint32_t number = 1; number <= cluster.size(); ++number) {
        if (number == gone) continue;
        const auto members = cluster.node(number)->control().raft().members();
        if (members.size() != cluster.size() - 1) return false;
        if (cluster.node(number)->store(0).node(id) != nullptr) return false;
      }
      return true;
    }));
    for (std::uint32_t number = 1; number <= cluster.size(); ++number) {
      if (number == gone) continue;
      CHECK(cluster.node(number)->store(1).queue("/", "there") == nullptr);
      CHECK_FALSE(cluster.node(number)->control().links().control().is_heard(id));
    }
  }
  void check_ends() {
    REQUIRE(cluster.run_until([&] { return !cluster.node(gone)->ended().ok(); }, 10));
    const std::string why = cluster.node(gone)->ended().text();
    CAPTURE(why);
    CHECK(why.find(ClusterNode::name_of(gone)) == 0);
    CHECK(why.find("forgotten") != std::string::npos);
    CHECK(why.find("empty the data directory") != std::string::npos);
    CHECK_FALSE(cluster.node(gone)->control().holds_lease());
  }

  Cluster cluster;
  const std::uint32_t gone;
  const std::uint32_t other;
  runtime::NodeId id;
};

void come_back_after(std::uint64_t seed, Away away, std::uint64_t after_ms) {
  CAPTURE(seed);
  CAPTURE(static_cast<int>(away));
  CAPTURE(after_ms);
  Forgotten one(seed);
  one.leave(away);
  one.forget();
  one.cluster.world.run_for(after_ms * kMillisecondNs);
  one.come_back(away);
  one.check_ends();
  one.check_no_trace();
  // With nothing but the cookie it is welcome.
  one.cluster.kill(one.gone);
  {
    runtime::SimEnv env(one.cluster.host(one.gone));
    REQUIRE(env.disk().remove_tree("/data").ok());
  }
  one.cluster.start(one.gone, one.cluster.together);
  REQUIRE(one.cluster.run_until([&] { return one.cluster.is_one(); }));
  CHECK(one.cluster.node(one.gone)->id() != one.id);
}

}  // namespace

TEST_CASE("a node that was forgotten ends when it comes back, and joins as another") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(6); ++seed) {
    for (const Away away : {Away::kDead, Away::kFrozen, Away::kCutOff}) {
      // While it is a Raft server; when it is none; when nobody remembers a link to it.
      for (const std::uint64_t after_ms : {0, 300, 1500, 45'000}) {
        come_back_after(seed, away, after_ms);
      }
    }
  }
}

TEST_CASE("a node that was forgotten ends again at each start") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(6); ++seed) {
    CAPTURE(seed);
    Forgotten one(seed);
    one.leave(Away::kDead);
    one.forget();
    for (int start = 0; start < 3; ++start) {
      one.cluster.start(one.gone, one.cluster.together);
      one.check_ends();
      one.cluster.crash(one.gone);
    }
    one.check_no_trace();
  }
}

TEST_CASE("of two nodes the one that is left remembers that it has forgotten the other") {
  Forgotten one(1, 2);
  one.cluster.node(one.gone)->stop();  // its vote is given back
  REQUIRE(one.cluster.run_until([&] { return one.cluster.node(one.gone)->stopped(); }));
  one.cluster.kill(one.gone);
  one.forget();
  one.cluster.kill(one.other);
  one.cluster.start(one.other, one.cluster.together);
  one.cluster.start(one.gone, one.cluster.together);
  one.check_ends();
  one.check_no_trace();
}

TEST_CASE("a node that others have forgotten may retire") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(8); ++seed) {
    CAPTURE(seed);
    Forgotten one(seed);
    one.cluster.node(one.gone)->stop();
    REQUIRE(one.cluster.run_until([&] { return one.cluster.node(one.gone)->stopped(); }));
    one.cluster.kill(one.gone);
    one.forget();
    if (seed % 2 == 0) one.cluster.world.run_for(45 * kSecondNs);
    SimClusterOptions retires;
    retires.retires = true;
    one.cluster.start(one.gone, retires);
    REQUIRE(one.cluster.run_until([&] { return one.cluster.node(one.gone)->retired(); }, 10));
    one.check_no_trace();
  }
}

TEST_CASE("a node that is forgotten while it stops has stopped in order") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(8); ++seed) {
    CAPTURE(seed);
    Forgotten one(seed);
    one.cluster.node(one.gone)->stop();
    one.forget();
    REQUIRE(one.cluster.run_until([&] { return one.cluster.node(one.gone)->stopped(); }, 10));
    CHECK(one.cluster.node(one.gone)->ended().ok());
    one.check_no_trace();
  }
}

}  // namespace ringtail::sim::forgotten_test
