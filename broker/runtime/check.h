// Invariants of our own code. A failed check is a bug of ours: the process ends at once, with the
// place and the reason on stderr, because nothing after it can be trusted (STYLE: "we are wrong").
// RT_CHECK is on in every build, RT_DCHECK only where NDEBUG is not defined.
#pragma once

namespace ringtail::runtime {

// Prints "file:line: check failed: condition (reason)" and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* reason) noexcept;

}  // namespace ringtail::runtime

#define RT_CHECK(condition, reason)                  \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::ringtail::runtime::check_failed(__FILE__, __LINE__, #condition, (reason)))

#ifdef NDEBUG
#define RT_DCHECK(condition, reason) static_cast<void>(0)
#else
#define RT_DCHECK(condition, reason) RT_CHECK(condition, reason)
#endif
