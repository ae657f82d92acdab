#include "broker/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "broker/amqp/field_table.h"
#include "broker/broker_shard.h"
#include "broker/channel_names.h"
#include "broker/mirror_arguments.h"
#include "broker/queue_arguments.h"

namespace ringtail::broker {

using amqp::Permission;
using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::QueueRecord;

namespace {

constexpr std::string_view kDeadLetterExchange = "x-dead-letter-exchange";
constexpr std::string_view kAlternateExchange = "alternate-exchange";
constexpr std::array<std::string_view, 1> kComparedExchangeArguments = {kAlternateExchange};

bool reserved(std::string_view name) { return name.starts_with("amq."); }

const char* text_of(bool value) { return value ? "true" : "false"; }

// The exchange that an argument names must be one that the declared may be read for and that may be
// written to.
Refusal refuse_named_exchange(const Declarer& who, const std::string& arguments,
                              std::string_view argument, std::string_view kind,
                              const std::string& name) {
  std::string exchange;
  switch (exchange_argument(runtime::as_bytes(arguments), argument, exchange)) {
    case NamedExchange::kAbsent:
      return std::nullopt;
    case NamedExchange::kWrongType:
      return amqp::invalid_argument_type(exchange, argument,
                                         amqp::resource_text(kind, who.vhost, name));
    case NamedExchange::kName:
      break;
  }
  if (auto refusal = refuse_permission(who, Permission::kRead, kind, name)) return refusal;
  return refuse_permission(who, Permission::kWrite, "exchange", exchange);
}

// The metadata holds to the vhost's limit; asked here first because RabbitMQ asks before it looks
// at the arguments.
Refusal refuse_one_more_queue(const Declarer& who, const std::string& name) {
  const auto& view = who.shard.view();
  const auto vhost = view.vhost(who.vhost);
  if (vhost != nullptr && vhost->limits.max_queues &&
      view.queue_count(who.vhost) >= *vhost->limits.max_queues) {
    return amqp::queue_limit_reached(who.vhost, name, *vhost->limits.max_queues);
  }
  const std::uint64_t limit = who.shard.config().cluster_queue_limit;
  if (limit == 0) return std::nullopt;
  std::uint64_t queues = 0;
  view.for_each_vhost([&](const auto& record) { queues += view.queue_count(record->name); });
  if (queues < limit) return std::nullopt;
  return amqp::cluster_queue_limit_reached(name, limit);
}

}  // namespace

Refusal refuse_permission(const Declarer& who, Permission permission, std::string_view kind,
                          std::string_view name) {
  const std::string_view asked = kind == "exchange" ? AccessControl::shown_exchange(name) : name;
  if (who.shard.access().allows(who.user, who.vhost, permission, asked)) return std::nullopt;
  return amqp::access_refused(kind, who.vhost, name, who.user);
}

// --- exchanges ---

Refusal refuse_exchange(const Declarer& who, const ExchangeRecord& wanted) {
  if (!RouteTable::knows_type(wanted.type)) return amqp::unknown_exchange_type(wanted.type);
  if (wanted.name.empty()) return amqp::default_exchange_refused();
  if (auto refusal = refuse_permission(who, Permission::kConfigure, "exchange", wanted.name)) {
    return refusal;
  }
  if (const auto current = who.shard.view().exchange(who.vhost, wanted.name)) {
    return refuse_other_exchange(*current, wanted);
  }
  if (reserved(wanted.name)) return amqp::reserved_name("exchange", wanted.name);
  if (const auto fault = RouteTable::fault_of_declaration(wanted.type, wanted.arguments)) {
    return amqp::precondition_failed(*fault);
  }
  return refuse_named_exchange(who, wanted.arguments, kAlternateExchange, "exchange", wanted.name);
}

// RabbitMQ prints a type as Erlang prints an atom: in quotes of its own where it is no plain word.
std::string type_text(const std::string& type) {
  return type.find('-') == std::string::npos ? type : "'" + type + "'";
}

Refusal refuse_other_exchange(const ExchangeRecord& current, const ExchangeRecord& wanted) {
  const std::string resource = amqp::exchange_text(current.vhost, current.name);
  const auto differ = [&](std::string_view field, std::string_view received,
                          std::string_view present) {
    return amqp::precondition_failed(amqp::inequivalent_field(field, resource, received, present));
  };
  if (current.type != wanted.type) {
    return differ("type", type_text(wanted.type), type_text(current.type));
  }
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
  if (!difference) return std::nullopt;
  return amqp::precondition_failed(*difference);
}

Refusal refuse_exchange_delete(const Declarer& who, const std::string& name) {
  if (name.empty()) return amqp::default_exchange_refused();
  if (reserved(name)) return amqp::system_exchange_refused(who.vhost, name);
  return refuse_permission(who, Permission::kConfigure, "exchange", name);
}

// --- queues ---

Refusal refuse_queue_name(const std::string& name) {
  if (!reserved(name)) return std::nullopt;
  return amqp::reserved_name("queue", name);
}

Refusal refuse_queue(const Declarer& who, QueueRecord& wanted) {
  if (auto refusal = refuse_permission(who, Permission::kConfigure, "queue", wanted.name)) {
    return refusal;
  }
  const auto& view = who.shard.view();
  const auto current = view.queue(who.vhost, wanted.name);
  settle_queue_type(view.vhost(who.vhost).get(), current.get(), wanted);
  return current != nullptr ? refuse_other_queue(*current, wanted) : refuse_new_queue(who, wanted);
}

namespace {

// Which has to be the master's; null: the arguments do not say.
const std::string* first_node(const QueueRecord& wanted) {
  const auto& mirrors = wanted.options.mirrors;
  if (wanted.exclusive() || !mirrors || mirrors->nodes.empty()) return nullptr;
  return &mirrors->nodes.front();
}

bool first_node_is_up(const Declarer& who, const QueueRecord& wanted) {
  const std::string* const first = first_node(wanted);
  if (first == nullptr) return true;
  const auto node = who.shard.view().node_named(*first);
  return node != nullptr && node->up;
}

}  // namespace

Refusal refuse_new_queue(const Declarer& who, QueueRecord& wanted) {
  if (auto refusal = refuse_one_more_queue(who, wanted.name)) return refusal;
  if (auto refusal =
          refuse_named_exchange(who, wanted.arguments, kDeadLetterExchange, "queue", wanted.name)) {
    return refusal;
  }
  amqp::AmqpError error;
  if (decode_queue_arguments(runtime::as_bytes(wanted.arguments),
                             {.vhost = wanted.vhost,
                              .queue = wanted.name,
                              .accept_quorum = who.shard.config().accept_quorum_queues},
                             wanted.options, error)) {
    return first_node_is_up(who, wanted) ? std::nullopt : refuse_missing_master(wanted);
  }
  return error;
}

Refusal refuse_missing_master(const QueueRecord& wanted) {
  const std::string* const first = first_node(wanted);
  if (first == nullptr) return std::nullopt;
  return amqp::invalid_argument(kHaPolicyParams, amqp::queue_text(wanted.vhost, wanted.name),
                                fmt::format("\"node '{}' is not running\"", *first));
}

// RabbitMQ's order: exclusivity, durable, auto_delete, arguments; the first difference is reported.
Refusal refuse_other_queue(const QueueRecord& current, const QueueRecord& wanted) {
  if (current.exclusive_owner != wanted.exclusive_owner ||
      (current.exclusive() && current.home != wanted.home)) {
    return amqp::resource_locked(current.vhost, current.name);
  }
  const std::string resource = amqp::queue_text(current.vhost, current.name);
  const auto differ = [&](std::string_view field, bool received, bool present) {
    return amqp::precondition_failed(
        amqp::inequivalent_field(field, resource, text_of(received), text_of(present)));
  };
  if (current.durable != wanted.durable) return differ("durable", wanted.durable, current.durable);
  if (current.auto_delete != wanted.auto_delete) {
    return differ("auto_delete", wanted.auto_delete, current.auto_delete);
  }
  const auto difference =
      amqp::inequivalent_argument(decoded(wanted.arguments), decoded(current.arguments),
                                  compared_queue_arguments(current.options.type), resource);
  if (!difference) return std::nullopt;
  return amqp::precondition_failed(*difference);
}

// --- bindings ---

// RabbitMQ's order: write on the destination, no default exchange on either side, read on the
// source, and, if that is a topic exchange, on the key; then what the source's type says.
Refusal refuse_binding(const Declarer& who, const BindingRecord& record, bool unbind) {
  const bool to_exchange = record.kind == DestinationKind::kExchange;
  if (auto refusal = refuse_permission(who, Permission::kWrite, to_exchange ? "exchange" : "queue",
                                       record.destination)) {
    return refusal;
  }
  if (record.source.empty() || (to_exchange && record.destination.empty())) {
    return amqp::default_exchange_refused();
  }
  if (auto refusal = refuse_permission(who, Permission::kRead, "exchange", record.source)) {
    return refusal;
  }
  const Exchange* source = who.shard.routes().find(record.vhost, record.source);
  if (source != nullptr && RouteTable::record(*source).type == "topic") {
    const NamePattern* pattern =
        who.shard.access().topic_pattern(who.user, who.vhost, record.source, Permission::kRead);
    if (pattern != nullptr && !pattern->matches(record.routing_key)) {
      return amqp::topic_access_refused(record.routing_key, who.vhost, record.source, who.user);
    }
  }
  if (unbind) return std::nullopt;
  if (source == nullptr) return amqp::not_found_exchange(record.vhost, record.source);
  const auto fault = RouteTable::fault_of_binding(*source, record.routing_key, record.arguments);
  if (!fault) return std::nullopt;
  return amqp::precondition_failed(*fault);
}

std::string sorted_arguments(std::string_view entries) {
  if (entries.empty()) return {};
  auto table = amqp::FieldTable::decode(runtime::as_bytes(entries)).value_or(amqp::FieldTable());
  std::stable_sort(table.entries().begin(), table.entries().end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return table.encode();
}

}  // namespace ringtail::broker
