#include "tools/perf/verify.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace verify_test {

using namespace ringtail::perf;

namespace {

constexpr std::uint16_t kRun = 7;

Options make_options(int producers, int queues) {
  Options options;
  options.producers = producers;
  options.queues = queues;
  return options;
}

Identity id(std::uint16_t producer, std::uint64_t number, std::uint16_t run = kRun) {
  return {run, producer, number};
}

std::vector<std::uint64_t> missing(const Verifier& verifier, int producer,
                                   std::uint64_t published) {
  std::vector<std::uint64_t> numbers;
  verifier.each_missing(producer, published, [&](std::uint64_t n) { numbers.push_back(n); });
  return numbers;
}

}  // namespace

TEST_CASE("producers and consumers share the queues so that each queue has both") {
  for (const int members : {1, 2, 3, 5, 8}) {
    for (const int queues : {1, 2, 3, 7}) {
      std::vector<int> workers(static_cast<std::size_t>(queues));
      for (int member = 0; member < members; ++member) {
        const QueueShare share(member, members, queues);
        CHECK(share.count >= 1);
        for (int i = 0; i < share.count; ++i) {
          REQUIRE(share.at(i) < queues);
          ++workers[static_cast<std::size_t>(share.at(i))];
        }
      }
      for (const int count : workers) CHECK(count >= 1);
    }
  }
}

TEST_CASE("all in order is no fault") {
  Verifier verifier(make_options(1, 1), kRun);
  Subscription subscription;
  for (std::uint64_t n = 0; n < 500; ++n) {
    CHECK(verifier.delivered(id(0, n), 16, false, subscription));
  }
  CHECK(verifier.unique() == 500);
  CHECK(missing(verifier, 0, 500).empty());
  CHECK(verifier.faults().reordered == 0);
  CHECK(verifier.faults().duplicated == 0);
}

TEST_CASE("what did not come is missing") {
  Verifier verifier(make_options(1, 1), kRun);
  Subscription subscription;
  for (std::uint64_t n = 0; n < 300; ++n) {
    if (n != 5 && n != 200) verifier.delivered(id(0, n), 16, false, subscription);
  }
  CHECK(missing(verifier, 0, 302) == std::vector<std::uint64_t>{5, 200, 300, 301});
}

TEST_CASE("a second time is a duplicate, also when marked as redelivered") {
  Verifier verifier(make_options(1, 1), kRun);
  Subscription subscription;
  verifier.delivered(id(0, 0), 16, false, subscription);
  verifier.delivered(id(0, 1), 16, false, subscription);
  CHECK_FALSE(verifier.delivered(id(0, 0), 16, false, subscription));
  CHECK_FALSE(verifier.delivered(id(0, 1), 16, true, subscription));
  CHECK(verifier.faults().duplicated == 2);
  CHECK(verifier.faults().redelivered == 1);
  CHECK(verifier.faults().reordered == 0);
  CHECK(verifier.unique() == 2);
}

TEST_CASE("order counts within a subscription, for first deliveries") {
  Verifier verifier(make_options(2, 1), kRun);
  Subscription one;
  Subscription other;
  verifier.delivered(id(0, 4), 16, false, one);
  verifier.delivered(id(0, 2), 16, false, other);  // another consumer of the queue
  verifier.delivered(id(1, 0), 16, false, one);    // another producer
  verifier.delivered(id(0, 1), 16, true, one);     // put back before
  CHECK(verifier.faults().reordered == 0);
  verifier.delivered(id(0, 3), 16, false, one);
  CHECK(verifier.faults().reordered == 1);
}

TEST_CASE("messages of other runs are foreign") {
  Verifier verifier(make_options(1, 1), kRun);
  Subscription subscription;
  CHECK_FALSE(verifier.delivered(id(0, 0, kRun + 1), 16, false, subscription));
  CHECK_FALSE(verifier.delivered(id(1, 0), 16, false, subscription));
  CHECK_FALSE(verifier.delivered(id(0, 0), 3, false, subscription));
  CHECK_FALSE(verifier.delivered(id(0, std::uint64_t{1} << 39), 16, false, subscription));
  CHECK(verifier.faults().foreign == 4);
  CHECK(verifier.unique() == 0);
}

TEST_CASE("wrong queue, wrong size") {
  Verifier verifier(make_options(1, 3), kRun);
  Subscription subscription;
  subscription.queue = 1;
  verifier.delivered(id(0, 4), 16, false, subscription);
  CHECK(verifier.faults().misrouted == 0);
  verifier.delivered(id(0, 5), 16, false, subscription);
  CHECK(verifier.faults().misrouted == 1);
  verifier.delivered(id(0, 7), 17, false, subscription);
  CHECK(verifier.faults().damaged == 1);
}

TEST_CASE("where every queue gets a copy, each copy is missed") {
  Options options = make_options(1, 2);
  options.spread = Spread::kAll;
  Verifier verifier(options, kRun);
  CHECK(verifier.copies() == 2);
  Subscription first;
  Subscription second;
  second.queue = 1;
  CHECK(verifier.delivered(id(0, 0), 16, false, first));
  CHECK(verifier.delivered(id(0, 0), 16, false, second));
  CHECK(verifier.delivered(id(0, 1), 16, false, second));
  CHECK(verifier.faults().duplicated == 0);
  CHECK(verifier.faults().misrouted == 0);
  CHECK(missing(verifier, 0, 2) == std::vector<std::uint64_t>{1});
}

TEST_CASE("draining alone takes every run and counts the holes") {
  Verifier verifier(make_options(0, 1), kRun);
  Subscription subscription;
  for (const std::uint64_t n : {0ULL, 1ULL, 3ULL}) {
    CHECK(verifier.delivered(id(0, n, 1), 16, false, subscription));
    CHECK(verifier.delivered(id(0, n, 2), 100, false, subscription));
  }
  CHECK(verifier.faults().foreign == 0);
  CHECK(verifier.faults().duplicated == 0);
  CHECK(verifier.holes() == 2);
}

}  // namespace verify_test
