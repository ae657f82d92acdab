// What the clients of Traffic hear, held against the model.
#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>

#include "broker/runtime/memory_gauge.h"
#include "tests/sim/traffic.h"

namespace ringtail::sim {

using runtime::kMillisecondNs;
using runtime::kSecondNs;

void Traffic::process_all() {
  for (ClientModel& one : clients_) {
    process(one);
    if (one.client->closed()) connection_lost(one);
  }
}

void Traffic::process(ClientModel& one) {
  one.client->poll();
  while (!one.client->inbox.empty()) {
    const ServerFrame frame = std::move(one.client->inbox.front());
    one.client->inbox.pop_front();
    const auto life =
        std::find_if(one.channels.begin(), one.channels.end(),
                     [&](const Life& candidate) { return candidate->number == frame.channel; });
    REQUIRE(life != one.channels.end());
    handle(*life, frame);
  }
}

void Traffic::handle(const Life& life, const ServerFrame& frame) {
  if (frame.is<amqp::ChannelClose>()) {
    FAIL("channel.close: " << std::string(frame.as<amqp::ChannelClose>().reply_text));
  } else if (frame.is<amqp::BasicDeliver>()) {
    got_delivery(life, frame);
  } else if (frame.is<amqp::BasicGetOk>() || frame.is<amqp::BasicGetEmpty>()) {
    got_get(life, frame);
  } else if (frame.is<amqp::BasicAck>()) {
    const auto ack = frame.as<amqp::BasicAck>();
    confirmed(*life, ack.delivery_tag, ack.multiple);
  } else if (frame.is<amqp::BasicNack>()) {
    FAIL("a queue refused a publish");
  } else {
    got_answer(*life, frame.key);
    if (frame.is<amqp::BasicCancelOk>()) {
      life->consumers.erase(std::string(frame.as<amqp::BasicCancelOk>().consumer_tag));
    } else if (frame.is<amqp::BasicRecoverOk>()) {
      life->outstanding.clear();
    } else if (frame.is<amqp::TxCommitOk>()) {
      REQUIRE(!life->tx_committing.empty());
      make_certain(life->tx_committing.front());
      life->tx_committing.erase(life->tx_committing.begin());
    }
  }
}

void Traffic::got_answer(ChannelLife& life, std::uint32_t key) {
  CAPTURE(
      amqp::method_name(static_cast<std::uint16_t>(key >> 16), static_cast<std::uint16_t>(key)));
  REQUIRE(life.owed[key] > 0);
  --life.owed[key];
}

void Traffic::got_delivery(const Life& life, const ServerFrame& frame) {
  const auto deliver = frame.as<amqp::BasicDeliver>();
  const std::string tag(deliver.consumer_tag);
  const auto at = life->consumers.find(tag);
  REQUIRE(at != life->consumers.end());  // nothing follows a cancel-ok
  ConsumerModel& consumer = at->second;
  const MessageId id = id_of(frame.body);
  if (!deliver.redelivered) {
    int& last = consumer.last_fresh[id.first];
    REQUIRE(last < id.second);
    last = id.second;
  }
  arrived(life, consumer.queue, id, deliver.redelivered, consumer.no_ack);
  if (consumer.no_ack || !life->alive) return;
  life->outstanding[deliver.delivery_tag] = {consumer.queue, id, tag};
  std::uint32_t of_consumer = 0;
  std::uint32_t of_channel = 0;
  for (const auto& [other_tag, held] : life->outstanding) {
    if (held.consumer == tag) ++of_consumer;
    if (!held.consumer.empty()) ++of_channel;
  }
  REQUIRE((consumer.prefetch == 0 || of_consumer <= consumer.prefetch));
  REQUIRE((life->global_prefetch == 0 || of_channel <= life->global_prefetch));
}

void Traffic::got_get(const Life& life, const ServerFrame& frame) {
  REQUIRE(!life->gets.empty());
  const auto [queue, no_ack] = life->gets.front();
  life->gets.erase(life->gets.begin());
  if (frame.is<amqp::BasicGetEmpty>()) return;
  const auto get_ok = frame.as<amqp::BasicGetOk>();
  const MessageId id = id_of(frame.body);
  arrived(life, queue, id, get_ok.redelivered, no_ack);
  if (!no_ack && life->alive) life->outstanding[get_ok.delivery_tag] = {queue, id, ""};
}

void Traffic::arrived(const Life& life, const std::string& queue, MessageId id, bool redelivered,
                      bool no_ack) {
  ++delivered_;
  CAPTURE(queue);
  CAPTURE(id.first);
  CAPTURE(id.second);
  CAPTURE(redelivered);
  QueueModel& model = queues_[queue];
  const auto at = model.copies.find(id);
  REQUIRE(at != model.copies.end());  // published to that queue, and not rolled back
  Copy& copy = at->second;
  const int holder = copy.holder == nullptr ? 0 : copy.holder->publisher;
  const int finished_by = copy.finished ? copy.finished_by->publisher : 0;
  CAPTURE(holder);
  CAPTURE(finished_by);
  copy.certain = true;
  if (!no_ack && (!life->alive || recovering(*life))) {
    // It has gone back already, perhaps to somebody who saw it sooner.
    copy.seen = true;
    return;
  }
  const bool late = copy.seen && !redelivered;
  if (copy.finished && !copy.finished_by->lost) {
    one_must_be_lost_.emplace_back(life, copy.finished_by);
    copy.finished_before = copy.finished_by;
  } else if (copy.holder != nullptr && copy.holder->alive) {
    one_must_be_lost_.emplace_back(life, copy.holder);
  } else if (late) {
    one_must_be_lost_.emplace_back(life, life);
  }
  if (!options_.resets) REQUIRE(one_must_be_lost_.empty());
  if (late) return;
  copy.seen = true;
  copy.holder = nullptr;
  copy.finished = false;
  if (no_ack) {
    copy.finished = true;
    copy.finished_by = life;
  } else {
    copy.holder = life;
  }
}

void Traffic::confirmed(ChannelLife& life, std::uint64_t sequence, bool multiple) {
  REQUIRE(life.mode == Mode::kConfirm);
  REQUIRE(sequence < life.next_sequence);
  auto at = multiple ? life.unconfirmed.begin() : life.unconfirmed.find(sequence);
  while (at != life.unconfirmed.end() && at->first <= sequence) {
    make_certain(at->second);
    at = life.unconfirmed.erase(at);
    if (!multiple) break;
  }
}

void Traffic::make_certain(const std::vector<Target>& targets) {
  for (const Target& target : targets) queues_[target.queue].copies[target.id].certain = true;
}

Traffic::MessageId Traffic::id_of(const std::string& body) {
  const std::size_t dot = body.find('.');
  const std::size_t bar = body.find('|');
  REQUIRE(dot < bar);
  REQUIRE(bar != std::string::npos);
  MessageId id{0, 0};
  std::from_chars(body.data(), body.data() + dot, id.first);
  std::from_chars(body.data() + dot + 1, body.data() + bar, id.second);
  return id;
}

// --- the end
// --------------------------------------------------------------------------------------

void Traffic::finish() {
  calm_down();
  drain();
  check_all();
  for (const std::string& queue : queue_names_) {
    admin_->send(1, amqp::QueueDelete{.queue = queue});
    REQUIRE(admin_->await<amqp::QueueDeleteOk>(1));
  }
  for (ClientModel& one : clients_) {
    REQUIRE(one.client->close());
    one.client.reset();
  }
  REQUIRE(admin_->close());
  admin_.reset();
  world_.run_for(10 * kSecondNs);
  CHECK(node_->queues() == 0);
  CHECK(runtime::MemoryGauge::total() == memory_before_);
}

// Everybody stops, and gives back or acknowledges what it has, until nothing moves and nothing is
// owed.
void Traffic::calm_down() {
  REQUIRE(world_.run_until_idle());
  process_all();
  for (ClientModel& one : clients_) {
    for (const Life& life : one.channels) {
      end_transaction(one, life);
      while (!life->consumers.empty()) {
        const std::string tag = life->consumers.begin()->first;
        one.client->send(life->number, amqp::BasicCancel{.consumer_tag = tag});
        ++life->owed[amqp::kMethodKey<amqp::BasicCancelOk>];
        REQUIRE(world_.run_until([&] {
          process(one);
          return !life->consumers.contains(tag);
        }));
      }
    }
  }
  for (;;) {
    REQUIRE(world_.run_until_idle());
    process_all();
    bool quiet = true;
    for (ClientModel& one : clients_) {
      for (const Life& life : one.channels) {
        if (life->outstanding.empty() && life->tx_acks.empty()) continue;
        quiet = false;
        one.client->send(life->number, amqp::BasicAck{.delivery_tag = 0, .multiple = true});
        settle(life, UINT64_MAX, true, What::kFinish);
        end_transaction(one, life);
      }
    }
    if (quiet) break;
  }
  for (const ClientModel& one : clients_) {
    for (const Life& life : one.channels) {
      CHECK(life->gets.empty());
      for (const auto& [key, count] : life->owed) {
        CAPTURE(amqp::method_name(static_cast<std::uint16_t>(key >> 16),
                                  static_cast<std::uint16_t>(key)));
        CHECK(count == 0);
      }
      if (life->mode == Mode::kConfirm) CHECK(life->unconfirmed.empty());
      // All answers are here, so the publishes before them are too.
      for (const auto& [sequence, targets] : life->unconfirmed) make_certain(targets);
    }
  }
}

// What is left comes out in order, by basic.get.
void Traffic::drain() {
  const Life life = std::make_shared<ChannelLife>();
  for (const std::string& queue : queue_names_) {
    std::map<int, int> last;
    for (;;) {
      admin_->send(1, amqp::BasicGet{.queue = queue, .no_ack = true});
      ServerFrame frame;
      REQUIRE(world_.run_until([&] {
        return admin_->take<amqp::BasicGetOk>(1, frame) ||
               admin_->take<amqp::BasicGetEmpty>(1, frame);
      }));
      if (frame.is<amqp::BasicGetEmpty>()) break;
      const MessageId id = id_of(frame.body);
      REQUIRE(last[id.first] < id.second);
      last[id.first] = id.second;
      arrived(life, queue, id, frame.as<amqp::BasicGetOk>().redelivered, true);
    }
  }
}

void Traffic::check_all() {
  for (const auto& [one, other] : one_must_be_lost_) CHECK((one->lost || other->lost));
  for (const auto& [name, queue] : queues_) {
    if (queue.lossy) continue;
    CAPTURE(name);
    for (const auto& [id, copy] : queue.copies) {
      if (!copy.certain || copy.finished) continue;
      if (copy.finished_before != nullptr && !copy.finished_before->lost) continue;
      CAPTURE(id.first);
      CAPTURE(id.second);
      CHECK(copy.finished);
    }
  }
}

}  // namespace ringtail::sim
