// A channel's bindings: queue.bind, exchange.bind and what takes them away.
#include <algorithm>

#include "broker/amqp/field_table.h"
#include "broker/channel.h"
#include "broker/channel_names.h"

namespace ringtail::broker {

using amqp::Permission;
using cluster::metadata::BindingRecord;
using cluster::metadata::CommandResult;
using cluster::metadata::DestinationKind;
using cluster::metadata::Outcome;

namespace {

// Bindings are the same when their arguments are, in whatever order they come.
std::string sorted_arguments_of(std::span<const std::uint8_t> table) {
  if (table.empty()) return {};
  auto decoded_table = amqp::FieldTable::decode(table).value_or(amqp::FieldTable());
  std::stable_sort(decoded_table.entries().begin(), decoded_table.entries().end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return decoded_table.encode();
}

}  // namespace

// RabbitMQ's order: write on the destination, no default exchange on either side, read on the
// source, and, if that is a topic exchange, on the key.
bool Channel::may_bind(const BindingRecord& record) {
  const bool to_exchange = record.kind == DestinationKind::kExchange;
  if (!may(Permission::kWrite, to_exchange ? "exchange" : "queue", record.destination)) {
    return false;
  }
  if (record.source.empty() || (to_exchange && record.destination.empty())) {
    fail(amqp::default_exchange_refused());
    return false;
  }
  if (!may(Permission::kRead, "exchange", record.source)) return false;
  const Exchange* source = broker_shard_.routes().find(record.vhost, record.source);
  return source == nullptr || may_use_topic(Permission::kRead, *source, record.routing_key);
}

void Channel::bind(BindingRecord record, bool unbind, std::function<void()> done) {
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
bool Channel::check_binding(const BindingRecord& record, std::span<const std::uint8_t> arguments) {
  const Exchange* exchange = broker_shard_.routes().find(record.vhost, record.source);
  if (exchange == nullptr) {
    fail(amqp::not_found_exchange(record.vhost, record.source));
    return false;
  }
  const auto fault =
      RouteTable::fault_of_binding(*exchange, record.routing_key, runtime::as_text(arguments));
  if (!fault) return true;
  fail(amqp::precondition_failed(*fault));
  return false;
}

void Channel::exchange_bind(const amqp::ExchangeBind& method) {
  const BindingRecord record{connection_.vhost(),
                             clean_name(method.source),
                             DestinationKind::kExchange,
                             clean_name(method.destination),
                             std::string(method.routing_key),
                             sorted_arguments_of(method.arguments)};
  if (!may_bind(record) || !check_binding(record, method.arguments)) return;
  bind(record, false, [this, no_wait = method.nowait] {
    if (!no_wait) reply(amqp::ExchangeBindOk{});
  });
}

void Channel::exchange_unbind(const amqp::ExchangeUnbind& method) {
  const BindingRecord record{connection_.vhost(),
                             clean_name(method.source),
                             DestinationKind::kExchange,
                             clean_name(method.destination),
                             std::string(method.routing_key),
                             sorted_arguments_of(method.arguments)};
  if (!may_bind(record)) return;
  bind(record, true, [this, no_wait = method.nowait] {
    if (!no_wait) reply(amqp::ExchangeUnbindOk{});
  });
}

// An empty routing key with an empty queue name stands for the last declared queue's name (the
// specification's rule for queue.bind).
std::string Channel::binding_key(std::string_view queue, std::string_view key) const {
  return queue.empty() && key.empty() ? last_queue_ : std::string(key);
}

void Channel::queue_bind(const amqp::QueueBind& method) {
  std::string name;
  if (!resolve_name(method.queue, name)) return;
  const BindingRecord record{connection_.vhost(),
                             clean_name(method.exchange),
                             DestinationKind::kQueue,
                             name,
                             binding_key(method.queue, method.routing_key),
                             sorted_arguments_of(method.arguments)};
  if (!may_bind(record) || !check_binding(record, method.arguments)) return;
  const auto queue = broker_shard_.view().queue(record.vhost, name);
  if (queue == nullptr) {
    fail(amqp::not_found_queue(record.vhost, name));
    return;
  }
  if (!check_exclusive(*queue)) return;
  bind(record, false, [this, no_wait = method.nowait] {
    if (!no_wait) reply(amqp::QueueBindOk{});
  });
}

void Channel::queue_unbind(const amqp::QueueUnbind& method) {
  std::string name;
  if (!resolve_name(method.queue, name)) return;
  const BindingRecord record{connection_.vhost(),
                             clean_name(method.exchange),
                             DestinationKind::kQueue,
                             name,
                             binding_key(method.queue, method.routing_key),
                             sorted_arguments_of(method.arguments)};
  if (!may_bind(record)) return;
  const auto queue = broker_shard_.view().queue(record.vhost, name);
  if (queue != nullptr && !check_exclusive(*queue)) return;
  bind(record, true, [this] { reply(amqp::QueueUnbindOk{}); });
}

}  // namespace ringtail::broker
