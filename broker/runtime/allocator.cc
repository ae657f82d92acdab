#include "broker/runtime/allocator.h"

#ifdef RINGTAIL_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

#include <cstddef>

namespace ringtail::runtime {

#ifdef RINGTAIL_MIMALLOC
namespace {

// A segment has 32 MiB.
constexpr std::size_t kMiB = 1024 * 1024;
constexpr std::size_t kProbes[] = {24 * kMiB, 12 * kMiB, 6 * kMiB, 3 * kMiB, kMiB};

}  // namespace
#endif

void set_release_at_once([[maybe_unused]] bool at_once) {
#ifdef RINGTAIL_MIMALLOC
  // Pages are given back some time after they were freed, by the next operation that passes; at 0
  // that time has come for all of them.
  static const long ordinary = mi_option_get(mi_option_decommit_delay);
  mi_option_set(mi_option_decommit_delay, at_once ? 0 : ordinary);
#endif
}

void release_free_memory() {
#ifdef RINGTAIL_MIMALLOC
  mi_collect(true);
  // Pages that were freed before, in a segment that is still in use, wait for the next operation
  // there: a large allocation goes where the most room is, and its end is that operation.
  for (const std::size_t size : kProbes) mi_free(mi_malloc(size));
#else
  malloc_trim(0);
#endif
}

}  // namespace ringtail::runtime
