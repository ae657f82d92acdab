#include "tools/perf/sequence_set.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>

namespace sequence_set_test {

using ringtail::perf::SequenceSet;

TEST_CASE("numbers in order need a small window") {
  SequenceSet set;
  for (std::uint64_t n = 0; n < 1000000; ++n) REQUIRE(set.add(n));
  CHECK(set.count() == 1000000);
  CHECK(set.end() == 1000000);
  CHECK(set.full_below() == 1000000 / 64 * 64);
  CHECK(set.window_words() <= 4096);
  CHECK_FALSE(set.add(0));
  CHECK_FALSE(set.add(999999));
  CHECK(set.count() == 1000000);
  CHECK(set.contains(123456));
  CHECK_FALSE(set.contains(1000000));
}

TEST_CASE("a hole holds the window open and is found") {
  SequenceSet set;
  for (std::uint64_t n = 0; n < 10000; ++n) {
    if (n != 777) set.add(n);
  }
  CHECK_FALSE(set.contains(777));
  CHECK(set.full_below() == 777 / 64 * 64);
  CHECK(set.count() == 9999);
  CHECK(set.add(777));
  CHECK(set.full_below() == 10000 / 64 * 64);
}

TEST_CASE("any order gives the same as a plain set") {
  SequenceSet set;
  std::set<std::uint64_t> plain;
  std::uint64_t state = 12345;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t number = static_cast<std::uint64_t>(i) / 2 + (state >> 33) % 3000;
    CHECK(set.add(number) == plain.insert(number).second);
  }
  CHECK(set.count() == plain.size());
  CHECK(set.end() == *plain.rbegin() + 1);
  for (std::uint64_t n = 0; n < 15000; ++n) CHECK(set.contains(n) == (plain.count(n) != 0));
}

TEST_CASE("a jump ahead") {
  SequenceSet set;
  CHECK(set.add(5000000));
  CHECK(set.add(0));
  CHECK_FALSE(set.add(5000000));
  CHECK(set.contains(5000000));
  CHECK_FALSE(set.contains(4999999));
  CHECK(set.count() == 2);
}

}  // namespace sequence_set_test
