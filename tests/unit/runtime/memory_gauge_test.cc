// The memory count, over threads that come and go.
#include "broker/runtime/memory_gauge.h"

#include <doctest/doctest.h>

#include <thread>

namespace memory_gauge_test {

using ringtail::runtime::MemoryGauge;

TEST_CASE("memory gauge: what one thread takes another may give back") {
  const std::int64_t before = MemoryGauge::total();
  MemoryGauge::add(1000);
  std::thread([] { MemoryGauge::add(-400); }).join();
  CHECK(MemoryGauge::total() == before + 600);
  std::thread([] { MemoryGauge::add(-600); }).join();
  CHECK(MemoryGauge::total() == before);
}

TEST_CASE("memory gauge: can be read while others count") {
  const std::int64_t before = MemoryGauge::total();
  const auto count = [] {
    for (int i = 0; i < 20000; ++i) {
      MemoryGauge::add(3);
      MemoryGauge::add(-2);
    }
  };
  std::thread first(count);
  std::thread second(count);
  for (int i = 0; i < 1000; ++i) CHECK(MemoryGauge::total() >= before);
  first.join();
  second.join();
  CHECK(MemoryGauge::total() == before + 40000);
}

}  // namespace memory_gauge_test
