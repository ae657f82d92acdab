// The one fence that the program needs: between "I put something there" and "is the other awake?".
#pragma once

#include <atomic>

namespace ringtail::runtime {

// Everything that this thread stored before is visible to others before it loads anything after.
inline void store_load_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer knows no fences; on the machines it runs on a locked operation is one.
  static constinit std::atomic<int> anything{0};
  anything.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace ringtail::runtime
