// The journal through crashes at any time: what was called kept is read back, in order, once, and
// nothing is read that was never said.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/queue/store_journal_fixture.h"

namespace store_journal_crash_test {

using namespace ringtail;
using namespace ringtail::queue;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;
using runtime::SimDiskCall;

namespace {

Position position_of(std::uint64_t number) { return position_at(number % 5 == 0 ? 1 : 0, number); }

// What a queue's messages are, as far as they are elsewhere than in the journal, and what was said
// of them in this life of the node.
struct Model {
  struct Change {
    bool is_remove;
    std::uint64_t number;
    JournalPosition position;
  };
  std::map<std::uint64_t, std::string> bodies;  // of all numbers, the last that was said
  std::map<std::uint64_t, std::string> stored;  // on stable storage
  std::uint64_t stored_last = 0;
  std::map<std::uint64_t, std::string> live;
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::string> at_start;
  std::vector<Change> changes;
  JournalPosition deleted_at = 0;
  bool dead = false;
  bool closing = false;
  bool dead_kept = false;
};

class CrashUser final : public JournalUser {
 public:
  CrashUser(Journal& journal, Model& model, Qid qid)
      : journal_(journal), model_(model), qid_(qid) {}

  void publish(const MessageRef& message) {
    const std::uint64_t number = ++model_.last;
    journal_.begin_publish(*this, qid_);
    journal_.add(position_of(number), *message, kNoExpiration, false);
    model_.changes.push_back({false, number, journal_.end_publish()});
    model_.live[number] = model_.bodies[number] = body_of(message);
  }
  void remove(std::uint64_t number) {
    const PositionRange range{position_of(number), position_of(number)};
    model_.changes.push_back({true, number, journal_.remove(*this, qid_, {&range, 1})});
    model_.live.erase(number);
  }
  void delete_queue() {
    model_.deleted_at = journal_.deleted(qid_);
    model_.dead = true;
    journal_.forget(*this);
  }
  // All of it is elsewhere.
  void leave() {
    if (!leaving_) return;
    leaving_ = false;
    model_.stored = model_.live;
    model_.stored_last = model_.last;
    journal_.left(*this, journal_.current_file());
  }

  bool journal_kept(JournalPosition kept) noexcept override {
    CHECK(kept == journal_.kept());
    return kept < journal_.appended();
  }
  void journal_failed(const runtime::Status& why) noexcept override {
    // A journal that is closed does not wait for room.
    CHECK(why.code() == runtime::Code::kNoSpace);
    CHECK(model_.closing);
  }
  void leave_journal(JournalFileNumber last) noexcept override {
    CHECK(last < journal_.current_file());
    CHECK_FALSE(leaving_);
    leaving_ = true;
  }

 private:
  Journal& journal_;
  Model& model_;
  const Qid qid_;
  bool leaving_ = false;
};

class CrashTest {
 public:
  explicit CrashTest(unsigned seed) : world_(seed), host_(world_), random_(seed) {
    for (std::uint64_t qid = 1; qid <= 5; ++qid) models_[qid];
  }
  void run() {
    for (int round = 0; round < 5; ++round) {
      CAPTURE(round);
      // Old files go before this life gives up any of its own.
      const bool keeps_old = below(4) == 0;
      Life life(
          host_,
          {.file_size = 600 + below(3000), .file_messages = 0, .files = keeps_old ? 1000U : 2U});
      JournalsRead read = life.read();
      check(read);
      const auto remove_old = [&] {
        for (const std::string& path : read.files) {
          CHECK(life.node.driver(0).env().disk().remove(path).ok());
        }
      };
      const bool before_opening = below(2) == 0;
      if (!keeps_old && before_opening) remove_old();
      life.open(read.last_file);
      if (!keeps_old && !before_opening) remove_old();
      live(life);
    }
  }
  int torn = 0;
  int recycled = 0;

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void live(Life& life) {
    std::map<std::uint64_t, std::unique_ptr<CrashUser>> users;
    for (auto& [qid, model] : models_) {
      if (!model.dead) users[qid] = std::make_unique<CrashUser>(*life.journal, model, Qid{qid});
    }
    const std::uint64_t steps = below(120);
    for (std::uint64_t step = 0; step < steps; ++step) {
      life.run([&] { act(life, users); });
      if (below(3) == 0) world_.run_for(below(12 * runtime::kMillisecondNs));
      if (below(100) == 0) {
        host_.drive().fail_call(SimDiskCall::kWrite, 1 + below(3), runtime::Code::kNoSpace);
      }
    }
    end(life);
  }
  void act(Life& life, std::map<std::uint64_t, std::unique_ptr<CrashUser>>& users) {
    if (users.empty()) return;
    auto at = std::next(users.begin(), static_cast<std::ptrdiff_t>(below(users.size())));
    Model& model = models_[at->first];
    CrashUser& user = *at->second;
    const std::uint64_t what = below(40);
    if (what < 20 || model.live.empty()) {
      const MessageRef message = new_message();
      user.publish(message);
      life.journal->await(user);
      // Fan-out: its content is written once.
      if (below(3) == 0) users.begin()->second->publish(message);
    } else if (what < 30) {
      user.remove(
          std::next(model.live.begin(), static_cast<std::ptrdiff_t>(below(model.live.size())))
              ->first);
    } else if (what < 39) {
      user.leave();
    } else if (below(8) == 0) {
      user.delete_queue();
      users.erase(at);
    }
  }
  MessageRef new_message() {
    return make_message(std::to_string(++messages_) + std::string(below(2) * below(700), '.'));
  }
  void end(Life& life) {
    switch (below(4)) {
      case 0:
        for (auto& [qid, model] : models_) model.closing = true;
        life.close();
        break;
      case 1:
        host_.drive().kill_processes();
        break;
      default:
        host_.drive().crash();
        break;
    }
    kept_ = life.journal->kept();
    for (auto& [qid, model] : models_) {
      if (model.deleted_at != 0 && model.deleted_at <= kept_) model.dead_kept = true;
      model.deleted_at = 0;
      model.closing = false;
    }
  }

  void check(JournalsRead& read) {
    CHECK_FALSE(read.unknown_damage);
    for (const std::string& line : read.report) {
      CAPTURE(line);
      const bool is_torn = line.find("cut off") != std::string::npos;
      const bool is_unready = line.find("not ready") != std::string::npos;
      CHECK((is_torn || is_unready));
      torn += is_torn;
    }
    // A number that is missing between two of one life would be a file that was lost.
    if (!read.files.empty() && !read.files.front().ends_with("-0000000001")) ++recycled;
    for (auto& [qid, queue] : read.queues) CHECK(models_.contains(qid.value));
    for (auto& [qid, model] : models_) {
      CAPTURE(qid);
      check(model, read.queues[Qid{qid}]);
    }
  }
  void check(Model& model, const JournaledQueue& queue) {
    CHECK(queue.damage.empty());
    if (model.dead_kept) CHECK(queue.published.empty());
    if (model.dead) return;
    std::map<std::uint64_t, std::string> found = model.stored;
    std::uint64_t last = model.stored_last;
    std::uint64_t before = 0;
    for (const StoredMessage& message : queue.published) {
      const std::uint64_t number = number_of(message.position);
      CHECK(number > before);
      before = number;
      CHECK(message.position == position_of(number));
      found[number] = body_of(message.message);
    }
    last = std::max(last, before);
    for (const auto& [lane, set] : queue.removed) {
      for (const auto& [first, until] : set.ranges()) {
        for (std::uint64_t number = first; number <= until; ++number) {
          if (lane == lane_of(position_of(number))) found.erase(number);
        }
        last = std::max(last, until);
      }
    }
    for (const auto& [number, body] : found) CHECK(model.bodies[number] == body);
    // What has to be there, and what must not.
    std::map<std::uint64_t, std::string> expected = model.at_start;
    for (const Model::Change& change : model.changes) {
      if (!change.is_remove) {
        if (change.position <= kept_) expected[change.number] = model.bodies[change.number];
        continue;
      }
      expected.erase(change.number);
      if (change.position <= kept_) CHECK_FALSE(found.contains(change.number));
    }
    for (const auto& [number, body] : expected) CHECK(found.contains(number));
    model.stored = model.live = model.at_start = found;
    model.stored_last = model.last = last;
    model.changes.clear();
  }

  runtime::SimWorld world_;
  runtime::SimHost host_;
  std::mt19937_64 random_;
  std::map<std::uint64_t, Model> models_;
  std::uint64_t messages_ = 0;
  JournalPosition kept_ = 0;
};

}  // namespace

TEST_CASE("journal: crashes at any time lose nothing that was kept, and bring nothing back") {
  int torn = 0;
  int recycled = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    CrashTest test(seed);
    test.run();
    torn += test.torn;
    recycled += test.recycled;
  }
  CHECK(torn > 20);
  CHECK(recycled > 100);
}

}  // namespace store_journal_crash_test
