#include "broker/definitions_checks.h"

#include <fmt/format.h>

#include "broker/amqp/field_table.h"
#include "broker/routing/route_table.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/pattern.h"

namespace ringtail::broker {

using cluster::metadata::ExchangeRecord;
using cluster::metadata::PolicyRecord;
using cluster::metadata::QueueRecord;
using cluster::metadata::QueueType;

std::optional<std::string> fault_of_exchange(const ExchangeRecord& record) {
  if (!RouteTable::knows_type(record.type)) {
    return fmt::format("there is no exchange type '{}'", record.type);
  }
  const auto alternate =
      amqp::find_in_table(runtime::as_bytes(record.arguments), "alternate-exchange");
  if (alternate && !alternate->as_text()) return "alternate-exchange has to be text";
  return std::nullopt;
}

std::optional<std::string> decode_queue(QueueRecord& record) {
  const auto type = amqp::find_in_table(runtime::as_bytes(record.arguments), "x-queue-type");
  if (!type) return std::nullopt;
  if (type->as_text() == "quorum") {
    record.options.type = QueueType::kQuorum;
  } else if (type->as_text() != "classic") {
    return "there are no queues of this x-queue-type: classic and quorum are known";
  }
  return std::nullopt;
}

std::optional<std::string> fault_of_policy(const PolicyRecord& record) {
  if (record.definition.empty()) return "the definition is empty";
  return fault_of_pattern("pattern", record.pattern);
}

std::optional<std::string> fault_of_pattern(const std::string& name, const std::string& pattern) {
  const auto compiled = runtime::Pattern::compile(pattern);
  if (compiled.ok()) return std::nullopt;
  return fmt::format("{}: {}", name, compiled.status().text());
}

}  // namespace ringtail::broker
