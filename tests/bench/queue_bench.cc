// What one message costs in a queue, from the Publish letter to the end of its delivery, on one
// shard without sockets or clients: building the message, QueueProcess, and freeing it.
//
// usage: queue_bench [direct|backlog|acks|acks-batched|round-robin] [millions of messages]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/runtime/check.h"
#include "broker/runtime/mailbox.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/store.h"
#include "queue/letters.h"
#include "queue/queue_registry.h"

namespace ringtail::queue {
namespace {

// What one read of 256 KiB brings of such messages, roughly.
constexpr std::uint64_t kBatch = 2000;
constexpr std::uint32_t kPrefetch = 1000;
constexpr std::uint64_t kBacklog = 1'000'000;

class NoEnv final : public runtime::Env {
 public:
  runtime::Clock& clock() override { return refuse<runtime::Clock>(); }
  runtime::Timers& timers() override { return refuse<runtime::Timers>(); }
  runtime::Rng& rng() override { return refuse<runtime::Rng>(); }
  runtime::Disk& disk() override { return refuse<runtime::Disk>(); }
  runtime::Net& net() override { return refuse<runtime::Net>(); }

 private:
  template <typename Door>
  static Door& refuse() {
    RT_CHECK(false, "a queue in memory needs nothing from outside");
    return *static_cast<Door*>(nullptr);
  }
};

class NoDeadLetters final : public DeadLetterSink {
 public:
  void dead_letter(const std::shared_ptr<const cluster::metadata::QueueRecord>&,
                   const cluster::metadata::QueueOptions&, DeathReason, MessageRef) override {}
};

// How a consuming channel settles its deliveries.
enum class Settling { kNone, kOneLetterEach, kOneLetterPerBatch };

class Channel final : public runtime::Actor {
 public:
  Channel(runtime::Shard& shard, Qid qid, Settling settling)
      : shard_(shard), qid_(qid), settling_(settling), address_(shard.add(*this)) {}

  void publish(std::uint64_t count) {
    static constexpr char kRoute[] = "\x00\x05queue";
    static constexpr char kBody[] = "sixteen bytes...";
    auto letter = std::make_unique<Publish>(qid_);
    letter->first_number = published_ + 1;
    letter->messages.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      Message* message =
          Message::create(runtime::as_bytes({kRoute, sizeof(kRoute) - 1}), {}, 16, {});
      message->append_body(runtime::as_bytes({kBody, 16}));
      letter->messages.emplace_back(message);
    }
    published_ += count;
    post(std::move(letter));
  }

  void consume(ConsumerId consumer) {
    auto letter = std::make_unique<Consume>(qid_);
    letter->consumer = consumer;
    letter->no_ack = settling_ == Settling::kNone;
    letter->prefetch = kPrefetch;
    post(std::move(letter));
    progress_.resize(std::max<std::size_t>(progress_.size(), consumer + 1U));
  }

  void receive(runtime::LetterPtr letter) noexcept override {
    if (letter->kind != kDeliver) return;
    auto& deliver = runtime::letter_cast<Deliver>(*letter);
    received += deliver.deliveries.size();
    std::unique_ptr<Ack> acks;
    for (Delivery& delivery : deliver.deliveries) {
      Progress& progress = progress_[delivery.consumer];
      ++progress.messages;
      progress.bytes += delivery.message->footprint();
      delivery.message = MessageRef();
      if (settling_ == Settling::kNone) continue;
      if (acks == nullptr) acks = std::make_unique<Ack>(qid_);
      acks->tokens.push_back(delivery.token);
      if (settling_ == Settling::kOneLetterEach) post(std::move(acks));
    }
    if (acks != nullptr) post(std::move(acks));
    give_credit();
  }

  std::uint64_t received = 0;

 private:
  struct Progress {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t reported = 0;
  };

  void give_credit() {
    for (ConsumerId consumer = 0; consumer < progress_.size(); ++consumer) {
      Progress& progress = progress_[consumer];
      if (progress.reported == progress.messages) continue;
      progress.reported = progress.messages;
      auto credit = std::make_unique<Credit>(qid_);
      credit->consumer = consumer;
      credit->written_messages = progress.messages;
      credit->written_bytes = progress.bytes;
      post(std::move(credit));
    }
  }
  void post(runtime::LetterPtr letter) {
    shard_.post(address_, {shard_.node(), shard_.id(), runtime::ActorId{qid_.value}},
                std::move(letter));
  }

  runtime::Shard& shard_;
  const Qid qid_;
  const Settling settling_;
  const runtime::Address address_;
  std::uint64_t published_ = 0;
  std::vector<Progress> progress_;
};

struct Node {
  Node() {
    cluster::metadata::DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = "queue";
    qid = store.apply(command).queue->qid;
  }
  void run() {
    while (shard.run_turn()) {
    }
  }

  NoEnv env;
  runtime::Mailboxes mailboxes{1};
  runtime::Shard shard{runtime::NodeId{0}, runtime::ShardId{0}, env, mailboxes};
  cluster::metadata::Store store{1};
  NoDeadLetters dead_letters;
  QueueRegistry registry{shard, store, nullptr, dead_letters};
  Qid qid;
};

// A consumer that keeps up.
void run_live(std::uint64_t total, Settling settling, ConsumerId consumers) {
  Node node;
  Channel producer(node.shard, node.qid, settling);
  Channel consumer(node.shard, node.qid, settling);
  for (ConsumerId id = 0; id < consumers; ++id) consumer.consume(id);
  for (std::uint64_t sent = 0; sent < total; sent += kBatch) {
    producer.publish(kBatch);
    node.run();
  }
  RT_CHECK(consumer.received == total, "messages were lost");
}

// Everything waits in a long queue first.
void run_backlog(std::uint64_t total) {
  for (std::uint64_t done = 0; done < total; done += kBacklog) {
    Node node;
    Channel producer(node.shard, node.qid, Settling::kNone);
    Channel consumer(node.shard, node.qid, Settling::kNone);
    for (std::uint64_t sent = 0; sent < kBacklog; sent += kBatch) {
      producer.publish(kBatch);
      node.run();
    }
    consumer.consume(0);
    node.run();
    RT_CHECK(consumer.received == kBacklog, "messages were lost");
  }
}

struct Scenario {
  const char* name;
  std::function<void(std::uint64_t)> run;
};

void measure(const Scenario& scenario, std::uint64_t total) {
  // Both clocks: the processor's says what it costs even where the machine is busy with others.
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  scenario.run(total);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  const auto messages = static_cast<double>(total);
  std::printf("%-14s %6.1f ns/message (cpu) %6.1f ns/message %6.2f million messages/s\n",
              scenario.name, cpu * 1e9 / messages, took.count() * 1e9 / messages,
              messages / took.count() / 1e6);
}

int run_main(int argc, char** argv) {
  const std::vector<Scenario> scenarios = {
      {"direct", [](std::uint64_t total) { run_live(total, Settling::kNone, 1); }},
      {"round-robin", [](std::uint64_t total) { run_live(total, Settling::kNone, 10); }},
      {"backlog", run_backlog},
      {"acks", [](std::uint64_t total) { run_live(total, Settling::kOneLetterEach, 1); }},
      {"acks-batched",
       [](std::uint64_t total) { run_live(total, Settling::kOneLetterPerBatch, 1); }},
  };
  const std::string_view wanted = argc > 1 ? argv[1] : "all";
  const std::uint64_t millions = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5;
  for (const Scenario& scenario : scenarios) {
    if (wanted == "all" || wanted == scenario.name) measure(scenario, millions * 1'000'000);
  }
  return 0;
}

}  // namespace
}  // namespace ringtail::queue

int main(int argc, char** argv) { return ringtail::queue::run_main(argc, argv); }
