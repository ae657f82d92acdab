#include "tools/perf/confirm_window.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace confirm_window_test {

using ringtail::perf::ConfirmWindow;

namespace {

// Sends `count` messages, due at 100, 101, ...
void send(ConfirmWindow& window, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) window.sent(100 + i);
}

std::vector<std::uint64_t> ack(ConfirmWindow& window, std::uint64_t tag, bool multiple) {
  std::vector<std::uint64_t> due;
  window.answer(tag, multiple, true, [&due](std::uint64_t ns) { due.push_back(ns); });
  return due;
}

}  // namespace

TEST_CASE("single and multiple confirms settle what they name") {
  ConfirmWindow window(10);
  CHECK(window.room() == 10);
  send(window, 6);
  CHECK(window.room() == 4);
  CHECK(ack(window, 2, false) == std::vector<std::uint64_t>{101});
  CHECK(window.is_answered(1));
  CHECK_FALSE(window.is_answered(0));
  CHECK(ack(window, 4, true) == std::vector<std::uint64_t>{100, 102, 103});
  CHECK(window.unanswered() == 2);
  CHECK(ack(window, 0, true) == std::vector<std::uint64_t>{104, 105});
  CHECK(window.room() == 10);
}

TEST_CASE("answers given twice or for tags never sent settle nothing") {
  ConfirmWindow window(4);
  send(window, 2);
  CHECK(ack(window, 3, false).empty());
  CHECK(ack(window, 3, true).empty());
  CHECK(ack(window, 0, false).empty());
  CHECK(ack(window, 1, false).size() == 1);
  CHECK(ack(window, 1, false).empty());
  CHECK(ack(window, 1, true).empty());
  CHECK(window.unanswered() == 1);
}

TEST_CASE("a nack is an answer, but no confirm") {
  ConfirmWindow window(4);
  send(window, 3);
  ack(window, 1, false);
  const auto never = [](std::uint64_t) { FAIL("a nack confirms nothing"); };
  CHECK(window.answer(3, true, false, never) == 2);
  CHECK_FALSE(window.is_refused(0));
  CHECK(window.is_refused(1));
  CHECK(window.is_refused(2));
  CHECK(window.is_answered(2));
  CHECK(window.unanswered() == 0);
}

TEST_CASE("an old publish without an answer stops the flow in the end") {
  ConfirmWindow window(4);
  send(window, 4);
  std::uint64_t tag = 4;
  ack(window, 4, false);
  ack(window, 3, false);
  ack(window, 2, false);
  std::uint64_t sent = 0;
  while (window.room() > 0) {
    window.sent(1000);
    ack(window, ++tag, false);
    ++sent;
  }
  CHECK(sent == 4);  // twice the limit, less the four at first
  CHECK(window.unanswered() == 1);
  CHECK(ack(window, 1, false) == std::vector<std::uint64_t>{100});
  CHECK(window.room() == 4);
}

}  // namespace confirm_window_test
