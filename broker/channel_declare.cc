// A channel's third job: exchanges and queues.
#include <algorithm>
#include <array>

#include "broker/amqp/field_table.h"
#include "broker/channel_ask.h"
#include "broker/channel_names.h"
#include "broker/direct_reply.h"
#include "broker/queue_arguments.h"

namespace ringtail::broker {

using amqp::Permission;
using cluster::metadata::CommandResult;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::Outcome;
using cluster::metadata::QueueRecord;
using QueueRecordPtr = std::shared_ptr<const QueueRecord>;

namespace {

constexpr std::string_view kDeadLetterExchange = "x-dead-letter-exchange";
constexpr std::string_view kAlternateExchange = "alternate-exchange";
// What is compared when an exchange is declared again.
constexpr std::array<std::string_view, 1> kComparedExchangeArguments = {kAlternateExchange};

bool reserved(std::string_view name) { return name.starts_with("amq."); }

const char* text_of(bool value) { return value ? "true" : "false"; }

}  // namespace

// --- exchanges ----------------------------------------------------------------------------------

void Channel::exchange_declare(const amqp::ExchangeDeclare& method) {
  const std::string name = clean_name(method.exchange);
  if (!method.passive && !RouteTable::knows_type(method.type)) {
    fail(amqp::unknown_exchange_type(method.type));
    return;
  }
  if (name.empty()) {
    fail(amqp::default_exchange_refused());
    return;
  }
  const auto current = broker_shard_.view().exchange(connection_.vhost(), name);
  if (method.passive) {
    if (current == nullptr) {
      fail(amqp::not_found_exchange(connection_.vhost(), name));
    } else if (!method.nowait) {
      reply(amqp::ExchangeDeclareOk{});
    }
    return;
  }
  if (!may(Permission::kConfigure, "exchange", name)) return;
  ExchangeRecord wanted{.vhost = connection_.vhost(),
                        .name = name,
                        .type = std::string(method.type),
                        .durable = method.durable,
                        .auto_delete = method.auto_delete,
                        .internal = method.internal,
                        .arguments = arguments_of(method.arguments)};
  if (current == nullptr && !check_new_exchange(wanted)) return;
  propose(cluster::metadata::DeclareExchange{wanted},
          [this, wanted, no_wait = method.nowait](const CommandResult& result) {
            exchange_declared(result, wanted, no_wait);
          });
}

// Of an exchange that is there already only equivalence is asked.
bool Channel::check_new_exchange(const ExchangeRecord& wanted) {
  if (reserved(wanted.name)) {
    fail(amqp::reserved_name("exchange", wanted.name));
    return false;
  }
  if (const auto fault = RouteTable::fault_of_declaration(wanted.type, wanted.arguments)) {
    fail(amqp::precondition_failed(*fault));
    return false;
  }
  std::string alternate;
  switch (exchange_argument(runtime::as_bytes(wanted.arguments), kAlternateExchange, alternate)) {
    case NamedExchange::kAbsent:
      return true;
    case NamedExchange::kWrongType:
      fail(amqp::invalid_argument_type(alternate, kAlternateExchange,
                                       amqp::exchange_text(wanted.vhost, wanted.name)));
      return false;
    case NamedExchange::kName:
      return may(Permission::kRead, "exchange", wanted.name) &&
             may(Permission::kWrite, "exchange", alternate);
  }
  return true;
}

void Channel::exchange_declared(const CommandResult& result, const ExchangeRecord& wanted,
                                bool no_wait) {
  if (result.exchange == nullptr) {
    fail(amqp::internal_error("the exchange was not declared"));
    return;
  }
  if (result.outcome == Outcome::kUnchanged && !check_exchange(*result.exchange, wanted)) return;
  if (!no_wait) reply(amqp::ExchangeDeclareOk{});
}

bool Channel::check_exchange(const ExchangeRecord& current, const ExchangeRecord& wanted) {
  const std::string resource = amqp::exchange_text(current.vhost, current.name);
  const auto differ = [&](std::string_view field, std::string_view received,
                          std::string_view present) {
    fail(amqp::precondition_failed(amqp::inequivalent_field(field, resource, received, present)));
    return false;
  };
  if (current.type != wanted.type) return differ("type", wanted.type, current.type);
  if (current.durable != wanted.durable) {
    return differ("durable", text_of(wanted.durable), text_of(current.durable));
  }
  if (current.auto_delete != wanted.auto_delete) {
    return differ("auto_delete", text_of(wanted.auto_delete), text_of(current.auto_delete));
  }
  if (current.internal != wanted.internal) {
    return differ("internal", text_of(wanted.internal), text_of(current.internal));
  }
  const auto difference = amqp::inequivalent_argument(
      decoded(wanted.arguments), decoded(current.arguments), kComparedExchangeArguments, resource);
  if (!difference) return true;
  fail(amqp::precondition_failed(*difference));
  return false;
}

void Channel::exchange_delete(const amqp::ExchangeDelete& method) {
  const std::string name = clean_name(method.exchange);
  if (name.empty()) {
    fail(amqp::default_exchange_refused());
    return;
  }
  if (reserved(name)) {
    fail(amqp::system_exchange_refused(connection_.vhost(), name));
    return;
  }
  if (!may(Permission::kConfigure, "exchange", name)) return;
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
  if (!record.exclusive() || record.exclusive_owner == connection_.id()) return true;
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
  if (reserved(name)) {
    fail(amqp::reserved_name("queue", name));
    return;
  }
  if (name.empty()) name = broker_shard_.generate_name("amq.gen-");
  if (!may(Permission::kConfigure, "queue", name)) return;
  auto wanted = std::make_shared<QueueRecord>();
  wanted->vhost = connection_.vhost();
  wanted->name = name;
  wanted->durable = method.durable && !method.exclusive;
  wanted->auto_delete = method.auto_delete;
  wanted->exclusive_owner = method.exclusive ? connection_.id() : 0;
  wanted->arguments = arguments_of(method.arguments);
  const auto current = broker_shard_.view().queue(connection_.vhost(), name);
  settle_queue_type(broker_shard_.view().vhost(connection_.vhost()).get(), current.get(), *wanted);
  if (current != nullptr) {
    queue_exists(current, std::move(wanted), method.nowait);
  } else if (check_new_queue(*wanted)) {
    propose_queue(std::move(wanted), method.nowait);
  }
}

// Of a queue that is there already only equivalence is asked.
bool Channel::check_new_queue(QueueRecord& wanted) {
  if (!check_queue_limits(wanted.name) || !check_dead_letter_exchange(wanted)) return false;
  amqp::AmqpError error;
  if (decode_queue_arguments(runtime::as_bytes(wanted.arguments),
                             {.vhost = wanted.vhost,
                              .queue = wanted.name,
                              .accept_quorum = broker_shard_.config().accept_quorum_queues},
                             wanted.options, error)) {
    return true;
  }
  fail(std::move(error));
  return false;
}

// The metadata holds to the vhost's limit; asked here first because RabbitMQ asks before it looks
// at the arguments.
bool Channel::check_queue_limits(const std::string& name) {
  const auto& view = broker_shard_.view();
  const auto vhost = view.vhost(connection_.vhost());
  if (vhost != nullptr && vhost->limits.max_queues &&
      view.queue_count(connection_.vhost()) >= *vhost->limits.max_queues) {
    fail(amqp::queue_limit_reached(connection_.vhost(), name, *vhost->limits.max_queues));
    return false;
  }
  const std::uint64_t limit = broker_shard_.config().cluster_queue_limit;
  if (limit == 0) return true;
  std::uint64_t queues = 0;
  view.for_each_vhost([&](const auto& record) { queues += view.queue_count(record->name); });
  if (queues < limit) return true;
  fail(amqp::cluster_queue_limit_reached(name, limit));
  return false;
}

bool Channel::check_dead_letter_exchange(const QueueRecord& wanted) {
  std::string exchange;
  switch (exchange_argument(runtime::as_bytes(wanted.arguments), kDeadLetterExchange, exchange)) {
    case NamedExchange::kAbsent:
      return true;
    case NamedExchange::kWrongType:
      fail(amqp::invalid_argument_type(exchange, kDeadLetterExchange,
                                       amqp::queue_text(wanted.vhost, wanted.name)));
      return false;
    case NamedExchange::kName:
      return may(Permission::kRead, "queue", wanted.name) &&
             may(Permission::kWrite, "exchange", exchange);
  }
  return true;
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
  propose(cluster::metadata::DeclareQueue{*wanted, shard_.id()},
          [this, wanted, no_wait](const CommandResult& result) {
            if (result.outcome == Outcome::kQueueLimit) {
              const auto vhost = broker_shard_.view().vhost(wanted->vhost);
              const auto limit = vhost == nullptr ? 0 : vhost->limits.max_queues.value_or(0);
              fail(amqp::queue_limit_reached(wanted->vhost, wanted->name, limit));
            } else if (result.queue == nullptr) {
              fail(amqp::internal_error("the queue was not declared"));
            } else if (result.outcome == Outcome::kUnchanged) {
              queue_exists(result.queue, wanted, no_wait);
            } else {
              queue_declared(result.queue->name, 0, 0, no_wait);
            }
          });
}

// `wanted` null: a passive declaration, which compares nothing.
void Channel::queue_exists(const QueueRecordPtr& record, QueueRecordPtr wanted, bool no_wait) {
  if (wanted != nullptr && !check_queue(*record, *wanted)) return;
  ask(link_to(record), std::make_unique<queue::Inspect>(record->qid),
      [this, record, wanted, no_wait](runtime::Letter& letter) {
        const auto& answer = runtime::letter_cast<queue::Inspected>(letter);
        if (answer.answer == queue::Answer::kOk) {
          queue_declared(record->name, answer.messages_ready, answer.consumers, no_wait);
        } else if (wanted != nullptr) {
          // It is being deleted: the declaration comes after that.
          auto again = std::make_shared<QueueRecord>(*wanted);
          if (check_new_queue(*again)) propose_queue(std::move(again), no_wait);
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

// RabbitMQ's order: exclusivity, durable, auto_delete, arguments; the first difference is reported.
bool Channel::check_queue(const QueueRecord& current, const QueueRecord& wanted) {
  if (current.exclusive_owner != wanted.exclusive_owner) {
    fail(amqp::resource_locked(current.vhost, current.name));
    return false;
  }
  const std::string resource = amqp::queue_text(current.vhost, current.name);
  const auto differ = [&](std::string_view field, bool received, bool present) {
    fail(amqp::precondition_failed(
        amqp::inequivalent_field(field, resource, text_of(received), text_of(present))));
    return false;
  };
  if (current.durable != wanted.durable) return differ("durable", wanted.durable, current.durable);
  if (current.auto_delete != wanted.auto_delete) {
    return differ("auto_delete", wanted.auto_delete, current.auto_delete);
  }
  const auto difference =
      amqp::inequivalent_argument(decoded(wanted.arguments), decoded(current.arguments),
                                  compared_queue_arguments(current.options.type), resource);
  if (!difference) return true;
  fail(amqp::precondition_failed(*difference));
  return false;
}

void Channel::queue_purge(const amqp::QueuePurge& method) {
  const auto record = usable_queue(method.queue, Permission::kRead);
  if (record == nullptr) return;
  ask(link_to(record), std::make_unique<queue::Purge>(record->qid),
      [this, record, no_wait = method.nowait](runtime::Letter& letter) {
        const auto& answer = runtime::letter_cast<queue::Purged>(letter);
        if (answer.answer != queue::Answer::kOk) {
          fail(amqp::not_found_queue(record->vhost, record->name));
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
    if (!method.nowait) reply(amqp::QueueDeleteOk{.message_count = 0});
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
