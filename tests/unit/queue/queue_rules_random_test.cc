// A queue with random options under random letters and passing time, beside a model that applies
// RabbitMQ's rules to one message after the other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_world.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::queue_rules_random_test {
namespace {

using cluster::metadata::Overflow;
using cluster::metadata::QueueOptions;
using test::body_of;
using test::FakeChannel;
using test::Fixture;

struct Item {
  int number = 0;
  int level = 0;
  std::string body;
  std::uint64_t expiry = UINT64_MAX;
  unsigned returns = 0;
  bool redelivered = false;
};

// The rules, said as simply as possible. One consumer with a prefetch, and whoever gets.
class Model {
 public:
  explicit Model(const QueueOptions& given) : options(given) {}

  bool over(std::size_t extra_count, std::size_t extra_bytes) const {
    return ready.size() + extra_count > options.max_length.value_or(UINT64_MAX) ||
           bytes() + extra_bytes > options.max_length_bytes.value_or(UINT64_MAX);
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Item& item : ready) sum += item.body.size();
    return sum;
  }
  bool drops_head() const {
    return options.overflow.value_or(Overflow::kDropHead) == Overflow::kDropHead;
  }
  void die(const Item& item, const char* reason) {
    if (!dead.empty()) dead += " ";
    dead += item.body + ":" + reason;
  }
  Item take() {
    Item item = ready.front();
    ready.erase(ready.begin());
    return item;
  }
  void insert(const Item& item) {
    const auto place = std::find_if(ready.begin(), ready.end(), [&](const Item& other) {
      return other.level != item.level ? other.level < item.level : other.number > item.number;
    });
    ready.insert(place, item);
  }
  bool drop_over() {
    bool dropped = false;
    while (drops_head() && over(0, 0)) {
      die(take(), "maxlen");
      dropped = true;
    }
    return dropped;
  }
  void expire() {
    while (!ready.empty() && ready.front().expiry <= now) die(take(), "expired");
  }
  bool can_take() const { return consuming && (prefetch == 0 || consumer_holds < prefetch); }
  void give_to_consumer(const Item& item) {
    delivered.push_back(item);
    ++consumer_holds;
  }
  void dispatch() {
    drop_over();
    expire();
    while (!ready.empty() && can_take()) {
      give_to_consumer(take());
      expire();
    }
  }
  void publish(const Item& item, std::uint64_t publish_number) {
    if (!drops_head() && over(1, item.body.size())) {
      rejected.push_back(publish_number);
      if (options.overflow == Overflow::kRejectPublishDlx) die(item, "maxlen");
      return;
    }
    if (ready.empty() && can_take()) {
      give_to_consumer(item);
      return;
    }
    insert(item);
    if (drop_over() || ready.size() == 1) expire();
  }
  void come_back(Item item, bool counts) {
    if (counts && ++item.returns > options.delivery_limit.value_or(UINT64_MAX)) {
      die(item, "delivery_limit");
      return;
    }
    item.redelivered |= counts;
    insert(item);
  }

  QueueOptions options;
  std::uint64_t now = 0;
  std::vector<Item> ready;  // in the order of delivery
  std::vector<Item> delivered;
  std::vector<std::uint64_t> rejected;
  std::string dead;
  bool consuming = false;
  std::uint32_t prefetch = 0;
  std::uint32_t consumer_holds = 0;
};

class Run {
 public:
  explicit Run(std::uint64_t seed)
      : random_(seed), model_(random_options()), qid_(fixture_.declare("q", model_.options)) {}

  void step() {
    switch (random_.below(10)) {
      case 0:
        consume_or_cancel();
        break;
      case 1:
        get();
        break;
      case 2:
      case 3:
      case 4:
        settle();
        break;
      case 5:
      case 6:
        pass();
        break;
      case 7:
        if (random_.below(10) == 0) set_limit();
        break;
      default:
        publish();
    }
    fixture_.run();
    hear();
  }

 private:
  std::optional<std::uint64_t> maybe(std::uint64_t below) {
    if (random_.below(2) == 0) return std::nullopt;
    return random_.below(below);
  }
  QueueOptions random_options() {
    QueueOptions options;
    options.dead_letter_exchange = "dlx";
    options.message_ttl_ms = maybe(60);
    options.max_length = maybe(8);
    if (random_.below(3) == 0) options.max_length_bytes = random_.below(30);
    if (random_.below(2) == 0) options.overflow = static_cast<Overflow>(random_.below(3));
    if (random_.below(2) == 0) options.max_priority = static_cast<std::uint8_t>(random_.below(5));
    options.delivery_limit = maybe(4);
    options.single_active_consumer = random_.below(4) == 0;
    return options;
  }

  void publish() {
    channel_.send<Publish>(qid_, [&](Publish& letter) {
      letter.first_number = channel_.next_number;
      model_.drop_over();
      model_.expire();
      for (std::uint64_t left = random_.below(5) + 1; left > 0; --left) {
        Message::Traits traits;
        traits.has_priority = random_.below(3) != 0;
        if (traits.has_priority) traits.priority = static_cast<std::uint8_t>(random_.below(6));
        if (random_.below(3) == 0) traits.expiration_ms = random_.below(80);
        Item item;
        item.number = ++last_;
        item.level = std::min<int>(traits.priority, model_.options.max_priority);
        item.body = std::to_string(last_) + std::string(random_.below(6), 'x');
        const std::uint64_t ttl =
            std::min(traits.expiration_ms, model_.options.message_ttl_ms.value_or(kNoExpiration));
        if (ttl != kNoExpiration) item.expiry = model_.now + ttl;
        letter.messages.push_back(test::make_message(item.body, traits));
        model_.publish(item, channel_.next_number++);
      }
      model_.dispatch();
    });
  }

  void consume_or_cancel() {
    if (!model_.consuming) {
      const auto prefetch = static_cast<std::uint32_t>(random_.below(4));
      channel_.consume(qid_, ++consumer_, [&](Consume& letter) { letter.prefetch = prefetch; });
      model_.consuming = true;
      model_.prefetch = prefetch;
      model_.consumer_holds = 0;
    } else {
      channel_.send<Cancel>(qid_, [&](Cancel& letter) { letter.consumer = consumer_; });
      model_.consuming = false;
    }
    model_.dispatch();
  }

  void get() {
    channel_.send<Get>(qid_);
    fixture_.run();
    model_.drop_over();
    model_.expire();
    const auto result = channel_.take<GetResult>(kGetResult);
    REQUIRE(result != nullptr);
    REQUIRE(static_cast<bool>(result->message) == !model_.ready.empty());
    if (!result->message) return;
    const Item item = model_.take();
    model_.expire();
    check(item, result->message, result->redelivered, result->delivery_count);
    REQUIRE(result->messages_ready == model_.ready.size());
    held_[result->token] = {item, 0};
  }

  void settle() {
    std::vector<DeliveryToken> tokens;
    const std::uint64_t what = random_.below(4);
    for (auto at = held_.begin(); at != held_.end() && tokens.size() < 3;) {
      if (random_.below(2) == 0) {
        ++at;
        continue;
      }
      const auto [item, consumer] = at->second;
      tokens.push_back(at->first);
      at = held_.erase(at);
      if (what == 1) model_.die(item, "rejected");
      if (what >= 2) model_.come_back(item, true);
      if (consumer == consumer_ && model_.consuming) --model_.consumer_holds;
    }
    if (tokens.empty()) return;
    if (what >= 2) {
      channel_.requeue(qid_, tokens);
    } else {
      channel_.ack(qid_, tokens, what == 1);
    }
    model_.dispatch();
  }

  void pass() {
    const std::uint64_t ms = random_.below(30);
    // One step after the other, as the timers see it.
    for (std::uint64_t i = 0; i < ms; ++i) {
      fixture_.pass(1);
      ++model_.now;
      model_.dispatch();
    }
  }

  void set_limit() {
    auto record =
        std::make_shared<cluster::metadata::QueueRecord>(fixture_.registry->find(qid_)->record());
    record->options.max_length = model_.options.max_length = maybe(5);
    record->options.message_ttl_ms = model_.options.message_ttl_ms = maybe(60);
    fixture_.registry->queue_changed(record);
    model_.dispatch();
  }

  void check(const Item& item, const MessageRef& message, bool redelivered, unsigned count) {
    CAPTURE(item.number);
    REQUIRE(body_of(message) == item.body);
    REQUIRE(redelivered == item.redelivered);
    REQUIRE(count == (model_.options.delivery_limit ? item.returns : 0));
  }

  void hear() {
    REQUIRE(fixture_.dead_letters.take() == model_.dead);
    model_.dead.clear();
    const auto deliveries = channel_.deliveries();
    REQUIRE(deliveries.size() == model_.delivered.size());
    for (std::size_t at = 0; at < deliveries.size(); ++at) {
      const Item& item = model_.delivered[at];
      check(item, deliveries[at].message, deliveries[at].redelivered,
            deliveries[at].delivery_count);
      held_[deliveries[at].token] = {item, deliveries[at].consumer};
    }
    model_.delivered.clear();
    std::vector<std::uint64_t> rejected;
    while (auto settled = channel_.take<Settled>(kSettled)) {
      rejected.insert(rejected.end(), settled->rejected.begin(), settled->rejected.end());
    }
    REQUIRE(rejected == model_.rejected);
    model_.rejected.clear();
    channel_.heard.clear();
    const QueueStats stats = fixture_.registry->find(qid_)->stats();
    REQUIRE(stats.messages_ready == model_.ready.size());
    REQUIRE(stats.message_bytes_ready == model_.bytes());
    REQUIRE(stats.messages_unacknowledged == held_.size());
  }

  runtime::SimRng random_;
  Fixture fixture_;
  FakeChannel channel_{fixture_};
  Model model_;
  const Qid qid_;
  int last_ = 0;
  ConsumerId consumer_ = 0;
  std::map<DeliveryToken, std::pair<Item, ConsumerId>> held_;
};

TEST_CASE("queues with random options follow the rules") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Run run(seed);
    for (int i = 0; i < 300; ++i) run.step();
  }
}

}  // namespace
}  // namespace ringtail::queue::queue_rules_random_test
