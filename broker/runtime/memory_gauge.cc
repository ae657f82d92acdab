#include "broker/runtime/memory_gauge.h"

namespace ringtail::runtime {

namespace {

// One per thread that ever counted, in a list that only grows. A cache line of its own, because
// its thread writes it for every message.
struct alignas(64) Counter {
  std::atomic<std::int64_t> bytes{0};
  Counter* next = nullptr;
};

constinit std::atomic<Counter*> all_counters{nullptr};
constinit thread_local Counter* own_counter = nullptr;

Counter* register_counter() {
  auto* counter = new Counter;
  counter->next = all_counters.load(std::memory_order_relaxed);
  while (!all_counters.compare_exchange_weak(counter->next, counter, std::memory_order_release,
                                             std::memory_order_relaxed)) {
  }
  return counter;
}

}  // namespace

std::atomic<std::int64_t>& MemoryGauge::slot() {
  if (own_counter == nullptr) own_counter = register_counter();
  return own_counter->bytes;
}

std::int64_t MemoryGauge::total() {
  std::int64_t sum = 0;
  for (const Counter* counter = all_counters.load(std::memory_order_acquire); counter != nullptr;
       counter = counter->next) {
    sum += counter->bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace ringtail::runtime
