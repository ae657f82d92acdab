// A channel's third job: exchanges, queues and bindings.
#include <algorithm>
#include <array>

#include "broker/amqp/field_table.h"
#include "broker/channel_ask.h"
#include "broker/direct_reply.h"

namespace ringtail::broker {

using cluster::metadata::BindingRecord;
using cluster::metadata::CommandResult;
using cluster::metadata::DestinationKind;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::Outcome;
using cluster::metadata::QueueRecord;
using QueueRecordPtr = std::shared_ptr<const QueueRecord>;

namespace {

// Arguments that RabbitMQ compares when a queue is declared again; others are stored and ignored.
constexpr std::array<std::string_view, 20> kComparedQueueArguments = {"x-expires",
                                                                      "x-message-ttl",
                                                                      "x-dead-letter-exchange",
                                                                      "x-dead-letter-routing-key",
                                                                      "x-max-length",
                                                                      "x-max-length-bytes",
                                                                      "x-max-in-memory-length",
                                                                      "x-max-in-memory-bytes",
                                                                      "x-max-priority",
                                                                      "x-overflow",
                                                                      "x-queue-mode",
                                                                      "x-queue-version",
                                                                      "x-single-active-consumer",
                                                                      "x-queue-type",
                                                                      "x-quorum-initial-group-size",
                                                                      "x-max-age",
                                                                      "x-delivery-limit",
                                                                      "x-ha-policy",
                                                                      "x-ha-policy-params",
                                                                      "x-queue-master-locator"};
constexpr std::array<std::string_view, 1> kComparedExchangeArguments = {"alternate-exchange"};

// Names lose carriage returns and line feeds, as in RabbitMQ.
std::string clean_name(std::string_view name) {
  std::string cleaned(name);
  std::erase_if(cleaned, [](char c) { return c == '\r' || c == '\n'; });
  return cleaned;
}

bool reserved(std::string_view name) { return name.starts_with("amq."); }

const char* text_of(bool value) { return value ? "true" : "false"; }

std::string arguments_of(std::span<const std::uint8_t> table) {
  return std::string(runtime::as_text(table));
}

// Bindings are the same when their arguments are, in whatever order they come.
std::string sorted_arguments_of(std::span<const std::uint8_t> table) {
  if (table.empty()) return {};
  auto decoded_table = amqp::FieldTable::decode(table).value_or(amqp::FieldTable());
  std::stable_sort(decoded_table.entries().begin(), decoded_table.entries().end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return decoded_table.encode();
}

amqp::FieldTable decoded(const std::string& arguments) {
  return amqp::FieldTable::decode(runtime::as_bytes(arguments)).value_or(amqp::FieldTable());
}

}  // namespace

// --- exchanges ----------------------------------------------------------------------------------

void Channel::exchange_declare(const amqp::ExchangeDeclare& method) {
  const std::string name = clean_name(method.exchange);
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
  if (!RouteTable::knows_type(method.type)) {
    fail(amqp::unknown_exchange_type(method.type));
    return;
  }
  ExchangeRecord wanted{.vhost = connection_.vhost(),
                        .name = name,
                        .type = std::string(method.type),
                        .durable = method.durable,
                        .auto_delete = method.auto_delete,
                        .internal = method.internal,
                        .arguments = arguments_of(method.arguments)};
  if (current == nullptr && reserved(name)) {
    fail(amqp::reserved_name("exchange", name));
    return;
  }
  if (const auto alternate = amqp::find_in_table(method.arguments, "alternate-exchange");
      alternate && !alternate->as_text() && current == nullptr) {
    fail(amqp::invalid_argument_type(amqp::type_name(alternate->type), "alternate-exchange",
                                     amqp::exchange_text(connection_.vhost(), name)));
    return;
  }
  propose(cluster::metadata::DeclareExchange{wanted},
          [this, wanted, no_wait = method.nowait](const CommandResult& result) {
            exchange_declared(result, wanted, no_wait);
          });
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
  propose(cluster::metadata::DeleteExchange{connection_.vhost(), name, method.if_unused},
          [this, name, no_wait = method.nowait](const CommandResult& result) {
            if (result.outcome == Outcome::kInUse) {
              fail(amqp::exchange_in_use(connection_.vhost(), name));
            } else if (!no_wait) {
              reply(amqp::ExchangeDeleteOk{});
            }
          });
}

// --- bindings -----------------------------------------------------------------------------------

void Channel::bind(BindingRecord record, bool unbind, std::function<void()> done) {
  if (record.source.empty() ||
      (record.kind == DestinationKind::kExchange && record.destination.empty())) {
    fail(amqp::default_exchange_refused());
    return;
  }
  cluster::metadata::Command command;
  if (unbind) {
    command = cluster::metadata::Unbind{record};
  } else {
    command = cluster::metadata::Bind{record};
  }
  propose(std::move(command),
          [this, record, unbind, done = std::move(done)](const CommandResult& result) {
            // Taking away what is not there is no error since RabbitMQ 3.2.
            if (!unbind && result.outcome == Outcome::kNoExchange) {
              fail(amqp::not_found_exchange(record.vhost, record.source));
            } else if (!unbind && result.outcome == Outcome::kNoDestination) {
              fail(record.kind == DestinationKind::kQueue
                       ? amqp::not_found_queue(record.vhost, record.destination)
                       : amqp::not_found_exchange(record.vhost, record.destination));
            } else {
              done();
            }
          });
}

// The source must exist, and its type accept the arguments.
bool Channel::check_binding(const std::string& source, std::span<const std::uint8_t> arguments) {
  const Exchange* exchange = broker_shard_.routes().find(connection_.vhost(), source);
  if (exchange == nullptr) {
    fail(amqp::not_found_exchange(connection_.vhost(), source));
    return false;
  }
  const auto fault = RouteTable::fault_of_binding(*exchange, runtime::as_text(arguments));
  if (!fault) return true;
  fail(amqp::precondition_failed(*fault));
  return false;
}

void Channel::exchange_bind(const amqp::ExchangeBind& method) {
  const std::string source = clean_name(method.source);
  if (!check_binding(source, method.arguments)) return;
  bind({connection_.vhost(), source, DestinationKind::kExchange, clean_name(method.destination),
        std::string(method.routing_key), sorted_arguments_of(method.arguments)},
       false, [this, no_wait = method.nowait] {
         if (!no_wait) reply(amqp::ExchangeBindOk{});
       });
}

void Channel::exchange_unbind(const amqp::ExchangeUnbind& method) {
  bind({connection_.vhost(), clean_name(method.source), DestinationKind::kExchange,
        clean_name(method.destination), std::string(method.routing_key),
        sorted_arguments_of(method.arguments)},
       true, [this, no_wait = method.nowait] {
         if (!no_wait) reply(amqp::ExchangeUnbindOk{});
       });
}

// An empty routing key with an empty queue name stands for the last declared queue's name (the
// specification's rule for queue.bind).
std::string Channel::binding_key(std::string_view queue, std::string_view key) const {
  return queue.empty() && key.empty() ? last_queue_ : std::string(key);
}

void Channel::queue_bind(const amqp::QueueBind& method) {
  const std::string exchange = clean_name(method.exchange);
  if (!check_binding(exchange, method.arguments)) return;
  const auto record = usable_queue(method.queue);
  if (record == nullptr) return;
  bind({connection_.vhost(), exchange, DestinationKind::kQueue, record->name,
        binding_key(method.queue, method.routing_key), sorted_arguments_of(method.arguments)},
       false, [this, no_wait = method.nowait] {
         if (!no_wait) reply(amqp::QueueBindOk{});
       });
}

void Channel::queue_unbind(const amqp::QueueUnbind& method) {
  std::string name;
  if (!resolve_name(method.queue, name)) return;
  const auto record = broker_shard_.view().queue(connection_.vhost(), name);
  if (record != nullptr && !check_exclusive(*record)) return;
  bind({connection_.vhost(), clean_name(method.exchange), DestinationKind::kQueue, name,
        binding_key(method.queue, method.routing_key), sorted_arguments_of(method.arguments)},
       true, [this] { reply(amqp::QueueUnbindOk{}); });
}

// --- queues -------------------------------------------------------------------------------------

bool Channel::resolve_name(std::string_view name, std::string& resolved) {
  resolved = name.empty() ? last_queue_ : clean_name(name);
  if (!resolved.empty()) return true;
  fail(amqp::not_found_no_previous_queue());
  return false;
}

QueueRecordPtr Channel::usable_queue(std::string_view name) {
  std::string resolved;
  if (!resolve_name(name, resolved)) return nullptr;
  auto record = broker_shard_.view().queue(connection_.vhost(), resolved);
  if (record == nullptr) {
    fail(amqp::not_found_queue(connection_.vhost(), resolved));
    return nullptr;
  }
  return check_exclusive(*record) ? record : nullptr;
}

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
  auto wanted = std::make_shared<QueueRecord>();
  wanted->vhost = connection_.vhost();
  wanted->name = name;
  wanted->durable = method.durable && !method.exclusive;
  wanted->auto_delete = method.auto_delete;
  wanted->exclusive_owner = method.exclusive ? connection_.id() : 0;
  wanted->arguments = arguments_of(method.arguments);
  const auto current = broker_shard_.view().queue(connection_.vhost(), name);
  if (current != nullptr) {
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
  propose(cluster::metadata::DeclareQueue{*wanted, shard_.id()},
          [this, wanted, no_wait](const CommandResult& result) {
            if (result.queue == nullptr) {
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
          propose_queue(wanted, no_wait);
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
  const auto difference = amqp::inequivalent_argument(
      decoded(wanted.arguments), decoded(current.arguments), kComparedQueueArguments, resource);
  if (!difference) return true;
  fail(amqp::precondition_failed(*difference));
  return false;
}

void Channel::queue_purge(const amqp::QueuePurge& method) {
  const auto record = usable_queue(method.queue);
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
  if (!resolve_name(method.queue, name)) return;
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
