// Durable queues on a disk that forgets or tears what was not synced: what was confirmed is there
// after a crash at any moment, in order, once; what was acknowledged, and kept, stays away; what
// may have been delivered is marked; what was transient is gone (ARCHITECTURE 6, rules 1 to 3).
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "broker/runtime/check.h"
#include "tests/sim/queue_client.h"
#include "tests/sim/seeds.h"

namespace queue_crash_test {

using namespace ringtail;
using namespace ringtail::sim;
using cluster::metadata::QueueRecord;

namespace {

queue::store::StoreOptions small_options(runtime::SimRng& rng) {
  queue::store::StoreOptions options;
  options.journal.file_size = rng.between(2, 64) * 1024;
  options.journal.file_size_max = 2 * options.journal.file_size;
  options.journal.file_messages = rng.between(0, 200);
  options.journal.files = static_cast<std::size_t>(rng.between(1, 3));
  options.head_messages_min = static_cast<std::size_t>(rng.between(4, 100));
  options.head_messages_max = options.head_messages_min;
  options.paged_out_messages = static_cast<std::size_t>(rng.between(3, 200));
  options.write_messages = static_cast<std::size_t>(rng.between(1, 64));
  options.write_bytes = static_cast<std::size_t>(rng.between(1, 64)) * 1024;
  options.load_bytes = static_cast<std::size_t>(rng.between(1, 32)) * 512;
  options.unwritten_messages = rng.between(200, 1000);
  options.segment_bytes = rng.between(1, 32) * 1024;
  options.compact_bytes = rng.between(0, 4) * 1024;
  options.light_messages = static_cast<std::size_t>(rng.between(0, 32));
  options.mark_step_min = rng.between(1, 32);
  options.mark_step_max = rng.between(32, 256);
  return options;
}

class Run {
 public:
  // `failing`: now and then the disk is full, or broken.
  Run(std::uint64_t seed, bool failing) : world_(seed), host_(world_), failing_(failing) {}

  void run() {
    make_queues();
    const std::uint64_t starts = world_.rng().between(2, 5);
    for (std::uint64_t start = 0; start < starts && ok_; ++start) one_start(start + 1 == starts);
  }

 private:
  void make_queues() {
    const std::uint64_t count = world_.rng().between(1, 4);
    for (std::uint64_t at = 0; at < count; ++at) {
      Known known;
      known.record.vhost = "/";
      known.record.name = "q" + std::to_string(at);
      known.record.durable = true;
      if (world_.rng().chance(0.25)) {
        known.levels = static_cast<std::uint8_t>(world_.rng().between(2, 5));
        known.record.options.max_priority = static_cast<std::uint8_t>(known.levels - 1);
      }
      queues_.push_back(std::move(known));
    }
  }

  void one_start(bool last) {
    runtime::SimRng& rng = world_.rng();
    host_.drive().forget_failures();
    disk_broke_ = false;
    const auto shards = static_cast<std::uint16_t>(rng.between(1, 3));
    QueueHost node(host_, shards, small_options(rng));
    declare_all(node);
    started_ = node.start();
    REQUIRE(started_);
    REQUIRE_MESSAGE(node.status.ok(), node.status.text());
    for (const Known& known : queues_) {
      const queue::QueueProcess* found = node.find(known.record);
      REQUIRE_MESSAGE(found->damage().ok(), found->damage().text());
    }
    Client client(node.driver(0).shard(), queues_);
    expectations_.assign(queues_.size(), {});
    first_new_.clear();
    for (Known& known : queues_) {
      first_new_.push_back(known.fates.size());
      for (Fate& fate : known.fates) {
        if (fate.acked && fate.acked_before > known.kept_acks) fate.acked_before = kNever;
      }
    }
    if (last) {
      drain(node, client);
      return;
    }
    work(node, client);
    if (!failing_ && rng.chance(0.3)) {
      world_.run_for(3 * runtime::kSecondNs);
      look(client);
      CHECK_MESSAGE(client.all_settled(), "a publish is never confirmed");
    }
    if (rng.chance(0.15)) {
      REQUIRE(node.stop());
    } else if (rng.chance(0.3)) {
      host_.drive().kill_processes();
    } else {
      host_.drive().crash();
    }
  }

  // Every queue gets the number that it has had: those of deleted ones are used up.
  void declare_all(QueueHost& node) {
    std::map<std::uint64_t, Known*> by_qid;
    for (Known& known : queues_) {
      if (known.record.qid.value != 0) by_qid[known.record.qid.value] = &known;
    }
    if (by_qid.empty()) {
      for (Known& known : queues_) known.record = *node.declare(known.record);
      return;
    }
    for (std::uint64_t qid = 1; qid <= by_qid.rbegin()->first; ++qid) {
      const auto at = by_qid.find(qid);
      QueueRecord record;
      record.vhost = "/";
      record.name = "deleted-" + std::to_string(qid);
      if (at != by_qid.end()) record = at->second->record;
      const QueueRecord made = *node.declare(record);
      REQUIRE(made.qid.value == qid);
      if (at != by_qid.end()) at->second->record = made;
    }
  }

  // Nothing of the old one may ever come out of the new one.
  void delete_and_declare(QueueHost& node, Client& client, std::size_t at) {
    Known& known = queues_[at];
    node.remove(known.record);
    client.forget(at);
    known.fates.clear();
    known.kept_acks = 0;
    known.record = *node.declare(known.record);
    expectations_[at] = {};
    first_new_[at] = 0;
  }

  void work(QueueHost& node, Client& client) {
    runtime::SimRng& rng = world_.rng();
    const std::uint64_t steps = rng.between(5, 80);
    for (std::uint64_t step = 0; step < steps; ++step) {
      node.driver(0).run([&] { act(client); });
      if (failing_ && rng.chance(0.05)) fail_disk();
      if (rng.chance(0.01)) {
        delete_and_declare(node, client,
                           static_cast<std::size_t>(rng.between(0, queues_.size() - 1)));
      }
      world_.run_for(rng.between(0, 4) * rng.between(1, 1000) * runtime::kMicrosecondNs);
      look(client);
    }
  }

  void fail_disk() {
    runtime::SimRng& rng = world_.rng();
    const bool full = rng.chance(0.7);
    const auto call =
        full || rng.chance(0.5) ? runtime::SimDiskCall::kWrite : runtime::SimDiskCall::kSync;
    disk_broke_ |= !full;
    host_.drive().fail_call(call, rng.between(1, 6),
                            full ? runtime::Code::kNoSpace : runtime::Code::kIo, rng.between(1, 4));
  }

  void act(Client& client) {
    runtime::SimRng& rng = world_.rng();
    const auto at = static_cast<std::size_t>(rng.between(0, queues_.size() - 1));
    const double dice = static_cast<double>(rng.between(0, 99));
    if (dice < 55) {
      const auto size = static_cast<std::size_t>(rng.chance(0.05) ? rng.between(4000, 20000)
                                                                  : rng.between(1, 300));
      client.publish(at, static_cast<std::size_t>(rng.between(1, rng.chance(0.2) ? 200 : 10)), size,
                     !rng.chance(0.15));
    } else if (dice < 65 && !client.consumes(at)) {
      client.consume(at, static_cast<std::uint32_t>(rng.between(1, 60)));
    } else if (dice < 66) {
      client.purge(at);
    } else {
      client.settle_some(at, rng);
    }
  }

  // Checks what has come since the last look.
  void look(Client& client) {
    for (std::size_t at = 0; at < queues_.size(); ++at) {
      for (const Client::Came& came : client.take_came(at)) check(at, came);
    }
  }

  void check(std::size_t at, const Client::Came& came) {
    Known& known = queues_[at];
    REQUIRE(came.number < known.fates.size());
    Fate& fate = known.fates[came.number];
    CAPTURE(at);
    CAPTURE(came.number);
    const bool of_this_start = came.number >= first_new_[at];
    Expectation& expectation = expectations_[at];
    if (!of_this_start) {
      // Came out of the disk.
      CHECK_MESSAGE(fate.persistent, "a transient message survived");
      if (fate.acked) {
        CHECK_MESSAGE(fate.acked_before > known.kept_acks, "an ack that was kept is undone");
      }
      if (fate.delivered && !fate.by_broken_disk)
        CHECK_MESSAGE(came.redelivered, "delivered before, and not marked");
    }
    if (!came.redelivered || !expectation.seen.contains(came.number)) {
      CHECK_MESSAGE(!expectation.seen.contains(came.number), "twice");
      std::uint64_t& last = expectation.last[known.level_of(came.number)];
      CHECK_MESSAGE(came.number + 1 > last, "out of order");
      last = came.number + 1;
    }
    expectation.seen.insert(came.number);
    fate.delivered = true;
    fate.by_broken_disk |= disk_broke_;
    fate.acked = false;
  }

  void drain(QueueHost& node, Client& client) {
    node.driver(0).run([&] {
      for (std::size_t at = 0; at < queues_.size(); ++at) client.consume(at, 0);
    });
    world_.run_for(5 * runtime::kSecondNs);
    look(client);
    for (Known& known : queues_) {
      const queue::QueueStats stats = node.find(known.record)->stats();
      CHECK_MESSAGE(stats.messages_ready == 0, "messages stay in the queue");
    }
    for (std::size_t at = 0; at < queues_.size(); ++at) {
      const Known& known = queues_[at];
      for (std::uint64_t number = 0; number < known.fates.size(); ++number) {
        const Fate& fate = known.fates[number];
        if (!fate.persistent || !fate.confirmed || fate.acked) continue;
        CAPTURE(at);
        CAPTURE(number);
        CHECK_MESSAGE(expectations_[at].seen.contains(number), "confirmed, and lost");
      }
    }
  }

  struct Expectation {
    std::set<std::uint64_t> seen;                // in this start
    std::map<std::uint8_t, std::uint64_t> last;  // by level, one more than the number
  };

  runtime::SimWorld world_;
  runtime::SimHost host_;
  std::vector<Known> queues_;
  std::vector<Expectation> expectations_;
  std::vector<std::uint64_t> first_new_;
  const bool failing_;
  bool disk_broke_ = false;  // in this start
  bool started_ = false;
  bool ok_ = true;
};

}  // namespace

TEST_CASE("durable queues after crashes at any moment") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(300); ++seed) {
    CAPTURE(seed);
    Run(seed, false).run();
  }
}

TEST_CASE("durable queues on a disk that is full or fails, after crashes") {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(200); ++seed) {
    CAPTURE(seed);
    Run(seed, true).run();
  }
}

}  // namespace queue_crash_test
