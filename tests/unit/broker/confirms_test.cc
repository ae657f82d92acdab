#include "broker/confirms.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "broker/runtime/sim/sim_world.h"

namespace confirms_test {

using ringtail::broker::Confirms;

namespace {

// What one report says, in order.
struct Said {
  enum class What : std::uint8_t { kAck, kAckMultiple, kNack };
  What what;
  std::uint64_t sequence;
  bool operator==(const Said&) const = default;
};

std::vector<Said> report(Confirms& confirms) {
  std::vector<Said> said;
  confirms.report(
      [&](std::uint64_t sequence, bool multiple) {
        said.push_back({multiple ? Said::What::kAckMultiple : Said::What::kAck, sequence});
      },
      [&](std::uint64_t sequence) {
        said.push_back({Said::What::kNack, sequence});
      });
  return said;
}

}  // namespace

TEST_CASE("confirms are numbered from 1 and settle at once where nobody has to") {
  Confirms confirms;
  CHECK_FALSE(confirms.has_news());
  CHECK(confirms.open(0) == 1);
  CHECK(confirms.has_news());
  CHECK(report(confirms) == std::vector<Said>{{Said::What::kAck, 1}});
  CHECK_FALSE(confirms.has_news());
  CHECK(confirms.outstanding() == 0);
  CHECK(confirms.open(1) == 2);
  CHECK(report(confirms).empty());
}

TEST_CASE("a publish is confirmed when its last queue has settled it") {
  Confirms confirms;
  confirms.open(3);
  confirms.settle(1, false);
  confirms.settle(1, false);
  CHECK(report(confirms).empty());
  confirms.settle(1, false);
  CHECK(report(confirms) == std::vector<Said>{{Said::What::kAck, 1}});
}

TEST_CASE("one refusal makes a nack, whatever the other queues say") {
  Confirms confirms;
  confirms.open(2);
  confirms.settle(1, true);
  CHECK(report(confirms).empty());
  confirms.settle(1, false);
  CHECK(report(confirms) == std::vector<Said>{{Said::What::kNack, 1}});
  CHECK(confirms.outstanding() == 0);
}

TEST_CASE("the settled head goes with one ack, what is behind a gap one by one") {
  Confirms confirms;
  for (int i = 0; i < 6; ++i) confirms.open(1);
  confirms.settle(5, false);
  CHECK(report(confirms) == std::vector<Said>{{Said::What::kAck, 5}});
  confirms.settle(2, false);
  confirms.settle(1, false);
  confirms.settle(6, false);
  CHECK(report(confirms) ==
        std::vector<Said>{{Said::What::kAckMultiple, 2}, {Said::What::kAck, 6}});
  confirms.settle(3, false);
  confirms.settle(4, false);
  // 5 and 6 were reported before.
  CHECK(report(confirms) == std::vector<Said>{{Said::What::kAckMultiple, 4}});
  CHECK(confirms.outstanding() == 0);
  CHECK(confirms.open(1) == 7);
}

TEST_CASE("an ack for many never covers a nack or what is not settled") {
  Confirms confirms;
  for (int i = 0; i < 4; ++i) confirms.open(1);
  confirms.settle(1, false);
  confirms.settle(2, true);
  confirms.settle(4, false);
  const auto said = report(confirms);
  // The nack comes first, so that a client which takes "up to" literally has heard it.
  CHECK(said ==
        std::vector<Said>{{Said::What::kNack, 2}, {Said::What::kAck, 1}, {Said::What::kAck, 4}});
}

TEST_CASE("random settling: every publish is reported once, as it was settled") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    ringtail::runtime::SimRng rng(seed);
    Confirms confirms;
    std::map<std::uint64_t, std::pair<std::uint32_t, bool>> open;  // queues left, rejected
    std::map<std::uint64_t, bool> settled;                         // sequence: rejected
    std::map<std::uint64_t, bool> told;
    std::vector<std::uint64_t> unreported;
    for (int step = 0; step < 300; ++step) {
      if (rng.chance(0.4)) {
        const auto queues = static_cast<std::uint32_t>(rng.below(4));
        const std::uint64_t sequence = confirms.open(queues);
        if (queues == 0) {
          settled[sequence] = false;
        } else {
          open[sequence] = {queues, false};
        }
      } else if (!open.empty() && rng.chance(0.8)) {
        auto at = open.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(rng.below(open.size())));
        const bool rejected = rng.chance(0.1);
        confirms.settle(at->first, rejected);
        at->second.second = at->second.second || rejected;
        if (--at->second.first == 0) {
          settled[at->first] = at->second.second;
          open.erase(at);
        }
      } else {
        for (const Said& one : report(confirms)) {
          if (one.what == Said::What::kNack) {
            REQUIRE(told.emplace(one.sequence, true).second);
          } else if (one.what == Said::What::kAck) {
            REQUIRE(told.emplace(one.sequence, false).second);
          } else {
            for (std::uint64_t at = 1; at <= one.sequence; ++at) told.emplace(at, false);
          }
        }
        REQUIRE(told == settled);
      }
    }
  }
}

}  // namespace confirms_test
