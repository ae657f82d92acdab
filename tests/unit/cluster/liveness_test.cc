#include "cluster/liveness.h"

#include <doctest/doctest.h>

#include "cluster/membership.h"
#include "cluster/metadata/store.h"

namespace liveness_test {

using namespace ringtail;
using namespace ringtail::cluster;
using runtime::NodeId;

namespace {

const NodeId kA{1};
const NodeId kB{2};
const NodeId kC{3};

// A leads, B and C are up; all in life 1.
struct Leading {
  Leading() {
    watch.set_nodes({{kA, 1}, {kB, 1}, {kC, 1}}, 1000);
    watch.begin(kA, {}, 0, 1000);
    watch.set_voters({kA, kB, kC});
  }
  // All voters but the leader acknowledge a round that began then.
  void round(std::uint64_t now_ms) {
    const std::uint64_t number = watch.begin_round(now_ms);
    watch.round_acknowledged(kB, number, 0);
    watch.round_acknowledged(kC, number, 0);
  }
  LivenessTimes times;
  LeaderWatch watch{times};
};

}  // namespace

TEST_CASE("a lease ends with the earlier of its request and the last acknowledged round") {
  LivenessTimes times;
  Lease lease;
  CHECK_FALSE(lease.valid(0));
  lease.granted(10'000, 0, times);
  CHECK(lease.valid(11'499));
  CHECK_FALSE(lease.valid(11'500));
  lease.granted(10'500, 700, times);  // of a round that began at 9,800: no longer than before
  CHECK_FALSE(lease.valid(11'500));
  lease.granted(11'000, 100, times);
  CHECK(lease.valid(12'399));
  lease.revoke();
  CHECK_FALSE(lease.valid(11'000));
}

TEST_CASE_FIXTURE(Leading, "without a majority that acknowledges, nobody is granted a lease") {
  CHECK_FALSE(watch.heard(kB, 1, 0, 1010).granted);
  const std::uint64_t number = watch.begin_round(1020);
  CHECK_FALSE(watch.heard(kB, 1, 0, 1030).granted);
  watch.round_acknowledged(kC, number, 0);  // with the leader's own a majority
  const auto grant = watch.heard(kB, 1, 0, 1040);
  CHECK(grant.granted);
  CHECK(grant.round_age_ms == 20);
  CHECK_FALSE(watch.heard(kB, 2, 0, 1050).granted);  // of no such life
  CHECK_FALSE(watch.heard(kB, 1, 0, 1020 + times.lease_ms).granted);
  watch.end();
  CHECK_FALSE(watch.heard(kB, 1, 0, 1060).granted);
}

TEST_CASE_FIXTURE(Leading,
                  "who is silent is down when no lease of his can last; who is gone at once") {
  round(4100);
  watch.heard(kB, 1, 0, 4100);
  watch.heard(kC, 1, 0, 4200);
  // It is heard: what was refused was a process before this one.
  watch.set_process_gone(kB, true, 4300);
  watch.heard(kB, 1, 0, 4310);
  CHECK(watch.dead(4320).empty());
  watch.set_process_gone(kC, true, 4330);
  REQUIRE(watch.dead(4400).size() == 1);
  CHECK(watch.dead(4400)[0].node == kC);
  CHECK(watch.dead(4400)[0].gone);
  CHECK(watch.dead(6309).size() == 1);
  REQUIRE(watch.dead(6310).size() == 2);
  CHECK(watch.dead(6310)[0].node == kB);
  CHECK_FALSE(watch.dead(6310)[0].gone);
}

TEST_CASE_FIXTURE(Leading, "who was named in a verdict gets no lease any more, whatever is heard") {
  watch.heard(kC, 1, 0, 2900);
  REQUIRE(watch.dead(3000).size() == 1);
  round(3010);
  CHECK_FALSE(watch.heard(kB, 1, 0, 3020).granted);
  REQUIRE(watch.dead(3030).size() == 1);
  CHECK(watch.dead(3030)[0].node == kB);
  // In its next life, or under another leader.
  SUBCASE("in its next life it does") {
    watch.set_nodes({{kA, 1}, {kB, 2}, {kC, 1}}, 3040);
    CHECK(watch.heard(kB, 2, 0, 3050).granted);
  }
  SUBCASE("from another leader it does") {
    watch.end();
    watch.begin(kA, {}, 0, 3040);
    round(3050);
    CHECK(watch.heard(kB, 1, 0, 3060).granted);
  }
}

TEST_CASE_FIXTURE(Leading, "a process that is gone is not that of a life that begins later") {
  watch.heard(kB, 1, 0, 3500);
  watch.set_process_gone(kC, true, 3500);
  watch.set_nodes({{kA, 1}, {kB, 1}, {kC, 2}}, 3600);
  CHECK(watch.dead(3610).empty());
  // Whoever tried to connect before that life was known hears late of the process before it.
  watch.heard(kB, 1, 0, 5500);
  watch.heard(kC, 2, 0, 5500);
  watch.set_process_gone(kC, true, 5600);
  CHECK(watch.dead(5600).empty());
  watch.set_process_gone(kC, true, 5601);
  CHECK(watch.dead(5601).size() == 1);
}

TEST_CASE_FIXTURE(Leading, "a new leader counts from the beginning") {
  round(1100);
  watch.heard(kB, 1, 0, 1100);
  watch.end();
  watch.begin(kA, {}, 0, 9000);
  CHECK(watch.dead(9000).empty());
  CHECK(watch.dead(10'999).empty());
  CHECK(watch.dead(11'000).size() == 2);
}

TEST_CASE_FIXTURE(Leading,
                  "the leader before it is counted from when a majority last heard of it") {
  watch.end();
  watch.begin(kA, kB, 0, 9000);
  watch.set_voters({kA, kB, kC});
  const std::uint64_t number = watch.begin_round(9010);
  watch.round_acknowledged(kA, number, 7900);
  CHECK(watch.dead(9999).empty());  // one voter is no majority
  SUBCASE("as they say") {
    watch.round_acknowledged(kC, number, 8000);
    CHECK(watch.dead(9999).empty());
    REQUIRE(watch.dead(10'000).size() == 1);
    CHECK(watch.dead(10'000)[0].node == kB);
    CHECK(watch.dead(11'000).size() == 2);
  }
  SUBCASE("not when this leader hears of it") {
    watch.round_acknowledged(kC, number, 8000);
    watch.heard(kB, 1, 0, 9500);
    CHECK(watch.dead(11'000).size() == 1);
    CHECK(watch.dead(11'500).size() == 2);
  }
  SUBCASE("of those who voted then, whoever votes since") {
    watch.set_voters({kA, kB, kC, NodeId{4}, NodeId{5}});
    watch.round_acknowledged(NodeId{4}, number, 100);
    watch.round_acknowledged(NodeId{5}, number, 100);
    CHECK(watch.dead(9999).empty());
  }
}

TEST_CASE_FIXTURE(Leading, "of all majorities the one that says most of the former leader counts") {
  watch.end();
  watch.begin(kA, kB, 0, 9000);
  watch.set_voters({kA, kB, kC, NodeId{4}, NodeId{5}});
  const std::uint64_t number = watch.begin_round(9010);
  watch.round_acknowledged(kA, number, 7900);
  watch.round_acknowledged(kC, number, 8900);
  CHECK(watch.dead(10'899).empty());
  watch.round_acknowledged(NodeId{4}, number, 8000);
  CHECK(watch.dead(10'899).empty());
  watch.round_acknowledged(NodeId{5}, number, 8100);
  CHECK(watch.dead(10'099).empty());
  CHECK(watch.dead(10'100).size() == 1);
}

TEST_CASE_FIXTURE(Leading, "everywhere: with all who may hold a lease, and never back") {
  round(1100);
  watch.heard(kA, 1, 50, 1100);
  watch.heard(kB, 1, 40, 1100);
  CHECK(watch.applied_everywhere(1100) == 0);  // the leader before may have granted C a lease
  watch.heard(kC, 1, 45, 1110);
  CHECK(watch.applied_everywhere(1110) == 40);
  watch.applied(kB, 1, 60);
  CHECK(watch.applied_everywhere(1120) == 45);
  // C is silent: when its lease has certainly ended it is waited for no longer.
  round(2500);
  watch.heard(kB, 1, 60, 2500);
  CHECK(watch.applied_everywhere(1110 + times.longest_lease_ms() - 1) == 45);
  CHECK(watch.applied_everywhere(1110 + times.longest_lease_ms()) == 50);
  // And gets no lease before it has what others were told.
  round(2700);
  CHECK_FALSE(watch.heard(kC, 1, 49, 2700).granted);
  CHECK(watch.applied_everywhere(2700) == 50);
  CHECK(watch.heard(kC, 1, 50, 2710).granted);
}

TEST_CASE("a new leader grants no lease to who lacks what the one before may have told") {
  LivenessTimes times;
  LeaderWatch watch(times);
  watch.set_nodes({{kA, 1}, {kB, 1}}, 1000);
  watch.begin(kA, {}, 80, 1000);
  watch.set_voters({kA, kB});
  watch.round_acknowledged(kB, watch.begin_round(1000), 0);
  CHECK_FALSE(watch.heard(kB, 1, 79, 1010).granted);
  CHECK(watch.heard(kB, 1, 80, 1020).granted);
}

TEST_CASE("members: addresses") {
  const MemberAddress member{NodeId{7}, "rabbit@host", {"fe80::1", 25672}};
  CHECK(to_text(member) == "7 rabbit@host fe80::1 25672");
  CHECK(parse_member(to_text(member)) == member);
  for (const char* wrong : {"", "7", "7 a b", "0 a b 1", "x a b 1", "7 a b x", "7 a b 65536",
                            "7 a  1", "7 a b 1 ", "7  b 1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_member(wrong).has_value());
  }
}

TEST_CASE("members: who comes gets the log, then a vote; who stops in order gives it back") {
  using metadata::NodeDown;
  using metadata::NodeUp;
  using raft::Role;
  using Kind = MemberChange::Kind;
  metadata::Store store;
  const auto up = [&store](NodeId id, const char* name) {
    store.apply(NodeUp{{.id = id, .name = name, .shards = 1, .boot = 1}});
  };
  up(kA, "a");
  raft::Configuration servers = {{kA, "a", Role::kVoter}};
  CHECK_FALSE(next_change(servers, store, kA, {}).has_value());
  // B asks to join.
  auto change = next_change(servers, store, kA, {{kB, "address of b"}});
  REQUIRE(change.has_value());
  CHECK(change->kind == Kind::kAdd);
  CHECK(change->address == "address of b");
  servers.push_back({kB, "address of b", Role::kStandby});
  CHECK_FALSE(next_change(servers, store, kA, {{kB, "address of b"}}).has_value());
  up(kB, "b");
  change = next_change(servers, store, kA, {});
  REQUIRE(change.has_value());
  CHECK(change->kind == Kind::kAssign);
  CHECK(change->role == Role::kVoter);
  servers[1].role = Role::kVoter;
  // Lost: it keeps its vote. Stopped: it does not.
  store.apply(NodeDown{kB, 1, false});
  CHECK_FALSE(next_change(servers, store, kA, {}).has_value());
  up(kB, "b");
  store.apply(NodeDown{kB, 2, true});
  change = next_change(servers, store, kA, {});
  REQUIRE(change.has_value());
  CHECK(change->role == Role::kStandby);
  // The leader does not take its own vote.
  store.apply(NodeDown{kA, 1, true});
  servers[1].role = Role::kStandby;
  CHECK_FALSE(next_change(servers, store, kA, {}).has_value());
  // Forgotten, or never come.
  store.apply(metadata::ForgetNode{kB});
  change = next_change(servers, store, kA, {});
  REQUIRE(change.has_value());
  CHECK(change->kind == Kind::kRemove);
  CHECK(change->node == kB);
}

}  // namespace liveness_test
