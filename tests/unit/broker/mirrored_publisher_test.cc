// Publishes and questions on behalf of no client, to a mirrored queue whose master changes.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/queue_calls.h"
#include "broker/queue_publisher.h"
#include "tests/unit/broker/shards_fixture.h"

namespace ringtail::broker::mirrored_publisher_test {
namespace {

using cluster::metadata::QueueMember;
using cluster::metadata::QueueRecord;
using cluster::metadata::QueueView;
using runtime::NodeId;

constexpr NodeId kOne{22};
constexpr NodeId kTwo{33};
constexpr runtime::Qid kQid{7};

QueueRecord unmirrored(NodeId home = kOne) {
  QueueRecord record{kQid, home, {}};
  record.name = "q";
  return record;
}

QueueRecord led_by(NodeId home, std::uint64_t epoch, bool vacant = false) {
  QueueRecord record = unmirrored(home);
  auto view = std::make_shared<QueueView>();
  view->epoch = epoch;
  QueueMember master{home, 1, {}};
  master.in_sync = true;
  master.ended = vacant;
  view->members.push_back(master);
  record.view = view;
  return record;
}

// One shard; what it sends to other nodes is looked at.
struct OneShard : runtime::RemotePost {
  OneShard() : mailboxes(1), shard(NodeId{1}, runtime::ShardId{0}, env, mailboxes) {
    mailboxes.set_waker(runtime::ShardId{0}, &waker);
    shard.set_remote(this);
  }
  void post(const runtime::Address& to, runtime::LetterPtr letter) noexcept override {
    from = letter->from;
    sent.emplace_back(to.node, std::move(letter));
  }
  void run() {
    while (shard.run_turn()) {
    }
  }
  template <typename Type>
  std::unique_ptr<Type> take(NodeId to) {
    run();
    REQUIRE(!sent.empty());
    REQUIRE(sent.front().first == to);
    std::unique_ptr<Type> letter(static_cast<Type*>(sent.front().second.release()));
    sent.erase(sent.begin());
    return letter;
  }
  // "2/1:a b": of epoch 2, from number 1 on.
  std::string publish(NodeId to) {
    const auto letter = take<queue::Publish>(to);
    REQUIRE(letter->kind == queue::kPublish);
    std::string text = std::to_string(letter->epoch) + "/" + std::to_string(letter->first_number);
    char before = ':';
    for (const auto& message : letter->messages) {
      text += before + std::string(runtime::as_text(message->inline_body()));
      before = ' ';
    }
    return text;
  }
  bool silent() {
    run();
    return sent.empty();
  }
  void say(NodeId node, runtime::LetterPtr letter) {
    shard.post({node, runtime::ShardId{0}, runtime::ActorId{kQid.value}}, from, std::move(letter));
    run();
  }
  void say_settled(NodeId node, std::uint64_t up_to) {
    auto settled = std::make_unique<queue::Settled>(kQid);
    settled->up_to = up_to;
    say(node, std::move(settled));
  }

  QuietEnv env;
  OneWaker waker;
  runtime::Mailboxes mailboxes;
  runtime::Shard shard;
  std::vector<std::pair<NodeId, runtime::LetterPtr>> sent;
  runtime::Address from;
};

void publish(QueuePublisher& publisher, const QueueRecord& queue, const std::string& bodies) {
  for (const char body : bodies) {
    publisher.publish(queue, message_of("", "q", std::string(1, body)));
  }
}

}  // namespace

TEST_CASE("what nobody's channel published goes to the next master as a channel's does") {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    OneShard one;
    QueuePublisher publisher(one.shard);
    publish(publisher, led_by(kOne, 1), "ab");
    CHECK(one.publish(kOne) == "1/1:a b");
    publish(publisher, led_by(kOne, 1), "cd");
    CHECK(one.publish(kOne) == "1/3:c d");
    one.say_settled(kOne, 1);
    bool settled = false;
    publisher.when_settled([&] { settled = true; });
    if (links_first) {
      publisher.peer_changed(kOne, false);
      publish(publisher, led_by(kOne, 1), "e");
      CHECK(one.silent());
    }
    publisher.queue_changed(led_by(kTwo, 2));
    if (!links_first) publisher.peer_changed(kOne, false);
    CHECK(one.publish(kTwo) == (links_first ? "2/2:b c d e" : "2/2:b c d"));
    CHECK(publisher.unsettled() == (links_first ? 4 : 3));
    CHECK(!settled);
    one.say_settled(kTwo, links_first ? 5 : 4);
    CHECK(settled);
    CHECK(publisher.unsettled() == 0);
    publish(publisher, led_by(kTwo, 2), "f");
    CHECK(one.publish(kTwo) == (links_first ? "2/6:f" : "2/5:f"));
    CHECK(one.silent());
  }
}

TEST_CASE("what is gathered in the turn of the news goes with what is sent again") {
  OneShard one;
  QueuePublisher publisher(one.shard);
  publish(publisher, led_by(kOne, 1), "a");
  CHECK(one.publish(kOne) == "1/1:a");
  publish(publisher, led_by(kOne, 1), "b");
  publisher.queue_changed(led_by(kTwo, 2));
  publish(publisher, led_by(kTwo, 2), "c");
  CHECK(one.publish(kTwo) == "2/1:a b");
  CHECK(one.publish(kTwo) == "2/3:c");
}

TEST_CASE("a master that nothing reaches yet is sent all of it when something does") {
  OneShard one;
  QueuePublisher publisher(one.shard);
  publisher.peer_changed(kTwo, false);
  publish(publisher, led_by(kOne, 1), "a");
  CHECK(one.publish(kOne) == "1/1:a");
  publisher.queue_changed(led_by(kTwo, 2));
  publish(publisher, led_by(kTwo, 2), "b");
  CHECK(one.silent());
  publisher.peer_changed(kTwo, true);
  CHECK(one.publish(kTwo) == "2/1:a b");
  CHECK(one.silent());
}

TEST_CASE("without a master it is lost, and numbers go on") {
  OneShard one;
  QueuePublisher publisher(one.shard);
  publish(publisher, led_by(kOne, 1), "ab");
  CHECK(one.publish(kOne) == "1/1:a b");
  bool settled = false;
  publisher.when_settled([&] { settled = true; });
  publisher.queue_changed(led_by(kOne, 1, true));
  CHECK(settled);
  CHECK(publisher.unsettled() == 0);
  publisher.peer_changed(kOne, false);
  publish(publisher, led_by(kOne, 1, true), "c");
  CHECK(one.silent());
  publisher.peer_changed(kOne, true);
  publisher.queue_changed(led_by(kOne, 2));
  publish(publisher, led_by(kOne, 2), "d");
  CHECK(one.publish(kOne) == "2/3:d");
  CHECK(publisher.unsettled() == 1);
}

TEST_CASE("what was published before the queue had mirrors is lost with its master") {
  OneShard one;
  QueuePublisher publisher(one.shard);
  publish(publisher, unmirrored(), "ab");
  CHECK(one.publish(kOne) == "0/1:a b");
  publisher.queue_changed(led_by(kOne, 1));
  publish(publisher, led_by(kOne, 1), "c");
  CHECK(one.publish(kOne) == "1/3:c");
  publisher.queue_changed(led_by(kTwo, 2));
  CHECK(one.publish(kTwo) == "2/3:c");
  CHECK(publisher.unsettled() == 1);
}

TEST_CASE("a question is asked again of the next master, and answered once") {
  for (const bool links_first : {false, true}) {
    CAPTURE(links_first);
    OneShard one;
    QueueCalls calls(one.shard);
    int answers = 0;
    QueueAnswer last;
    calls.ask(led_by(kOne, 1), {QueueQuestion::What::kPurge}, [&](const QueueAnswer& answer) {
      ++answers;
      last = answer;
    });
    const auto first = one.take<queue::Purge>(kOne);
    CHECK(first->epoch == 1);
    if (links_first) calls.peer_changed(kOne, false);
    calls.queue_changed(led_by(kTwo, 2));
    if (!links_first) calls.peer_changed(kOne, false);
    const auto again = one.take<queue::Purge>(kTwo);
    CHECK(again->epoch == 2);
    auto late = std::make_unique<queue::Purged>(kQid);
    late->request = first->request;
    one.say(kOne, std::move(late));
    CHECK(answers == 0);
    auto purged = std::make_unique<queue::Purged>(kQid);
    purged->request = again->request;
    purged->messages = 5;
    one.say(kTwo, std::move(purged));
    CHECK(answers == 1);
    CHECK(last.messages == 5);
    CHECK(one.silent());
  }
}

TEST_CASE("the message that tries a queue keeps its number at the next master") {
  OneShard one;
  QueueCalls calls(one.shard);
  int answers = 0;
  const auto count = [&](const QueueAnswer&) { ++answers; };
  calls.ask(led_by(kOne, 1), {QueueQuestion::What::kTry}, count);
  CHECK(one.publish(kOne) == "1/1:test_message");
  one.take<queue::Get>(kOne);
  calls.queue_changed(led_by(kTwo, 2));
  calls.peer_changed(kOne, false);
  CHECK(one.publish(kTwo) == "2/1:test_message");
  one.take<queue::Get>(kTwo);
  calls.ask(led_by(kTwo, 2), {QueueQuestion::What::kTry}, count);
  CHECK(one.publish(kTwo) == "2/2:test_message");
}

TEST_CASE("a question to a queue without a master has an answer") {
  for (const bool gone : {false, true}) {
    for (const bool links_first : {false, true}) {
      CAPTURE(gone);
      CAPTURE(links_first);
      OneShard one;
      QueueCalls calls(one.shard);
      int answers = 0;
      calls.ask(led_by(kOne, 1), {QueueQuestion::What::kInspect},
                [&](const QueueAnswer&) { ++answers; });
      one.take<queue::Inspect>(kOne);
      if (links_first) calls.peer_changed(kOne, false);
      if (gone) {
        calls.queue_removed(kQid);
      } else {
        calls.queue_changed(led_by(kOne, 1, true));
      }
      if (!gone) {
        calls.ask(led_by(kOne, 1, true), {QueueQuestion::What::kInspect},
                  [&](const QueueAnswer& answer) { answers += answer.node_down ? 1 : 0; });
      }
      if (!links_first) calls.peer_changed(kOne, false);
      CHECK(answers == (gone ? 1 : 2));
    }
  }
}

}  // namespace ringtail::broker::mirrored_publisher_test
