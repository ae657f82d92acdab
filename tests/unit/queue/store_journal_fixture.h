// A journal on a simulated disk, with users that write down what they hear.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/log.h"
#include "broker/runtime/sim/sim_shard.h"
#include "queue/store/journal.h"
#include "queue/store/journal_reader.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::store::test {

using queue::test::body_of;
using queue::test::make_message;

// One life of a node with one shard.
class Life {
 public:
  explicit Life(runtime::SimHost& on, JournalOptions options = {})
      : host(on), node(on, runtime::NodeId{0}, 1) {
    runtime::set_log_level(runtime::LogLevel::kNone);
    REQUIRE(node.driver(0).env().disk().make_directory("/journal").ok());
    journal = std::make_unique<Journal>(node.shard(0), "/journal", options);
  }
  ~Life() {
    host.drive().kill_processes();
    journal.reset();
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void run(const std::function<void()>& code) { node.driver(0).run(code); }
  runtime::SimWorld& world() { return host.world(); }

  JournalsRead read() {
    JournalReader reader(node.driver(0).env(), "/journal", {0});
    std::optional<runtime::Result<JournalsRead>> result;
    run([&] {
      reader.start([&](runtime::Result<JournalsRead> read) { result.emplace(std::move(read)); });
    });
    REQUIRE(world().run_until([&] { return result.has_value(); }));
    REQUIRE_MESSAGE(result->ok(), result->status().text());
    return std::move(*result).value();
  }
  void begin_open(JournalFileNumber last) {
    run([&] {
      journal->open(last, [this](const runtime::Status& status) {
        CHECK_FALSE(opened);
        opened = true;
        open_status = status;
      });
    });
  }
  void open(JournalFileNumber last = 0) {
    begin_open(last);
    REQUIRE(world().run_until([this] { return opened; }));
    REQUIRE_MESSAGE(open_status.ok(), open_status.text());
  }
  // The first files are ready, and nothing is under way.
  void settle() { world().run_for(runtime::kSecondNs / 5); }
  bool wait_kept(std::uint64_t limit_ns = 60 * runtime::kSecondNs) {
    return world().run_until([this] { return journal->kept() == journal->appended(); }, limit_ns);
  }
  void close() {
    bool closed = false;
    run([&] { journal->close([&] { closed = true; }); });
    REQUIRE(world().run_until([&] { return closed; }));
  }
  std::vector<std::string> files() { return node.driver(0).env().disk().list("/journal").value(); }

  runtime::SimHost& host;
  runtime::SimNode node;
  std::unique_ptr<Journal> journal;
  bool opened = false;
  runtime::Status open_status;
};

class User : public JournalUser {
 public:
  User(Life& life, std::uint64_t number) : qid{number}, life_(life) {}
  ~User() { life_.journal->forget(*this); }

  JournalPosition publish(const std::string& body, int count = 1) {
    Journal& journal = *life_.journal;
    journal.begin_publish(*this, qid);
    for (int i = 0; i < count; ++i) {
      journal.add(position_at(0, ++published), *make_message(body), kNoExpiration, false);
    }
    return journal.end_publish();
  }
  JournalPosition remove(std::uint64_t first, std::uint64_t last) {
    const PositionRange range{position_at(0, first), position_at(0, last)};
    return life_.journal->remove(*this, qid, {&range, 1});
  }

  bool journal_kept(JournalPosition kept) noexcept override {
    heard.push_back(kept);
    if (on_kept) on_kept();
    return kept < wanted;
  }
  void journal_failed(const runtime::Status& why) noexcept override {
    ++failures;
    failure = why;
  }
  void leave_journal(JournalFileNumber last) noexcept override {
    told.push_back(last);
    if (leaves) life_.journal->left(*this, last + 1);
  }

  const Qid qid;
  std::uint64_t published = 0;
  std::vector<JournalPosition> heard;
  JournalPosition wanted = 0;
  std::function<void()> on_kept;
  int failures = 0;
  runtime::Status failure;
  std::vector<JournalFileNumber> told;
  bool leaves = false;  // at once when it is told

 private:
  Life& life_;
};

}  // namespace ringtail::queue::store::test
