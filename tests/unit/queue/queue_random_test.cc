// A queue under random letters, beside a model that knows only which messages are ready, who holds
// the others and what each consumer may take.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/runtime/memory_gauge.h"
#include "broker/runtime/sim/sim_world.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::queue_random_test {
namespace {

using test::body_of;
using test::FakeChannel;
using test::Fixture;

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed), qid_(fixture_.declare("q")) {
    for (Side& side : sides_) side.channel = std::make_unique<FakeChannel>(fixture_);
  }

  void step() {
    Side& side = sides_[random_.below(sides_.size())];
    switch (random_.below(16)) {
      case 0:
        consume(side);
        break;
      case 1:
        cancel(side);
        break;
      case 2:
        get(side);
        break;
      case 3:
      case 4:
        settle(side, false);
        break;
      case 5:
      case 6:
        settle(side, true);
        break;
      case 7:
      case 8:
        credit(side);
        break;
      case 9:
        if (random_.below(8) == 0) channel_gone(side);
        break;
      case 10:
        if (random_.below(20) == 0) purge();
        break;
      default:
        publish(side);
    }
    fixture_.run();
    hear();
    check();
  }

 private:
  struct TestConsumer {
    bool no_ack = false;
    bool paused = false;
    bool live = true;
    std::uint32_t prefetch = 0;
    std::uint32_t unacked = 0;
    std::uint64_t limit = kNoDeliveryLimit;
    std::uint64_t sent = 0;
    std::uint64_t bytes = 0;
    bool can_take() const {
      return live && !paused && (no_ack || prefetch == 0 || unacked < prefetch) && sent < limit;
    }
  };
  struct Held {
    int number;
    ConsumerId consumer;  // 0: got
  };
  // A channel and what the model knows of it.
  struct Side {
    std::unique_ptr<FakeChannel> channel;
    ConsumerId last_consumer = 0;
    std::map<ConsumerId, TestConsumer> consumers;
    std::map<DeliveryToken, Held> held;
    int furthest = 0;         // the last message that acknowledging consumers were ever sent
    int furthest_unheld = 0;  // ... that others were, or that was got
  };

  // What comes back unseen is marked when a later message went to another channel meanwhile.
  bool overtaken(const Side& side, int number) const {
    if (number < furthest_of_gone_ || number < side.furthest_unheld) return true;
    return std::any_of(sides_.begin(), sides_.end(), [&](const Side& other) {
      return &other != &side && number < std::max(other.furthest, other.furthest_unheld);
    });
  }

  void publish(Side& side) {
    std::vector<std::string> bodies;
    for (std::uint64_t count = random_.below(6) + 1; count > 0; --count) {
      ready_.insert(++last_number_);
      bodies.push_back(std::to_string(last_number_));
    }
    side.channel->publish(qid_, bodies);
  }

  void consume(Side& side) {
    if (side.consumers.size() > 4) return;
    TestConsumer consumer;
    consumer.no_ack = random_.below(4) == 0;
    consumer.prefetch = static_cast<std::uint32_t>(random_.below(5));
    consumer.limit = random_.below(3) == 0 ? random_.below(10) : kNoDeliveryLimit;
    const auto priority = static_cast<std::int32_t>(random_.below(3));
    const ConsumerId id = ++side.last_consumer;
    side.channel->consume(qid_, id, [&](Consume& letter) {
      letter.no_ack = consumer.no_ack;
      letter.prefetch = consumer.prefetch;
      letter.delivery_limit = consumer.limit;
      letter.priority = priority;
    });
    side.consumers[id] = consumer;
  }

  std::map<ConsumerId, TestConsumer>::iterator any_consumer(Side& side) {
    auto at = side.consumers.begin();
    if (at != side.consumers.end()) {
      std::advance(at, static_cast<std::ptrdiff_t>(random_.below(side.consumers.size())));
    }
    return at;
  }

  void cancel(Side& side) {
    const auto at = any_consumer(side);
    if (at == side.consumers.end()) return;
    side.channel->send<Cancel>(qid_, [&](Cancel& letter) { letter.consumer = at->first; });
    side.consumers.erase(at);
  }

  void get(Side& side) {
    const bool no_ack = random_.below(2) == 0;
    side.channel->send<Get>(qid_, [&](Get& letter) { letter.no_ack = no_ack; });
    fixture_.run();
    const auto result = side.channel->take<GetResult>(kGetResult);
    REQUIRE(static_cast<bool>(result->message) == !ready_.empty());
    if (!result->message) return;
    const int number = std::stoi(body_of(result->message));
    REQUIRE(number == *ready_.begin());
    REQUIRE(result->redelivered == (marked_.count(number) != 0));
    ready_.erase(number);
    side.furthest_unheld = std::max(side.furthest_unheld, number);
    if (!no_ack) side.held[result->token] = {number, 0};
  }

  // Acknowledges, rejects or requeues some of what the channel holds.
  void settle(Side& side, bool back) {
    std::vector<DeliveryToken> tokens;
    const bool mark = random_.below(2) == 0;
    const std::uint64_t of_three = random_.below(3) + 1;
    for (auto at = side.held.begin(); at != side.held.end();) {
      if (random_.below(3) >= of_three) {
        ++at;
        continue;
      }
      tokens.push_back(at->first);
      const auto consumer = side.consumers.find(at->second.consumer);
      if (consumer != side.consumers.end()) --consumer->second.unacked;
      if (back) {
        ready_.insert(at->second.number);
        if (mark || overtaken(side, at->second.number)) marked_.insert(at->second.number);
      }
      at = side.held.erase(at);
    }
    // In any order, as a client may settle them.
    for (std::size_t i = tokens.size(); i > 1; --i) {
      std::swap(tokens[i - 1], tokens[random_.below(i)]);
    }
    if (back) {
      side.channel->requeue(qid_, tokens, mark);
    } else {
      side.channel->ack(qid_, tokens, random_.below(2) == 0);
    }
  }

  void credit(Side& side) {
    const auto at = any_consumer(side);
    if (at == side.consumers.end()) return;
    TestConsumer& consumer = at->second;
    consumer.paused = random_.below(3) == 0;
    consumer.limit = random_.below(3) == 0 ? consumer.sent + random_.below(5) : kNoDeliveryLimit;
    side.channel->credit(qid_, at->first, consumer.sent, consumer.bytes, consumer.paused,
                         consumer.limit);
  }

  void channel_gone(Side& side) {
    side.channel->send<ChannelGone>(qid_);
    for (const auto& [token, held] : side.held) {
      ready_.insert(held.number);
      marked_.insert(held.number);
    }
    side.held.clear();
    side.consumers.clear();
    furthest_of_gone_ = std::max({furthest_of_gone_, side.furthest, side.furthest_unheld});
    side.furthest = 0;
    side.furthest_unheld = 0;
  }

  void purge() {
    sides_[0].channel->send<Purge>(qid_);
    fixture_.run();
    REQUIRE(sides_[0].channel->take<Purged>(kPurged)->messages == ready_.size());
    ready_.clear();
  }

  // Books what the step's letter led to. Its deliveries must be the first of what was ready.
  void hear() {
    int last = 0;
    for (Side& side : sides_) {
      int last_here = 0;
      for (const Delivery& delivery : side.channel->deliveries()) {
        const int number = std::stoi(body_of(delivery.message));
        REQUIRE(number > last_here);
        last_here = number;
        last = std::max(last, number);
        REQUIRE(ready_.erase(number) == 1);
        REQUIRE(delivery.redelivered == (marked_.count(number) != 0));
        const auto at = side.consumers.find(delivery.consumer);
        REQUIRE(at != side.consumers.end());
        REQUIRE(at->second.can_take());
        ++at->second.sent;
        at->second.bytes += delivery.message->footprint();
        int& furthest = at->second.no_ack ? side.furthest_unheld : side.furthest;
        furthest = std::max(furthest, number);
        REQUIRE((delivery.token == 0) == at->second.no_ack);
        if (at->second.no_ack) continue;
        ++at->second.unacked;
        REQUIRE(side.held.emplace(delivery.token, Held{number, at->first}).second);
      }
      side.channel->heard.clear();
    }
    REQUIRE((ready_.empty() || last < *ready_.begin()));
  }

  void check() {
    std::size_t held = 0;
    std::size_t consumers = 0;
    for (Side& side : sides_) {
      held += side.held.size();
      consumers += side.consumers.size();
      for (const auto& [id, consumer] : side.consumers) {
        REQUIRE((ready_.empty() || !consumer.can_take()));
      }
    }
    FakeChannel& asker = *sides_[0].channel;
    asker.send<Inspect>(qid_);
    fixture_.run();
    const auto seen = asker.take<Inspected>(kInspected);
    REQUIRE(seen->messages_ready == ready_.size());
    REQUIRE(seen->messages_unacknowledged == held);
    REQUIRE(seen->consumers == consumers);
  }

  runtime::SimRng random_;
  Fixture fixture_;
  Qid qid_;
  std::array<Side, 3> sides_;
  int last_number_ = 0;
  int furthest_of_gone_ = 0;
  std::set<int> ready_;
  std::set<int> marked_;
};

TEST_CASE("a queue does what the model does, whatever its channels do") {
  const std::int64_t before = runtime::MemoryGauge::total();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    RandomRun run(seed);
    for (int i = 0; i < 400; ++i) run.step();
  }
  CHECK(runtime::MemoryGauge::total() == before);
}

}  // namespace
}  // namespace ringtail::queue::queue_random_test
