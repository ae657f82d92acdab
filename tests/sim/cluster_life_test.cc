// The life of a cluster under load, by seed: nodes are killed, lose power with what they had not
// synced, freeze, sleep, stop in order and come back, while ways between them are cut in every
// shape and slow, disks are slow, and clients of every node declare, bind and delete. What must
// hold:
//
//   - at most one node leads in each term,
//   - a change that was answered is seen by every node that holds a lease, at once, and stays,
//   - no two answers contradict each other,
//   - when all is healed every node serves, and has the same metadata, with nothing left over.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/cluster_machines.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim::cluster_life_test {

namespace {

using cluster::metadata::Bind;
using cluster::metadata::DeleteQueue;

// What clients know of one name, each of which is declared and deleted by one client at a time.
struct Name {
  bool busy = false;
  std::optional<runtime::Qid> exists;  // certainly
  bool unsure = false;                 // an answer is missing: nobody knows
  // Nodes whose last proposals for it had no answer, and how many had been asked for when that was
  // known. Such a proposal may happen at any time until one that its node has made after that has
  // been applied: then it never will.
  std::map<std::uint32_t, std::uint64_t> doubts;
};

class Life {
 public:
  explicit Life(std::uint64_t seed)
      : cluster_(seed, 2 + static_cast<std::uint32_t>(seed % 3) *
                               static_cast<std::uint32_t>(1 + seed % 2)),
        rng_(seed * 7919),
        stopped_(cluster_.size() + 1) {
    cluster_.world.set_buggify(seed % 4 == 0);
  }

  void run() {
    cluster_.start_all();
    REQUIRE(cluster_.run_until([&] { return cluster_.is_one(); }));
    const int steps = 60;
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < 3; ++i) act();
      harm();
      for (std::uint64_t slices = rng_.between(1, 20); slices > 0; --slices) {
        cluster_.world.run_for(rng_.between(1, 60) * kMillisecondNs);
        cluster_.check_leaders();
        cluster_.check_leases();
      }
      check_answered();
    }
    heal();
    CHECK(cluster_.run_until([&] { return waiting_ == 0; }));
    REQUIRE(cluster_.run_until([&] { return cluster_.is_one(); }, 120));
    check_answered();
    check_nothing_left_over();
  }

 private:
  std::uint32_t random_number() {
    return static_cast<std::uint32_t>(rng_.between(1, cluster_.size()));
  }
  bool runs(std::uint32_t number) { return cluster_.node(number) != nullptr && !stopping(number); }
  bool stopping(std::uint32_t number) { return stopped_[number]; }

  // --- clients ---

  void act() {
    const std::uint32_t number = random_number();
    if (!runs(number) || !cluster_.node(number)->serves() || frozen_.contains(number)) return;
    const std::string text = "q" + std::to_string(rng_.between(0, 25));
    Name& name = names_[text];
    if (name.busy) return;
    name.busy = true;
    ++waiting_;
    const std::uint64_t ask = ++asks_;
    const bool certain = name.doubts.empty();
    const auto answered = [this, number, ask, certain, &name](const CommandResult& result) {
      --waiting_;
      asked_[number].erase(&name);
      name.busy = false;
      if (result.outcome == Outcome::kUnavailable) {
        doubt(name, number);
      } else {
        settle_doubts(number, ask);
      }
      return certain;
    };
    asked_[number].insert(&name);
    const std::size_t shard = rng_.between(0, 1);
    if (name.exists && rng_.chance(0.5)) {
      remove(number, shard, text, name, answered);
    } else if (name.exists && rng_.chance(0.5)) {
      bind(number, shard, text, name, answered);
    } else {
      declare(number, shard, text, name, answered);
    }
  }

  // Whether nothing that was asked for the name before may happen yet.
  using Answered = std::function<bool(const CommandResult&)>;

  void doubt(Name& name, std::uint32_t number) {
    name.unsure = true;
    name.doubts[number] = asks_;
  }
  void settle_doubts(std::uint32_t number, std::uint64_t ask) {
    for (auto& [text, name] : names_) {
      const auto found = name.doubts.find(number);
      if (found != name.doubts.end() && found->second < ask) name.doubts.erase(found);
    }
  }

  void declare(std::uint32_t number, std::size_t shard, const std::string& text, Name& name,
               const Answered& answered) {
    cluster_.node(number)->propose(
        shard, queue(text, *cluster_.node(number)),
        [this, answered, text, &name](const CommandResult& result) {
          const bool certain = answered(result);
          if (result.outcome == Outcome::kUnavailable || result.outcome == Outcome::kNoNode) return;
          REQUIRE(result.queue != nullptr);
          if (!name.unsure) {
            CHECK((result.outcome == Outcome::kUnchanged) == name.exists.has_value());
            if (name.exists) CHECK(result.queue->qid == *name.exists);
          }
          name.exists = result.queue->qid;
          name.unsure = !certain;
          if (certain) check_seen(text, *name.exists);
        });
  }
  void remove(std::uint32_t number, std::size_t shard, const std::string& text, Name& name,
              const Answered& answered) {
    const runtime::Qid qid = *name.exists;
    cluster_.node(number)->propose(shard, DeleteQueue{"/", text, qid},
                                   [this, answered, text, qid, &name](const CommandResult& result) {
                                     const bool certain = answered(result);
                                     if (result.outcome == Outcome::kUnavailable) return;
                                     if (!name.unsure) CHECK(result.outcome == Outcome::kDone);
                                     name.exists.reset();
                                     // A later queue of that name, of which nobody was told.
                                     if (result.outcome == Outcome::kUnchanged && result.queue) {
                                       name.exists = result.queue->qid;
                                     }
                                     name.unsure = !certain;
                                     check_unseen(text, qid);
                                   });
  }
  void bind(std::uint32_t number, std::size_t shard, const std::string& text, Name& name,
            const Answered& answered) {
    cluster_.node(number)->propose(
        shard, Bind{{.vhost = "/", .source = "amq.topic", .destination = text}},
        [answered, &name](const CommandResult& result) {
          const bool unsure = name.unsure;
          (void)answered(result);
          // What is not certain is whether the binding is there: of no account here.
          name.unsure = unsure;
          if (result.outcome == Outcome::kUnavailable || unsure) return;
          CHECK((result.outcome == Outcome::kDone || result.outcome == Outcome::kUnchanged));
        });
  }

  // --- checks ---

  // By whoever holds a lease, on every shard.
  void for_each_replica(const std::function<void(const cluster::metadata::Store&)>& check) {
    for (std::uint32_t number = 1; number <= cluster_.size(); ++number) {
      ClusterNode* node = cluster_.node(number);
      if (node == nullptr || !node->serves() || frozen_.contains(number)) continue;
      if (!node->control().holds_lease()) continue;
      for (std::size_t shard = 0; shard < node->shards(); ++shard) check(node->store(shard));
    }
  }
  void check_seen(const std::string& text, runtime::Qid qid) {
    for_each_replica([&](const cluster::metadata::Store& store) {
      const auto record = store.queue("/", text);

      REQUIRE(record != nullptr);
      CHECK(record->qid == qid);
    });
  }
  void check_unseen(const std::string& text, runtime::Qid qid) {
    for_each_replica([&](const cluster::metadata::Store& store) {
      const auto record = store.queue("/", text);
      if (record != nullptr) CHECK(record->qid > qid);
    });
  }
  void check_answered() {
    for (const auto& [text, name] : names_) {
      if (name.exists && !name.unsure && !name.busy) check_seen(text, *name.exists);
    }
  }
  void check_nothing_left_over() {
    for_each_replica([&](const cluster::metadata::Store& store) {
      store.for_each_queue([&](const auto& record) {
        const auto known = names_.find(record->name);
        REQUIRE(known != names_.end());
        if (!known->second.unsure && !known->second.busy) {
          REQUIRE(known->second.exists.has_value());
          CHECK(*known->second.exists == record->qid);
        }
      });
      std::size_t nodes = 0;
      store.for_each_node([&nodes](const auto&) { ++nodes; });
      CHECK(nodes == cluster_.size());
    });
  }

  // --- harm ---

  // Those who asked this node hear nothing more.
  void abandon(std::uint32_t number) {
    for (Name* name : asked_[number]) {
      name->busy = false;
      doubt(*name, number);
      --waiting_;
    }
    asked_[number].clear();
    frozen_.erase(number);
  }

  void harm() {
    const std::uint32_t number = random_number();
    switch (rng_.between(0, 15)) {
      case 0:
      case 1:
        if (!runs(number)) return;
        abandon(number);
        return cluster_.kill(number);
      case 2:
        if (!runs(number)) return;
        abandon(number);
        return cluster_.crash(number);
      case 3:
        if (!runs(number) || !frozen_.insert(number).second) return;
        return cluster_.node(number)->pause();
      case 4:
        return cluster_.world.network().paths().isolate(cluster_.host(number));
      case 5:
        return cluster_.world.network().paths().cut_both(cluster_.host(number),
                                                         cluster_.host(random_number()));
      case 6:
        return cluster_.world.network().paths().cut(cluster_.host(number),
                                                    cluster_.host(random_number()));
      case 7:
        return cluster_.world.network().paths().set_delay(cluster_.host(number),
                                                          cluster_.host(random_number()), 0,
                                                          rng_.between(0, 400) * kMillisecondNs);
      case 8:
        if (!runs(number) || frozen_.contains(number) || !cluster_.node(number)->serves()) return;
        stopped_[number] = true;
        return cluster_.node(number)->stop();
      case 9:
        cluster_.host(number).drive().options().sync_max_ns = rng_.between(1, 600) * kMillisecondNs;
        return;
      case 10:
      case 11:
        return cluster_.world.network().paths().heal_all();
      default:
        return come_back();
    }
  }
  void come_back() {
    for (std::uint32_t number = 1; number <= cluster_.size(); ++number) {
      if (frozen_.erase(number) > 0) cluster_.node(number)->resume();
      if (stopping(number) && cluster_.node(number)->stopped()) {
        abandon(number);
        cluster_.kill(number);
        stopped_[number] = false;
      }
      if (cluster_.node(number) == nullptr) cluster_.start(number, cluster_.together);
    }
  }
  void heal() {
    auto& paths = cluster_.world.network().paths();
    paths.heal_all();
    paths.clear_delays();
    for (std::uint32_t number = 1; number <= cluster_.size(); ++number) {
      cluster_.host(number).drive().options() = {};
      if (frozen_.erase(number) > 0) cluster_.node(number)->resume();
      if (!stopping(number)) continue;
      REQUIRE(cluster_.run_until([&] { return cluster_.node(number)->stopped(); }));
      abandon(number);
      cluster_.kill(number);
      stopped_[number] = false;
    }
    come_back();
  }

  Cluster cluster_;
  runtime::SimRng rng_;
  std::map<std::string, Name> names_;
  std::map<std::uint32_t, std::set<Name*>> asked_;
  std::uint64_t asks_ = 0;
  std::set<std::uint32_t> frozen_;
  std::vector<bool> stopped_;
  int waiting_ = 0;
};

}  // namespace

TEST_CASE("the life of a cluster") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(40); ++seed) {
    CAPTURE(seed);
    Life life(seed);
    life.run();
  }
}

}  // namespace ringtail::sim::cluster_life_test
