// The journal of a shard on a simulated disk: group commit, the ring of files, what a failing disk
// does.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "queue/store/journal.h"
#include "tests/unit/queue/store_journal_fixture.h"

namespace store_journal_test {

using namespace ringtail;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;
using runtime::Code;
using runtime::SimDiskCall;
using runtime::Status;

namespace {

constexpr JournalOptions kRoomy{.file_size = 64 * 1024, .file_messages = 0};

struct JournalTest {
  explicit JournalTest(JournalOptions options = kRoomy)
      : world(1), host(world), life(host, options) {}
  void fail(SimDiskCall call, Code code, std::uint64_t count = 1) {
    host.drive().fail_call(call, 1, code, count);
  }
  // As read from the disk as it is now.
  std::vector<std::string> bodies(const User& user) {
    std::vector<std::string> found;
    JournalsRead read = life.read();
    CHECK_FALSE(read.unknown_damage);
    for (const StoredMessage& message : read.queues[user.qid].published) {
      found.push_back(body_of(message.message));
    }
    return found;
  }

  runtime::SimWorld world;
  runtime::SimHost host;
  Life life;
};

constexpr JournalOptions kSmall{
    .file_size = 4096, .file_size_max = 4096, .file_messages = 0, .files = 3};

// Fills so many files of kSmall; the next change begins another one.
void fill(JournalTest& test, User& user, int files) {
  for (int i = 0; i < files * 4; ++i) {
    test.life.run([&] { user.publish(std::string(1000, 'x')); });
    REQUIRE(test.life.wait_kept());
  }
}

}  // namespace

TEST_CASE("journal: one publish on an idle journal is one write, synced") {
  JournalTest test;
  test.life.open();
  test.life.settle();
  User user(test.life, 7);
  const auto writes = test.host.drive().calls(SimDiskCall::kWrite);
  const auto syncs = test.host.drive().calls(SimDiskCall::kSync);
  test.life.run([&] {
    user.wanted = user.publish("hello");
    CHECK(user.wanted == test.life.journal->appended());
    test.life.journal->await(user);
    test.life.journal->await(user);
  });
  CHECK(test.life.journal->kept() == 0);
  const auto begun = test.world.now_ns();
  REQUIRE(test.life.wait_kept());
  const auto& options = test.host.drive().options();
  CHECK(test.world.now_ns() - begun <=
        options.latency_max_ns + options.sync_max_ns + runtime::kMillisecondNs);
  CHECK(user.heard == std::vector<JournalPosition>{user.wanted});
  CHECK(test.host.drive().calls(SimDiskCall::kWrite) == writes + 1);
  CHECK(test.host.drive().calls(SimDiskCall::kSync) == syncs + 1);
  CHECK(test.life.journal->statistics().batches == 1);
  CHECK(test.life.journal->statistics().octets == test.life.journal->kept());
  CHECK(test.bodies(user) == std::vector<std::string>{"hello"});
}

TEST_CASE(
    "journal: what comes while a write is under way goes with the next, which follows at once") {
  JournalTest test;
  test.life.open();
  test.life.settle();
  User first(test.life, 1);
  User second(test.life, 2);
  Journal& journal = *test.life.journal;
  test.life.run([&] {
    first.publish("a");
    second.wanted = second.publish("b") + 1;
    journal.await(second);
  });
  test.world.run_for(10 * runtime::kMicrosecondNs);
  for (int i = 0; i < 1000; ++i) {
    test.life.run([&] { first.publish("c"); });
  }
  test.life.run([&] {
    second.wanted = journal.appended();
    first.wanted = journal.appended();
    journal.await(first);
  });
  const auto writes = test.host.drive().calls(SimDiskCall::kWrite);
  std::uint64_t between = 0;
  second.on_kept = [&] { between = test.host.drive().calls(SimDiskCall::kWrite); };
  REQUIRE(test.life.wait_kept());
  CHECK(journal.statistics().batches == 2);
  CHECK(second.heard.size() == 2);
  CHECK(second.heard.back() == journal.appended());
  CHECK(first.heard == second.heard);
  CHECK(between <= writes + 2);
  CHECK(test.bodies(first).size() == 1001);
}

TEST_CASE("journal: changes may be appended before it is open") {
  JournalTest test;
  User user(test.life, 1);
  Journal& journal = *test.life.journal;
  test.life.run([&] { user.publish("early"); });
  test.world.run_for(runtime::kSecondNs);
  CHECK(test.life.files().empty());
  test.life.open(41);
  CHECK(journal.current_file() == 43);  // one number is left out
  REQUIRE(test.life.wait_kept());
  CHECK(test.bodies(user) == std::vector<std::string>{"early"});
  test.life.run([&] { journal.left(user, 43); });
  CHECK(test.life.read().last_file == 44);
}

TEST_CASE("journal: everything of a queue is read back") {
  JournalTest test;
  test.life.open();
  User user(test.life, 5);
  User gone(test.life, 6);
  test.life.run([&] {
    Journal& journal = *test.life.journal;
    user.publish("x", 10);
    user.remove(2, 3);
    journal.begin_publish(user, user.qid);
    journal.add(position_at(2, 11), *make_message("in lane 2"), 777, true);
    journal.end_publish();
    user.remove(9, 9);
    journal.delivered(user, user.qid, position_at(0, 4));
    journal.delivered(user, user.qid, position_at(0, 3));
    journal.delivered(user, user.qid, position_at(2, 11));
    gone.publish("y", 3);
    CHECK(journal.remove(gone, gone.qid, {}) == journal.appended());
    journal.deleted(gone.qid);
  });
  REQUIRE(test.life.wait_kept());
  JournalsRead read = test.life.read();
  CHECK(read.report.empty());
  const JournaledQueue& queue = read.queues[user.qid];
  std::vector<std::uint64_t> numbers;
  for (const auto& message : queue.published) numbers.push_back(number_of(message.position));
  CHECK(numbers == std::vector<std::uint64_t>{1, 4, 5, 6, 7, 8, 10, 11});
  CHECK(lane_of(queue.published.back().position) == 2);
  CHECK(queue.published.back().expires_at_ms == 777);
  CHECK(queue.published.back().delivered);
  CHECK_FALSE(queue.published.front().delivered);
  CHECK(queue.delivered == std::map<std::uint8_t, std::uint64_t>{{0, 4}, {2, 11}});
  CHECK(queue.removed.at(0).contains(2));
  CHECK(read.queues[gone.qid].deleted);
  CHECK(read.queues[gone.qid].published.empty());
}

TEST_CASE(
    "journal: the next file is ready before it is needed, and made of one that nobody needs") {
  JournalTest test(kSmall);
  test.life.open();
  test.life.settle();
  CHECK(test.life.files() == std::vector<std::string>{"00000-0000000001", "00000-0000000002"});
  User user(test.life, 1);
  fill(test, user, 2);
  test.life.settle();
  CHECK(test.life.journal->current_file() == 3);
  CHECK(test.life.journal->statistics().files == 3);
  CHECK(user.told.empty());
  CHECK(test.life.files().size() == 4);
  const auto before = test.life.read().queues[user.qid].published.size();
  CHECK(before == user.published);
  // Its messages of the first two files are elsewhere: one of them is the next file but one.
  test.life.run([&] { test.life.journal->left(user, 3); });
  CHECK(test.life.journal->statistics().files == 1);
  fill(test, user, 1);
  test.life.settle();
  CHECK(test.life.journal->current_file() == 4);
  CHECK(test.life.files() == std::vector<std::string>{"00000-0000000002", "00000-0000000003",
                                                      "00000-0000000004", "00000-0000000005"});
  JournalsRead read = test.life.read();
  CHECK(read.report.empty());
  CHECK_FALSE(read.unknown_damage);
  // Without what file 1 said: it is file 5 now, and nothing of it is read as such.
  CHECK(number_of(read.queues[user.qid].published.front().position) > 3);
  CHECK(number_of(read.queues[user.qid].published.back().position) == user.published);
  CHECK(test.host.drive().used_bytes() < 5 * 6000);
}

TEST_CASE("journal: the users of the oldest file are told to leave it, once, until they have") {
  JournalTest test(kSmall);
  test.life.open();
  User idle(test.life, 1);
  User busy(test.life, 2);
  busy.leaves = true;
  test.life.run([&] { idle.publish("rests here"); });
  fill(test, busy, 2);
  CHECK(idle.told.empty());
  fill(test, busy, 1);
  CHECK(test.life.journal->current_file() == 4);
  CHECK(idle.told == std::vector<JournalFileNumber>{1});
  CHECK(busy.told == std::vector<JournalFileNumber>{1});
  fill(test, busy, 4);
  CHECK(idle.told == std::vector<JournalFileNumber>{1});
  // It appends, still needs the oldest, and leaves: the files behind it are free, too.
  CHECK(test.life.journal->statistics().files == 8);
  test.life.run([&] { idle.publish("again"); });
  REQUIRE(test.life.wait_kept());
  CHECK(idle.told.size() == 1);
  const JournalFileNumber now = test.life.journal->current_file();
  test.life.run([&] { test.life.journal->left(idle, now); });
  test.life.settle();
  CHECK(test.life.journal->statistics().files == 3);
  CHECK(test.life.files().size() <= 3 + 1 + kSmall.files + 1);
  fill(test, busy, 3);
  CHECK(idle.told == std::vector<JournalFileNumber>{1, now});
  CHECK(test.bodies(idle).back() == "again");
  test.life.run([&] { test.life.journal->left(idle, test.life.journal->current_file()); });
  fill(test, busy, 6);
  CHECK(idle.told.size() == 2);  // it needs nothing
  CHECK(test.life.journal->statistics().files == 3);
}

TEST_CASE("journal: a user that ends needs nothing") {
  JournalTest test(kSmall);
  test.life.open();
  auto idle = std::make_unique<User>(test.life, 1);
  User busy(test.life, 2);
  busy.leaves = true;
  test.life.run([&] {
    idle->publish("rests here");
    test.life.journal->await(*idle);
  });
  fill(test, busy, 4);
  CHECK(test.life.journal->statistics().files == 5);
  test.life.run([&] { idle.reset(); });
  test.life.settle();
  CHECK(test.life.journal->statistics().files == 3);
}

TEST_CASE("journal: not all of very many users are told to leave at once") {
  JournalTest test(kSmall);
  test.life.open();
  std::vector<std::unique_ptr<User>> users;
  test.life.run([&] {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      users.push_back(std::make_unique<User>(test.life, 10 + i));
      const Qid qid = users.back()->qid;
      test.life.journal->delivered(*users.back(), qid, position_at(0, 1));
    }
  });
  REQUIRE(test.life.wait_kept());
  const auto told = [&] {
    return std::count_if(users.begin(), users.end(), [](const auto& user) {
      CHECK(user->told.size() <= 1);
      return user->told.size() == 1;
    });
  };
  User busy(test.life, 2);
  busy.leaves = true;
  int most = 0;
  while (told() == 0) {
    test.life.run([&] { busy.publish(std::string(1000, 'x')); });
    test.world.run_until([&] { return told() > 0; }, 20 * runtime::kMillisecondNs);
  }
  most = static_cast<int>(told());
  CHECK(most > 0);
  CHECK(most <= 512);
  CHECK(test.world.run_until([&] { return told() == 1000; }));
}

TEST_CASE(
    "journal: large batches go on while the next file is begun, and long files are not kept") {
  JournalTest test(kSmall);
  test.life.open();
  User user(test.life, 1);
  user.leaves = true;
  for (int i = 0; i < 10; ++i) {
    test.life.run([&] { user.publish(std::string(4000, 'x'), 100); });
    test.world.run_for(3 * runtime::kMillisecondNs);
  }
  REQUIRE(test.life.wait_kept());
  JournalsRead read = test.life.read();
  CHECK_FALSE(read.unknown_damage);
  CHECK(read.report.empty());
  CHECK(number_of(read.queues[user.qid].published.back().position) == 1000);
  test.life.run([&] { test.life.journal->left(user, test.life.journal->current_file()); });
  fill(test, user, 4);
  test.life.settle();
  CHECK(test.host.drive().used_bytes() < 10 * 6000);
}

TEST_CASE("journal: a full disk is waited for, and nothing is lost") {
  JournalTest test;
  test.life.open();
  test.life.settle();
  User user(test.life, 1);
  Journal& journal = *test.life.journal;
  test.fail(SimDiskCall::kWrite, Code::kNoSpace, 3);
  test.life.run([&] {
    user.wanted = user.publish("one");
    journal.await(user);
  });
  test.world.run_for(runtime::kSecondNs / 2);
  test.life.run([&] { user.publish("two"); });
  test.world.run_for(2 * runtime::kSecondNs);
  CHECK(journal.kept() == 0);
  CHECK(journal.failure().ok());
  CHECK(test.host.drive().calls(SimDiskCall::kWrite) <= 12);  // not again and again
  REQUIRE(test.life.wait_kept());
  CHECK(user.heard.size() == 1);
  CHECK(user.failures == 0);
  CHECK(test.bodies(user) == std::vector<std::string>{"one", "two"});
}

TEST_CASE(
    "journal: no room for the next file is no failure either; a file given up is used first") {
  JournalTest test(kSmall);
  test.life.open();
  test.life.settle();
  User user(test.life, 1);
  // Two files are there; the third cannot be made.
  test.host.drive().options().capacity_bytes = test.host.drive().used_bytes() + 2500;
  for (int i = 0; i < 20; ++i) {
    test.life.run([&] { user.publish(std::string(1000, 'x')); });
    test.world.run_for(20 * runtime::kMillisecondNs);
  }
  test.world.run_for(5 * runtime::kSecondNs);
  CHECK(test.life.journal->failure().ok());
  CHECK(test.life.journal->kept() > 0);
  CHECK(test.life.journal->kept() < test.life.journal->appended());
  SUBCASE("room") { test.host.drive().options().capacity_bytes += 100'000; }
  SUBCASE("a file that nobody needs") {
    user.leaves = true;
    test.life.run([&] { test.life.journal->left(user, 2); });
    test.world.run_for(5 * runtime::kSecondNs);
    CHECK(test.life.journal->failure().ok());
    CHECK(test.life.files()[0] == "00000-0000000002");
    CHECK(test.life.files()[1] == "00000-0000000003");
    test.host.drive().options().capacity_bytes += 100'000;
  }
  REQUIRE(test.life.wait_kept());
  CHECK_FALSE(test.life.read().unknown_damage);
  CHECK(test.life.read().report.empty());
}

TEST_CASE("journal: a write or sync that fails is the end, and everybody hears it once") {
  for (const auto call : {SimDiskCall::kWrite, SimDiskCall::kSync}) {
    for (const auto code : {Code::kIo, Code::kNoSpace}) {
      if (call == SimDiskCall::kWrite && code == Code::kNoSpace) continue;
      JournalTest test;
      test.life.open();
      test.life.settle();
      Journal& journal = *test.life.journal;
      User waits(test.life, 1);
      User has(test.life, 2);
      User later(test.life, 3);
      User asks(test.life, 4);
      User never(test.life, 5);
      test.life.run([&] { has.publish("kept"); });
      REQUIRE(test.life.wait_kept());
      const auto kept = journal.kept();
      test.fail(call, code);
      test.life.run([&] {
        waits.publish("lost");
        journal.await(waits);
      });
      test.world.run_for(runtime::kSecondNs / 10);
      CHECK_FALSE(journal.failure().ok());
      CHECK(journal.failure().text().find("journal") != std::string::npos);
      CHECK(waits.failures == 1);
      CHECK(has.failures == 1);
      test.life.run([&] {
        CHECK(later.publish("never") > kept);
        waits.publish("never");
        journal.await(asks);
        journal.await(waits);
        CHECK(later.failures == 0);  // never inside a call
      });
      test.world.run_for(runtime::kSecondNs / 10);
      test.life.run([&] { later.remove(1, 1); });
      test.world.run_for(5 * runtime::kSecondNs);
      for (const User* user : {&waits, &has, &later, &asks}) {
        CHECK(user->failures == 1);
        CHECK(user->heard.empty());
      }
      CHECK(never.failures == 0);
      CHECK(journal.kept() == kept);
      test.life.close();
    }
  }
}

TEST_CASE("journal: a next file that cannot be made fails it, after the write under way") {
  for (const auto call : {SimDiskCall::kName, SimDiskCall::kSync, SimDiskCall::kWrite}) {
    JournalTest test(kSmall);
    test.life.open();
    test.life.settle();
    User user(test.life, 1);
    fill(test, user, 1);  // the next batch begins file 2, and file 3 is made ready
    const auto kept = test.life.journal->kept();
    test.life.run([&] {
      user.publish("one more");
      test.life.journal->await(user);
    });
    test.fail(call, Code::kIo, call == SimDiskCall::kName ? 1 : 3);
    test.life.run([&] { user.publish(std::string(5000, 'x')); });
    test.world.run_for(runtime::kSecondNs);
    CHECK_FALSE(test.life.journal->failure().ok());
    CHECK(user.failures == 1);
    CHECK(test.life.journal->kept() >= kept);
    test.life.close();
    test.life.host.drive().forget_failures();
    JournalsRead read = test.life.read();
    CHECK_FALSE(read.unknown_damage);
    CHECK(read.queues[user.qid].published.size() >= 4);
  }
}

TEST_CASE("journal: open says what went wrong") {
  for (const auto call : {SimDiskCall::kName, SimDiskCall::kSync, SimDiskCall::kWrite}) {
    JournalTest test;
    test.fail(call, Code::kIo);
    User user(test.life, 1);
    test.life.run([&] { user.publish("early"); });
    test.life.begin_open(0);
    REQUIRE(test.world.run_until([&] { return test.life.opened; }));
    CHECK(test.life.open_status.code() == Code::kIo);
    test.world.run_for(runtime::kSecondNs);
    CHECK(user.failures == 1);
    test.life.close();
  }
}

TEST_CASE("journal: closing writes what was appended") {
  JournalTest test(kSmall);
  User user(test.life, 1);
  SUBCASE("while a write is under way") {
    test.life.open();
    test.life.run([&] { user.publish("a"); });
    test.world.run_for(50 * runtime::kMicrosecondNs);
    test.life.run([&] { user.publish("b"); });
    test.life.close();
    CHECK(test.bodies(user) == std::vector<std::string>{"a", "b"});
  }
  SUBCASE("while it is opened") {
    test.life.run([&] { user.publish("a"); });
    test.life.begin_open(0);
    test.life.run([&] { user.publish("b"); });
    test.life.close();
    CHECK(test.life.open_status.ok());
    CHECK(test.bodies(user) == std::vector<std::string>{"a", "b"});
  }
  SUBCASE("nothing, while it is opened") {
    test.life.begin_open(0);
    test.world.run_for(30 * runtime::kMicrosecondNs);
    test.life.close();
    CHECK(test.life.opened);
    CHECK(test.life.open_status.code() == Code::kClosed);
    CHECK(test.life.read().report.empty());
  }
  SUBCASE("before it is opened") {
    test.life.run([&] { user.publish("a"); });
    test.life.close();
    CHECK(test.life.journal->kept() == 0);
  }
  SUBCASE("into the next file") {
    test.life.open();
    test.life.run([&] { user.publish(std::string(5000, 'x')); });
    test.life.run([&] { user.publish("b"); });
    test.world.run_for(50 * runtime::kMicrosecondNs);
    test.life.run([&] { user.publish("c"); });
    test.life.close();
    CHECK(test.bodies(user).size() == 3);
  }
  SUBCASE("on a full disk: for that it does not wait") {
    test.life.open();
    test.life.settle();
    test.fail(SimDiskCall::kWrite, Code::kNoSpace, 100);
    test.life.run([&] {
      user.publish("a");
      test.life.journal->await(user);
    });
    test.world.run_for(2 * runtime::kSecondNs);
    test.life.close();
    CHECK(user.failures == 1);
    CHECK(user.failure.code() == Code::kNoSpace);
  }
  // What users need then is left to the next start.
  const auto files = test.life.files();
  test.life.run([&] { test.life.journal->forget(user); });
  CHECK(test.life.files() == files);
  // Nothing is written behind it.
  const auto writes = test.host.drive().calls(SimDiskCall::kWrite);
  test.world.run_for(5 * runtime::kSecondNs);
  CHECK(test.host.drive().calls(SimDiskCall::kWrite) == writes);
}

}  // namespace store_journal_test
