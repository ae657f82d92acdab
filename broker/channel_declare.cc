// A channel's third job: exchanges and queues.
#include <algorithm>

#include "broker/amqp/field_table.h"
#include "broker/channel_ask.h"
#include "broker/channel_names.h"
#include "broker/declarations.h"
#include "broker/direct_reply.h"
#include "broker/placement.h"

namespace ringtail::broker {

using amqp::Permission;
using cluster::metadata::CommandResult;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::Outcome;
using cluster::metadata::QueueRecord;
using QueueRecordPtr = std::shared_ptr<const QueueRecord>;

Declarer Channel::declarer() const {
  return {broker_shard_, connection_.user(), connection_.vhost()};
}

bool Channel::refused(Refusal refusal) {
  if (!refusal) return false;
  fail(std::move(*refusal));
  return true;
}

// --- exchanges ----------------------------------------------------------------------------------

void Channel::exchange_declare(const amqp::ExchangeDeclare& method) {
  const std::string name = clean_name(method.exchange);
  if (method.passive) {
    exchange_declare_passive(name, method.nowait);
    return;
  }
  ExchangeRecord wanted{.vhost = connection_.vhost(),
                        .name = name,
                        .type = std::string(method.type),
                        .durable = method.durable,
                        .auto_delete = method.auto_delete,
                        .internal = method.internal,
                        .arguments = arguments_of(method.arguments)};
  if (refused(refuse_exchange(declarer(), wanted))) return;
  propose(cluster::metadata::DeclareExchange{wanted},
          [this, wanted, no_wait = method.nowait](const CommandResult& result) {
            exchange_declared(result, wanted, no_wait);
          });
}

void Channel::exchange_declare_passive(const std::string& name, bool no_wait) {
  if (name.empty()) {
    fail(amqp::default_exchange_refused());
  } else if (broker_shard_.view().exchange(connection_.vhost(), name) == nullptr) {
    fail(amqp::not_found_exchange(connection_.vhost(), name));
  } else if (!no_wait) {
    reply(amqp::ExchangeDeclareOk{});
  }
}

void Channel::exchange_declared(const CommandResult& result, const ExchangeRecord& wanted,
                                bool no_wait) {
  if (result.exchange == nullptr) {
    fail(amqp::internal_error("the exchange was not declared"));
    return;
  }
  if (result.outcome == Outcome::kUnchanged &&
      refused(refuse_other_exchange(*result.exchange, wanted))) {
    return;
  }
  if (!no_wait) reply(amqp::ExchangeDeclareOk{});
}

void Channel::exchange_delete(const amqp::ExchangeDelete& method) {
  const std::string name = clean_name(method.exchange);
  if (refused(refuse_exchange_delete(declarer(), name))) return;
  propose(cluster::metadata::DeleteExchange{connection_.vhost(), name, method.if_unused},
          [this, name, no_wait = method.nowait](const CommandResult& result) {
            if (result.outcome == Outcome::kInUse) {
              fail(amqp::exchange_in_use(connection_.vhost(), name));
            } else if (!no_wait) {
              reply(amqp::ExchangeDeleteOk{});
            }
          });
}

// --- queues -------------------------------------------------------------------------------------

bool Channel::check_exclusive(const QueueRecord& record) {
  if (!record.exclusive() || record.owned_by(shard_.node(), connection_.id())) return true;
  fail(amqp::resource_locked(record.vhost, record.name));
  return false;
}

void Channel::queue_declare(const amqp::QueueDeclare& method) {
  std::string name = clean_name(method.queue);
  if (names_reply_to(name)) {
    probe_reply(name, method.nowait);
    return;
  }
  if (method.passive) {
    queue_declare_passive(name, method.nowait);
    return;
  }
  if (refused(refuse_queue_name(name))) return;
  if (name.empty()) name = broker_shard_.generate_name("amq.gen-");
  auto wanted = std::make_shared<QueueRecord>();
  wanted->vhost = connection_.vhost();
  wanted->name = name;
  wanted->home = shard_.node();
  wanted->durable = method.durable && !method.exclusive;
  wanted->auto_delete = method.auto_delete;
  wanted->exclusive_owner = method.exclusive ? connection_.id() : 0;
  wanted->home = shard_.node();
  wanted->arguments = arguments_of(method.arguments);
  if (refused(refuse_queue(declarer(), *wanted))) return;
  if (const auto current = broker_shard_.view().queue(connection_.vhost(), name)) {
    queue_exists(current, std::move(wanted), method.nowait);
  } else {
    propose_queue(std::move(wanted), method.nowait);
  }
}

void Channel::queue_declare_passive(const std::string& name, bool no_wait) {
  const auto record = broker_shard_.view().queue(connection_.vhost(), name);
  if (record == nullptr) {
    fail(amqp::not_found_queue(connection_.vhost(), name));
  } else if (check_exclusive(*record)) {
    queue_exists(record, nullptr, no_wait);
  }
}

void Channel::propose_queue(QueueRecordPtr wanted, bool no_wait) {
  propose(placed(broker_shard_, *wanted), [this, wanted, no_wait](const CommandResult& result) {
    if (result.outcome == Outcome::kQueueLimit) {
      const auto vhost = broker_shard_.view().vhost(wanted->vhost);
      const auto limit = vhost == nullptr ? 0 : vhost->limits.max_queues.value_or(0);
      fail(amqp::queue_limit_reached(wanted->vhost, wanted->name, limit));
    } else if (result.queue == nullptr) {
      if (result.outcome == Outcome::kNoNode && refused(refuse_missing_master(*wanted))) return;
      fail(amqp::internal_error("the queue was not declared"));
    } else if (result.outcome == Outcome::kUnchanged) {
      if (!refused(refuse_other_queue(*result.queue, *wanted))) {
        inspect_queue(result.queue, wanted, no_wait);
      }
    } else {
      queue_declared(result.queue->name, 0, 0, no_wait);
    }
  });
}

// As far as this node knows. `wanted` null: a passive declaration, which compares nothing. Who
// hears that the queue is there may use it on any node, so all of them know it first.
void Channel::queue_exists(const QueueRecordPtr& record, QueueRecordPtr wanted, bool no_wait) {
  if (wanted != nullptr && refused(refuse_other_queue(*record, *wanted))) return;
  if (broker_shard_.metadata().in_force(record->qid)) {
    inspect_queue(record, std::move(wanted), no_wait);
    return;
  }
  await_in_force([this, record, wanted = std::move(wanted), no_wait] {
    inspect_queue(record, wanted, no_wait);
  });
}

void Channel::inspect_queue(const QueueRecordPtr& record, QueueRecordPtr wanted, bool no_wait) {
  ask(link_to(record), std::make_unique<queue::Inspect>(record->qid),
      [this, record, wanted, no_wait](runtime::Letter& letter) {
        const auto& answer = runtime::letter_cast<queue::Inspected>(letter);
        if (answer.answer == queue::Answer::kOk) {
          queue_declared(record->name, answer.messages_ready, answer.consumers, no_wait);
        } else if (answer.answer == queue::Answer::kDamaged) {
          fail(unusable_queue(answer.answer, record->vhost, record->name));
        } else if (wanted != nullptr) {
          // It is being deleted: the declaration comes after that.
          auto again = std::make_shared<QueueRecord>(*wanted);
          if (!refused(refuse_new_queue(declarer(), *again))) {
            propose_queue(std::move(again), no_wait);
          }
        } else {
          fail(amqp::not_found_queue(record->vhost, record->name));
        }
      });
}

void Channel::queue_declared(const std::string& name, std::uint64_t messages,
                             std::uint64_t consumers, bool no_wait) {
  last_queue_ = name;
  if (no_wait) return;
  const auto count = [](std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
  };
  reply(amqp::QueueDeclareOk{
      .queue = name, .message_count = count(messages), .consumer_count = count(consumers)});
}

void Channel::queue_purge(const amqp::QueuePurge& method) {
  const auto record = usable_queue(method.queue, Permission::kRead);
  if (record == nullptr) return;
  ask(link_to(record), std::make_unique<queue::Purge>(record->qid),
      [this, record, no_wait = method.nowait](runtime::Letter& letter) {
        const auto& answer = runtime::letter_cast<queue::Purged>(letter);
        if (answer.answer != queue::Answer::kOk) {
          fail(unusable_queue(answer.answer, record->vhost, record->name));
        } else if (!no_wait) {
          reply(amqp::QueuePurgeOk{.message_count = static_cast<std::uint32_t>(answer.messages)});
        }
      });
}

void Channel::queue_delete(const amqp::QueueDelete& method) {
  std::string name;
  if (!resolve_name(method.queue, name) || !may(Permission::kConfigure, "queue", name)) return;
  const auto record = broker_shard_.view().queue(connection_.vhost(), name);
  if (record == nullptr) {
    // Deleting what is not there is no error since RabbitMQ 3.2.
    if (!method.nowait) in_turn([this] { reply(amqp::QueueDeleteOk{.message_count = 0}); });
    return;
  }
  if (!check_exclusive(*record)) return;
  auto request = std::make_unique<queue::Delete>(record->qid);
  request->if_unused = method.if_unused;
  request->if_empty = method.if_empty;
  ask(link_to(record), std::move(request),
      [this, record, no_wait = method.nowait](runtime::Letter& letter) {
        const auto& answer = runtime::letter_cast<queue::DeleteResult>(letter);
        if (answer.answer == queue::Answer::kInUse) {
          fail(amqp::queue_in_use(record->vhost, record->name));
        } else if (answer.answer == queue::Answer::kNotEmpty) {
          fail(amqp::queue_not_empty(record->vhost, record->name));
        } else if (answer.answer == queue::Answer::kUnavailable) {
          fail(amqp::internal_error(std::string(amqp::kNoMajority)));
        } else {
          connection_.disown_queue(record->qid);
          if (!no_wait) {
            reply(
                amqp::QueueDeleteOk{.message_count = static_cast<std::uint32_t>(answer.messages)});
          }
        }
      });
}

}  // namespace ringtail::broker
