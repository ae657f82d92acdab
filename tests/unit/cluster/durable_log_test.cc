// The journal on a simulated disk: what was called kept is there after a crash, whatever else
// happened; snapshots lose nothing; a second process and a failing disk are refused.
#include "cluster/metadata/durable_log.h"

#include <doctest/doctest.h>

#include <memory>

#include "broker/runtime/log.h"
#include "broker/runtime/sim/sim_env.h"
#include "tests/unit/cluster/saved_fixture.h"

using namespace ringtail;
using namespace ringtail::cluster::metadata;
using runtime::Status;

namespace {

// One life of a process with a store and its log.
struct Life {
  explicit Life(runtime::SimHost& on) : host(on), env(on), store(2) {
    runtime::set_log_level(runtime::LogLevel::kError);
    log = std::make_unique<DurableLog>(
        env, store, "/data",
        DurableLog::Callbacks{[] {}, [this](const Status& why) { lost = why; }});
    env.enter([this] {
      log->open([this](runtime::Result<SavedState> saved) {
        status = saved.ok() ? Status() : saved.status();
        if (saved.ok()) store.restore(saved.value());
        opened = true;
      });
    });
    REQUIRE(host.world().run_until([this] { return opened; }));
    store.set_sink(&encoder);
  }
  ~Life() { host.drive().kill_processes(); }

  CommandResult apply(const Command& command) {
    CommandResult result = store.apply(command);
    if (!encoder.bytes().empty()) log->append(encoder.take());
    env.enter([this] { log->flush(); });
    return result;
  }
  bool settle() {
    return host.world().run_until([this] { return log->kept() == log->appended(); });
  }
  void close() {
    bool closed = false;
    env.enter([&] { log->close([&] { closed = true; }); });
    REQUIRE(host.world().run_until([&] { return closed; }));
  }

  runtime::SimHost& host;
  runtime::SimEnv env;
  Store store;
  ChangeEncoder encoder;
  std::unique_ptr<DurableLog> log;
  bool opened = false;
  Status status;
  Status lost;
};

DeclareQueue queue(const std::string& name, bool durable = true, ConnectionId owner = 0) {
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = name;
  command.record.durable = durable;
  command.record.exclusive_owner = owner;
  return command;
}

std::vector<std::string> files(Life& life) {
  return life.env.disk().list("/data/metadata").value();
}

}  // namespace

TEST_CASE("durable records outlive a crash, transient ones do not, ids are not given twice") {
  runtime::SimWorld world(1);
  runtime::SimHost host(world);
  Qid first;
  Qid transient;
  {
    Life life(host);
    REQUIRE(life.status.ok());
    life.apply(PutVhost{{.name = "/"}});
    first = life.apply(queue("durable")).queue->qid;
    life.apply(queue("exclusive", true, 5));
    transient = life.apply(queue("transient", false)).queue->qid;
    life.apply(DeclareExchange{{.vhost = "/", .name = "e", .type = "topic", .durable = true}});
    life.apply(Bind{{.vhost = "/", .source = "e", .destination = "durable"}});
    life.apply(Bind{{.vhost = "/", .source = "e", .destination = "transient"}});
    REQUIRE(life.settle());
    host.drive().crash();
  }
  Life life(host);
  REQUIRE(life.status.ok());
  CHECK(life.store.queue("/", "durable")->qid == first);
  CHECK(life.store.queue("/", "exclusive") == nullptr);
  CHECK(life.store.queue("/", "transient") == nullptr);
  int bindings = 0;
  life.store.for_each_binding("/", [&](const BindingRecord& binding) {
    ++bindings;
    CHECK(binding.destination == "durable");
  });
  CHECK(bindings == 1);
  CHECK(life.apply(queue("new")).queue->qid.value > transient.value);
}

TEST_CASE("many changes share a sync") {
  runtime::SimWorld world(2);
  runtime::SimHost host(world);
  Life life(host);
  life.apply(PutVhost{{.name = "/"}});
  REQUIRE(life.settle());
  const auto before = host.drive().calls(runtime::SimDiskCall::kSync);
  for (int i = 0; i < 1000; ++i) life.apply(queue("q" + std::to_string(i)));
  REQUIRE(life.settle());
  CHECK(host.drive().calls(runtime::SimDiskCall::kSync) <= before + 2);
}

TEST_CASE("crashes at any time lose nothing that was kept") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    runtime::SimWorld world(seed);
    world.set_buggify(true);  // snapshots all the time
    runtime::SimHost host(world);
    std::mt19937 random(seed);
    std::vector<std::vector<std::string>> after;  // content after each kept number, of this life
    for (int round = 0; round < 6; ++round) {
      CAPTURE(round);
      Life life(host);
      REQUIRE_MESSAGE(life.status.ok(), life.status.text());
      const auto found = saved_lines(life.store);
      if (round == 0) {
        life.apply(PutVhost{{.name = "/"}});
      } else {
        // What was kept, perhaps followed by changes that nobody was answered for.
        CHECK(std::find(after.begin(), after.end(), found) != after.end());
      }
      const auto steps = random() % 60;
      std::vector<std::pair<std::uint64_t, std::vector<std::string>>> states = {
          {0, found}, {life.log->appended(), saved_lines(life.store)}};
      for (unsigned step = 0; step < steps; ++step) {
        life.apply(random_command(random, life.store));
        states.emplace_back(life.log->appended(), saved_lines(life.store));
        // Mostly several in a write, sometimes a rest.
        if (random() % 3 == 0) world.run_for(random() % (12 * runtime::kMillisecondNs));
      }
      after.clear();
      for (const auto& [number, lines] : states) {
        if (number >= life.log->kept()) after.push_back(lines);
      }
      if (random() % 4 == 0) {
        life.close();
        after = {saved_lines(life.store)};
      } else if (random() % 2 == 0) {
        host.drive().crash();
      }
    }
  }
}

TEST_CASE("snapshots take the place of logs, while changes go on") {
  runtime::SimWorld world(4);
  runtime::SimHost host(world);
  std::vector<std::string> expected;
  {
    Life life(host);
    life.apply(PutVhost{{.name = "/"}});
    life.apply(DeclareExchange{{.vhost = "/", .name = "e", .type = "topic", .durable = true}});
    const std::string long_key(2000, 'k');
    for (int i = 0; i < 9000; ++i) {
      const std::string name = "q" + std::to_string(i % 1500);
      if (const auto there = life.store.queue("/", name)) {
        life.apply(DeleteQueue{"/", name, there->qid});
      } else {
        life.apply(queue(name));
        life.apply(Bind{
            {.vhost = "/", .source = "e", .destination = name, .routing_key = long_key + name}});
      }
      if (i % 20 == 0) world.run_for(3 * runtime::kMillisecondNs);
    }
    REQUIRE(life.settle());
    world.run_until_idle();
    expected = saved_lines(life.store);
    const auto names = files(life);
    CHECK(names.size() == 2);
    CHECK(names[0].starts_with("log-"));
    CHECK(names[0] != "log-0000000001");
    CHECK(names[1].starts_with("snapshot-"));
    host.drive().crash();
  }
  Life life(host);
  REQUIRE(life.status.ok());
  CHECK(saved_lines(life.store) == expected);
}

TEST_CASE("a second process on the same data directory is refused") {
  runtime::SimWorld world(5);
  runtime::SimHost host(world);
  {
    Life first(host);
    REQUIRE(first.status.ok());
    runtime::SimEnv env(host);
    Store store(1);
    DurableLog second(env, store, "/data", {[] {}, [](const Status&) {}});
    Status status;
    second.open([&](runtime::Result<SavedState> saved) { status = saved.status(); });
    CHECK(status.code() == runtime::Code::kBusy);
    CHECK(status.text().find("data directory /data is in use by another node") !=
          std::string::npos);
    first.close();
  }
  Life next(host);
  CHECK(next.status.ok());
}

TEST_CASE("a failing disk: nothing more is called kept, and it is said once") {
  for (const auto call : {runtime::SimDiskCall::kWrite, runtime::SimDiskCall::kSync}) {
    runtime::SimWorld world(6);
    runtime::SimHost host(world);
    Life life(host);
    life.apply(PutVhost{{.name = "/"}});
    REQUIRE(life.settle());
    const std::uint64_t kept = life.log->kept();
    host.drive().fail_call(call, 1, runtime::Code::kIo);
    life.apply(queue("a"));
    CHECK_FALSE(life.settle());
    CHECK_FALSE(life.lost.ok());
    CHECK(life.lost.text().find("the metadata cannot be kept") != std::string::npos);
    life.apply(queue("b"));
    CHECK_FALSE(life.settle());
    CHECK(life.log->kept() == kept);
    life.close();
  }
}

TEST_CASE("every failing call while opening is an error or harmless, never a loss") {
  for (const auto call : {runtime::SimDiskCall::kRead, runtime::SimDiskCall::kWrite,
                          runtime::SimDiskCall::kSync, runtime::SimDiskCall::kName}) {
    for (std::uint64_t n = 1; n <= 8; ++n) {
      runtime::SimWorld world(7);
      runtime::SimHost host(world);
      std::vector<std::string> expected;
      {
        Life life(host);
        life.apply(PutVhost{{.name = "/"}});
        life.apply(queue("q"));
        REQUIRE(life.settle());
        expected = saved_lines(life.store);
      }
      host.drive().fail_call(call, n, runtime::Code::kIo);
      {
        Life life(host);
        if (life.status.ok()) CHECK(saved_lines(life.store) == expected);
      }
      // The failure that was ordered may still be to come; then it comes now, once.
      auto life = std::make_unique<Life>(host);
      if (!life->status.ok()) {
        life.reset();
        life = std::make_unique<Life>(host);
      }
      REQUIRE_MESSAGE(life->status.ok(), life->status.text());
      CHECK(saved_lines(life->store) == expected);
    }
  }
}

TEST_CASE("a change whose sync failed and that was found again stays") {
  runtime::SimWorld world(9);
  runtime::SimHost host(world);
  {
    Life life(host);
    life.apply(PutVhost{{.name = "/"}});
    REQUIRE(life.settle());
    host.drive().fail_call(runtime::SimDiskCall::kSync, 1, runtime::Code::kIo);
    life.apply(queue("a"));
    CHECK_FALSE(life.settle());
  }
  {
    // The file still shows what the disk never got.
    Life life(host);
    REQUIRE(life.status.ok());
    CHECK(life.store.queue("/", "a") != nullptr);
    host.drive().crash();
  }
  Life life(host);
  REQUIRE_MESSAGE(life.status.ok(), life.status.text());
  CHECK(life.store.queue("/", "a") != nullptr);
}

TEST_CASE("a missing log is named") {
  runtime::SimWorld world(8);
  runtime::SimHost host(world);
  for (int i = 0; i < 3; ++i) {
    Life life(host);
    life.apply(PutVhost{{.name = "v" + std::to_string(i)}});
    REQUIRE(life.settle());
  }
  {
    runtime::SimEnv env(host);
    REQUIRE(env.disk().remove("/data/metadata/log-0000000002").ok());
  }
  Life life(host);
  CHECK(life.status.code() == runtime::Code::kCorrupt);
  CHECK(life.status.text().find("/data/metadata/log-0000000002") != std::string::npos);
}
