// Random traffic of several clients through one node, and a model of what may and must come of it
// (ARCHITECTURE section 6). A wrong answer fails the running doctest case.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/sim_broker.h"

namespace ringtail::sim {

struct TrafficOptions {
  int steps = 250;
  // Connections are reset in the middle: by the network, and by clients that die.
  bool resets = false;
  bool buggify = false;
  // Queues have time to live, limits, priorities, a single active consumer.
  bool queue_options = false;
};

// One run. The model knows every message by (publisher, number); a publisher is one life of one
// channel.
class Traffic {
 public:
  Traffic(std::uint64_t seed, const TrafficOptions& options);
  ~Traffic();
  void run();
  std::uint64_t digest() const { return world_.digest(); }
  std::uint64_t messages_delivered() const { return delivered_; }
  std::uint64_t connections_lost() const { return lost_; }

 private:
  using MessageId = std::pair<int, int>;  // publisher, number
  enum class Mode : std::uint8_t { kPlain, kConfirm, kTx };
  enum class What : std::uint8_t { kFinish, kGiveBack };

  struct ConsumerModel {
    std::string queue;
    bool no_ack = false;
    std::uint32_t prefetch = 0;
    std::map<int, int> last_fresh;  // by publisher: the last number not marked redelivered
  };
  struct Held {
    std::string queue;
    MessageId id;
    std::string consumer;  // empty: basic.get
  };
  struct Target {
    std::string queue;
    MessageId id;
  };
  // One life of a channel.
  struct ChannelLife {
    int publisher = 0;
    std::uint16_t number = 0;
    Mode mode = Mode::kPlain;
    bool alive = true;
    bool lost = false;  // its connection broke: what it said last may not have arrived
    int next_message = 1;
    std::uint32_t prefetch = 0;
    std::uint32_t global_prefetch = 0;
    int next_consumer = 1;
    std::map<std::string, ConsumerModel> consumers;
    std::map<std::uint64_t, Held> outstanding;  // by delivery tag
    std::uint64_t next_sequence = 1;
    std::map<std::uint64_t, std::vector<Target>> unconfirmed;
    std::vector<Target> tx_publishes;
    std::vector<std::vector<Target>> tx_committing;
    std::vector<std::pair<std::uint64_t, std::pair<Held, What>>> tx_acks;
    std::vector<std::pair<std::string, bool>> gets;  // asked and not answered: queue, no_ack
    std::map<std::uint32_t, int> owed;               // answers, by method key
  };
  using Life = std::shared_ptr<ChannelLife>;
  // A message in a queue.
  struct Copy {
    bool certain = false;  // confirmed, or known to have arrived
    bool seen = false;
    bool finished = false;
    // Who had finished with it when it arrived once more, which can only be seen late: of the two
    // one must have been lost, and if that is the other one, it is finished with all the same.
    Life finished_before;
    Life finished_by;
    Life holder;
  };
  struct QueueModel {
    std::map<MessageId, Copy> copies;
    bool lossy = false;  // deliveries without acks were under way to a channel that ended
  };
  struct ClientModel {
    std::unique_ptr<AmqpClient> client;
    std::vector<Life> channels;
  };

  void set_up();
  void declare_with_options(const std::string& name);
  void connect(ClientModel& one);
  Life new_life(std::uint16_t number);
  bool begin_channel(ClientModel& one, std::uint16_t number);
  void connection_lost(ClientModel& one);
  void end_life(const Life& life, bool lost);

  void step();
  void publish(ClientModel& one, ChannelLife& life);
  void consume(ClientModel& one, ChannelLife& life);
  void cancel(ClientModel& one, ChannelLife& life);
  void get(ClientModel& one, ChannelLife& life);
  void acknowledge(ClientModel& one, const Life& life);
  void settle(const Life& life, std::uint64_t tag, bool multiple, What what);
  void settle_one(const Life& life, const Held& held, What what);
  void recover(ClientModel& one, ChannelLife& life);
  // What came before recover-ok has gone back, so that nothing can be said about it any more.
  static bool recovering(ChannelLife& life) {
    return life.owed[amqp::kMethodKey<amqp::BasicRecoverOk>] > 0;
  }
  void end_transaction(ClientModel& one, const Life& life);
  void reopen(ClientModel& one, std::size_t at);

  void process_all();
  void process(ClientModel& one);
  void handle(const Life& life, const ServerFrame& frame);
  void got_answer(ChannelLife& life, std::uint32_t key);
  void got_delivery(const Life& life, const ServerFrame& frame);
  void got_get(const Life& life, const ServerFrame& frame);
  void arrived(const Life& life, const std::string& queue, MessageId id, bool redelivered,
               bool no_ack);
  void confirmed(ChannelLife& life, std::uint64_t sequence, bool multiple);
  void make_certain(const std::vector<Target>& targets);
  static MessageId id_of(const std::string& body);

  void finish();
  void calm_down();
  void drain();
  void check_all();

  const TrafficOptions options_;
  runtime::SimWorld world_;
  runtime::SimHost host_;
  std::unique_ptr<BrokerNode> node_;
  std::int64_t memory_before_ = 0;
  runtime::SimRng rng_;
  std::vector<std::string> queue_names_;
  std::map<std::string, QueueModel> queues_;
  // Exchange and key: the queues that get it. The default exchange is not in it.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> routes_;
  std::unique_ptr<AmqpClient> admin_;
  std::vector<ClientModel> clients_;
  // Two that had the same message: one of them must turn out to have lost its connection, of which
  // the node may know before its client does.
  std::vector<std::pair<Life, Life>> one_must_be_lost_;
  int next_publisher_ = 1;
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace ringtail::sim
