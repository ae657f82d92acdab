#include "tests/sim/traffic.h"

#include <doctest/doctest.h>

#include "broker/runtime/memory_gauge.h"

namespace ringtail::sim {

using runtime::kMillisecondNs;

Traffic::Traffic(std::uint64_t seed, const TrafficOptions& options)
    : options_(options), world_(seed), host_(world_), rng_(seed * 977 + 5) {}

Traffic::~Traffic() = default;

void Traffic::run() {
  world_.set_buggify(options_.buggify);
  node_ = std::make_unique<BrokerNode>(host_, static_cast<std::uint16_t>(rng_.between(1, 4)));
  memory_before_ = runtime::MemoryGauge::total();
  set_up();
  if (options_.resets) world_.network().options().reset = 0.002;
  for (int i = 0; i < options_.steps; ++i) step();
  world_.network().options().reset = 0;
  finish();
}

// --- topology and connections
// ---------------------------------------------------------------------

void Traffic::set_up() {
  const std::uint64_t connections = rng_.between(2, 5);
  for (std::uint64_t i = 0; i < connections; ++i) connect(clients_.emplace_back());
  admin_ = std::make_unique<AmqpClient>(host_);
  admin_->connect();
  REQUIRE(admin_->await_open());
  REQUIRE(admin_->open_channel(1));
  const std::uint64_t queues = rng_.between(1, 4);
  for (std::uint64_t i = 0; i < queues; ++i) {
    // A queue lives on the shard of the connection that declares it.
    AmqpClient& declarer = *clients_[rng_.below(clients_.size())].client;
    queue_names_.push_back("q" + std::to_string(i));
    queues_[queue_names_.back()];
    if (options_.queue_options) declare_with_options(queue_names_.back());
    REQUIRE(declarer.declare(1, queue_names_.back()));
  }
  for (const std::string type : {"fanout", "direct"}) {
    admin_->send(1, amqp::ExchangeDeclare{.exchange = type, .type = type, .arguments = {}});
    REQUIRE(admin_->await<amqp::ExchangeDeclareOk>(1));
    for (const std::string key : {"k0", "k1", "k2"}) {
      for (const std::string& queue : queue_names_) {
        if (!rng_.chance(0.4)) continue;
        admin_->send(1, amqp::QueueBind{
                            .queue = queue, .exchange = type, .routing_key = key, .arguments = {}});
        REQUIRE(admin_->await<amqp::QueueBindOk>(1));
        if (type == "direct") {
          routes_[{type, key}].insert(queue);
        } else {
          for (const char* any : {"k0", "k1", "k2"}) routes_[{type, any}].insert(queue);
        }
      }
    }
  }
}

// Options under which every message is still delivered, in order, or is dropped by rule.
void Traffic::declare_with_options(const std::string& name) {
  cluster::metadata::DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = name;
  cluster::metadata::QueueOptions& options = command.record.options;
  options.max_priority = static_cast<std::uint8_t>(rng_.below(4));
  options.single_active_consumer = rng_.chance(0.3);
  const bool drops = rng_.chance(0.5);
  queues_[name].lossy = drops;
  if (rng_.chance(0.5)) options.message_ttl_ms = drops ? rng_.below(30) : 1'000'000;
  if (rng_.chance(0.5)) options.max_length = drops ? rng_.below(30) : 1'000'000;
  if (rng_.chance(0.5)) options.max_length_bytes = drops ? rng_.below(5'000) : 1'000'000'000;
  if (rng_.chance(0.5)) options.delivery_limit = drops ? rng_.below(4) : 1'000'000;
  bool done = false;
  node_->run_on_shard(0, [&] {
    node_->shard(0).propose(command, [&](const cluster::metadata::CommandResult&) { done = true; });
  });
  REQUIRE(world_.run_until([&] { return done; }));
}

void Traffic::connect(ClientModel& one) {
  const std::uint64_t channels = rng_.between(1, 3);
  for (;;) {
    one.channels.clear();
    one.client = std::make_unique<AmqpClient>(host_);
    one.client->connect();
    if (!one.client->await_open()) continue;
    bool good = true;
    for (std::uint16_t number = 1; good && number <= channels; ++number) {
      good = begin_channel(one, number);
    }
    if (good) return;
  }
}

bool Traffic::begin_channel(ClientModel& one, std::uint16_t number) {
  if (!one.client->open_channel(number)) return false;
  const Life life = std::make_shared<ChannelLife>();
  life->publisher = next_publisher_++;
  life->number = number;
  life->mode = static_cast<Mode>(rng_.below(3));
  one.channels.push_back(life);
  AmqpClient& client = *one.client;
  if (life->mode == Mode::kConfirm) {
    client.send(number, amqp::ConfirmSelect{});
    ++life->owed[amqp::kMethodKey<amqp::ConfirmSelectOk>];
  } else if (life->mode == Mode::kTx) {
    client.send(number, amqp::TxSelect{});
    ++life->owed[amqp::kMethodKey<amqp::TxSelectOk>];
  }
  if (rng_.chance(0.5)) {
    life->prefetch = static_cast<std::uint32_t>(rng_.between(1, 10));
    client.send(number,
                amqp::BasicQos{.prefetch_count = static_cast<std::uint16_t>(life->prefetch)});
    ++life->owed[amqp::kMethodKey<amqp::BasicQosOk>];
  }
  if (rng_.chance(0.4)) {
    life->global_prefetch = static_cast<std::uint32_t>(rng_.between(1, 15));
    client.send(number,
                amqp::BasicQos{.prefetch_count = static_cast<std::uint16_t>(life->global_prefetch),
                               .global = true});
    ++life->owed[amqp::kMethodKey<amqp::BasicQosOk>];
  }
  return true;
}

void Traffic::end_life(const Life& life, bool lost) {
  life->alive = false;
  life->lost = lost;
  for (const auto& [tag, consumer] : life->consumers) {
    if (consumer.no_ack) queues_[consumer.queue].lossy = true;
  }
  for (const auto& [queue, no_ack] : life->gets) {
    if (no_ack) queues_[queue].lossy = true;
  }
  if (lost) return;
  // Closed in order: everything said before has been heard.
  for (const auto& [sequence, targets] : life->unconfirmed) make_certain(targets);
  for (const auto& targets : life->tx_committing) make_certain(targets);
}

void Traffic::connection_lost(ClientModel& one) {
  REQUIRE(options_.resets);
  REQUIRE(one.client->close_code() == 0);
  ++lost_;
  for (const Life& life : one.channels) end_life(life, true);
  connect(one);
}

// --- what clients do
// --------------------------------------------------------------------------------

void Traffic::step() {
  ClientModel& one = clients_[rng_.below(clients_.size())];
  const std::size_t at = rng_.below(one.channels.size());
  const Life life = one.channels[at];
  const std::uint64_t dice = rng_.below(100);
  if (dice < 40) {
    publish(one, *life);
  } else if (dice < 50) {
    consume(one, *life);
  } else if (dice < 54) {
    cancel(one, *life);
  } else if (dice < 60) {
    get(one, *life);
  } else if (dice < 85) {
    acknowledge(one, life);
  } else if (dice < 87) {
    recover(one, *life);
  } else if (dice < 94) {
    end_transaction(one, life);
  } else if (dice < 97) {
    reopen(one, at);
  } else if (options_.resets) {
    one.client->abort();
  }
  if (rng_.chance(0.8)) world_.run_for(rng_.below(2 * kMillisecondNs));
  process_all();
}

void Traffic::publish(ClientModel& one, ChannelLife& life) {
  static constexpr const char* kExchanges[] = {"", "fanout", "direct"};
  const std::uint64_t count = rng_.between(1, 12);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string exchange = kExchanges[rng_.below(3)];
    const std::string key = exchange.empty() && rng_.chance(0.95)
                                ? queue_names_[rng_.below(queue_names_.size())]
                                : "k" + std::to_string(rng_.below(3));
    std::vector<Target> targets;
    const MessageId id{life.publisher, life.next_message++};
    if (exchange.empty() && queues_.contains(key)) {
      targets.push_back({key, id});
    } else if (const auto found = routes_.find({exchange, key}); found != routes_.end()) {
      for (const std::string& queue : found->second) targets.push_back({queue, id});
    }
    const bool mandatory = rng_.chance(0.2);
    std::string body = std::to_string(id.first) + "." + std::to_string(id.second) + "|";
    body.append(rng_.chance(0.05) ? rng_.below(200'000) : rng_.below(300), 'x');
    one.client->publish(life.number, exchange, key, body, mandatory);
    if (mandatory && targets.empty() && life.mode != Mode::kTx) {
      ++life.owed[amqp::kMethodKey<amqp::BasicReturn>];
    }
    if (life.mode == Mode::kTx) {
      // An unroutable one is returned at the commit; the mark is an empty queue name.
      if (mandatory && targets.empty()) targets.push_back({"", id});
      life.tx_publishes.insert(life.tx_publishes.end(), targets.begin(), targets.end());
      continue;
    }
    for (const Target& target : targets) queues_[target.queue].copies[id];
    const std::uint64_t sequence = life.next_sequence++;
    // Without confirms the entry is kept all the same: an orderly close makes it certain.
    life.unconfirmed[sequence] = std::move(targets);
  }
}

void Traffic::consume(ClientModel& one, ChannelLife& life) {
  if (life.consumers.size() >= 3) return;
  const std::string tag = "c" + std::to_string(life.next_consumer++);
  ConsumerModel consumer;
  consumer.queue = queue_names_[rng_.below(queue_names_.size())];
  consumer.no_ack = rng_.chance(0.15);
  consumer.prefetch = consumer.no_ack ? 0 : life.prefetch;
  one.client->send(life.number, amqp::BasicConsume{.queue = consumer.queue,
                                                   .consumer_tag = tag,
                                                   .no_ack = consumer.no_ack,
                                                   .arguments = {}});
  ++life.owed[amqp::kMethodKey<amqp::BasicConsumeOk>];
  life.consumers[tag] = std::move(consumer);
}

void Traffic::cancel(ClientModel& one, ChannelLife& life) {
  if (life.consumers.empty()) return;
  auto at = life.consumers.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(rng_.below(life.consumers.size())));
  one.client->send(life.number, amqp::BasicCancel{.consumer_tag = at->first});
  ++life.owed[amqp::kMethodKey<amqp::BasicCancelOk>];
}

void Traffic::get(ClientModel& one, ChannelLife& life) {
  const std::string& queue = queue_names_[rng_.below(queue_names_.size())];
  const bool no_ack = rng_.chance(0.3);
  one.client->send(life.number, amqp::BasicGet{.queue = queue, .no_ack = no_ack});
  life.gets.emplace_back(queue, no_ack);
}

void Traffic::acknowledge(ClientModel& one, const Life& life) {
  if (life->outstanding.empty() || recovering(*life)) return;
  auto at = life->outstanding.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(rng_.below(life->outstanding.size())));
  const std::uint64_t tag = at->first;
  const bool multiple = rng_.chance(0.3);
  const std::uint64_t dice = rng_.below(10);
  if (dice < 7) {
    one.client->send(life->number, amqp::BasicAck{.delivery_tag = tag, .multiple = multiple});
    settle(life, tag, multiple, What::kFinish);
  } else if (dice == 7) {
    one.client->send(life->number, amqp::BasicReject{.delivery_tag = tag, .requeue = false});
    settle(life, tag, false, What::kFinish);
  } else {
    one.client->send(life->number,
                     amqp::BasicNack{.delivery_tag = tag, .multiple = multiple, .requeue = true});
    settle(life, tag, multiple, What::kGiveBack);
  }
}

void Traffic::settle(const Life& life, std::uint64_t tag, bool multiple, What what) {
  auto at = multiple ? life->outstanding.begin() : life->outstanding.find(tag);
  while (at != life->outstanding.end() && at->first <= tag) {
    if (life->mode == Mode::kTx) {
      life->tx_acks.push_back({at->first, {at->second, what}});
    } else {
      settle_one(life, at->second, what);
    }
    at = life->outstanding.erase(at);
    if (!multiple) break;
  }
}

void Traffic::settle_one(const Life& life, const Held& held, What what) {
  Copy& copy = queues_[held.queue].copies[held.id];
  copy.holder = nullptr;
  if (what == What::kGiveBack) return;
  copy.finished = true;
  copy.finished_by = life;
}

void Traffic::recover(ClientModel& one, ChannelLife& life) {
  one.client->send(life.number, amqp::BasicRecover{.requeue = true});
  ++life.owed[amqp::kMethodKey<amqp::BasicRecoverOk>];
  for (const auto& [tag, held] : life.outstanding) {
    queues_[held.queue].copies[held.id].holder = nullptr;
  }
}

void Traffic::end_transaction(ClientModel& one, const Life& life) {
  if (life->mode != Mode::kTx || recovering(*life)) return;
  if (rng_.chance(0.7)) {
    one.client->send(life->number, amqp::TxCommit{});
    ++life->owed[amqp::kMethodKey<amqp::TxCommitOk>];
    std::vector<Target> targets;
    for (const Target& target : life->tx_publishes) {
      if (target.queue.empty()) {
        ++life->owed[amqp::kMethodKey<amqp::BasicReturn>];
      } else {
        queues_[target.queue].copies[target.id];
        targets.push_back(target);
      }
    }
    life->tx_committing.push_back(std::move(targets));
    for (const auto& [tag, ack] : life->tx_acks) settle_one(life, ack.first, ack.second);
  } else {
    one.client->send(life->number, amqp::TxRollback{});
    ++life->owed[amqp::kMethodKey<amqp::TxRollbackOk>];
    for (const auto& [tag, ack] : life->tx_acks) life->outstanding[tag] = ack.first;
  }
  life->tx_publishes.clear();
  life->tx_acks.clear();
}

void Traffic::reopen(ClientModel& one, std::size_t at) {
  const Life life = one.channels[at];
  one.client->send(life->number, amqp::ChannelClose{.reply_code = 200, .reply_text = "bye"});
  life->alive = false;  // what comes now is not used any more
  if (!one.client->await<amqp::ChannelCloseOk>(life->number)) return;
  process(one);
  end_life(life, false);
  one.channels.erase(one.channels.begin() + static_cast<std::ptrdiff_t>(at));
  // When the connection breaks meanwhile, the next step makes all of it anew.
  if (!begin_channel(one, life->number) && one.channels.empty()) connect(one);
}

}  // namespace ringtail::sim
