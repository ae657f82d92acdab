// How much memory messages and output hold, counted where it is taken and given back rather than
// read from the kernel: an allocator keeps freed pages, so the resident size would never let an
// alarm end. Each thread counts for itself (a thread may free what another took, so one count may
// be negative; the sum is right). Output blocks that a thread keeps for reuse do not count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ringtail::runtime {

class MemoryGauge {
 public:
  // `bytes` were allocated (positive) or freed (negative) on this thread.
  static void add(std::int64_t bytes) {
    std::atomic<std::int64_t>& count = slot();
    count.store(count.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  // The sum over all threads; callable anywhere; not exact while others allocate.
  static std::int64_t total();

 private:
  // This thread's counter; registered on first use and kept when the thread ends.
  static std::atomic<std::int64_t>& slot();
};

}  // namespace ringtail::runtime
