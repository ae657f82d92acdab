#include "broker/runtime/allocator.h"

#ifdef RINGTAIL_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

namespace ringtail::runtime {

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
#else
  malloc_trim(0);
#endif
}

}  // namespace ringtail::runtime
