#include "broker/queue_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "broker/amqp/field_table.h"
#include "broker/mirror_arguments.h"
#include "broker/runtime/bytes.h"

namespace ringtail::broker {

using amqp::AmqpError;
using amqp::ValueView;
using cluster::metadata::Overflow;
using cluster::metadata::QueueOptions;
using cluster::metadata::QueueRecord;
using cluster::metadata::QueueType;
using cluster::metadata::VhostRecord;

namespace {

// RabbitMQ 3.10's longest time to live of a queue: ten years of 365 days.
constexpr std::int64_t kExpiryMaxMs = 315'360'000'000;
constexpr std::int64_t kPriorityMax = 255;

constexpr std::string_view kTypeArgument = "x-queue-type";

using Detail = std::optional<std::string>;  // behind the colon; none: all is well

Detail unacceptable(const ValueView& value) {
  return fmt::format("{{unacceptable_type,{}}}", amqp::type_name(value.type));
}

Detail not_an_integer(const ValueView& value) {
  return fmt::format("\"expected integer, got {}\"", amqp::type_name(value.type));
}

Detail take_count(const ValueView& value, std::int64_t& out) {
  const auto number = value.as_int();
  if (!number) return not_an_integer(value);
  if (*number < 0) return fmt::format("{{value_negative,{}}}", *number);
  out = *number;
  return {};
}

Detail take_milliseconds(const ValueView& value, std::int64_t& out) {
  if (auto fault = take_count(value, out)) return fault;
  if (out > kExpiryMaxMs) return fmt::format("{{value_too_large,{}}}", out);
  return {};
}

template <std::size_t kSize>
bool one_of(std::string_view text, const std::array<std::string_view, kSize>& known) {
  return std::find(known.begin(), known.end(), text) != known.end();
}

// --- one function per argument ------------------------------------------------------------------

struct Decoding {
  const QueueArgumentsContext& context;
  QueueOptions& options;
  std::span<const std::uint8_t> arguments;
};

Detail expires(Decoding& decoding, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_milliseconds(value, number)) return fault;
  if (number == 0) return "{value_zero,0}";
  decoding.options.expires_ms = static_cast<std::uint64_t>(number);
  return {};
}

Detail message_ttl(Decoding& decoding, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_milliseconds(value, number)) return fault;
  decoding.options.message_ttl_ms = static_cast<std::uint64_t>(number);
  return {};
}

Detail ha_policy(Decoding& decoding, const ValueView& value) {
  return decode_ha_policy(decoding.arguments, value, decoding.options.mirrors);
}

Detail min_in_sync(Decoding& decoding, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_count(value, number)) return fault;
  if (number == 0) return "{value_zero,0}";
  decoding.options.min_in_sync = static_cast<std::uint64_t>(number);
  return {};
}

Detail dead_letter_exchange(Decoding& decoding, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  decoding.options.dead_letter_exchange = std::string(*text);
  return {};
}

Detail dead_letter_routing_key(Decoding& decoding, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  if (!amqp::find_in_table(decoding.arguments, "x-dead-letter-exchange")) {
    return "routing_key_but_no_dlx_defined";
  }
  decoding.options.dead_letter_routing_key = std::string(*text);
  return {};
}

// Dead letters are handed on before the queue forgets them either way; the argument changes
// nothing.
Detail dead_letter_strategy(Decoding&, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  static constexpr std::array<std::string_view, 2> kKnown = {"at-most-once", "at-least-once"};
  if (!one_of(*text, kKnown)) return "invalid_dlx_strategy";
  return {};
}

Detail max_length(Decoding& decoding, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_count(value, number)) return fault;
  decoding.options.max_length = static_cast<std::uint64_t>(number);
  return {};
}

Detail max_length_bytes(Decoding& decoding, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_count(value, number)) return fault;
  decoding.options.max_length_bytes = static_cast<std::uint64_t>(number);
  return {};
}

// Where messages lie is not the client's to say: checked and forgotten.
Detail max_in_memory(Decoding&, const ValueView& value) {
  std::int64_t number = 0;
  return take_count(value, number);
}

Detail max_priority(Decoding& decoding, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_count(value, number)) return fault;
  if (number > kPriorityMax) return fmt::format("{{max_value_exceeded,{}}}", number);
  decoding.options.max_priority = static_cast<std::uint8_t>(number);
  return {};
}

Detail overflow(Decoding& decoding, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  if (*text == "drop-head") {
    decoding.options.overflow = Overflow::kDropHead;
  } else if (*text == "reject-publish") {
    decoding.options.overflow = Overflow::kRejectPublish;
  } else if (*text == "reject-publish-dlx") {
    decoding.options.overflow = Overflow::kRejectPublishDlx;
  } else {
    return "invalid_overflow";
  }
  return {};
}

Detail queue_mode(Decoding&, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  static constexpr std::array<std::string_view, 2> kKnown = {"default", "lazy"};
  if (!one_of(*text, kKnown)) return fmt::format("\"unsupported queue mode '{}'\"", *text);
  return {};
}

Detail queue_version(Decoding&, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_count(value, number)) return fault;
  if (number != 1 && number != 2) return fmt::format("\"unsupported queue version '{}'\"", number);
  return {};
}

Detail single_active_consumer(Decoding& decoding, const ValueView& value) {
  const auto on = value.as_bool();
  if (!on) return unacceptable(value);
  decoding.options.single_active_consumer = *on;
  return {};
}

Detail queue_type(Decoding& decoding, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  if (*text == "quorum" && !decoding.context.accept_quorum) {
    return "\"queue type 'quorum' is refused by the configuration of this node\"";
  }
  if (*text != "classic" && *text != "quorum") {
    return fmt::format("\"unsupported queue type '{}'\"", *text);
  }
  return {};
}

Detail initial_group_size(Decoding&, const ValueView& value) {
  std::int64_t number = 0;
  if (auto fault = take_count(value, number)) return fault;
  if (number == 0) return "{value_zero,0}";
  return {};
}

Detail delivery_limit(Decoding& decoding, const ValueView& value) {
  const auto number = value.as_int();
  if (!number) return not_an_integer(value);
  if (*number >= 0) decoding.options.delivery_limit = static_cast<std::uint64_t>(*number);
  return {};
}

Detail leader_locator(Decoding&, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  static constexpr std::array<std::string_view, 4> kKnown = {"client-local", "balanced", "random",
                                                             "least-leaders"};
  if (!one_of(*text, kKnown)) return "invalid_queue_locator_arg";
  return {};
}

Detail master_locator(Decoding&, const ValueView& value) {
  const auto text = value.as_text();
  if (!text) return unacceptable(value);
  static constexpr std::array<std::string_view, 4> kKnown = {"client-local", "min-masters",
                                                             "random", "balanced"};
  if (!one_of(*text, kKnown)) return "invalid_queue_locator_arg";
  return {};
}

// RabbitMQ 3.10 stores it and looks at nothing.
Detail consumer_timeout(Decoding& decoding, const ValueView& value) {
  const auto number = value.as_int();
  if (number && *number > 0) {
    decoding.options.consumer_timeout_ms = static_cast<std::uint64_t>(*number);
  }
  return {};
}

Detail nothing(Decoding&, const ValueView&) { return {}; }

// --- the table ----------------------------------------------------------------------------------

struct Argument {
  std::string_view name;
  Detail (*decode)(Decoding&, const ValueView&);
  bool classic;  // queues of that type take it
  bool quorum;
};

// In RabbitMQ's order of checks; what a type does not take comes last, in the order of the table.
constexpr std::array<Argument, 25> kArguments = {{
    {"x-expires", expires, true, true},
    {"x-message-ttl", message_ttl, true, true},
    {kHaPolicyArgument, ha_policy, true, true},
    {"x-dead-letter-exchange", dead_letter_exchange, true, true},
    {"x-dead-letter-routing-key", dead_letter_routing_key, true, true},
    {"x-dead-letter-strategy", dead_letter_strategy, true, true},
    {"x-max-length", max_length, true, true},
    {"x-max-length-bytes", max_length_bytes, true, true},
    {"x-max-priority", max_priority, true, false},
    {"x-overflow", overflow, true, true},
    {"x-queue-mode", queue_mode, true, false},
    {"x-queue-master-locator", master_locator, true, false},
    {"x-queue-version", queue_version, true, false},
    {"x-single-active-consumer", single_active_consumer, true, true},
    {kTypeArgument, queue_type, true, true},
    {"x-delivery-limit", delivery_limit, true, true},
    {"x-max-in-memory-length", max_in_memory, false, true},
    {"x-max-in-memory-bytes", max_in_memory, false, true},
    {"x-quorum-initial-group-size", initial_group_size, false, true},
    {"x-queue-leader-locator", leader_locator, true, true},
    {"x-consumer-timeout", consumer_timeout, true, true},
    {"x-ha-min-in-sync", min_in_sync, true, true},
    {"x-max-age", nothing, false, false},
    {"x-stream-max-segment-size-bytes", nothing, false, false},
    {"x-initial-cluster-size", nothing, false, false},
}};

// x-ha-policy, which RabbitMQ 3 has forgotten, is compared because the mirrors honour it, with its
// list of nodes, which the releases that had it did not compare.
constexpr std::array<std::string_view, 16> kComparedOfClassic = {"x-expires",
                                                                 "x-message-ttl",
                                                                 "x-dead-letter-exchange",
                                                                 "x-dead-letter-routing-key",
                                                                 "x-max-length",
                                                                 "x-max-length-bytes",
                                                                 "x-max-priority",
                                                                 "x-overflow",
                                                                 "x-queue-mode",
                                                                 "x-queue-version",
                                                                 "x-single-active-consumer",
                                                                 "x-queue-type",
                                                                 kHaPolicyArgument,
                                                                 kHaPolicyParams,
                                                                 "x-ha-min-in-sync",
                                                                 "x-queue-master-locator"};
constexpr std::array<std::string_view, 18> kComparedOfQuorum = {"x-expires",
                                                                "x-message-ttl",
                                                                "x-dead-letter-exchange",
                                                                "x-dead-letter-routing-key",
                                                                "x-dead-letter-strategy",
                                                                "x-max-length",
                                                                "x-max-length-bytes",
                                                                "x-max-in-memory-length",
                                                                "x-max-in-memory-bytes",
                                                                "x-overflow",
                                                                "x-single-active-consumer",
                                                                "x-queue-type",
                                                                "x-quorum-initial-group-size",
                                                                "x-delivery-limit",
                                                                kHaPolicyArgument,
                                                                kHaPolicyParams,
                                                                "x-ha-min-in-sync",
                                                                "x-queue-leader-locator"};

// As RabbitMQ's texts call the types.
const char* module_of(QueueType type) {
  return type == QueueType::kQuorum ? "rabbit_quorum_queue" : "rabbit_classic_queue";
}

AmqpError not_for_type(std::string_view argument, const std::string& resource, QueueType type) {
  return amqp::precondition_failed(
      fmt::format("invalid arg '{}' for {} of queue type {}", argument, resource, module_of(type)));
}

QueueType type_of(std::span<const std::uint8_t> arguments) {
  const auto value = amqp::find_in_table(arguments, kTypeArgument);
  const bool quorum = value && value->as_text() == std::string_view("quorum");
  return quorum ? QueueType::kQuorum : QueueType::kClassic;
}

bool taken_by(const Argument& argument, QueueType type) {
  return type == QueueType::kQuorum ? argument.quorum : argument.classic;
}

}  // namespace

bool decode_queue_arguments(std::span<const std::uint8_t> arguments,
                            const QueueArgumentsContext& context, QueueOptions& options,
                            AmqpError& error) {
  options = {};
  if (arguments.empty()) return true;
  const std::string resource = amqp::queue_text(context.vhost, context.queue);
  options.type = type_of(arguments);
  Decoding decoding{context, options, arguments};
  // Which queue it is to be comes before everything else.
  if (const auto type = amqp::find_in_table(arguments, kTypeArgument)) {
    if (const Detail fault = queue_type(decoding, *type)) {
      error = amqp::invalid_argument(kTypeArgument, resource, *fault);
      return false;
    }
  }
  for (const Argument& argument : kArguments) {
    if (argument.name == kTypeArgument || !taken_by(argument, options.type)) continue;
    const auto value = amqp::find_in_table(arguments, argument.name);
    if (!value) continue;
    if (const Detail fault = argument.decode(decoding, *value)) {
      error = amqp::invalid_argument(argument.name, resource, *fault);
      return false;
    }
  }
  for (const Argument& argument : kArguments) {
    if (taken_by(argument, options.type) || !amqp::find_in_table(arguments, argument.name)) {
      continue;
    }
    error = not_for_type(argument.name, resource, options.type);
    return false;
  }
  return true;
}

std::span<const std::string_view> compared_queue_arguments(QueueType type) {
  if (type == QueueType::kQuorum) return kComparedOfQuorum;
  return kComparedOfClassic;
}

void settle_queue_type(const VhostRecord* vhost, const QueueRecord* current, QueueRecord& wanted) {
  const bool named =
      amqp::find_in_table(runtime::as_bytes(wanted.arguments), kTypeArgument).has_value();
  if (!named && vhost != nullptr && !vhost->default_queue_type.empty()) {
    std::string type;
    if (current != nullptr) {
      if (current->options.type == QueueType::kQuorum) type = "quorum";
    } else if (wanted.durable && !wanted.exclusive() && !wanted.auto_delete) {
      type = vhost->default_queue_type;
    }
    if (!type.empty() && type != "classic") {
      auto table = amqp::FieldTable::decode(runtime::as_bytes(wanted.arguments))
                       .value_or(amqp::FieldTable());
      table.set(kTypeArgument, type);
      wanted.arguments = table.encode();
    }
  }
  if (type_of(runtime::as_bytes(wanted.arguments)) == QueueType::kQuorum && !wanted.exclusive()) {
    wanted.durable = true;
  }
}

NamedExchange exchange_argument(std::span<const std::uint8_t> arguments, std::string_view key,
                                std::string& name) {
  const auto value = amqp::find_in_table(arguments, key);
  if (!value) return NamedExchange::kAbsent;
  const auto text = value->as_text();
  name = text ? std::string(*text) : amqp::type_name(value->type);
  return text ? NamedExchange::kName : NamedExchange::kWrongType;
}

bool decode_consumer_arguments(std::span<const std::uint8_t> arguments, std::string_view vhost,
                               std::string_view queue, QueueType type, ConsumerArguments& out,
                               AmqpError& error) {
  if (arguments.empty()) return true;
  const std::string resource = amqp::queue_text(vhost, queue);
  if (const auto value = amqp::find_in_table(arguments, "x-priority")) {
    const auto number = value->as_int();
    if (!number) {
      error = amqp::invalid_argument("x-priority", resource, *not_an_integer(*value));
      return false;
    }
    out.priority =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(*number, INT32_MIN, INT32_MAX));
  }
  const auto cancel = amqp::find_in_table(arguments, "x-cancel-on-ha-failover");
  if (cancel && !cancel->as_bool()) {
    error = amqp::invalid_argument("x-cancel-on-ha-failover", resource, *unacceptable(*cancel));
    return false;
  }
  if (amqp::find_in_table(arguments, "x-stream-offset")) {
    error = not_for_type("x-stream-offset", resource, type);
    return false;
  }
  return true;
}

}  // namespace ringtail::broker
