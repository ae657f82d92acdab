#include "broker/runtime/allocator.h"

#ifdef RINGTAIL_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

namespace ringtail::runtime {

void release_free_memory() {
#ifdef RINGTAIL_MIMALLOC
  mi_collect(true);
#else
  malloc_trim(0);
#endif
}

}  // namespace ringtail::runtime
