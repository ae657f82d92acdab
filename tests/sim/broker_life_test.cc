// The life of a cluster of whole brokers, by seed: control planes, links, queues with their files,
// and clients of every node that declare, bind, publish with confirms, consume and acknowledge, to
// queues that live anywhere, while nodes are killed, lose power, freeze and stop, ways are cut and
// slow, and connections reset. What must hold:
//
//   - a persistent message that was confirmed, and that nobody has acknowledged, is in its queue;
//     nothing is there twice, nothing that was never published there,
//   - what comes a second time is marked, and what is not comes in its publisher's order,
//   - a queue or binding that was answered is there, on every node that may act on what it knows,
//   - once all is healed everything that a client waits for comes, or its channel ends,
//   - in the end all nodes know the same, and nothing is left of clients that have gone,
//   - no node ends by itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/life_client.h"
#include "tests/sim/seeds.h"

namespace ringtail::sim::broker_life_test {

namespace {

using runtime::kMillisecondNs;
using runtime::kSecondNs;

// From when all is healed: leases, lives, sleeping connections, heartbeats, and then the answers.
constexpr std::uint64_t kAnswerNs = 60 * kSecondNs;

std::uint32_t machines_of(std::uint64_t seed) {
  constexpr std::uint32_t kMachines[] = {3, 3, 3, 2, 3, 3, 5, 3, 1, 3};
  return kMachines[seed % std::size(kMachines)];
}

class BrokerLife {
 public:
  explicit BrokerLife(std::uint64_t seed)
      : cluster_(seed, machines_of(seed), kClients, seed % 4 == 1), rng_(seed * 7919) {
    cluster_.world.set_buggify(seed % 3 == 0);
    for (std::uint32_t i = 1; i <= kClients; ++i) {
      clients_.push_back(std::make_unique<LifeClient>(cluster_, common_, i));
    }
  }

  void run() {
    cluster_.start_all();
    if (rng_.chance(0.8)) settle();
    constexpr int kSteps = 80;
    for (int step = 0; step < kSteps; ++step) {
      for (const auto& one : clients_) {
        for (std::uint64_t acts = rng_.between(0, 3); acts > 0; --acts) one->act();
      }
      // While what they have begun is under way, on ways and disks.
      if (rng_.chance(0.5)) pass(rng_.between(0, 12'000) * runtime::kMicrosecondNs);
      if (rng_.chance(0.4)) cluster_.harm();
      for (std::uint64_t slices = rng_.between(1, 10); slices > 0; --slices) {
        pass(rng_.between(1, 60) * kMillisecondNs);
        if (rng_.chance(0.3)) clients_[rng_.below(kClients)]->act();
      }
      if (rng_.chance(0.03)) settle();
    }
    settle();
    say_goodbye();
    check_queues();
    empty_queues();
  }

  std::uint64_t digest() const { return cluster_.world.digest(); }
  std::uint64_t deliveries() const { return common_.ledger.deliveries(); }
  std::uint64_t confirms() const { return common_.ledger.confirms(); }

 private:
  static constexpr std::uint32_t kClients = 4;

  void pass(std::uint64_t duration_ns) {
    cluster_.world.run_for(duration_ns);
    for (const auto& one : clients_) one->look();
    cluster_.check_alive();
  }
  bool await(const std::function<bool()>& condition, std::uint64_t limit_ns) {
    const std::uint64_t end = cluster_.world.now_ns() + limit_ns;
    while (!condition()) {
      if (cluster_.world.now_ns() >= end) return false;
      pass(10 * kMillisecondNs);
    }
    return true;
  }

  // Everything is healed: all come back, and all that is owed is given.
  void settle() {
    cluster_.heal();
    const bool one = await(
        [this] {
          cluster_.come_back();  // who had yet to stop
          return cluster_.is_one();
        },
        kAnswerNs);
    REQUIRE_MESSAGE(one, cluster_.why_not_one());
    const bool quiet = await(
        [this] {
          return std::all_of(clients_.begin(), clients_.end(),
                             [](const auto& client) { return client->quiet(); });
        },
        kAnswerNs);
    for (const auto& client : clients_) CHECK_MESSAGE(client->quiet(), client->waits_for());
    REQUIRE(quiet);
  }

  void say_goodbye() {
    for (const auto& one : clients_) {
      if (rng_.chance(0.7)) {
        one->close();
      } else {
        one->die();
      }
    }
    REQUIRE(await(
        [this] {
          return std::all_of(clients_.begin(), clients_.end(),
                             [](const auto& client) { return client->gone(); });
        },
        kAnswerNs));
    pass(20 * kSecondNs);
    REQUIRE_MESSAGE(cluster_.is_one(), cluster_.why_not_one());
  }

  // Every replica is like this one.
  void check_queues() {
    const auto& view = cluster_.node(1)->shard(0).view();
    for (const std::string& name : common_.declared) {
      CHECK_MESSAGE(view.queue("/", name) != nullptr, name << " was declared");
    }
    std::size_t records = 0;
    view.for_each_queue([&](const auto& record) {
      ++records;
      const std::string& name = record->name;
      const bool passing =
          common_.passing_asked.contains(name) && !common_.passing_used.contains(name);
      CHECK_MESSAGE((common_.asked.contains(name) || passing), name << " is left over");
    });
    std::set<std::pair<std::string, std::string>> bindings;
    view.for_each_binding("/", [&](const cluster::metadata::BindingRecord& record) {
      bindings.emplace(record.routing_key, record.destination);
    });
    for (const auto& [key, queues] : common_.bound) {
      for (const std::string& queue : queues) {
        CHECK_MESSAGE(bindings.contains({key, queue}), queue << " was bound to " << key);
      }
    }
    std::size_t processes = 0;
    for (std::uint32_t number = 1; number <= cluster_.size(); ++number) {
      processes += cluster_.node(number)->queues();
    }
    CHECK(processes == records);
  }

  // Who looks when the others have gone; on channel 1.
  std::unique_ptr<AmqpClient> visitor(std::uint32_t number) {
    auto one = std::make_unique<AmqpClient>(cluster_.client_host(1));
    one->connect("/", BrokerCluster::address_of(number));
    REQUIRE(one->await_open());
    REQUIRE(one->open_channel(1));
    return one;
  }
  std::uint32_t random_number() {
    return static_cast<std::uint32_t>(rng_.between(1, cluster_.size()));
  }
  // As each node says it.
  std::uint64_t count(const std::string& queue) {
    std::optional<std::uint64_t> known;
    for (std::uint32_t number = 1; number <= cluster_.size(); ++number) {
      const auto looker = visitor(number);
      looker->send(1, amqp::QueueDeclare{.queue = queue, .passive = true, .arguments = {}});
      ServerFrame frame;
      REQUIRE(looker->await<amqp::QueueDeclareOk>(1, frame));
      const std::uint64_t messages = frame.as<amqp::QueueDeclareOk>().message_count;
      CHECK(messages == known.value_or(messages));
      known = messages;
      CHECK(looker->close());
    }
    return known.value_or(0);
  }

  // Takes out some first, then everything may go down and come back, then the rest.
  void empty_queues() {
    std::map<std::string, std::vector<MessageLedger::Held>> held;
    std::map<std::string, std::uint64_t> counts;
    for (const std::string& queue : common_.declared) {
      counts[queue] = count(queue);
      take(queue, counts[queue] / 2, held[queue]);
    }
    pass(3 * kSecondNs);
    restart();
    for (const std::string& queue : common_.declared) {
      CAPTURE(queue);
      const std::uint64_t rest = counts[queue] - counts[queue] / 2;
      const std::uint64_t now = count(queue);
      take(queue, now, held[queue]);
      common_.ledger.held(queue, held[queue]);
      if (!gone_transient_) CHECK(now == rest);
      const auto looker = visitor(random_number());
      looker->send(1, amqp::BasicGet{.queue = queue});
      CHECK(looker->await<amqp::BasicGetEmpty>(1));
      CHECK(looker->close());
    }
  }
  void take(const std::string& queue, std::uint64_t messages,
            std::vector<MessageLedger::Held>& held) {
    const auto taker = visitor(random_number());
    for (; messages > 0; --messages) {
      taker->send(1, amqp::BasicGet{.queue = queue});
      ServerFrame frame;
      REQUIRE(taker->await<amqp::BasicGetOk>(1, frame));
      const auto get_ok = frame.as<amqp::BasicGetOk>();
      held.push_back({MessageId::of(frame.body), get_ok.redelivered});
      taker->send(1, amqp::BasicAck{.delivery_tag = get_ok.delivery_tag});
    }
    CHECK(taker->close());
  }
  void restart() {
    const std::uint64_t how = rng_.below(4);
    for (std::uint32_t number = 1; number <= cluster_.size(); ++number) {
      if (how == 1) cluster_.stop(number);
      if (how == 2) cluster_.kill(number);
      if (how == 3) cluster_.crash(number);
    }
    gone_transient_ = how != 0;
    settle();
  }

  BrokerCluster cluster_;
  runtime::SimRng rng_;
  CommonKnowledge common_;
  std::vector<std::unique_ptr<LifeClient>> clients_;
  bool gone_transient_ = false;  // messages that are not persistent went in the end
};

}  // namespace

TEST_CASE("the life of a cluster of brokers") {
  std::uint64_t deliveries = 0;
  std::uint64_t confirms = 0;
  const std::uint64_t count = seeds(12);
  for (std::uint64_t seed = first_seed(); seed < first_seed() + count; ++seed) {
    CAPTURE(seed);
    BrokerLife life(seed);
    life.run();
    deliveries += life.deliveries();
    confirms += life.confirms();
  }
  MESSAGE(deliveries << " deliveries, " << confirms << " confirms");
  if (count > 1) CHECK(deliveries > 20 * count);
  if (count > 1) CHECK(confirms > 20 * count);
}

TEST_CASE("the same seed is the same life") {
  std::uint64_t digests[3];
  for (std::uint64_t run = 0; run < 3; ++run) {
    BrokerLife life(run < 2 ? 4 : 5);
    life.run();
    digests[run] = life.digest();
  }
  CHECK(digests[0] == digests[1]);
  CHECK(digests[0] != digests[2]);
}

}  // namespace ringtail::sim::broker_life_test
