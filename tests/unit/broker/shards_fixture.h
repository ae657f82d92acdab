// Shards of one node on one thread, each with its replica, route table, histories and dead letters;
// and queues that only write down what is published to them.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/amqp/content_header.h"
#include "broker/dead_letters.h"
#include "broker/recent_history.h"
#include "broker/routing/route_table.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/mailbox.h"
#include "broker/runtime/sim/sim_world.h"
#include "cluster/metadata/store.h"
#include "queue/letters.h"

namespace ringtail::broker {

struct FixedClock : runtime::Clock {
  std::uint64_t monotonic_ms() const override { return 0; }
  std::uint64_t monotonic_ns() const override { return 0; }
  std::uint64_t boot_ms() const override { return 0; }
  std::uint64_t wall_ms() const override { return seconds * 1000 + 999; }
  std::uint64_t seconds = 0x6b0cdd27;
};

// Time that stands, and chance; the rest is refused.
struct QuietEnv : runtime::Env {
  runtime::Clock& clock() override { return fixed; }
  runtime::Timers& timers() override { std::abort(); }
  runtime::Rng& rng() override { return chance; }
  runtime::Disk& disk() override { std::abort(); }
  runtime::Net& net() override { std::abort(); }
  FixedClock fixed;
  runtime::SimRng chance{7};
};

// One for all shards: some shard has mail.
struct OneWaker : runtime::Waker {
  void wake() noexcept override { woken = true; }
  bool woken = false;
};

// Takes publishes as a queue does and settles them when told to.
struct WritingQueue : runtime::Actor {
  WritingQueue(runtime::Shard& on, std::shared_ptr<const cluster::metadata::QueueRecord> of)
      : shard(on), record(std::move(of)) {
    shard.add(runtime::ActorId{record->qid.value}, *this);
  }
  ~WritingQueue() override { shard.remove(runtime::ActorId{record->qid.value}); }
  void receive(runtime::LetterPtr letter) noexcept override {
    REQUIRE(letter->kind == queue::kPublish);
    auto& publish = runtime::letter_cast<queue::Publish>(*letter);
    ++letters;
    std::uint64_t& last = last_number[letter->from];
    CHECK(publish.first_number == last + 1);
    last += publish.messages.size();
    for (auto& message : publish.messages) messages.push_back(std::move(message));
    if (!settles) return;
    auto settled = std::make_unique<queue::Settled>(record->qid);
    settled->up_to = last;
    shard.post({shard.node(), shard.id(), runtime::ActorId{record->qid.value}}, letter->from,
               std::move(settled));
  }
  std::string bodies() {
    std::string all;
    for (const auto& message : std::exchange(messages, {})) {
      all += std::string(runtime::as_text(message->inline_body())) + " ";
    }
    return all;
  }

  runtime::Shard& shard;
  const std::shared_ptr<const cluster::metadata::QueueRecord> record;
  std::vector<queue::MessageRef> messages;
  std::map<runtime::Address, std::uint64_t> last_number;
  int letters = 0;
  bool settles = true;
};

struct Shards {
  struct One {
    One(std::uint16_t number, std::uint16_t count, runtime::Mailboxes& mailboxes)
        : shard(runtime::NodeId{0}, runtime::ShardId{number}, env, mailboxes),
          store(count),
          routes(store),
          history(shard, store, routes, count),
          dead_letters(shard, store, routes, history) {}
    QuietEnv env;
    runtime::Shard shard;
    cluster::metadata::Store store;
    RouteTable routes;
    RecentHistory history;
    DeadLetters dead_letters;
  };

  explicit Shards(std::uint16_t count) : mailboxes(count) {
    for (std::uint16_t i = 0; i < count; ++i) {
      mailboxes.set_waker(runtime::ShardId{i}, &waker);
      all.push_back(std::make_unique<One>(i, count, mailboxes));
    }
  }

  // On every shard, one after the other, as if at once.
  cluster::metadata::CommandResult apply(const cluster::metadata::Command& command) {
    cluster::metadata::CommandResult result;
    for (auto& one : all) result = one->store.apply(command);
    return result;
  }
  // Queues are spread over the shards in the order of their declaration.
  WritingQueue& declare(const std::string& name, const std::string& arguments = "") {
    cluster::metadata::DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = name;
    command.record.arguments = arguments;
    const auto record = apply(command).queue;
    auto queue = std::make_unique<WritingQueue>(all[record->shard.value]->shard, record);
    return *(queues[name] = std::move(queue));
  }
  void remove(const std::string& name) {
    const auto record = queues[name]->record;
    queues.erase(name);
    apply(cluster::metadata::DeleteQueue{"/", name, record->qid});
  }
  void exchange(const std::string& name, const std::string& type,
                const std::string& arguments = "") {
    cluster::metadata::DeclareExchange command;
    command.record.vhost = "/";
    command.record.name = name;
    command.record.type = type;
    command.record.arguments = arguments;
    apply(command);
  }
  static cluster::metadata::Bind binding(
      const std::string& source, const std::string& destination, const std::string& key = "",
      cluster::metadata::DestinationKind kind = cluster::metadata::DestinationKind::kQueue) {
    return {{"/", source, kind, destination, key, ""}};
  }
  void bind(const std::string& source, const std::string& destination,
            const std::string& key = "") {
    apply(binding(source, destination, key));
  }
  void run() {
    bool more = true;
    while (more || waker.woken) {
      more = false;
      waker.woken = false;
      for (auto& one : all) more = one->shard.run_turn() || more;
    }
  }

  runtime::Mailboxes mailboxes;
  OneWaker waker;
  std::vector<std::unique_ptr<One>> all;
  std::map<std::string, std::unique_ptr<WritingQueue>> queues;
};

inline queue::MessageRef message_of(const std::string& exchange, const std::string& key,
                                    const std::string& body,
                                    const amqp::BasicProperties& properties = {},
                                    const std::string& blind_keys = "") {
  std::string route(1, static_cast<char>(exchange.size()));
  route += exchange;
  route += static_cast<char>(key.size());
  route += key;
  queue::Message::Traits traits;
  traits.persistent = properties.delivery_mode == 2;
  traits.priority = properties.priority.value_or(0);
  traits.has_priority = properties.priority.has_value();
  if (properties.expiration) traits.expiration_ms = 10;
  queue::Message* message =
      queue::Message::create(runtime::as_bytes(route), runtime::as_bytes(properties.encode()),
                             body.size(), traits, runtime::as_bytes(blind_keys));
  message->append_body(runtime::as_bytes(body));
  return queue::MessageRef(message);
}

}  // namespace ringtail::broker
