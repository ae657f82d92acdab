#include "broker/unacked.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "broker/queue_link.h"
#include "broker/runtime/sim/sim_world.h"

namespace unacked_test {

using ringtail::broker::QueueLink;
using ringtail::broker::Unacked;

namespace {

struct UnackedFixture {
  UnackedFixture() : link(std::make_shared<const ringtail::cluster::metadata::QueueRecord>()) {}

  void add(std::uint64_t tag) { unacked.add({tag, &link, tag * 10, 1}); }

  QueueLink link;
  Unacked unacked;
};

}  // namespace

TEST_CASE_FIXTURE(UnackedFixture, "a tag is taken once") {
  Unacked::Entry entry;
  CHECK_FALSE(unacked.take(1, entry));
  add(1);
  add(2);
  CHECK(unacked.contains(2));
  CHECK_FALSE(unacked.contains(3));
  REQUIRE(unacked.take(1, entry));
  CHECK(entry.token == 10);
  CHECK_FALSE(unacked.take(1, entry));
  CHECK(unacked.count() == 1);
}

TEST_CASE_FIXTURE(UnackedFixture, "taking up to a tag goes in tag order and leaves the rest") {
  for (std::uint64_t tag = 1; tag <= 10; ++tag) add(tag);
  Unacked::Entry entry;
  REQUIRE(unacked.take(3, entry));
  std::vector<std::uint64_t> taken;
  CHECK(unacked.take_up_to(5, [&](const Unacked::Entry& one) { taken.push_back(one.tag); }) == 4);
  CHECK(taken == std::vector<std::uint64_t>{1, 2, 4, 5});
  CHECK(unacked.count() == 5);
  CHECK_FALSE(unacked.contains(5));
  CHECK(unacked.contains(6));
}

TEST_CASE_FIXTURE(UnackedFixture, "no-ack deliveries use up tags in between") {
  add(5);
  add(9);
  Unacked::Entry entry;
  CHECK_FALSE(unacked.contains(6));
  CHECK_FALSE(unacked.take(7, entry));
  CHECK(unacked.take(9, entry));
  CHECK(entry.token == 90);
  CHECK(unacked.take(5, entry));
  CHECK(unacked.count() == 0);
}

TEST_CASE_FIXTURE(UnackedFixture, "a message held for ever does not keep what was acknowledged") {
  // The head stays, a hundred thousand come and go behind it, out of order at times.
  for (std::uint64_t tag = 1; tag <= 100'000; ++tag) {
    add(tag);
    Unacked::Entry entry;
    if (tag > 1) REQUIRE(unacked.take(tag, entry));
  }
  CHECK(unacked.count() == 1);
  CHECK(unacked.contains(1));
  CHECK_FALSE(unacked.contains(2));
  CHECK_FALSE(unacked.contains(100'000));
}

// Against a map: takes in any order (so that holes are squeezed), ranges, rollbacks.
TEST_CASE("random: the table agrees with a map") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    ringtail::runtime::SimRng rng(seed);
    UnackedFixture fixture;
    Unacked& unacked = fixture.unacked;
    std::map<std::uint64_t, std::uint64_t> model;  // tag: token
    std::vector<Unacked::Entry> held;              // taken, perhaps to be restored
    std::uint64_t next_tag = 1;
    for (int step = 0; step < 6000; ++step) {
      const std::uint64_t dice = rng.below(100);
      if (dice < 50) {
        next_tag += rng.below(10) == 0 ? rng.below(50) + 1 : 0;
        fixture.add(next_tag);
        model[next_tag] = next_tag * 10;
        ++next_tag;
      } else if (dice < 96) {
        const std::uint64_t tag = rng.below(next_tag + 2);
        Unacked::Entry entry;
        const auto at = model.find(tag);
        REQUIRE(unacked.contains(tag) == (at != model.end()));
        REQUIRE(unacked.take(tag, entry) == (at != model.end()));
        if (at == model.end()) continue;
        REQUIRE(entry.tag == tag);
        REQUIRE(entry.token == at->second);
        model.erase(at);
        held.push_back(entry);
      } else if (dice == 96 && rng.below(20) == 0) {
        const std::uint64_t tag = rng.below(next_tag + 1);
        unacked.take_up_to(tag, [&](const Unacked::Entry& entry) {
          REQUIRE(!model.empty());
          REQUIRE(model.begin()->first == entry.tag);
          REQUIRE(model.begin()->second == entry.token);
          model.erase(model.begin());
          held.push_back(entry);
        });
        REQUIRE((model.empty() || model.begin()->first > tag));
      } else if (dice >= 98) {
        for (const Unacked::Entry& entry : held) {
          unacked.restore(entry);
          model[entry.tag] = entry.token;
        }
        held.clear();
      } else {
        held.clear();
      }
      REQUIRE(unacked.count() == model.size());
    }
  }
}

}  // namespace unacked_test
