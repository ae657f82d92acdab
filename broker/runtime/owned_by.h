// An object remembers the thread that made it and checks, in debug builds, that no other uses it.
// It turns a data race into a stack trace.
#pragma once

#include "broker/runtime/check.h"

namespace ringtail::runtime {

class OwnedBy {
 public:
#ifdef NDEBUG
  void check() const {}
#else
  void check() const { RT_CHECK(mark_ == thread_mark(), "used on a thread that does not own it"); }

 private:
  static const void* thread_mark() {
    static thread_local const char mark = 0;
    return &mark;
  }
  const void* mark_ = thread_mark();
#endif
};

}  // namespace ringtail::runtime
