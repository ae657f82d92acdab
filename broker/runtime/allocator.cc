#include "broker/runtime/allocator.h"

#ifdef RINGTAIL_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

namespace ringtail::runtime {

void release_free_memory() {
#ifdef RINGTAIL_MIMALLOC
  // Pages are given back some time after they were freed, by the next operation that passes; here
  // that time has come for all of them.
  const long delay = mi_option_get(mi_option_decommit_delay);
  mi_option_set(mi_option_decommit_delay, 0);
  mi_collect(true);
  mi_option_set(mi_option_decommit_delay, delay);
#else
  malloc_trim(0);
#endif
}

}  // namespace ringtail::runtime
