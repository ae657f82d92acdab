// What an imported exchange, queue or policy has to keep to, as a declaration has: each check gives
// the reason why the object cannot be honoured, or nothing.
#pragma once

#include <optional>
#include <string>

#include "cluster/metadata/records.h"

namespace ringtail::broker {

std::optional<std::string> fault_of_exchange(const cluster::metadata::ExchangeRecord& record);
// Decodes the arguments into record.options. `accept_quorum`: see Config.
std::optional<std::string> decode_queue(cluster::metadata::QueueRecord& record, bool accept_quorum);
std::optional<std::string> fault_of_policy(const cluster::metadata::PolicyRecord& record);
// Of a regular expression; `name` says which it is.
std::optional<std::string> fault_of_pattern(const std::string& name, const std::string& pattern);

}  // namespace ringtail::broker
