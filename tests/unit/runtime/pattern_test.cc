#include "broker/runtime/pattern.h"

#include <doctest/doctest.h>

#include <string>

namespace pattern_test {

using ringtail::runtime::Code;
using ringtail::runtime::Pattern;

namespace {

bool matches(std::string_view pattern, std::string_view subject) {
  return Pattern::compile(pattern).value().matches(subject);
}

}  // namespace

TEST_CASE("a pattern is found anywhere unless it is anchored") {
  CHECK(matches("q", "a queue"));
  CHECK_FALSE(matches("^q", "a queue"));
  CHECK(matches(".*", ""));
  CHECK(matches("", "anything"));
  CHECK_FALSE(matches("^$", "anything"));
  CHECK(matches("^(amq\\.|log)", "amq.topic"));
  CHECK_FALSE(matches("^q$", "q\n"));
}

TEST_CASE("what is no pattern is refused by name and place") {
  const auto refused = Pattern::compile("a(b");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == Code::kInvalid);
  CHECK(refused.status().text().find("'a(b' is not a regular expression") == 0);
}

TEST_CASE("a pattern that would take for ever matches nothing, soon") {
  CHECK_FALSE(matches("^(a+)+$", std::string(64, 'a') + "b"));
}

}  // namespace pattern_test
