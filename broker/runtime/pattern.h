// Regular expressions of operators: permissions, policies, filters. PCRE as in RabbitMQ, whose
// patterns these are; not anchored. Matching is bounded: a pattern that would go on for ever
// matches nothing (docs/decisions/0007-pcre.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "broker/runtime/status.h"

namespace ringtail::runtime {

// One compiled pattern. Any thread, one at a time.
class Pattern {
 public:
  // kInvalid: the text names the pattern, what is wrong with it and where.
  static Result<Pattern> compile(std::string_view text);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // Whether it is found anywhere in the subject.
  bool matches(std::string_view subject) const;

 private:
  struct Impl;
  explicit Pattern(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringtail::runtime
