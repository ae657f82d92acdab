#include "broker/runtime/check.h"

#include <cstdio>
#include <cstdlib>

namespace ringtail::runtime {

void check_failed(const char* file, int line, const char* condition, const char* reason) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, condition, reason);
  std::fflush(stderr);
  std::abort();
}

}  // namespace ringtail::runtime
