// Nodes a, b, c with copies of one mirrored queue, and node d with channels that use it: each a
// shard with a registry over a replica of the metadata. Letters between nodes and commands of the
// metadata are under way until a test lets them arrive. Nodes die and come back with nothing.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::test {

namespace metadata = cluster::metadata;
using runtime::NodeId;

inline std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += (text.empty() ? "" : " ") + one;
  return text;
}

class MirrorWorld {
 public:
  static constexpr std::uint32_t kNodes = 4;

  struct Node final : runtime::RemotePost {
    Node(MirrorWorld& in, std::uint32_t number) : world(in), id(number) { shard.set_remote(this); }
    // When its life has begun: before, the metadata speaks of a former one.
    void make_registry() {
      registry = std::make_unique<QueueRegistry>(
          shard, store, [](const auto&, const auto&) {}, dead_letters, nullptr,
          [this](const metadata::QueueRecord& record, const gm::ViewChange& change) {
            const bool admit = change.kind == gm::ViewChange::Kind::kAdmit;
            world.log.push_back(metadata::ChangeView{
                record.vhost, record.name, record.qid, change.epoch, change.revision,
                admit ? metadata::ViewChangeKind::kAdmit : metadata::ViewChangeKind::kEvict,
                change.member.node, change.member.life});
          });
    }
    void post(const runtime::Address& to, runtime::LetterPtr letter) noexcept override {
      world.links[{id.value, to.node.value}].push_back({to, std::move(letter)});
    }
    // The next command of the log.
    void apply() {
      store.apply(world.log[applied++]);
      const auto self = store.node(id);
      if (self == nullptr || !self->up || self->life != life) return;
      if (registry == nullptr) make_registry();
      if (!store.awaits_lead(id) || led >= store.last_mark()) return;
      led = store.last_mark();
      world.log.push_back(metadata::LeadQueues{id, life, led});
    }
    void run() {
      while (shard.run_turn()) {
      }
    }

    MirrorWorld& world;
    const NodeId id;
    std::uint64_t life = 1;
    std::size_t applied = 0;
    std::uint64_t led = 0;
    ManualTime env;
    DeadLetterLog dead_letters;
    runtime::Mailboxes mailboxes{1};
    runtime::Shard shard{id, runtime::ShardId{0}, env, mailboxes};
    metadata::Store store;
    std::unique_ptr<QueueRegistry> registry;
  };
  struct UnderWay {
    runtime::Address to;
    runtime::LetterPtr letter;
  };

  MirrorWorld() {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      nodes.push_back(std::make_unique<Node>(*this, id));
      log.push_back(metadata::NodeUp{node_record(id)});
    }
    settle();
  }
  metadata::NodeRecord node_record(std::uint32_t id) {
    return {.id = NodeId{id},
            .name = std::string(1, static_cast<char>('a' + id - 1)),
            .host = "h",
            .shards = 1,
            .boot = ++boots};
  }

  Qid declare(const std::string& name, metadata::QueueOptions options = {}) {
    metadata::DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = name;
    command.record.home = NodeId{1};
    command.record.durable = true;
    options.mirrors =
        metadata::Mirrors{.mode = metadata::MirrorMode::kNodes, .nodes = {"a", "b", "c"}};
    command.record.options = options;
    log.push_back(command);
    settle();
    return node(4).store.queue("/", name)->qid;
  }

  Node& node(std::uint32_t id) { return *nodes[id - 1]; }
  bool alive(std::uint32_t id) const { return nodes[id - 1] != nullptr; }
  std::shared_ptr<const metadata::QueueRecord> record(const std::string& name = "q") {
    return node(4).store.queue("/", name);
  }
  std::uint32_t master(const std::string& name = "q") { return record(name)->home.value; }
  QueueProcess& process(const std::string& name = "q") {
    QueueProcess* found = node(master(name)).registry->find(record(name)->qid);
    REQUIRE(found != nullptr);
    return *found;
  }
  // "a b? c": who leads, who joins.
  std::string members(const std::string& name = "q") {
    std::string text;
    for (const metadata::QueueMember& member : record(name)->view->members) {
      if (!text.empty()) text += " ";
      text += static_cast<char>('a' + member.node.value - 1);
      if (member.ended) text += "!";
      if (!member.in_sync) text += "?";
    }
    return text;
  }

  // --- one step of something; false: there is nothing to do ---
  bool deliver(std::uint32_t from, std::uint32_t to) {
    auto& link = links[{from, to}];
    if (link.empty()) return false;
    UnderWay next = std::move(link.front());
    link.pop_front();
    if (!alive(to)) return true;
    const runtime::Address sender = next.letter->from;
    node(to).shard.post(sender, next.to, std::move(next.letter));
    node(to).run();
    return true;
  }
  bool apply(std::uint32_t id) {
    if (!alive(id) || node(id).applied == log.size()) return false;
    node(id).apply();
    node(id).run();
    return true;
  }
  void pass(std::uint64_t ms) {
    for (const auto& one : nodes) {
      if (one != nullptr) one->env.pass(ms, [&one] { one->run(); });
    }
  }
  // The process ends; what was under way to it or from it is lost, as it is between lives.
  void kill(std::uint32_t id) {
    node(id).registry.reset();
    nodes[id - 1].reset();
    for (auto& [ends, link] : links) {
      if (ends.first == id || ends.second == id) link.clear();
    }
    for (const auto& one : nodes) {
      if (one != nullptr && one->registry != nullptr) {
        one->registry->peer_down(NodeId{id});
        one->run();
      }
    }
  }
  void declare_down(std::uint32_t id, std::uint64_t life) {
    log.push_back(metadata::NodeDown{NodeId{id}, life, false});
  }
  void come_back(std::uint32_t id, std::uint64_t life) {
    log.push_back(metadata::NodeUp{node_record(id)});
    auto fresh = std::make_unique<Node>(*this, id);
    fresh->life = life;
    nodes[id - 1] = std::move(fresh);
  }
  // Node d has heard of all that was agreed on.
  void settle_log() {
    while (apply(4)) {
    }
  }
  // Until nothing happens any more.
  void settle() {
    for (bool more = true; more;) {
      more = false;
      for (std::uint32_t id = 1; id <= nodes.size(); ++id) {
        while (apply(id)) more = true;
        if (alive(id)) node(id).run();
      }
      for (std::uint32_t from = 1; from <= nodes.size(); ++from) {
        for (std::uint32_t to = 1; to <= nodes.size(); ++to) {
          while (deliver(from, to)) more = true;
        }
      }
    }
  }

  std::deque<metadata::Command> log;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<UnderWay>> links;
  std::vector<std::unique_ptr<Node>> nodes;
  std::uint64_t boots = 0;
};

// What a channel does with a mirrored queue: keeps what is not settled and sends it again to a new
// master, subscribes again, and writes down what it hears. On node d.
class MirrorChannel final : public runtime::Actor {
 public:
  MirrorChannel(MirrorWorld& world, std::string queue)
      : world_(world), queue_(std::move(queue)), address_(world.node(4).shard.add(*this)) {}
  ~MirrorChannel() override { world_.node(4).shard.remove(address_.actor); }

  void publish(const std::string& body) {
    look();
    unsettled.push_back({next_++, body});
    send_from(unsettled.size() - 1);
  }
  // As many publishes are refused before they are sent.
  void refuse(std::uint64_t count) { next_ += count; }
  void consume(bool no_ack = false) {
    look();
    consumes_ = true;
    no_ack_ = no_ack;
    subscribe();
  }
  // Whether the master is another one now: then everything is asked again.
  void look() {
    const auto record = world_.record(queue_);
    if (record == nullptr || (record_ != nullptr && record->epoch() == record_->epoch())) return;
    const bool moved = record_ != nullptr;
    record_ = record;
    if (!moved) return;
    held.clear();
    if (!unsettled.empty()) send_from(0);
    if (consumes_) subscribe();
  }
  void ack(std::size_t count) {
    look();
    auto letter = std::make_unique<Ack>(record_->qid);
    while (count-- > 0 && !held.empty()) {
      letter->tokens.push_back(held.front().first);
      acked.push_back(held.front().second);
      held.pop_front();
    }
    post(std::move(letter));
  }
  void purge() {
    look();
    post(std::make_unique<Purge>(record_->qid));
  }
  void end() {
    if (record_ == nullptr) return;
    look();
    post(std::make_unique<ChannelGone>(record_->qid));
  }

  void receive(runtime::LetterPtr letter) noexcept override {
    if (letter->kind == kSettled) {
      const auto& settled = runtime::letter_cast<Settled>(*letter);
      for (; !unsettled.empty() && unsettled.front().first <= settled.up_to;
           unsettled.pop_front()) {
        const bool refused = std::find(settled.rejected.begin(), settled.rejected.end(),
                                       unsettled.front().first) != settled.rejected.end();
        (refused ? rejected : confirmed).push_back(unsettled.front().second);
      }
    } else if (letter->kind == kDeliver) {
      for (Delivery& one : runtime::letter_cast<Deliver>(*letter).deliveries) {
        if (one.consumer != consumer_) continue;  // of a former subscription
        const std::string body = body_of(one.message);
        delivered.push_back(body + (one.redelivered ? "*" : ""));
        if (one.token != 0) held.push_back({one.token, body});
      }
    }
  }

  std::deque<std::pair<std::uint64_t, std::string>> unsettled;
  std::vector<std::string> confirmed;
  std::vector<std::string> rejected;
  std::vector<std::string> delivered;  // with a star where it was delivered before
  std::vector<std::string> acked;
  std::deque<std::pair<DeliveryToken, std::string>> held;

 private:
  void send_from(std::size_t at) {
    auto letter = std::make_unique<Publish>(record_->qid);
    letter->first_number = unsettled[at].first;
    for (; at < unsettled.size(); ++at)
      letter->messages.push_back(make_message(unsettled[at].second));
    post(std::move(letter));
  }
  void subscribe() {
    auto letter = std::make_unique<Consume>(record_->qid);
    letter->consumer = ++consumer_;
    letter->no_ack = no_ack_;
    post(std::move(letter));
  }
  template <typename LetterType>
  void post(std::unique_ptr<LetterType> letter) {
    letter->epoch = record_->epoch();
    world_.node(4).shard.post(address_, record_->address(), std::move(letter));
    world_.node(4).run();
  }

  MirrorWorld& world_;
  const std::string queue_;
  const runtime::Address address_;
  std::shared_ptr<const metadata::QueueRecord> record_;
  std::uint64_t next_ = 1;
  ConsumerId consumer_ = 0;
  bool consumes_ = false;
  bool no_ack_ = false;
};

}  // namespace ringtail::queue::test
