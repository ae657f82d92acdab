#include "broker/connection_registry.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/mailbox.h"
#include "cluster/metadata/store.h"

namespace connection_registry_test {

using namespace ringtail;
using namespace ringtail::broker;
using namespace ringtail::cluster::metadata;

namespace {

// The registry touches nothing outside.
struct NoEnv : runtime::Env {
  runtime::Clock& clock() override { std::abort(); }
  runtime::Timers& timers() override { std::abort(); }
  runtime::Rng& rng() override { std::abort(); }
  runtime::Disk& disk() override { std::abort(); }
  runtime::Net& net() override { std::abort(); }
};

struct NoWaker : runtime::Waker {
  void wake() noexcept override {}
};

// Speaks for any number of connections and channels, and keeps the last answer.
struct Asker : runtime::Actor {
  void receive(runtime::LetterPtr letter) noexcept override {
    if (letter->kind == kAdmitted) {
      const auto& answer = runtime::letter_cast<Admitted>(*letter);
      verdict = answer.admission;
      limit = answer.limit;
    } else {
      const auto& answer = runtime::letter_cast<ChannelAdmitted>(*letter);
      verdict = answer.admission;
      limit = answer.limit;
    }
  }
  std::optional<Admission> verdict;
  std::uint64_t limit = 0;
};

struct Fixture {
  NoEnv env;
  NoWaker waker;
  runtime::Mailboxes mailboxes{1};
  runtime::Shard shard{runtime::NodeId{0}, runtime::ShardId{0}, env, mailboxes};
  runtime::Config config;
  Store store{1};
  ConnectionRegistry registry{shard, config, store};
  Asker asker;
  runtime::Address self = shard.add(asker);

  Fixture() {
    mailboxes.set_waker(runtime::ShardId{0}, &waker);
    store.apply(PutUser{{.name = "u"}});
    store.apply(PutUser{{.name = "v"}});
    store.apply(PutVhost{{.name = "other"}});
  }

  template <typename L>
  void post(std::unique_ptr<L> letter) {
    shard.post(self, ConnectionRegistry::address(shard.node()), std::move(letter));
    while (shard.run_turn()) {
    }
  }
  Admission admit(std::uint64_t connection, const std::string& user = "u",
                  const std::string& vhost = "/") {
    auto letter = std::make_unique<Admit>();
    letter->connection = connection;
    letter->user = user;
    letter->vhost = vhost;
    asker.verdict.reset();
    post(std::move(letter));
    return asker.verdict.value();
  }
  void leave(std::uint64_t connection) {
    auto letter = std::make_unique<Leave>();
    letter->connection = connection;
    post(std::move(letter));
  }
  void channels(std::uint64_t connection, std::uint32_t count) {
    auto letter = std::make_unique<ChannelCounts>();
    letter->counts.push_back({connection, count});
    post(std::move(letter));
  }
  Admission admit_channel(std::uint64_t connection, std::uint32_t count) {
    auto letter = std::make_unique<AdmitChannel>();
    letter->connection = connection;
    letter->channels = count;
    asker.verdict.reset();
    post(std::move(letter));
    return asker.verdict.value();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "without limits everybody is admitted and counted") {
  CHECK(admit(1) == Admission::kYes);
  CHECK(admit(2) == Admission::kYes);
  CHECK(admit(3, "v", "other") == Admission::kYes);
  CHECK(registry.connections() == 3);
  CHECK(registry.connections_of_user("u") == 2);
  CHECK(registry.connections_of_vhost("other") == 1);
  leave(1);
  leave(1);    // twice is once
  leave(999);  // never admitted
  CHECK(registry.connections_of_user("u") == 1);
  leave(2);
  leave(3);
  CHECK(registry.connections() == 0);
  CHECK(registry.connections_of_user("u") == 0);
  CHECK(registry.connections_of_vhost("/") == 0);
}

TEST_CASE_FIXTURE(Fixture, "limits of a vhost, of a user, of the node") {
  store.apply(SetVhostLimits{"/", {.max_connections = 2}});
  CHECK(admit(1) == Admission::kYes);
  CHECK(admit(2, "v") == Admission::kYes);
  CHECK(admit(3) == Admission::kVhostFull);
  CHECK(asker.limit == 2);
  CHECK(admit(4, "u", "other") == Admission::kYes);
  leave(3);  // a refused one holds no place and gives none back
  CHECK(admit(5) == Admission::kVhostFull);
  leave(1);
  CHECK(admit(6) == Admission::kYes);

  store.apply(SetVhostLimits{"/", {}});
  store.apply(SetUserLimits{"u", {.max_connections = 2}});
  CHECK(admit(7) == Admission::kUserFull);
  CHECK(asker.limit == 2);
  CHECK(admit(8, "v") == Admission::kYes);
  // With both reached the vhost's is told.
  store.apply(SetVhostLimits{"/", {.max_connections = 1}});
  CHECK(admit(9) == Admission::kVhostFull);

  config.connection_max = 3;
  CHECK(admit(10, "v", "other") == Admission::kNodeFull);
  CHECK(asker.limit == 3);
}

TEST_CASE_FIXTURE(Fixture, "a limit of 0 admits nobody") {
  store.apply(SetUserLimits{"u", {.max_connections = 0}});
  CHECK(admit(1) == Admission::kUserFull);
  CHECK(asker.limit == 0);
  store.apply(SetVhostLimits{"/", {.max_connections = 0}});
  CHECK(admit(2, "v") == Admission::kVhostFull);
  CHECK(registry.connections() == 0);
}

TEST_CASE_FIXTURE(Fixture, "what is gone meanwhile") {
  CHECK(admit(1, "u", "nowhere") == Admission::kNoVhost);
  CHECK(admit(2, "nobody") == Admission::kNoUser);
  CHECK(registry.connections() == 0);
}

TEST_CASE_FIXTURE(Fixture, "channels of a user, over all connections") {
  store.apply(SetUserLimits{"u", {.max_channels = 3}});
  REQUIRE(admit(1) == Admission::kYes);
  REQUIRE(admit(2) == Admission::kYes);
  CHECK(admit_channel(1, 1) == Admission::kYes);
  CHECK(admit_channel(1, 2) == Admission::kYes);
  CHECK(admit_channel(2, 1) == Admission::kYes);
  CHECK(registry.channels_of_user("u") == 3);
  CHECK(admit_channel(2, 2) == Admission::kUserFull);
  CHECK(asker.limit == 3);
  CHECK(registry.channels_of_user("u") == 3);
  channels(1, 1);  // one was closed
  CHECK(admit_channel(2, 2) == Admission::kYes);
  // A connection takes its channels with it, and what is said of it afterwards does not count.
  leave(2);
  CHECK(registry.channels_of_user("u") == 1);
  channels(2, 5);
  CHECK(registry.channels_of_user("u") == 1);
  CHECK(admit_channel(2, 1) == Admission::kNoUser);
  leave(1);
  CHECK(registry.channels_of_user("u") == 0);
}

TEST_CASE_FIXTURE(Fixture, "channels are counted before there is a limit") {
  REQUIRE(admit(1) == Admission::kYes);
  channels(1, 2);
  store.apply(SetUserLimits{"u", {.max_channels = 2}});
  CHECK(admit_channel(1, 3) == Admission::kUserFull);
  store.apply(SetUserLimits{"u", {.max_channels = 0}});
  CHECK(admit_channel(1, 1) == Admission::kUserFull);
  store.apply(SetUserLimits{"u", {}});
  CHECK(admit_channel(1, 3) == Admission::kYes);
}

}  // namespace connection_registry_test
