#include "broker/awaited_answers.h"

#include <doctest/doctest.h>

#include <string>

namespace awaited_answers_test {

using namespace ringtail;
using namespace ringtail::broker;

namespace {

struct Fixture {
  AwaitedAnswers awaited;
  std::string order;

  void add(std::uint64_t request, const std::string& name) {
    awaited.add(request, runtime::NodeId{1}, [this, name](runtime::Letter&) { order += name; });
  }
  void answer(std::uint64_t request) {
    awaited.answer(request, std::make_unique<runtime::Letter>(runtime::LetterKind{1}));
  }
};

}  // namespace

TEST_CASE("answers take effect in the order of what was asked, whatever order they come in") {
  Fixture f;
  f.add(1, "a");
  f.add(2, "b");
  f.add(3, "c");
  f.answer(3);
  f.answer(2);
  CHECK(f.order.empty());
  f.answer(1);
  CHECK(f.order == "abc");
  CHECK(f.awaited.empty());
}

TEST_CASE("an answer that nobody awaits any more is ignored") {
  Fixture f;
  f.answer(9);
  f.add(1, "a");
  f.answer(9);
  f.answer(1);
  f.answer(1);
  CHECK(f.order == "a");
}

TEST_CASE("what is asked while an answer is handled has that one's place") {
  Fixture f;
  f.awaited.add(1, runtime::NodeId{1}, [&](runtime::Letter&) {
    f.order += "a";
    f.add(3, "a2");
  });
  f.add(2, "b");
  f.answer(2);
  f.answer(1);
  CHECK(f.order == "a");
  f.answer(3);
  CHECK(f.order == "aa2b");
}

TEST_CASE("what needs no answer waits for its turn") {
  Fixture f;
  f.add(1, "a");
  f.awaited.add_turn([&] { f.order += "b"; });
  f.add(2, "c");
  CHECK(f.order.empty());
  f.answer(1);
  CHECK(f.order == "ab");
  f.answer(2);
  CHECK(f.order == "abc");
}

TEST_CASE("when everything ends in the middle, nothing of the rest happens") {
  Fixture f;
  f.awaited.add(1, runtime::NodeId{1}, [&](runtime::Letter&) { f.awaited.clear(); });
  f.add(2, "b");
  f.answer(2);
  f.answer(1);
  CHECK(f.order.empty());
  CHECK(f.awaited.empty());
}

TEST_CASE("queues of a node that went are refused in their turn; what they had answered counts") {
  Fixture f;
  const auto queue = [](const char* name) {
    auto record = std::make_shared<cluster::metadata::QueueRecord>();
    record->name = name;
    return record;
  };
  f.add(1, "a");
  f.awaited.add(2, runtime::NodeId{7}, [&](runtime::Letter&) { f.order += "b"; }).queue =
      queue("b");
  f.awaited.add(3, runtime::NodeId{7}, [&](runtime::Letter&) { f.order += "c"; }).queue =
      queue("c");
  f.awaited.add(4, runtime::NodeId{8}, [&](runtime::Letter&) { f.order += "d"; }).queue =
      queue("d");
  f.answer(2);
  f.awaited.refuse_behind(
      [](const AwaitedAnswers::Entry& entry) { return entry.node == runtime::NodeId{7}; },
      [&](const cluster::metadata::QueueRecord& record) { f.order += "-" + record.name; });
  CHECK(f.order.empty());
  f.answer(1);
  CHECK(f.order == "ab-c");
  f.answer(3);
  f.answer(4);
  CHECK(f.order == "ab-cd");
}

}  // namespace awaited_answers_test
