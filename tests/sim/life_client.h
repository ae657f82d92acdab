// A client of a cluster that does whatever clients do, by chance: it connects to any node,
// publishes with confirms, consumes, asks, dies, and comes back elsewhere. What it is told goes
// into what all clients know, and is held against that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tests/sim/broker_cluster.h"
#include "tests/sim/message_ledger.h"

namespace ringtail::sim {

// What all clients together have asked for and been told.
struct CommonKnowledge {
  using Names = std::set<std::string>;
  static constexpr std::uint32_t kQueues = 8;
  static constexpr std::uint32_t kKeys = 3;

  // Durable queues, which nobody deletes. Who has asked may have got it.
  Names asked;
  Names declared;
  // Their bindings to amq.direct, by key: those that may ever be asked for, and those that are.
  static bool may_bind(std::uint32_t queue, std::uint32_t key) { return (queue + key) % 3 != 0; }
  std::map<std::string, Names> bound;
  // Queues that go with their last consumer; those of which somebody has certainly been one.
  Names passing_asked;
  Names passing_used;
  std::uint32_t names = 0;  // for what is used once
  MessageLedger ledger;
};

class LifeClient {
 public:
  // `number`: of its machine, from 1.
  LifeClient(BrokerCluster& cluster, CommonKnowledge& common, std::uint32_t number);

  // Takes what has come, and does what a client's library does by itself.
  void look();
  void act();
  // It has a connection to a node and nothing is owed to it, or it has none.
  bool quiet() const;
  // What it waits for.
  std::string waits_for() const;
  // In order, once quiet, or like a process that is killed.
  void close();
  void die();
  bool gone() const { return client_ == nullptr; }

 private:
  enum class Step : std::uint8_t { kNone, kOpening, kSettingUp, kOpen };
  enum class Ask : std::uint8_t { kNone, kDeclare, kLook, kBind, kGet, kExclusive, kPassing, kUse };
  struct Consumer {
    std::string queue;
    SeenInOrder order;
    bool cancelling = false;
  };
  struct Held {
    std::string queue;
    MessageId id;
  };

  // --- life_client.cc: connection and channels ---
  void connect();
  void forget();
  void forget_channel(std::uint16_t channel);
  void handle(const ServerFrame& frame);
  void opened(std::uint16_t channel);
  void channel_closed(const ServerFrame& frame);
  void check_close_code() const;
  bool node_knows_all() const;

  // --- life_client_work.cc ---
  void publish();
  void publish_one();
  void settle(std::uint64_t tag, bool multiple, bool acknowledged);
  void consume();
  void cancel();
  void give_back();
  void got_delivery(const ServerFrame& frame);
  void ask();
  void ask_for_binding();
  void ask_for_passing();
  void answered(const ServerFrame& frame);
  void check_in_force() const;
  void got(const ServerFrame& frame);
  std::string random_declared();

  BrokerCluster& cluster_;
  CommonKnowledge& common_;
  const std::uint32_t number_;
  runtime::SimRng rng_;
  std::unique_ptr<AmqpClient> client_;
  std::uint32_t node_ = 0;  // where it is connected, or tries to
  bool closing_ = false;
  std::uint64_t last_sent_ns_ = 0;
  std::uint64_t last_heard_ns_ = 0;
  std::uint64_t heard_ = 0;  // bytes
  Step steps_[4] = {};       // by channel; 0 is none
  // Channel 1: publishes.
  std::uint32_t publisher_ = 0;
  std::uint32_t last_number_ = 0;
  std::map<std::uint64_t, MessageId> unconfirmed_;
  // Channel 2: consumes.
  std::map<std::string, Consumer> consumers_;
  std::map<std::string, std::string> consuming_;  // asked for: tag, queue
  std::map<std::uint64_t, Held> held_;
  // Channel 3: asks.
  Ask ask_ = Ask::kNone;
  std::string asked_name_;
  std::string asked_key_;
  bool must_exist_ = false;  // as far as the node knows that was asked
};

}  // namespace ringtail::sim
