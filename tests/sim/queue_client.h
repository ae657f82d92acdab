// A client of a node's queues (queue_host.h) that remembers what became of each message.
#pragma once

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/queue_host.h"

namespace ringtail::sim {

struct Fate {
  bool persistent = true;
  bool confirmed = false;
  bool delivered = false;
  bool by_broken_disk = false;  // delivered when no mark could be written
  bool acked = false;
  std::uint64_t acked_before = 0;  // how many publishes there were to the queue then
};

// One queue as its client knows it, over all starts of the node.
struct Known {
  cluster::metadata::QueueRecord record;
  std::vector<Fate> fates;      // of message n, whose body begins with "n "
  std::uint64_t confirmed = 0;  // messages before this one are confirmed or refused
  std::uint64_t kept_acks = 0;  // acks given when this many were published are certainly kept
  std::uint8_t levels = 1;
  std::uint8_t level_of(std::uint64_t number) const {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(number % 5, levels - 1U));
  }
};

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

inline std::string body_of(std::uint64_t number, std::size_t size) {
  std::string body = std::to_string(number) + " ";
  if (body.size() < size) body.append(size - body.size(), 'x');
  return body;
}

inline queue::MessageRef make_message(const std::string& body, bool persistent,
                                      std::uint8_t priority) {
  const std::string route = std::string("\x00", 1) + "\x01q";
  queue::Message::Traits traits;
  traits.persistent = persistent;
  traits.priority = priority;
  traits.has_priority = true;
  queue::Message* message =
      queue::Message::create(runtime::as_bytes(route), {}, body.size(), traits);
  message->append_body(runtime::as_bytes(body));
  return queue::MessageRef(message);
}

inline std::uint64_t number_of(const queue::Message& message) {
  const std::span<const std::uint8_t> body = message.body_is_inline()
                                                 ? message.inline_body()
                                                 : message.large_body().pieces().front().span();
  return std::strtoull(
      std::string(runtime::as_text(body.first(std::min<std::size_t>(body.size(), 20)))).c_str(),
      nullptr, 10);
}

// A channel in one start of the node: publishes to the queues and consumes from them.
class Client final : public runtime::Actor {
 public:
  Client(runtime::Shard& shard, std::vector<Known>& queues)
      : shard_(shard), queues_(queues), address_(shard.add(*this)), links_(queues.size()) {}
  ~Client() override { shard_.remove(address_.actor); }

  void receive(runtime::LetterPtr letter) noexcept override {
    const std::size_t at = index_of(static_cast<const queue::QueueLetter&>(*letter).qid);
    if (at == queues_.size()) return;  // of a queue that was deleted
    if (letter->kind == queue::kSettled) {
      settled(at, runtime::letter_cast<queue::Settled>(*letter));
    } else if (letter->kind == queue::kDeliver) {
      for (queue::Delivery& one : runtime::letter_cast<queue::Deliver>(*letter).deliveries) {
        delivered(at, one);
      }
    }
  }

  void publish(std::size_t at, std::size_t count, std::size_t size, bool persistent) {
    Known& known = queues_[at];
    auto letter = std::make_unique<queue::Publish>(known.record.qid);
    letter->first_number = links_[at].next_number;
    links_[at].next_number += count;
    for (; count > 0; --count) {
      const std::uint64_t number = known.fates.size();
      known.fates.push_back({.persistent = persistent});
      letter->messages.push_back(
          make_message(body_of(number, size), persistent, known.level_of(number)));
      links_[at].published.push_back(number);
    }
    post(at, std::move(letter));
  }
  // Each message to all queues, as a fanout exchange routes it.
  void publish_to_all(std::size_t count, std::size_t size) {
    std::vector<std::unique_ptr<queue::Publish>> letters;
    for (std::size_t at = 0; at < queues_.size(); ++at) {
      letters.push_back(std::make_unique<queue::Publish>(queues_[at].record.qid));
      letters[at]->first_number = links_[at].next_number;
      links_[at].next_number += count;
    }
    for (; count > 0; --count) {
      const std::uint64_t number = queues_[0].fates.size();
      const queue::MessageRef message = make_message(body_of(number, size), true, 0);
      for (std::size_t at = 0; at < queues_.size(); ++at) {
        queues_[at].fates.push_back({.persistent = true});
        letters[at]->messages.push_back(message);
        links_[at].published.push_back(number);
      }
    }
    for (std::size_t at = 0; at < queues_.size(); ++at) post(at, std::move(letters[at]));
  }
  void consume(std::size_t at, std::uint32_t prefetch) {
    auto letter = std::make_unique<queue::Consume>(queues_[at].record.qid);
    letter->consumer = 1;
    letter->prefetch = prefetch;
    links_[at].consumes = true;
    post(at, std::move(letter));
  }
  bool consumes(std::size_t at) const { return links_[at].consumes; }
  std::size_t held(std::size_t at) const { return links_[at].held.size(); }
  void settle_some(std::size_t at, runtime::SimRng& rng) {
    Link& link = links_[at];
    auto ack = std::make_unique<queue::Ack>(queues_[at].record.qid);
    auto back = std::make_unique<queue::Requeue>(queues_[at].record.qid);
    std::vector<std::pair<queue::DeliveryToken, std::uint64_t>> kept;
    for (const auto& [token, number] : link.held) {
      if (rng.chance(0.6)) {
        ack->tokens.push_back(token);
        Fate& fate = queues_[at].fates[number];
        fate.acked = true;
        fate.acked_before = queues_[at].fates.size();
      } else if (rng.chance(0.1)) {
        back->tokens.push_back(token);
      } else {
        kept.emplace_back(token, number);
      }
    }
    link.held = std::move(kept);
    const bool some = !ack->tokens.empty() || !back->tokens.empty();
    if (!ack->tokens.empty()) post(at, std::move(ack));
    if (!back->tokens.empty()) post(at, std::move(back));
    if (some) credit(at);
  }
  void settle_all(std::size_t at) {
    auto ack = std::make_unique<queue::Ack>(queues_[at].record.qid);
    for (const auto& [token, number] : std::exchange(links_[at].held, {})) {
      ack->tokens.push_back(token);
      queues_[at].fates[number].acked = true;
      queues_[at].fates[number].acked_before = queues_[at].fates.size();
    }
    post(at, std::move(ack));
    credit(at);
  }
  // As good as an ack of all that is not held.
  void purge(std::size_t at) {
    std::set<std::uint64_t> held;
    for (const auto& [token, number] : links_[at].held) held.insert(number);
    // What is on its way to this client stays, too.
    std::vector<Fate>& fates = queues_[at].fates;
    for (std::uint64_t number = 0; number < fates.size(); ++number) {
      if (held.contains(number) || fates[number].acked) continue;
      fates[number].acked = true;
      fates[number].acked_before = links_[at].consumes ? kNever : fates.size();
    }
    post(at, std::make_unique<queue::Purge>(queues_[at].record.qid));
  }
  // The queue is another one from here on.
  void forget(std::size_t at) { links_[at] = Link(); }
  // What has come since the last call, redelivered or not.
  struct Came {
    std::uint64_t number;
    bool redelivered;
  };
  std::vector<Came> take_came(std::size_t at) { return std::exchange(links_[at].came, {}); }
  bool all_settled() const {
    for (const Link& link : links_) {
      if (link.settled + 1 != link.next_number) return false;
    }
    return true;
  }
  std::uint64_t refused() const { return refused_; }

 private:
  struct Link {
    std::uint64_t next_number = 1;
    std::uint64_t settled = 0;
    std::vector<std::uint64_t> published;  // message numbers by publish number, from 1
    std::vector<std::pair<queue::DeliveryToken, std::uint64_t>> held;
    std::vector<Came> came;
    std::uint64_t written_messages = 0;
    std::uint64_t written_bytes = 0;
    bool consumes = false;
  };

  std::size_t index_of(queue::Qid qid) const {
    const std::uint64_t guess = qid.value - 1;  // where none was declared again
    if (guess < queues_.size() && queues_[guess].record.qid == qid) return guess;
    std::size_t at = 0;
    while (at < queues_.size() && queues_[at].record.qid != qid) ++at;
    return at;
  }
  void post(std::size_t at, runtime::LetterPtr letter) {
    const cluster::metadata::QueueRecord& record = queues_[at].record;
    shard_.post(address_, {shard_.node(), record.shard, runtime::ActorId{record.qid.value}},
                std::move(letter));
  }
  void settled(std::size_t at, const queue::Settled& letter) {
    Link& link = links_[at];
    Known& known = queues_[at];
    const std::set<std::uint64_t> refused(letter.rejected.begin(), letter.rejected.end());
    refused_ += refused.size();
    for (std::uint64_t number = link.settled + 1; number <= letter.up_to; ++number) {
      const std::uint64_t message = link.published[number - 1];
      if (refused.contains(number)) continue;
      known.fates[message].confirmed = true;
      // An ack that the queue had before this publish came lies before it in the journal.
      if (known.fates[message].persistent) known.kept_acks = std::max(known.kept_acks, message);
    }
    link.settled = letter.up_to;
  }
  void delivered(std::size_t at, const queue::Delivery& one) {
    Link& link = links_[at];
    const std::uint64_t number = number_of(*one.message);
    link.came.push_back({number, one.redelivered});
    link.held.emplace_back(one.token, number);
    ++link.written_messages;
    link.written_bytes += one.message->footprint();
    credit(at);
  }
  void credit(std::size_t at) {
    auto letter = std::make_unique<queue::Credit>(queues_[at].record.qid);
    letter->consumer = 1;
    letter->written_messages = links_[at].written_messages;
    letter->written_bytes = links_[at].written_bytes;
    post(at, std::move(letter));
  }

  runtime::Shard& shard_;
  std::vector<Known>& queues_;
  const runtime::Address address_;
  std::vector<Link> links_;
  std::uint64_t refused_ = 0;
};

}  // namespace ringtail::sim
