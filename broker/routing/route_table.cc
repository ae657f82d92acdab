#include "broker/routing/route_table.h"

#include <unordered_map>
#include <utility>

#include "broker/amqp/field_table.h"
#include "broker/routing/exchange.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::QueueRecord;

Exchange::Exchange(std::shared_ptr<const ExchangeRecord> record, const ExchangeType& type,
                   VhostRoutes& vhost)
    : Target(Kind::kExchange),
      record_(std::move(record)),
      type_(type),
      vhost_(vhost),
      default_(record_->name.empty()),
      index_(type.make_index(*record_)) {
  replace(record_);
}

// The argument counts before the policy.
void Exchange::replace(std::shared_ptr<const ExchangeRecord> record) {
  static constexpr std::string_view kAlternate = "alternate-exchange";
  record_ = std::move(record);
  alternate_.reset();
  if (const auto argument =
          amqp::find_in_table(runtime::as_bytes(record_->arguments), kAlternate)) {
    const auto name = argument->as_text();
    if (name && !name->empty()) alternate_ = std::string(*name);
  } else if (record_->policy != nullptr) {
    if (const std::string* name = record_->policy->text(kAlternate)) alternate_ = *name;
  }
}

std::string_view name_of(const Target& target) {
  if (target.kind == Target::Kind::kQueue) {
    return static_cast<const QueueTarget&>(target).record->name;
  }
  return static_cast<const Exchange&>(target).record().name;
}

struct RouteTable::State {
  std::unordered_map<std::string, VhostRoutes, TextHash, std::equal_to<>> vhosts;

  // Of the call that is running.
  std::uint64_t calls = 0;
  std::vector<const Target*> exchanges;  // reached, in order

  // The vhost of a record; a vhost comes to be known with its first exchange.
  VhostRoutes& vhost(const std::string& name) { return vhosts[name]; }
  const Target* target_of(const BindingRecord& record) {
    const VhostRoutes& where = vhost(record.vhost);
    if (record.kind == DestinationKind::kQueue) return where.queue(record.destination);
    return where.exchange(record.destination);
  }
  static void match(const Exchange& exchange, const Routable& message, Matches& matches);
};

RouteTable::RouteTable(cluster::metadata::View& view) : state_(std::make_unique<State>()) {
  view.add_observer(*this);
}

RouteTable::~RouteTable() = default;

const Exchange* RouteTable::find(std::string_view vhost, std::string_view name) const {
  const auto found = state_->vhosts.find(vhost);
  return found == state_->vhosts.end() ? nullptr : found->second.exchange(name);
}

const ExchangeRecord& RouteTable::record(const Exchange& exchange) { return exchange.record(); }

const std::shared_ptr<const ExchangeRecord>& RouteTable::shared_record(const Exchange& exchange) {
  return exchange.shared_record();
}

bool RouteTable::knows_type(std::string_view type) { return find_exchange_type(type) != nullptr; }

std::vector<ExchangeTypeInfo> RouteTable::types() {
  std::vector<ExchangeTypeInfo> all;
  for (const ExchangeType& type : exchange_types()) all.push_back({type.name, type.description});
  return all;
}

Fault RouteTable::fault_of_declaration(std::string_view type, std::string_view arguments) {
  const ExchangeType* found = find_exchange_type(type);
  if (found == nullptr || found->fault_of_declaration == nullptr) return std::nullopt;
  return found->fault_of_declaration(arguments);
}

Fault RouteTable::fault_of_binding(const Exchange& exchange, std::string_view routing_key,
                                   std::string_view arguments) {
  const auto check = exchange.type().fault_of_binding;
  return check == nullptr ? std::nullopt : check(routing_key, arguments);
}

void RouteTable::State::match(const Exchange& exchange, const Routable& message, Matches& matches) {
  if (!exchange.is_default()) {
    exchange.index().match(message, matches);
    return;
  }
  for_each_key(message, [&exchange, &matches](std::string_view key) {
    const QueueTarget* queue = exchange.vhost().queue(key);
    if (queue != nullptr) matches.reach(*queue);
  });
}

// As RabbitMQ does it (rabbit_exchange:route1): every exchange has its turn at most once; the
// alternate steps in where the bindings of an exchange matched nothing at all.
void RouteTable::route(const Exchange& exchange, const Routable& message,
                       std::vector<const QueueRecord*>& out,
                       std::vector<const Exchange*>* remembering) const {
  std::vector<const Target*>& exchanges = state_->exchanges;
  exchanges.clear();
  Matches matches(++state_->calls, out, exchanges);
  matches.reach(exchange);
  for (std::size_t next = 0; next < exchanges.size(); ++next) {
    const auto& current = static_cast<const Exchange&>(*exchanges[next]);
    matches.clear_any();
    if (current.type().remembers && remembering != nullptr) remembering->push_back(&current);
    State::match(current, message, matches);
    if (matches.any() || current.alternate() == nullptr) continue;
    const Exchange* alternate = current.vhost().exchange(*current.alternate());
    if (alternate != nullptr) matches.reach(*alternate);
  }
}

void RouteTable::exchange_added(const std::shared_ptr<const ExchangeRecord>& record) {
  const ExchangeType* type = find_exchange_type(record->type);
  RT_CHECK(type != nullptr, "an exchange of a type that the channel should have refused");
  VhostRoutes& where = state_->vhost(record->vhost);
  where.exchanges.add(record->name, std::make_unique<Exchange>(record, *type, where));
}

void RouteTable::exchange_changed(const std::shared_ptr<const ExchangeRecord>& record) {
  VhostRoutes& where = state_->vhost(record->vhost);
  Exchange* exchange = where.exchange(record->name);
  RT_CHECK(exchange != nullptr, "an exchange has changed that was never added");
  const auto before = exchange->shared_record();  // holds the name until it has moved
  exchange->replace(record);
  where.exchanges.move_name(record->name);
}

void RouteTable::exchange_removed(const ExchangeRecord& record) {
  VhostRoutes& where = state_->vhost(record.vhost);
  where.exchanges.remove(record.name);
}

void RouteTable::queue_added(const std::shared_ptr<const QueueRecord>& record) {
  state_->vhost(record->vhost).queues.add(record->name, std::make_unique<QueueTarget>(record));
}

void RouteTable::queue_changed(const std::shared_ptr<const QueueRecord>& record) {
  VhostRoutes& where = state_->vhost(record->vhost);
  QueueTarget* queue = where.queue(record->name);
  RT_CHECK(queue != nullptr, "a queue has changed that was never added");
  const auto before = std::exchange(queue->record, record);  // holds the name until it has moved
  where.queues.move_name(record->name);
}

void RouteTable::queue_removed(const QueueRecord& record) {
  VhostRoutes& where = state_->vhost(record.vhost);
  where.queues.remove(record.name);
}

void RouteTable::binding_added(const BindingRecord& record) {
  Exchange* source = state_->vhost(record.vhost).exchange(record.source);
  const Target* target = state_->target_of(record);
  RT_CHECK(source != nullptr && target != nullptr, "a binding between what is not there");
  source->index().add(record.routing_key, record.arguments, *target);
}

void RouteTable::binding_removed(const BindingRecord& record) {
  Exchange* source = state_->vhost(record.vhost).exchange(record.source);
  const Target* target = state_->target_of(record);
  RT_CHECK(source != nullptr && target != nullptr, "a binding between what is not there");
  source->index().remove(record.routing_key, record.arguments, *target);
}

void RouteTable::vhost_removed(const cluster::metadata::VhostRecord& record) {
  state_->vhosts.erase(record.name);
}

}  // namespace ringtail::broker
