#include "cluster/metadata/service.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "broker/runtime/mailbox.h"

using namespace ringtail;
using namespace ringtail::cluster::metadata;

namespace {

// The metadata touches nothing outside.
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

// Proposes, and notes the answers and what each shard knew when they came.
struct Client : runtime::Actor {
  explicit Client(runtime::Shard& on) : shard(on), self(on.add(*this)) {}
  void propose(std::uint64_t request, Command command) {
    auto letter = std::make_unique<Propose>();
    letter->request = request;
    letter->command = std::move(command);
    shard.post(self, Service::owner(shard.node()), std::move(letter));
  }
  void receive(runtime::LetterPtr letter) noexcept override {
    auto& proposed = runtime::letter_cast<Proposed>(*letter);
    requests.push_back(proposed.request);
    results.push_back(proposed.result);
    if (on_answer) on_answer(proposed.result);
  }

  runtime::Shard& shard;
  runtime::Address self;
  std::vector<std::uint64_t> requests;
  std::vector<CommandResult> results;
  std::function<void(const CommandResult&)> on_answer;
};

// Shards of one node, driven by hand on this thread.
struct Node {
  explicit Node(std::uint16_t count) : mailboxes(count) {
    for (std::uint16_t i = 0; i < count; ++i) {
      mailboxes.set_waker(runtime::ShardId{i}, &waker);
      shards.push_back(std::make_unique<runtime::Shard>(runtime::NodeId{0}, runtime::ShardId{i},
                                                        env, mailboxes));
      services.push_back(std::make_unique<Service>(*shards.back(), count));
      clients.push_back(std::make_unique<Client>(*shards.back()));
    }
  }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      for (auto& shard : shards) shard->run_turn();
    }
  }
  void check_in_force_everywhere(const std::string& queue) {
    for (auto& service : services) CHECK(service->store().queue("/", queue) != nullptr);
  }

  NoEnv env;
  NoWaker waker;
  runtime::Mailboxes mailboxes;
  std::vector<std::unique_ptr<runtime::Shard>> shards;
  std::vector<std::unique_ptr<Service>> services;
  std::vector<std::unique_ptr<Client>> clients;
};

DeclareQueue queue(const std::string& name, ConnectionId owner = 0, std::uint16_t shard = 0) {
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = name;
  command.record.exclusive_owner = owner;
  command.client_shard.value = shard;
  return command;
}

}  // namespace

TEST_CASE("one shard: a proposal is applied and answered in the turn that brings it") {
  Node node(1);
  node.clients[0]->propose(7, queue("a"));
  node.clients[0]->propose(8, queue("a"));
  node.shards[0]->run_turn();
  CHECK(node.clients[0]->requests == std::vector<std::uint64_t>{7, 8});
  CHECK(node.clients[0]->results[0].outcome == Outcome::kDone);
  CHECK(node.clients[0]->results[1].outcome == Outcome::kUnchanged);
  CHECK(node.clients[0]->results[1].queue == node.clients[0]->results[0].queue);
  CHECK(node.services[0]->store().queue("/", "a") == node.clients[0]->results[0].queue);
}

TEST_CASE("an answered change is in force on every shard") {
  Node node(3);
  int answers = 0;
  for (auto& client : node.clients) {
    client->on_answer = [&node, &answers](const CommandResult& result) {
      ++answers;
      node.check_in_force_everywhere(result.queue->name);
    };
  }
  node.clients[2]->propose(1, queue("two", 5, 2));
  node.shards[2]->run_turn();
  node.shards[0]->run_turn();
  CHECK(node.services[0]->store().queue("/", "two") != nullptr);
  for (int i = 0; i < 5; ++i) {
    node.shards[2]->run_turn();
    node.shards[0]->run_turn();
  }
  CHECK(node.services[2]->store().queue("/", "two") != nullptr);
  // Shard 1 has not applied it, so nobody has been answered.
  CHECK(answers == 0);
  node.settle();
  CHECK(answers == 1);
  CHECK(node.clients[2]->results[0].queue->shard.value == 2);
}

TEST_CASE("answers come in order and each replica hears of the same changes") {
  Node node(4);
  std::mt19937 random(3);
  std::uint64_t next = 0;
  for (int round = 0; round < 300; ++round) {
    auto& client = *node.clients[random() % 4];
    const std::string name = "q" + std::to_string(random() % 20);
    const auto known = client.shard.id().value;
    const auto record = node.services[known]->store().queue("/", name);
    if (random() % 2 == 0 && record != nullptr) {
      client.propose(++next, DeleteQueue{"/", name, record->qid});
    } else {
      client.propose(++next, queue(name, random() % 2, known));
    }
    node.shards[random() % 4]->run_turn();
  }
  node.settle();
  std::size_t answers = 0;
  for (auto& client : node.clients) {
    answers += client->requests.size();
    for (std::size_t i = 1; i < client->requests.size(); ++i) {
      CHECK(client->requests[i - 1] < client->requests[i]);
    }
  }
  CHECK(answers == 300);
  for (auto& service : node.services) {
    CHECK(service->store().version() == node.services[0]->store().version());
    for (int i = 0; i < 20; ++i) {
      const std::string name = "q" + std::to_string(i);
      const auto here = service->store().queue("/", name);
      const auto there = node.services[0]->store().queue("/", name);
      REQUIRE((here == nullptr) == (there == nullptr));
      if (here == nullptr) continue;
      CHECK(here->qid == there->qid);
      CHECK(here->shard == there->shard);
    }
  }
}
