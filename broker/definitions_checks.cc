#include "broker/definitions_checks.h"

#include <fmt/format.h>

#include "broker/amqp/errors.h"
#include "broker/amqp/field_table.h"
#include "broker/queue_arguments.h"
#include "broker/routing/route_table.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/pattern.h"
#include "cluster/metadata/policy_rules.h"

namespace ringtail::broker {

using cluster::metadata::ExchangeRecord;
using cluster::metadata::PolicyRecord;
using cluster::metadata::QueueRecord;

std::optional<std::string> fault_of_exchange(const ExchangeRecord& record) {
  if (!RouteTable::knows_type(record.type)) {
    return fmt::format("there is no exchange type '{}'", record.type);
  }
  const auto alternate =
      amqp::find_in_table(runtime::as_bytes(record.arguments), "alternate-exchange");
  if (alternate && !alternate->as_text()) return "alternate-exchange has to be text";
  return std::nullopt;
}

std::optional<std::string> decode_queue(QueueRecord& record, bool accept_quorum) {
  amqp::AmqpError error;
  const QueueArgumentsContext context{record.vhost, record.name, accept_quorum};
  if (decode_queue_arguments(runtime::as_bytes(record.arguments), context, record.options, error)) {
    return std::nullopt;
  }
  return error.text;
}

std::optional<std::string> fault_of_policy(const PolicyRecord& record) {
  std::string fault = cluster::metadata::policy_fault(record);
  if (fault.empty()) return std::nullopt;
  // Lines of a report say already that something is wrong.
  if (fault.starts_with(cluster::metadata::kValidationFailed)) {
    fault.erase(0, cluster::metadata::kValidationFailed.size());
  }
  while (fault.ends_with('\n')) fault.pop_back();
  return fault;
}

std::optional<std::string> fault_of_pattern(const std::string& name, const std::string& pattern) {
  const auto compiled = runtime::Pattern::compile(pattern);
  if (compiled.ok()) return std::nullopt;
  return fmt::format("{}: {}", name, compiled.status().text());
}

}  // namespace ringtail::broker
