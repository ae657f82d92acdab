// A shard with a queue registry over a real metadata store, and channels that write down what they
// hear. Time stands still until a test moves it.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/check.h"
#include "broker/runtime/mailbox.h"
#include "broker/runtime/memory_gauge.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/store.h"
#include "queue/letters.h"
#include "queue/queue_registry.h"
#include "tests/unit/queue/manual_time.h"

namespace ringtail::queue::test {

inline MessageRef make_message(const std::string& body, const Message::Traits& traits = {}) {
  const std::string route = std::string("\x00", 1) + "\x01q";
  Message* message = Message::create(runtime::as_bytes(route), {}, body.size(), traits);
  message->append_body(runtime::as_bytes(body));
  return MessageRef(message);
}

inline std::string body_of(const MessageRef& message) {
  if (message->body_is_inline()) return std::string(runtime::as_text(message->inline_body()));
  std::string body;
  for (const runtime::Bytes& piece : message->large_body().pieces()) {
    body += runtime::as_text(piece.span());
  }
  return body;
}

class Fixture;

inline Message::Traits of_priority(std::uint8_t priority) {
  Message::Traits traits;
  traits.priority = priority;
  traits.has_priority = true;
  return traits;
}
inline Message::Traits of_expiration(std::uint64_t ms) {
  Message::Traits traits;
  traits.expiration_ms = ms;
  return traits;
}

// Writes down what is dead-lettered.
class DeadLetterLog final : public DeadLetterSink {
 public:
  void dead_letter(const std::shared_ptr<const cluster::metadata::QueueRecord>& queue,
                   const cluster::metadata::QueueOptions& options, DeathReason reason,
                   MessageRef message) override {
    CHECK(options.dead_letter_exchange);
    last_queue = queue->name;
    if (counting_only) {
      ++count;
      return;
    }
    static constexpr const char* kNames[] = {"rejected", "expired", "maxlen", "delivery_limit"};
    if (!text.empty()) text += " ";
    text += body_of(message) + ":" + kNames[static_cast<int>(reason)];
  }
  std::string take() { return std::exchange(text, {}); }

  std::string text;  // "body:reason body:reason"
  std::string last_queue;
  bool counting_only = false;
  std::uint64_t count = 0;
};

// The queue's view of a channel: sends letters, keeps those that come.
class FakeChannel final : public runtime::Actor {
 public:
  explicit FakeChannel(Fixture& fixture);
  // One that seems to be on another node.
  FakeChannel(Fixture& fixture, runtime::NodeId node);
  ~FakeChannel() override;

  void receive(runtime::LetterPtr letter) noexcept override { heard.push_back(std::move(letter)); }
  const runtime::Address& address() const { return address_; }

  template <typename LetterType>
  void send(Qid qid, const std::function<void(LetterType&)>& fill = nullptr) {
    auto letter = std::make_unique<LetterType>(qid);
    if (fill) fill(*letter);
    post(qid, std::move(letter));
  }
  void publish(Qid qid, const std::vector<std::string>& bodies, const Message::Traits& traits = {});
  void consume(Qid qid, ConsumerId consumer, const std::function<void(Consume&)>& fill = nullptr);
  void ack(Qid qid, std::vector<DeliveryToken> tokens, bool rejected = false);
  void requeue(Qid qid, std::vector<DeliveryToken> tokens, bool redelivered = true);
  void credit(Qid qid, ConsumerId consumer, std::uint64_t messages, std::uint64_t bytes,
              bool paused = false, std::uint64_t delivery_limit = kNoDeliveryLimit);

  // Takes the first letter of this type out of what was heard; null when there is none.
  template <typename LetterType>
  std::unique_ptr<LetterType> take(QueueLetterKind kind) {
    for (auto at = heard.begin(); at != heard.end(); ++at) {
      if ((*at)->kind != kind) continue;
      std::unique_ptr<LetterType> found(static_cast<LetterType*>(at->release()));
      heard.erase(at);
      return found;
    }
    return nullptr;
  }
  // Takes all deliveries out of what was heard.
  std::vector<Delivery> deliveries();
  // "a b c": the bodies of all deliveries, redelivered ones with a star; taken like deliveries().
  // The tokens are added to `tokens`.
  std::string bodies(std::vector<DeliveryToken>* tokens = nullptr);

  std::vector<runtime::LetterPtr> heard;
  std::uint64_t next_number = 1;

 private:
  void post(Qid qid, runtime::LetterPtr letter);

  Fixture& fixture_;
  runtime::Address address_;
};

// Letters to any other node come to its fake channels, which are here.
class Nearby final : public runtime::RemotePost {
 public:
  explicit Nearby(runtime::Shard& shard) : shard_(shard) { shard.set_remote(this); }
  void post(const runtime::Address& to, runtime::LetterPtr letter) noexcept override {
    const runtime::Address from = letter->from;
    shard_.post(from, {shard_.node(), to.shard, to.actor}, std::move(letter));
  }

 private:
  runtime::Shard& shard_;
};

class Fixture {
 public:
  Fixture() {
    registry = std::make_unique<QueueRegistry>(
        shard, store,
        [this](std::shared_ptr<const cluster::metadata::QueueRecord> record,
               std::function<void()> done) {
          removals.push_back({std::move(record), std::move(done)});
        },
        dead_letters);
  }

  Qid declare(const std::string& name, bool auto_delete = false,
              const cluster::metadata::QueueOptions& options = {}) {
    cluster::metadata::DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = name;
    command.record.auto_delete = auto_delete;
    command.record.options = options;
    return store.apply(command).queue->qid;
  }
  Qid declare(const std::string& name, const cluster::metadata::QueueOptions& options) {
    return declare(name, false, options);
  }
  // What a policy that begins or ends to match does.
  void set_policy(Qid qid, cluster::metadata::PolicyDefinition definition) {
    auto record = std::make_shared<cluster::metadata::QueueRecord>(registry->find(qid)->record());
    auto policy = std::make_shared<cluster::metadata::EffectivePolicy>();
    policy->definition = std::move(definition);
    record->policy = std::move(policy);
    registry->queue_changed(record);
    run();
  }
  void pass(std::uint64_t ms) {
    env.pass(ms, [this] { run(); });
  }
  // What the metadata owner does with the removals asked for.
  void complete_removals() {
    auto asked = std::exchange(removals, {});
    for (auto& removal : asked) {
      store.apply(cluster::metadata::DeleteQueue{removal.record->vhost, removal.record->name,
                                                 removal.record->qid});
      removal.done();
    }
    run();
  }
  void run() {
    while (shard.run_turn()) {
    }
  }

  struct Removal {
    std::shared_ptr<const cluster::metadata::QueueRecord> record;
    std::function<void()> done;
  };

  ManualTime env;
  DeadLetterLog dead_letters;
  runtime::Mailboxes mailboxes{1};
  runtime::Shard shard{runtime::NodeId{0}, runtime::ShardId{0}, env, mailboxes};
  Nearby nearby{shard};
  cluster::metadata::Store store{1};
  std::unique_ptr<QueueRegistry> registry;
  std::vector<Removal> removals;
};

inline FakeChannel::FakeChannel(Fixture& fixture)
    : fixture_(fixture), address_(fixture.shard.add(*this)) {}

inline FakeChannel::FakeChannel(Fixture& fixture, runtime::NodeId node) : FakeChannel(fixture) {
  address_.node = node;
}

inline FakeChannel::~FakeChannel() { fixture_.shard.remove(address_.actor); }

inline void FakeChannel::post(Qid qid, runtime::LetterPtr letter) {
  const runtime::Address queue{fixture_.shard.node(), fixture_.shard.id(),
                               runtime::ActorId{qid.value}};
  fixture_.shard.post(address_, queue, std::move(letter));
}

inline void FakeChannel::publish(Qid qid, const std::vector<std::string>& bodies,
                                 const Message::Traits& traits) {
  send<Publish>(qid, [&](Publish& letter) {
    letter.first_number = next_number;
    for (const std::string& body : bodies) letter.messages.push_back(make_message(body, traits));
  });
  next_number += bodies.size();
}

inline void FakeChannel::consume(Qid qid, ConsumerId consumer,
                                 const std::function<void(Consume&)>& fill) {
  send<Consume>(qid, [&](Consume& letter) {
    letter.consumer = consumer;
    letter.request = consumer;
    if (fill) fill(letter);
  });
}

inline void FakeChannel::ack(Qid qid, std::vector<DeliveryToken> tokens, bool rejected) {
  send<Ack>(qid, [&](Ack& letter) {
    letter.tokens = std::move(tokens);
    letter.rejected = rejected;
  });
}

inline void FakeChannel::requeue(Qid qid, std::vector<DeliveryToken> tokens, bool redelivered) {
  send<Requeue>(qid, [&](Requeue& letter) {
    letter.tokens = std::move(tokens);
    letter.redelivered = redelivered;
  });
}

inline void FakeChannel::credit(Qid qid, ConsumerId consumer, std::uint64_t messages,
                                std::uint64_t bytes, bool paused, std::uint64_t delivery_limit) {
  send<Credit>(qid, [&](Credit& letter) {
    letter.consumer = consumer;
    letter.written_messages = messages;
    letter.written_bytes = bytes;
    letter.paused = paused;
    letter.delivery_limit = delivery_limit;
  });
}

inline std::vector<Delivery> FakeChannel::deliveries() {
  std::vector<Delivery> all;
  while (auto letter = take<Deliver>(kDeliver)) {
    for (Delivery& delivery : letter->deliveries) all.push_back(std::move(delivery));
  }
  return all;
}

inline std::string FakeChannel::bodies(std::vector<DeliveryToken>* tokens) {
  std::string text;
  for (const Delivery& delivery : deliveries()) {
    if (!text.empty()) text += " ";
    text += body_of(delivery.message);
    if (delivery.redelivered) text += "*";
    if (tokens != nullptr) tokens->push_back(delivery.token);
  }
  return text;
}

}  // namespace ringtail::queue::test
