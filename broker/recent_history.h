// What exchanges of type x-recent-history remember: their last messages, given to whatever is bound
// to them. Routing only names such exchanges; the messages are kept here.
//
// An exchange's history lies on one shard, chosen by its vhost and name. Whoever routes on another
// shard sends what is to be remembered there, at the end of the turn; of what gathers meanwhile
// only as much is kept as the history would keep, and one letter is under way at a time, so that a
// slow owner costs nothing.
//
// A new binding becomes known to one shard after the other, and a message that a shard routed by
// the binding must not come out of the history once more. So each shard, when it learns of the
// binding, sends the owner a mark behind what it routed before; when all marks are there, the owner
// delivers what came from each shard before its mark. Once, and nothing is missing. A channel that
// made a binding waits until that has happened before it answers, so that whoever hears bind-ok
// finds the history of its node in the queue.
//
// Histories live in memory: they are bounded (limits.h), and gone with the node or the exchange.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/queue_publisher.h"
#include "broker/routing/route_table.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/view.h"
#include "queue/message.h"

namespace ringtail::broker {

enum HistoryLetterKind : runtime::LetterKind {
  kRemember = runtime::kBrokerLetters + 0x40,  // any shard -> owner
  kRemembered,                                 // owner -> that shard
  kHistoryMark,                                // every shard -> owner
  kAwaitHistory,                               // any actor -> owner
  kHistoryDelivered,                           // owner -> that actor
};

using ExchangePtr = std::shared_ptr<const cluster::metadata::ExchangeRecord>;

// The newest messages of an exchange, oldest first.
class History {
 public:
  // `length`: how many messages it keeps at most.
  explicit History(std::uint64_t length) : length_(length) {}
  void add(queue::MessageRef message);
  const std::deque<queue::MessageRef>& messages() const { return messages_; }

 private:
  std::uint64_t length_;
  std::uint64_t bytes_ = 0;
  std::deque<queue::MessageRef> messages_;
};

// Answered by Remembered unless it precedes a mark.
struct Remember : runtime::Letter {
  Remember() : Letter(kRemember) {}
  bool answer = true;
  std::vector<std::pair<ExchangePtr, History>> exchanges;
};
struct Remembered : runtime::Letter {
  Remembered() : Letter(kRemembered) {}
};
// The sender knows this binding now: since this version of its view, the same on every shard.
struct HistoryMark : runtime::Letter {
  HistoryMark() : Letter(kHistoryMark) {}
  std::uint64_t version = 0;
  cluster::metadata::BindingRecord binding;
};

// Answered by HistoryDelivered when queues have settled what the bindings bring them that the asker
// knows of.
struct AwaitHistory : runtime::Letter {
  AwaitHistory() : Letter(kAwaitHistory) {}
  std::uint64_t request = 0;
  std::string vhost;
  std::string exchange;
};
struct HistoryDelivered : runtime::Letter {
  HistoryDelivered() : Letter(kHistoryDelivered) {}
  std::uint64_t request = 0;
};

// One per shard; lives as long as the shard's replica.
class RecentHistory final : public runtime::Actor,
                            public cluster::metadata::Observer,
                            private runtime::TurnTask {
 public:
  RecentHistory(runtime::Shard& shard, cluster::metadata::View& view, const RouteTable& routes,
                std::uint16_t shards);
  ~RecentHistory() override;

  // The message has passed these exchanges (RouteTable::route's `remembering`).
  void remember(const std::vector<const Exchange*>& exchanges, const queue::MessageRef& message);

  // Whether a binding from this exchange brings something: then its owner is asked (AwaitHistory).
  bool remembers(const std::string& vhost, const std::string& exchange) const;
  runtime::Address owner_address(const std::string& vhost, const std::string& exchange) const;

  void peer_changed(runtime::NodeId peer, bool up) { publisher_.peer_changed(peer, up); }

  void receive(runtime::LetterPtr letter) noexcept override;
  void binding_added(const cluster::metadata::BindingRecord& record) override;
  void exchange_removed(const cluster::metadata::ExchangeRecord& record) override;
  void queue_removed(const cluster::metadata::QueueRecord& record) override;
  void queue_changed(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override {
    publisher_.queue_changed(*record);
  }

 private:
  using Name = std::pair<std::string, std::string>;  // vhost, exchange

  // What is gathered for one owner.
  struct Outgoing {
    bool waiting = false;  // for Remembered
    bool due = false;      // to be sent at the turn's end
    std::map<Name, std::pair<ExchangePtr, History>> gathered;
  };
  // A binding whose marks are not all there yet.
  struct Pending {
    cluster::metadata::BindingRecord binding;
    History history;
    std::vector<bool> marked;  // by shard
    std::uint16_t marks = 0;
    std::vector<std::pair<runtime::Address, std::uint64_t>> awaited;  // by whom, as which request
  };

  void turn_end() noexcept override;
  runtime::ShardId owner_of(const Name& exchange) const;
  runtime::Address address_on(runtime::ShardId shard) const;
  void send(runtime::ShardId owner, bool answer);
  void on_remember(const Remember& letter);
  void on_mark(const HistoryMark& letter);
  void drop_overdue(std::size_t shard, std::uint64_t version);
  void deliver(const Pending& pending);
  void deliver_through(const Exchange& exchange, const queue::MessageRef& message);
  void on_await(const AwaitHistory& letter);
  void tell_when_settled(const runtime::Address& to, std::uint64_t request);

  runtime::Shard& shard_;
  const cluster::metadata::View& view_;
  const RouteTable& routes_;
  QueuePublisher publisher_;
  bool observing_ = false;          // bindings that come now are new
  std::vector<Outgoing> outgoing_;  // by owner
  // As an owner.
  std::map<Name, History> histories_;
  std::map<std::uint64_t, Pending> pending_;  // by the version of the view
};

}  // namespace ringtail::broker
