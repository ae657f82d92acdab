// A channel's bindings: queue.bind, exchange.bind and what takes them away.
#include "broker/amqp/field_table.h"
#include "broker/channel.h"
#include "broker/channel_names.h"
#include "broker/declarations.h"

namespace ringtail::broker {

using cluster::metadata::BindingRecord;
using cluster::metadata::CommandResult;
using cluster::metadata::DestinationKind;
using cluster::metadata::Outcome;

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
            } else if (!unbind && result.outcome == Outcome::kDone &&
                       broker_shard_.recent_history().remembers(record.vhost, record.source)) {
              await_history(record, done);
            } else {
              done();
            }
          });
}

// The queue has what the exchange remembers before the client hears that it is bound.
void Channel::await_history(const BindingRecord& record, std::function<void()> done) {
  auto letter = std::make_unique<AwaitHistory>();
  letter->request = next_request_++;
  letter->vhost = record.vhost;
  letter->exchange = record.source;
  awaited_.add(letter->request, shard_.node(),
               [done = std::move(done)](runtime::Letter&) { done(); });
  shard_.post(address_, broker_shard_.recent_history().owner_address(record.vhost, record.source),
              std::move(letter));
}

void Channel::exchange_bind(const amqp::ExchangeBind& method) {
  const BindingRecord record{connection_.vhost(),
                             clean_name(method.source),
                             DestinationKind::kExchange,
                             clean_name(method.destination),
                             std::string(method.routing_key),
                             sorted_arguments(runtime::as_text(method.arguments))};
  if (refused(refuse_binding(declarer(), record, false))) return;
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
                             sorted_arguments(runtime::as_text(method.arguments))};
  if (refused(refuse_binding(declarer(), record, true))) return;
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
                             sorted_arguments(runtime::as_text(method.arguments))};
  if (refused(refuse_binding(declarer(), record, false))) return;
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
                             sorted_arguments(runtime::as_text(method.arguments))};
  if (refused(refuse_binding(declarer(), record, true))) return;
  const auto queue = broker_shard_.view().queue(record.vhost, name);
  if (queue != nullptr && !check_exclusive(*queue)) return;
  bind(record, true, [this] { reply(amqp::QueueUnbindOk{}); });
}

}  // namespace ringtail::broker
