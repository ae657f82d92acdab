// One node with clients, and two that are only said to be there: the test is the masters of the
// mirrored queue "q" on them. It reads what channels send and answers as it likes; it changes the
// queue's view by the commands of the metadata, and says when the links come and go.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/amqp/field_table.h"
#include "queue/letters.h"
#include "tests/sim/sim_broker.h"

namespace ringtail::sim {

inline constexpr runtime::NodeId kOne{22};
inline constexpr runtime::NodeId kTwo{33};

class PuppetMasters final : public runtime::RemotePost {
 public:
  struct Letter {
    runtime::Address to;
    runtime::LetterPtr letter;
  };

  explicit PuppetMasters(std::uint64_t seed = 1)
      : world(seed), host(world), node(host, 1, {}, runtime::NodeId{11}) {
    node.run_on_shard(0, [this] { shard().shard().set_remote(this); });
    for (const runtime::NodeId id : {kOne, kTwo}) begin_life(id);
  }

  broker::BrokerShard& shard() { return node.shard(0); }
  void settle() { REQUIRE(world.run_until_idle()); }
  cluster::metadata::CommandResult apply(const cluster::metadata::Command& command) {
    cluster::metadata::CommandResult result;
    node.run_on_shard(0, [&] { result = shard().metadata().store().apply(command); });
    return result;
  }

  // --- nodes ---
  void begin_life(runtime::NodeId id) {
    cluster::metadata::NodeRecord record{id};
    record.name = name_of(id);
    record.host = "127.0.0.1";
    record.port = 1;
    record.shards = 1;
    record.boot = ++boots_;
    apply(cluster::metadata::NodeUp{record});
    node.run_on_shard(0, [&] { shard().peer_up(id); });
    settle();
  }
  // The metadata hears that the node's life has ended, and the links do: `both` in either order.
  void declare_down(runtime::NodeId id) {
    const auto record = shard().view().node(id);
    apply(cluster::metadata::NodeDown{.node = id, .life = record->life});
    settle();
  }
  void end_links(runtime::NodeId id) {
    node.run_on_shard(0, [&] { shard().peer_down(id); });
    settle();
  }
  void reach(runtime::NodeId id, bool reached) {
    node.run_on_shard(0, [&] { shard().peer_reached(id, reached); });
    settle();
  }
  void kill(runtime::NodeId id, bool links_first = false) {
    if (links_first) end_links(id);
    declare_down(id);
    if (!links_first) end_links(id);
  }
  static std::string name_of(runtime::NodeId id) {
    return "n" + std::to_string(id.value) + "@127.0.0.1";
  }

  // --- the queue ---
  std::shared_ptr<const cluster::metadata::QueueRecord> record() {
    return shard().view().queue("/", "q");
  }
  // Its first master is on kOne. `by_argument`: it was declared with x-ha-policy.
  void declare(bool by_argument = false, bool durable = true, bool mirrored = true) {
    cluster::metadata::DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = "q";
    command.record.home = kOne;
    command.record.durable = durable;
    if (by_argument) {
      amqp::FieldTable arguments;
      arguments.set("x-ha-policy", std::string("all"));
      command.record.arguments = arguments.encode();
    }
    if (mirrored) command.record.options.mirrors = mirrors();
    apply(command);
    settle();
    REQUIRE(record() != nullptr);
    REQUIRE(record()->home == kOne);
    REQUIRE(record()->epoch() == (mirrored ? 1 : 0));
  }
  static cluster::metadata::Mirrors mirrors() {
    cluster::metadata::Mirrors both;
    both.mode = cluster::metadata::MirrorMode::kNodes;
    both.nodes = {name_of(kOne), name_of(kTwo)};
    return both;
  }
  // A policy gives it a copy on kTwo, which is in sync at once.
  void set_mirrors() {
    cluster::metadata::PutPolicy policy;
    policy.record.vhost = "/";
    policy.record.name = "mirrors";
    policy.record.pattern = "q";
    policy.record.definition["ha-mode"] = std::string("nodes");
    policy.record.definition["ha-params"] = std::vector<std::string>{name_of(kOne), name_of(kTwo)};
    apply(policy);
    settle();
    REQUIRE(record()->epoch() == 1);
    admit_last();
  }
  void admit_last() {
    const auto& view = *record()->view;
    REQUIRE(view.members.size() == 2);
    REQUIRE(!view.members[1].in_sync);
    apply(cluster::metadata::ChangeView{"/", "q", record()->qid, view.epoch, view.revision,
                                        cluster::metadata::ViewChangeKind::kAdmit,
                                        view.members[1].node, view.members[1].life});
    settle();
    REQUIRE(record()->view->members[1].in_sync);
  }
  void lead(runtime::NodeId id) {
    apply(cluster::metadata::LeadQueues{id, shard().view().node(id)->life,
                                        shard().metadata().store().last_mark()});
    settle();
  }
  void transfer(runtime::NodeId to) {
    const auto queue = record();
    apply(cluster::metadata::TransferQueue{"/", "q", queue->qid, to});
    settle();
    REQUIRE(record()->home == to);
  }

  // --- what channels send ---
  void post(const runtime::Address& to, runtime::LetterPtr letter) noexcept override {
    sent.push_back({to, std::move(letter)});
  }
  // The next letter to that node, which is one of this kind.
  template <typename Type>
  std::unique_ptr<Type> take(runtime::NodeId to, queue::QueueLetterKind kind) {
    for (auto at = sent.begin(); at != sent.end(); ++at) {
      if (at->to.node != to) continue;
      REQUIRE(at->letter->kind == kind);
      std::unique_ptr<Type> taken(static_cast<Type*>(at->letter.release()));
      channel = taken->from;
      sent.erase(at);
      return taken;
    }
    REQUIRE_MESSAGE(false, "nothing was sent to node " << to.value);
    return nullptr;
  }
  // "1:a b" for publishes "a" and "b" from number 1 on: of the letter that is next, and of those
  // behind it that go on where it ends.
  std::string take_publish(runtime::NodeId to, std::uint64_t epoch) {
    std::string text;
    std::uint64_t next = 0;
    do {
      const auto publish = take<queue::Publish>(to, queue::kPublish);
      CHECK(publish->epoch == epoch);
      if (next == 0) text = std::to_string(publish->first_number) + ":";
      next = publish->first_number;
      for (const auto& message : publish->messages) {
        if (text.back() != ':') text += " ";
        text += runtime::as_text(message->inline_body());
        ++next;
      }
    } while (goes_on(to, next));
    return text;
  }
  bool silent() const { return sent.empty(); }

  // --- what a master says to the channel that sent the letter taken last ---
  void say(runtime::NodeId from, runtime::LetterPtr letter) {
    const runtime::Address master{from, runtime::ShardId{0}, runtime::ActorId{record_qid().value}};
    node.run_on_shard(0, [&] { shard().shard().post(master, channel, std::move(letter)); });
    settle();
  }
  void say_settled(runtime::NodeId from, std::uint64_t up_to,
                   std::vector<std::uint64_t> rejected = {}) {
    auto settled = std::make_unique<queue::Settled>(record_qid());
    settled->up_to = up_to;
    settled->rejected = std::move(rejected);
    say(from, std::move(settled));
  }
  void say_delivery(runtime::NodeId from, queue::ConsumerId consumer, queue::DeliveryToken token,
                    const std::string& body, bool redelivered = false) {
    auto deliver = std::make_unique<queue::Deliver>(record_qid());
    deliver->deliveries.push_back({consumer, redelivered, 0, token, message(body)});
    say(from, std::move(deliver));
  }
  void say_consume_ok(runtime::NodeId from, const queue::Consume& asked,
                      queue::Answer answer = queue::Answer::kOk) {
    auto ok = std::make_unique<queue::ConsumeOk>(record_qid());
    ok->request = asked.request;
    ok->consumer = asked.consumer;
    ok->answer = answer;
    say(from, std::move(ok));
  }
  // GetResult, Purged, Inspected, DeleteResult, CancelOk.
  template <typename Answer, typename Request>
  void say_answer(
      runtime::NodeId from, const Request& asked, void (*fill)(Answer&) = [](Answer&) {}) {
    auto answer = std::make_unique<Answer>(record_qid());
    answer->request = asked.request;
    fill(*answer);
    say(from, std::move(answer));
  }
  static queue::MessageRef message(const std::string& body) {
    const std::string route("\0\x01q", 3);
    const std::string none(2, '\0');
    queue::MessageRef made(
        queue::Message::create(runtime::as_bytes(route), runtime::as_bytes(none), body.size(), {}));
    made->append_body(runtime::as_bytes(body));
    return made;
  }

  // --- clients ---
  void open(AmqpClient& client) {
    client.connect();
    REQUIRE(client.await_open());
    REQUIRE(client.open_channel(1));
  }
  void publish(AmqpClient& client, const std::vector<std::string>& bodies) {
    for (const std::string& body : bodies) client.publish(1, "", "q", body);
    settle();
  }
  // The client consumes under that tag, and the present master agrees.
  std::unique_ptr<queue::Consume> consume(AmqpClient& client, const std::string& tag,
                                          const std::string& arguments = {},
                                          bool exclusive = false) {
    client.send(1, amqp::BasicConsume{.queue = "q",
                                      .consumer_tag = tag,
                                      .exclusive = exclusive,
                                      .arguments = runtime::as_bytes(arguments)});
    settle();
    auto asked = take<queue::Consume>(record()->home, queue::kConsume);
    say_consume_ok(record()->home, *asked);
    REQUIRE(client.await<amqp::BasicConsumeOk>(1));
    return asked;
  }

  // To its last moment the node has somewhere to post.
  std::vector<Letter> sent;
  runtime::Address channel;  // that sent the letter taken last
  runtime::SimWorld world;
  runtime::SimHost host;
  BrokerNode node;

 private:
  bool goes_on(runtime::NodeId to, std::uint64_t number) const {
    if (sent.empty() || sent.front().to.node != to) return false;
    const runtime::Letter& letter = *sent.front().letter;
    return letter.kind == queue::kPublish &&
           static_cast<const queue::Publish&>(letter).first_number == number;
  }
  runtime::Qid record_qid() {
    if (const auto queue = record()) qid_ = queue->qid;
    return qid_;
  }

  runtime::Qid qid_;
  std::uint64_t boots_ = 0;
};

}  // namespace ringtail::sim
