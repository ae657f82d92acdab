// What a start finds when the journals are ahead of the segments, behind them, or both
// (ARCHITECTURE 4a.13), and what the journal costs.
#include <doctest/doctest.h>

#include <functional>
#include <initializer_list>

#include "tests/sim/queue_client.h"

namespace queue_recovery_test {

using namespace ringtail;
using namespace ringtail::sim;

namespace {

// Two runs of one node: what the first did, the second finds.
class Starts {
 public:
  explicit Starts(std::size_t queues) : host_(world_) {
    for (std::size_t at = 0; at < queues; ++at) {
      Known known;
      known.record.vhost = "/";
      known.record.name = "q" + std::to_string(at);
      known.record.durable = true;
      known_.push_back(known);
    }
  }

  void start(std::uint16_t shards, queue::store::StoreOptions options = {}) {
    end();
    node_ = std::make_unique<QueueHost>(host_, shards, options);
    for (Known& known : known_) known.record = *node_->declare(known.record);
    REQUIRE(node_->start());
    REQUIRE_MESSAGE(node_->status.ok(), node_->status.text());
    client_ = std::make_unique<Client>(node_->driver(0).shard(), known_);
  }
  void crash() { host_.drive().crash(); }
  void run(const std::function<void(Client&)>& act) {
    node_->driver(0).run([&] { act(*client_); });
    world_.run_for(runtime::kSecondNs);
  }
  void end() {
    client_.reset();
    node_.reset();
  }

  std::size_t ready(std::size_t at) {
    return node_->find(known_[at].record)->stats().messages_ready;
  }
  // Takes all there is, in the order of delivery.
  std::vector<Client::Came> drain(std::size_t at) {
    run([&](Client& client) { client.consume(at, 0); });
    return client_->take_came(at);
  }
  QueueHost& node() { return *node_; }
  Known& known(std::size_t at) { return known_[at]; }
  Client& client() { return *client_; }
  runtime::SimHost& host() { return host_; }

 private:
  runtime::SimWorld world_{1};
  runtime::SimHost host_;
  std::vector<Known> known_;
  std::unique_ptr<QueueHost> node_;
  std::unique_ptr<Client> client_;
};

// Segments are written early and often, journal files never given up.
queue::store::StoreOptions eager_segments() {
  queue::store::StoreOptions options;
  options.head_messages_min = options.head_messages_max = 10;
  options.paged_out_messages = 10;
  options.write_messages = 10;
  options.write_bytes = 4 * 1024;
  options.segment_bytes = 4 * 1024;
  return options;
}

void check_numbers(const std::vector<Client::Came>& came, std::uint64_t first, std::uint64_t last) {
  REQUIRE(came.size() == last - first + 1);
  for (std::uint64_t at = 0; at < came.size(); ++at) CHECK(came[at].number == first + at);
}

}  // namespace

TEST_CASE("journals ahead of the segments: what stands in no segment comes back in order, once") {
  Starts starts(1);
  starts.start(1);  // with so few messages nothing is paged out
  starts.run([](Client& client) { client.publish(0, 500, 100, true); });
  CHECK(starts.client().all_settled());
  starts.crash();
  starts.start(1);
  check_numbers(starts.drain(0), 0, 499);
}

TEST_CASE("journals behind the segments: what stands in both comes back once") {
  Starts starts(1);
  starts.start(1, eager_segments());
  starts.run([](Client& client) { client.publish(0, 2000, 100, true); });
  // All but the head is in segments now, and still in the journal.
  CHECK(starts.host().drive().used_bytes() > 2 * 2000 * 100);
  starts.crash();
  starts.start(1, eager_segments());
  CHECK(starts.ready(0) == 2000);
  check_numbers(starts.drain(0), 0, 1999);
}

TEST_CASE("removals that only the journal knows hold for messages in segments") {
  Starts starts(1);
  starts.start(1, eager_segments());
  starts.run([](Client& client) { client.publish(0, 1000, 100, true); });
  starts.run([](Client& client) { client.consume(0, 300); });
  starts.client().take_came(0);
  starts.run([](Client& client) { client.settle_all(0); });
  starts.run([](Client& client) { client.publish(0, 1, 10, true); });
  starts.crash();
  starts.start(1, eager_segments());
  const auto came = starts.drain(0);
  REQUIRE(came.size() == 701);
  check_numbers(came, 300, 1000);
}

TEST_CASE("the number of shards changes at each start") {
  Starts starts(4);
  std::uint64_t published = 0;
  for (const std::uint16_t shards : std::initializer_list<std::uint16_t>{3, 1, 4, 2, 1}) {
    CAPTURE(shards);
    starts.start(shards, eager_segments());
    for (std::size_t at = 0; at < 4; ++at) CHECK(starts.ready(at) == published);
    starts.run([](Client& client) {
      for (std::size_t at = 0; at < 4; ++at) client.publish(at, 100, 200, true);
    });
    CHECK(starts.client().all_settled());
    published += 100;
    starts.crash();
  }
  starts.start(2, eager_segments());
  for (std::size_t at = 0; at < 4; ++at) check_numbers(starts.drain(at), 0, published - 1);
}

TEST_CASE("a queue that was deleted and declared again has nothing of the former one") {
  Starts starts(2);
  starts.start(1, eager_segments());
  starts.run([](Client& client) {
    client.publish(0, 1000, 100, true);
    client.publish(1, 1000, 100, true);
  });
  starts.node().remove(starts.known(0).record);
  starts.client().forget(0);
  starts.known(0).fates.clear();
  starts.known(0).record = *starts.node().declare(starts.known(0).record);
  starts.run([](Client& client) { client.publish(0, 3, 100, true); });
  CHECK(starts.ready(0) == 3);
  check_numbers(starts.drain(0), 0, 2);
  check_numbers(starts.drain(1), 0, 999);
}

TEST_CASE("a queue that is deleted just behind a start does not hold the journal") {
  Starts starts(2);
  starts.start(1);
  starts.run([](Client& client) { client.publish(0, 20'000, 100, true); });
  starts.crash();
  queue::store::StoreOptions options;
  options.journal.file_size = options.journal.file_size_max = 64 * 1024;
  starts.start(1, options);
  starts.node().remove(starts.known(0).record);
  starts.client().forget(0);
  starts.run([](Client& client) { client.consume(1, 0); });
  for (int burst = 0; burst < 20; ++burst) {
    starts.run([](Client& client) { client.publish(1, 500, 100, true); });
    starts.run([](Client& client) { client.settle_all(1); });
  }
  CHECK(starts.node().stores(0).journal().statistics().files <= 5);
}

TEST_CASE(
    "very many queues that the journals say nothing lasting of are left one after the other") {
  constexpr std::size_t kQueues = 20'000;
  Starts starts(kQueues);
  starts.start(1);
  starts.run([](Client& client) {
    for (std::size_t at = 0; at < kQueues; ++at) {
      client.consume(at, 0);
      client.publish(at, 1, 10, true);
    }
  });
  starts.run([](Client& client) {
    for (std::size_t at = 0; at < kQueues; ++at) client.settle_all(at);
  });
  starts.run([](Client& client) { client.publish(0, 1, 10, true); });
  CHECK(starts.client().all_settled());
  starts.crash();
  starts.start(1);
  starts.run([](Client&) {});
  CHECK(starts.ready(0) == 1);
  CHECK(starts.ready(kQueues - 1) == 0);
  CHECK(starts.node().stores(0).journal().statistics().files <= 3);
}

TEST_CASE("what the journal costs: messages of one queue that are consumed promptly") {
  for (const std::size_t size : {16U, 100U, 1024U, 20'000U}) {
    CAPTURE(size);
    Starts starts(1);
    starts.start(1);
    starts.run([](Client& client) { client.consume(0, 0); });
    const auto before = starts.node().stores(0).journal().statistics().octets;
    constexpr std::uint64_t kBursts = 20;
    constexpr std::uint64_t kBurst = 200;
    for (std::uint64_t burst = 0; burst < kBursts; ++burst) {
      starts.run([&](Client& client) { client.publish(0, kBurst, size, true); });
      CHECK(starts.client().take_came(0).size() == kBurst);
      starts.run([](Client& client) { client.settle_all(0); });
    }
    CHECK(starts.client().all_settled());
    const auto octets = starts.node().stores(0).journal().statistics().octets - before;
    CHECK(octets <= kBursts * kBurst * (size * 13 / 10 + 64));
    CHECK(octets >= kBursts * kBurst * size);
  }
}

TEST_CASE("what the journal costs: a message of ten queues is in it once") {
  constexpr std::size_t kQueues = 10;
  constexpr std::uint64_t kMessages = 500;
  constexpr std::size_t kSize = 1000;
  Starts starts(kQueues);
  starts.start(1);
  const auto before = starts.node().stores(0).journal().statistics().octets;
  starts.run([&](Client& client) { client.publish_to_all(kMessages, kSize); });
  CHECK(starts.client().all_settled());
  const auto octets = starts.node().stores(0).journal().statistics().octets - before;
  CHECK(octets <= kMessages * (kSize * 13 / 10 + kQueues * 64));
  starts.crash();
  starts.start(1);
  for (std::size_t at = 0; at < kQueues; ++at) check_numbers(starts.drain(at), 0, kMessages - 1);
}

}  // namespace queue_recovery_test
