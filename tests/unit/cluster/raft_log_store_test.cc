// Raft's files on a simulated disk: what was called stored is there after a crash, whatever else
// happened; what is damaged is named.
#include "cluster/raft/raft_log_store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/unit/cluster/raft_store_fixture.h"

namespace raft_log_store_test {

using namespace ringtail;
using namespace ringtail::cluster::raft;
using runtime::Code;
using runtime::Status;

namespace {

std::vector<std::string> payloads_of(const LoadedLog& loaded) {
  std::vector<std::string> payloads;
  for (const StoredEntry& entry : loaded.entries) payloads.push_back(entry.payload);
  return payloads;
}

// A log with its configuration as entry 1.
void begin(StoreLife& life) {
  bool done = false;
  life.env.enter([&] {
    life.store.bootstrap({{{1}, "one", Role::kVoter}}, [&](const Status& status) {
      CHECK(status.ok());
      done = true;
    });
  });
  REQUIRE(life.host.world().run_until([&] { return done; }));
}

// Writes over a file's content, as damage would.
void damage(StoreLife& life, const std::string& path, std::uint64_t offset, std::string bytes) {
  auto file = life.env.disk().open(path, runtime::OpenMode::kReadWrite);
  REQUIRE(file.ok());
  runtime::DiskRequest request;
  bool done = false;
  request.content = runtime::as_bytes(bytes);
  request.offset = offset;
  request.done = [&](const Status& status) {
    CHECK(status.ok());
    done = true;
  };
  life.env.enter([&] { file.value()->write_at_and_sync(request); });
  REQUIRE(life.host.world().run_until([&] { return done; }));
}

}  // namespace

TEST_CASE("raft store: a new directory is empty; entries, term and vote come back") {
  runtime::SimWorld world(1);
  runtime::SimHost host(world);
  {
    StoreLife life(host);
    REQUIRE(life.status.ok());
    CHECK(life.loaded.entries.empty());
    CHECK(life.loaded.first == 1);
    CHECK(life.loaded.ballot.term == 0);
    begin(life);
    life.append(1, {"a", "b"}, 2);
    life.append(1, {"c"}, 4);
    REQUIRE(life.settle());
    CHECK(life.acked == 2);
    REQUIRE(life.store.set_term(3).ok());
    REQUIRE(life.store.set_vote({7}).ok());
    host.drive().crash();
  }
  StoreLife life(host);
  REQUIRE_MESSAGE(life.status.ok(), life.status.text());
  REQUIRE(life.loaded.entries.size() == 4);
  CHECK(life.loaded.entries[0].kind == EntryKind::kChange);
  CHECK(life.loaded.entries[3].payload == "c");
  CHECK(life.loaded.ballot.term == 3);
  CHECK(life.loaded.ballot.vote.value == 7);
}

TEST_CASE("raft store: many appends share a sync") {
  runtime::SimWorld world(2);
  runtime::SimHost host(world);
  StoreLife life(host, {});
  begin(life);
  const auto before = host.drive().calls(runtime::SimDiskCall::kSync);
  for (Index i = 0; i < 500; ++i) life.append(1, {"entry"}, 2 + i);
  REQUIRE(life.settle());
  CHECK(life.acked == 500);
  CHECK(host.drive().calls(runtime::SimDiskCall::kSync) <= before + 2);
}

TEST_CASE("raft store: what is cut off is gone, and what follows it is there") {
  runtime::SimWorld world(3);
  runtime::SimHost host(world);
  {
    StoreLife life(host);
    begin(life);
    life.append(1, {"a", "b", "c"}, 2);
    life.env.enter([&] { life.store.truncate(3); });
    REQUIRE(life.store.set_term(2).ok());
    life.append(2, {"B"}, 3);
    REQUIRE(life.settle());
  }
  StoreLife life(host);
  REQUIRE(life.status.ok());
  REQUIRE(life.loaded.entries.size() == 3);
  CHECK(life.loaded.entries[1].payload == "a");
  CHECK(life.loaded.entries[2].payload == "B");
}

TEST_CASE("raft store: files that a snapshot covers are removed, and the rest can be read") {
  runtime::SimWorld world(4);
  runtime::SimHost host(world);
  std::string payload(3 * 1024 * 1024 + 17, 'x');
  payload[2 * 1024 * 1024] = 'y';
  {
    StoreLife life(host);
    begin(life);
    for (Index i = 2; i <= 200; ++i) {
      life.append(1, {"entry " + std::to_string(i)}, i);
      REQUIRE(life.settle());
    }
    CHECK(life.store.log_files() > 10);
    // In pieces that do not fit the file's parts.
    const std::string_view all = payload;
    REQUIRE(
        life.put(180, 1, {all.substr(0, 10), all.substr(10, 1500000), all.substr(1500010)}).ok());
    life.append(1, {"last"}, 201);
    REQUIRE(life.settle());
    CHECK(life.store.log_files() < 6);
    bool got = false;
    life.env.enter([&] {
      life.store.get_snapshot([&](runtime::Result<StoredSnapshot> snapshot) {
        REQUIRE(snapshot.ok());
        CHECK(snapshot.value().payload_size == payload.size());
        got = true;
      });
    });
    REQUIRE(world.run_until([&] { return got; }));
    life.close();
  }
  StoreLife life(host);
  REQUIRE_MESSAGE(life.status.ok(), life.status.text());
  REQUIRE(life.loaded.snapshot);
  CHECK(life.loaded.snapshot->index == 180);
  CHECK(std::string_view(reinterpret_cast<const char*>(life.loaded.snapshot->payload.get()),
                         life.loaded.snapshot->payload_size) == payload);
  CHECK(life.loaded.first == 176);  // the trailing ones
  CHECK(life.loaded.entries.size() == 26);
  CHECK(life.loaded.entries.back().payload == "last");
}

TEST_CASE("raft store: an installed snapshot takes the place of the log") {
  for (const bool crash : {false, true}) {
    runtime::SimWorld world(5);
    runtime::SimHost host(world);
    {
      StoreLife life(host);
      begin(life);
      life.append(1, {"a", "b", "c"}, 2);
      REQUIRE(life.settle());
      REQUIRE(life.store.set_term(9).ok());
      REQUIRE(life.put(50, 8, {"state"}, true).ok());
      if (!crash) life.append(9, {"after"}, 51);
      REQUIRE(life.settle());
      if (crash) host.drive().crash();
    }
    StoreLife life(host);
    REQUIRE_MESSAGE(life.status.ok(), life.status.text());
    CHECK(life.loaded.first == 51);
    CHECK(life.loaded.entries.size() == (crash ? 0 : 1));
  }
}

TEST_CASE("raft store: a crash between a snapshot and the log's restart installs it all the same") {
  runtime::SimWorld world(6);
  runtime::SimHost host(world);
  {
    StoreLife life(host);
    begin(life);
    life.append(1, {"a", "b", "c"}, 2);
    REQUIRE(life.settle());
    REQUIRE(life.store.set_term(9).ok());
    // The snapshot's file is there, and the write that restarts the log never comes.
    host.drive().fail_call(runtime::SimDiskCall::kWrite, 4, Code::kIo);
    CHECK_FALSE(life.put(50, 8, {"state"}, true).ok());
    CHECK_FALSE(life.lost.ok());
    host.drive().forget_failures();
  }
  for (int start = 0; start < 3; ++start) {
    StoreLife life(host);
    REQUIRE_MESSAGE(life.status.ok(), life.status.text());
    CHECK(life.loaded.first == 51);
    CHECK(life.loaded.entries.size() == static_cast<std::size_t>(start == 2 ? 1 : 0));
    CHECK(life.loaded.snapshot->index == 50);
    if (start == 1) {
      life.append(9, {"after"}, 51);
      REQUIRE(life.settle());
    }
  }
}

TEST_CASE("raft store: a torn tail is left out, damage is named") {
  runtime::SimWorld world(7);
  runtime::SimHost host(world);
  const std::string last_log = "/data/raft/log-0000000001";
  const auto fill = [&] {
    StoreLife life(host, {});
    begin(life);
    for (Index i = 2; i <= 5; ++i) {
      life.append(1, {"entry " + std::to_string(i)}, i);
      REQUIRE(life.settle());
    }
  };
  fill();
  const std::uint64_t size = host.drive().content(last_log).value().size();
  SUBCASE("of the last record") {
    {
      StoreLife other(host, {});
      // This start has begun log 2, which says where log 1 ends: it is damaged in the middle now.
      damage(other, last_log, size - 60, "~");
    }
    StoreLife life(host, {});
    CHECK(life.status.code() == Code::kCorrupt);
    CHECK(life.status.text().find(last_log + " is damaged at offset") != std::string::npos);
  }
  SUBCASE("at the end of the last log") {
    {
      runtime::SimEnv env(host);
      auto file = env.disk().open(last_log, runtime::OpenMode::kReadWrite);
      REQUIRE(file.ok());
      std::string bytes = "~";
      runtime::DiskRequest request;
      bool done = false;
      request.content = runtime::as_bytes(bytes);
      request.offset = size - 1;
      request.done = [&](const Status&) { done = true; };
      env.enter([&] { file.value()->write_at_and_sync(request); });
      REQUIRE(world.run_until([&] { return done; }));
    }
    for (int start = 0; start < 2; ++start) {
      StoreLife life(host, {});
      REQUIRE_MESSAGE(life.status.ok(), life.status.text());
      CHECK(life.loaded.entries.size() == 4);
    }
  }
  SUBCASE("a log that is missing") {
    {
      StoreLife two(host, {});
      StoreLife three(host, {});
      REQUIRE(three.env.disk().remove("/data/raft/log-0000000002").ok());
    }
    StoreLife life(host, {});
    CHECK(life.status.code() == Code::kCorrupt);
    CHECK(life.status.text().find("log-0000000002 is missing") != std::string::npos);
  }
}

TEST_CASE("raft store: a ballot that is gone and a damaged snapshot are named") {
  runtime::SimWorld world(7);
  runtime::SimHost host(world);
  const auto fill = [&] {
    StoreLife life(host, {});
    begin(life);
    for (Index i = 2; i <= 5; ++i) {
      life.append(1, {"entry " + std::to_string(i)}, i);
      REQUIRE(life.settle());
    }
  };
  fill();
  SUBCASE("term and vote") {
    {
      StoreLife other(host, {});
      REQUIRE(other.env.disk().remove("/data/raft/ballot").ok());
    }
    StoreLife life(host, {});
    CHECK(life.status.code() == Code::kCorrupt);
    CHECK(life.status.text().find("ballot is missing") != std::string::npos);
  }
  SUBCASE("a snapshot") {
    {
      StoreLife other(host, {});
      REQUIRE(other.put(4, 1, {std::string(100, 's')}).ok());
      damage(other, "/data/raft/snapshot-0000000004", 150, "~");
    }
    StoreLife life(host, {});
    CHECK(life.status.code() == Code::kCorrupt);
    CHECK(life.status.text().find("snapshot-0000000004 is damaged at offset") != std::string::npos);
  }
}

namespace {

// The log as it should be, after each thing that was asked for.
struct Model {
  Index first = 1;
  std::vector<std::string> payloads;  // from `first` on
  Index next() const { return first + payloads.size(); }
};

// A life of random work; what was asked for, and how much of it was called stored.
struct Work {
  std::vector<Model> after;  // [0]: as it was found
  std::size_t kept = 0;
  Index snapshot_kept = 0;
  Index snapshot_asked = 0;
  Ballot ballot;
  Ballot ballot_asked;
};

void work(StoreLife& life, Work& history, Model model, unsigned seed, int steps) {
  std::mt19937 random(seed);
  Term term = std::max<Term>(history.ballot.term, 1);
  for (int step = 0; step < steps && life.lost.ok(); ++step) {
    switch (random() % 8) {
      case 0:
        history.ballot_asked = {term + 1, {}};
        if (!life.store.set_term(++term).ok()) return;
        history.ballot = history.ballot_asked;
        break;
      case 1: {
        if (model.payloads.size() < 12 || model.first + 8 > model.next()) break;
        const Index cut = model.next() - random() % 4;
        if (cut <= history.snapshot_asked + 1) break;
        life.env.enter([&] { life.store.truncate(cut); });
        model.payloads.resize(cut - model.first);
        history.after.push_back(model);
        break;
      }
      case 2:
        if (!life.store.idle() || life.store.putting_snapshot() || model.next() < 3) break;
        history.snapshot_asked = model.next() - 2;
        if (history.snapshot_asked <= history.snapshot_kept) break;
        if (life.put(history.snapshot_asked, 1, {"state"}).ok()) {
          history.snapshot_kept = history.snapshot_asked;
        }
        break;
      default: {
        std::vector<EntryView> views;
        std::vector<std::string> texts;
        for (unsigned i = 0; i <= random() % 3; ++i) {
          texts.push_back(std::to_string(seed) + "/" + std::to_string(step) + "/" +
                          std::string(random() % 40, 'p'));
        }
        for (const std::string& text : texts) views.push_back({1, EntryKind::kCommand, text});
        const Index first = model.next();
        for (const std::string& text : texts) model.payloads.push_back(text);
        history.after.push_back(model);
        const std::size_t number = history.after.size() - 1;
        life.env.enter([&] {
          life.store.append(first, views,
                            [&history, number] { history.kept = std::max(history.kept, number); });
        });
        break;
      }
    }
    if (random() % 3 == 0) life.host.world().run_for(random() % (12 * runtime::kMillisecondNs));
  }
}

// Whether what was found is one of the states from the last kept one on.
bool found(const LoadedLog& loaded, const Work& history) {
  const auto end = loaded.first + loaded.entries.size();
  for (std::size_t i = history.kept; i < history.after.size(); ++i) {
    const Model& model = history.after[i];
    if (model.next() != end || model.first > loaded.first) continue;
    bool same = true;
    for (std::size_t j = 0; j < loaded.entries.size() && same; ++j) {
      same = loaded.entries[j].payload == model.payloads[loaded.first + j - model.first];
    }
    if (same) return true;
  }
  return false;
}

void lives(std::uint64_t seed, const std::function<void(StoreLife&, int)>& before_work) {
  runtime::SimWorld world(seed);
  world.set_buggify(seed % 2 == 0);
  runtime::SimHost host(world);
  Work history;
  {
    StoreLife life(host);
    REQUIRE(life.status.ok());
    begin(life);
  }
  history.after.push_back({1, {encode_configuration({{{1}, "one", Role::kVoter}})}});
  history.ballot = history.ballot_asked = {1, {}};
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    StoreLife life(host);
    REQUIRE_MESSAGE(life.status.ok(), life.status.text());
    CHECK(found(life.loaded, history));
    CHECK((life.loaded.ballot.term == history.ballot.term ||
           life.loaded.ballot.term == history.ballot_asked.term));
    const Index snapshot = life.loaded.snapshot ? life.loaded.snapshot->index : 0;
    CHECK((snapshot == history.snapshot_kept || snapshot == history.snapshot_asked));
    Work next;
    next.ballot = next.ballot_asked = life.loaded.ballot;
    next.snapshot_kept = next.snapshot_asked = snapshot;
    const Model model{life.loaded.first, payloads_of(life.loaded)};
    next.after.push_back(model);
    history = std::move(next);
    before_work(life, round);
    work(life, history, model, static_cast<unsigned>(seed * 10 + static_cast<unsigned>(round)), 40);
    host.drive().forget_failures();
    if (seed % 3 != 0) host.drive().crash();
  }
}

}  // namespace

TEST_CASE("raft store: crashes at any time lose nothing that was stored") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    lives(seed, [](StoreLife&, int) {});
  }
}

TEST_CASE("raft store: each call that fails once ends it, and loses nothing that was stored") {
  for (const auto call :
       {runtime::SimDiskCall::kWrite, runtime::SimDiskCall::kSync, runtime::SimDiskCall::kName}) {
    for (std::uint64_t n = 1; n <= 40; ++n) {
      CAPTURE(static_cast<int>(call));
      CAPTURE(n);
      lives(n + 1000, [&](StoreLife& life, int round) {
        if (round % 2 == 0) life.host.drive().fail_call(call, n, Code::kIo);
      });
    }
  }
}

}  // namespace raft_log_store_test
