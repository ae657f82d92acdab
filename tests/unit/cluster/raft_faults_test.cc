// The faults of libraft 0.15 that would reach us (docs/decisions/0011-libraft-0.15.md), each
// provoked by what a peer may say. Each test fails without the guard in front of libraft.
#include <doctest/doctest.h>

#include <set>

#include "tests/unit/cluster/raft_puppet.h"

namespace raft_faults_test {

using namespace ringtail;
using namespace ringtail::cluster::raft;

namespace {

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("raft fault 1: an entry of an earlier term is not committed by counting replicas") {
  runtime::SimWorld world(1);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3), text(1, "X")});
  Puppet puppet(host);
  puppet.win(2, {2});
  // Node 2 has X, so a majority has. The barrier of this term is not stored yet; then it is.
  puppet.say_result(2, 2, 0, 2);
  CHECK(puppet.machine.applied.empty());
  REQUIRE(puppet.settle());
  CHECK(puppet.machine.applied.empty());
  puppet.say_result(2, 2, 0, 2);
  REQUIRE(puppet.settle());
  CHECK(puppet.machine.applied.empty());
  CHECK(puppet.told_leader.value == 0);
  // With the entry of this term it is.
  puppet.say_result(2, 2, 0, 3);
  REQUIRE(puppet.settle());
  CHECK(puppet.machine.texts() == Texts{"X"});
  CHECK(puppet.told_leader.value == 1);
}

TEST_CASE("raft fault 1: figure 8 of the Raft paper") {
  // (c): this node, of five, has entry 2 of term 2 and leads again, in term 4; a majority gets the
  // entry. (d): node 5, whose entry 2 is of term 3, wins and brings that to everybody.
  runtime::SimWorld world(2);
  runtime::SimHost host(world);
  leave(host, 3, {conf(1, 5), text(2, "black")});
  Puppet puppet(host);
  puppet.win(4, {2, 3});
  puppet.say_result(2, 4, 0, 2);
  puppet.say_result(3, 4, 0, 2);
  REQUIRE(puppet.settle());
  puppet.say_result(2, 4, 0, 2);
  puppet.say_result(3, 4, 0, 2);
  REQUIRE(puppet.settle());
  puppet.say_append(5, 5, 1, 1, 2, {text(3, "blue")});
  REQUIRE(puppet.settle());
  CHECK(puppet.machine.texts() == Texts{"blue"});
  CHECK(puppet.lost.ok());
}

TEST_CASE("raft faults 2 and 8: leftovers are neither answered for nor committed") {
  runtime::SimWorld world(3);
  runtime::SimHost host(world);
  leave(host, 2, {conf(1, 3), text(1, "a"), text(2, "left"), text(2, "over")});
  Puppet puppet(host);
  // The leader of term 3 has entries 1 and 2, and others behind that are committed up to 4.
  puppet.say_append(2, 3, 2, 1, 4);
  raft_message* answer = puppet.await(RAFT_IO_APPEND_ENTRIES_RESULT);
  REQUIRE(answer != nullptr);
  CHECK(answer->append_entries_result.rejected == 0);
  CHECK(answer->append_entries_result.last_log_index == 2);
  CHECK(puppet.machine.texts() == Texts{"a"});
  // The same with an entry that is there already.
  puppet.say_append(2, 3, 1, 1, 4, {text(1, "a")});
  answer = puppet.await(RAFT_IO_APPEND_ENTRIES_RESULT);
  REQUIRE(answer != nullptr);
  CHECK(answer->append_entries_result.last_log_index == 2);
  CHECK(puppet.machine.texts() == Texts{"a"});
}

TEST_CASE("raft fault 2: entries of a former leader are not answered to the present one") {
  runtime::SimWorld world(4);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  Puppet puppet(host);
  puppet.say_append(2, 2, 1, 1, 1, {text(2, "a"), text(2, "b")});
  // Before they are stored, somebody else leads.
  puppet.say_append(3, 3, 1, 1, 1);
  REQUIRE(puppet.settle());
  int answers = 0;
  while (raft_message* answer = puppet.next(RAFT_IO_APPEND_ENTRIES_RESULT)) {
    ++answers;
    CHECK(answer->append_entries_result.term == 3);
    CHECK(answer->append_entries_result.last_log_index == 1);
  }
  CHECK(answers == 1);
  // A message of an earlier term is refused, even one from the very start of the log.
  puppet.say_append(2, 2, 0, 0, 1, {conf(1, 3)});
  raft_message* const answer = puppet.await(RAFT_IO_APPEND_ENTRIES_RESULT);
  REQUIRE(answer != nullptr);
  CHECK(answer->append_entries_result.rejected != 0);
}

TEST_CASE("raft fault 3: the log is not cut under entries that are on their way to the disk") {
  runtime::SimWorld world(5);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  {
    Puppet puppet(host);
    puppet.say_append(2, 2, 1, 1, 1, {text(2, "a")});
    puppet.say_append(2, 2, 2, 2, 1, {text(2, "b")});
    puppet.say_append(3, 3, 1, 1, 1, {text(3, "A")});
    CHECK(raft_last_index(const_cast<struct ::raft*>(&puppet.node->library())) == 3);  // not yet
    bool stored = false;
    while (!stored && world.step()) {
      // Nothing is answered for to the new leader before its own entry is stored.
      while (raft_message* answer = puppet.next(RAFT_IO_APPEND_ENTRIES_RESULT)) {
        if (answer->append_entries_result.term != 3) continue;
        CHECK(answer->append_entries_result.last_log_index == 2);
        stored = true;
      }
    }
    CHECK(stored);
    host.drive().crash();
  }
  Puppet puppet(host);
  puppet.say_append(3, 3, 2, 3, 2);
  CHECK(puppet.machine.texts() == Texts{"A"});
}

TEST_CASE("raft fault 4: no candidate with entries that are on their way to the disk") {
  runtime::SimWorld world(6);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  host.drive().options().sync_min_ns = host.drive().options().sync_max_ns = 10 * runtime::kSecondNs;
  Puppet puppet(host);
  const std::uint64_t begun = world.now_ns();
  puppet.say_append(2, 2, 1, 1, 1, {text(2, "a")});
  raft_message timeout_now{};
  timeout_now.type = RAFT_IO_TIMEOUT_NOW;
  timeout_now.timeout_now = {2, 2, 2};
  puppet.say(2, timeout_now);
  CHECK(puppet.node->library().state == RAFT_FOLLOWER);
  world.run_for(9 * runtime::kSecondNs);
  CHECK(puppet.node->library().state == RAFT_FOLLOWER);
  // Then it is one, at once.
  REQUIRE(world.run_until([&] { return puppet.node->library().state != RAFT_FOLLOWER; }));
  CHECK(world.now_ns() - begun < 12 * runtime::kSecondNs);
}

TEST_CASE("raft fault 5: a message from before the log's start appends nothing") {
  runtime::SimWorld world(7);
  runtime::SimHost host(world);
  std::vector<StoredEntry> entries = {conf(1, 3)};
  Texts all;
  for (int i = 2; i <= 60; ++i) {
    entries.push_back(text(1, "entry" + std::to_string(i)));
    all.push_back(entries.back().payload);
  }
  leave(host, 1, entries);
  RaftNodeOptions options;
  options.snapshot_entries = 20;
  options.log.trailing = 5;
  Puppet puppet(host, options);
  puppet.say_append(2, 2, 60, 1, 60);
  puppet.say_append(2, 2, 60, 1, 61, {text(2, "entry61")});
  all.push_back("entry61");
  REQUIRE(puppet.settle());
  REQUIRE(puppet.machine.snapshots > 0);
  REQUIRE(puppet.node->library().log.offset > 10);
  // The first ones again, and some that reach behind what is there.
  puppet.sent.clear();
  puppet.say_append(2, 2, 0, 0, 60, {entries.begin(), entries.begin() + 5});
  REQUIRE(puppet.settle());
  raft_message* const answer = puppet.await(RAFT_IO_APPEND_ENTRIES_RESULT);
  REQUIRE(answer != nullptr);
  CHECK(answer->append_entries_result.rejected == 0);
  CHECK(answer->append_entries_result.last_log_index >= 5);
  std::vector<StoredEntry> more(entries.begin() + 5, entries.end());
  more.push_back(text(2, "entry61"));
  more.push_back(text(2, "entry62"));
  all.push_back("entry62");
  puppet.say_append(2, 2, 5, 1, 62, more);
  REQUIRE(puppet.settle());
  CHECK(puppet.machine.texts() == all);
  CHECK(raft_last_index(const_cast<struct ::raft*>(&puppet.node->library())) == 62);
}

TEST_CASE(
    "raft fault 6: a configuration that is cut off is no longer in force, after a start too") {
  runtime::SimWorld world(8);
  runtime::SimHost host(world);
  bool candidate = false;
  SUBCASE("of a follower") {}
  SUBCASE("of a candidate") { candidate = true; }
  leave(host, 1, {conf(1, 3), text(1, "a"), conf(1, 4), text(1, "b")});
  Puppet puppet(host);
  CHECK(puppet.node->members() == voters(4));
  if (candidate) {
    REQUIRE(world.run_until([&] { return puppet.node->library().state == RAFT_CANDIDATE; }));
  }
  puppet.say_append(2, 2, 2, 1, 3, {text(2, "B")});
  REQUIRE(puppet.settle());
  CHECK(puppet.node->members() == voters(3));
  CHECK(puppet.machine.texts() == Texts{"a", "B"});
  CHECK(puppet.lost.ok());
}

TEST_CASE("raft fault 6: so is one behind a snapshot that covers the last") {
  runtime::SimWorld world(9);
  runtime::SimHost host(world);
  std::vector<StoredEntry> entries = {conf(1, 3)};
  for (int i = 2; i <= 40; ++i) entries.push_back(text(1, "entry"));
  leave(host, 1, entries);
  RaftNodeOptions options;
  options.snapshot_entries = 20;
  options.log.trailing = 5;
  Puppet puppet(host, options);
  puppet.say_append(2, 1, 40, 1, 40);
  REQUIRE(puppet.settle());
  puppet.say_append(2, 1, 40, 1, 41, {text(1, "41")});
  REQUIRE(puppet.settle());
  REQUIRE(puppet.node->library().log.offset > 10);
  puppet.say_append(2, 1, 41, 1, 41, {conf(1, 4)});
  REQUIRE(puppet.settle());
  CHECK(puppet.node->members() == voters(4));
  puppet.say_append(3, 2, 41, 1, 42, {text(2, "42")});
  REQUIRE(puppet.settle());
  CHECK(puppet.node->members() == voters(3));
  CHECK(puppet.machine.applied.back().second == "42");
  CHECK(puppet.lost.ok());
}

TEST_CASE("raft fault 7: one vote in a term, for whom it was handed leadership too") {
  runtime::SimWorld world(10);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  Puppet puppet(host);
  puppet.win(2, {2});
  REQUIRE(puppet.settle());
  puppet.say_result(2, 2, 0, 2);
  puppet.say_result(3, 2, 0, 2);
  REQUIRE(puppet.node->leads());
  puppet.env.enter([&] { puppet.node->transfer_leadership({3}, [](const runtime::Status&) {}); });
  puppet.ask_vote(2, 3, 2, 2, true);
  raft_message* answer = puppet.next(RAFT_IO_REQUEST_VOTE_RESULT);
  REQUIRE(answer != nullptr);
  CHECK(answer->request_vote_result.vote_granted);
  puppet.ask_vote(3, 3, 2, 2, true);
  answer = puppet.next(RAFT_IO_REQUEST_VOTE_RESULT);
  CHECK((answer == nullptr || !answer->request_vote_result.vote_granted));
}

TEST_CASE("raft fault 9: heartbeats that are refused do not end the sending of a snapshot") {
  runtime::SimWorld world(16);
  runtime::SimHost host(world);
  std::vector<StoredEntry> entries = {conf(1, 3)};
  for (int i = 2; i <= 40; ++i) entries.push_back(text(1, "entry"));
  leave(host, 1, entries);
  RaftNodeOptions options;
  options.snapshot_entries = 20;
  options.log.trailing = 1;
  options.io.transfer.part_bytes = 1;
  Puppet puppet(host, options);
  puppet.win(2, {2});
  REQUIRE(puppet.settle());
  puppet.say_result(2, 2, 0, 41);  // the barrier too: applied, and a snapshot of all
  REQUIRE(puppet.settle());
  REQUIRE(puppet.node->library().log.snapshot.last_index == 41);
  const auto sessions = [&] {
    std::set<std::uint64_t> found;
    for (const Puppet::Sent& sent : puppet.sent) {
      if (const auto* part = std::get_if<SnapshotPart>(&sent.message)) found.insert(part->session);
    }
    return found.size();
  };
  puppet.say_result(3, 2, 40, 0);  // it has nothing
  puppet.say_result(3, 2, 41, 0);
  REQUIRE(world.run_until([&] { return sessions() > 0; }));
  for (int i = 0; i < 5; ++i) {
    world.run_for(50 * runtime::kMillisecondNs);
    puppet.say_result(3, 2, 41, 0);
    puppet.say_result(2, 2, 0, 41);
  }
  CHECK(sessions() == 1);
}

TEST_CASE("raft fault 13: the only voter leads in a term of its own") {
  runtime::SimWorld world(17);
  runtime::SimHost host(world);
  leave(host, 4, {conf(1, 1), text(4, "a")});
  Puppet puppet(host);
  REQUIRE(puppet.settle());
  CHECK(puppet.node->leads());
  CHECK(puppet.node->term() == 5);
  CHECK(puppet.machine.texts() == Texts{"a"});
}

TEST_CASE("raft fault 14: a configuration leaves when it is on the leader's disk") {
  runtime::SimWorld world(18);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  Puppet puppet(host);
  puppet.win(2, {2});
  REQUIRE(puppet.settle());
  puppet.say_result(2, 2, 0, 2);
  puppet.say_result(3, 2, 0, 2);
  REQUIRE(puppet.node->leads());
  REQUIRE(puppet.settle());
  puppet.sent.clear();
  puppet.env.enter([&] {
    puppet.node->set_server({{3}, "node3", Role::kStandby}, [](const runtime::Status&) {});
  });
  bool left = false;
  while (!left && world.step()) {
    while (raft_message* append = puppet.next(RAFT_IO_APPEND_ENTRIES)) {
      if (append->append_entries.n_entries == 0) continue;
      left = true;
      CHECK(puppet.node->library().last_stored == 3);
    }
    if (puppet.node->library().state != RAFT_LEADER) break;
  }
  CHECK(left);
}

TEST_CASE("raft fault 15: who is no voter forgets a leader that is silent") {
  runtime::SimWorld world(19);
  runtime::SimHost host(world);
  Configuration configuration = voters(3);
  configuration[0].role = Role::kStandby;
  leave(host, 1, {{1, EntryKind::kChange, encode_configuration(configuration)}});
  Puppet puppet(host);
  puppet.say_append(2, 2, 1, 1, 1);
  CHECK(puppet.node->leader().value == 2);
  puppet.ask_vote(3, 3, 1, 1);
  raft_message* answer = puppet.next(RAFT_IO_REQUEST_VOTE_RESULT);
  REQUIRE(answer != nullptr);
  CHECK_FALSE(answer->request_vote_result.vote_granted);
  REQUIRE(world.run_until([&] { return puppet.node->leader().value == 0; }));
  puppet.ask_vote(3, 3, 1, 1);
  answer = puppet.next(RAFT_IO_REQUEST_VOTE_RESULT);
  REQUIRE(answer != nullptr);
  CHECK(answer->request_vote_result.vote_granted);
}

TEST_CASE("raft fault 16: the refusal of a pre-vote tells the term") {
  runtime::SimWorld world(20);
  runtime::SimHost host(world);
  leave(host, 9, {conf(1, 2)});
  Puppet puppet(host);
  raft_message message{};
  message.type = RAFT_IO_REQUEST_VOTE;
  message.request_vote = {5, 2, 7, 4, false, true};
  puppet.say(2, message);
  raft_message* const answer = puppet.next(RAFT_IO_REQUEST_VOTE_RESULT);
  REQUIRE(answer != nullptr);
  CHECK_FALSE(answer->request_vote_result.vote_granted);
  CHECK(answer->request_vote_result.term == 9);
}

TEST_CASE("raft fault 10: who does not know yet that it is a voter votes") {
  runtime::SimWorld world(15);
  runtime::SimHost host(world);
  Configuration configuration = voters(2);
  configuration[0].role = Role::kStandby;
  leave(host, 1, {{1, EntryKind::kChange, encode_configuration(configuration)}});
  Puppet puppet(host);
  puppet.ask_vote(2, 2, 2, 1);
  raft_message* const answer = puppet.next(RAFT_IO_REQUEST_VOTE_RESULT);
  REQUIRE(answer != nullptr);
  CHECK(answer->request_vote_result.vote_granted);
  CHECK(puppet.node->members() == configuration);
}

TEST_CASE(
    "raft: another leader in our term, and one who contradicts what is committed, are refused") {
  runtime::SimWorld world(11);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3), text(1, "a")});
  Puppet puppet(host);
  puppet.win(2, {2});
  REQUIRE(puppet.settle());
  puppet.say_result(2, 2, 0, 3);
  REQUIRE(puppet.node->leads());
  puppet.say_append(3, 2, 1, 1, 3, {text(2, "x")});
  CHECK(puppet.node->leads());
  puppet.say_append(3, 3, 1, 1, 3, {text(3, "x")});
  REQUIRE(puppet.settle());
  CHECK(puppet.machine.texts() == Texts{"a"});
  CHECK(puppet.lost.ok());
  CHECK(puppet.node->dropped_messages() >= 2);
}

TEST_CASE("raft: what is proposed leaves in messages of bounded size, and all of it arrives") {
  runtime::SimWorld world(12);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  RaftNodeOptions options;
  options.io.append_bytes = 1000;
  Puppet puppet(host, options);
  puppet.win(2, {2});
  REQUIRE(puppet.settle());
  puppet.say_result(2, 2, 0, 2);
  REQUIRE(puppet.node->leads());
  REQUIRE(puppet.settle());
  puppet.sent.clear();
  const std::string payload(100, 'p');
  puppet.env.enter([&] {
    puppet.node->propose(std::vector<std::string>(100, payload), [](Proposed, Index) {});
  });
  Index has = 2;
  for (int i = 0; i < 200 && has < 102; ++i) {
    raft_message* const append = puppet.await(RAFT_IO_APPEND_ENTRIES);
    REQUIRE(append != nullptr);
    if (puppet.last_to().value != 2) continue;
    std::size_t bytes = 0;
    for (unsigned j = 0; j < append->append_entries.n_entries; ++j) {
      bytes += append->append_entries.entries[j].buf.len;
    }
    CHECK(bytes <= 1000);
    CHECK(append->append_entries.prev_log_index <= has);
    if (append->append_entries.n_entries == 0) continue;
    has = append->append_entries.prev_log_index + append->append_entries.n_entries;
    puppet.say_result(2, 2, 0, has);
  }
  CHECK(has == 102);
  REQUIRE(puppet.settle());
  CHECK(puppet.machine.applied.size() == 100);
}

TEST_CASE("raft: followers hear of a commit in the turn in which it happens") {
  runtime::SimWorld world(13);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  Puppet puppet(host);
  puppet.win(2, {2});
  REQUIRE(puppet.settle());
  puppet.sent.clear();
  puppet.say_result(2, 2, 0, 2);
  int told = 0;
  while (raft_message* append = puppet.next(RAFT_IO_APPEND_ENTRIES)) {
    if (append->append_entries.leader_commit == 2) ++told;
  }
  CHECK(told >= 1);  // node 3 is still probed behind it
}

TEST_CASE("raft: a node that is closed with everything under way frees all of it") {
  runtime::SimWorld world(14);
  runtime::SimHost host(world);
  leave(host, 1, {conf(1, 3)});
  Puppet puppet(host);
  puppet.win(2, {2});
  REQUIRE(puppet.settle());
  puppet.say_result(2, 2, 0, 2);
  REQUIRE(puppet.node->leads());
  std::vector<Proposed> outcomes;
  for (int i = 0; i < 5; ++i) {
    puppet.env.enter([&] {
      puppet.node->propose({"a", "b"},
                           [&](Proposed outcome, Index) { outcomes.push_back(outcome); });
    });
  }
  bool closed = false;
  puppet.env.enter([&] { puppet.node->close([&] { closed = true; }); });
  REQUIRE(world.run_until([&] { return closed; }));
  CHECK(outcomes == std::vector<Proposed>(5, Proposed::kLost));
}

}  // namespace raft_faults_test
