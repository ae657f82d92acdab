// Whether a policy is one, in RabbitMQ 3.10.8's words. Pure functions; whoever takes policies from
// outside (HTTP, definitions) asks before it proposes them.
//
// Accepted beyond 3.10.8: `consumer-timeout`, `target-group-size`, the federation keys,
// the targets classic_queues and quorum_queues, and operator policies with `overflow`,
// `queue-version`, `ha-mode`, `ha-params` and `ha-sync-mode`, as later 3.x have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

// Empty: the policy is valid. Otherwise what is wrong with it, "Validation failed\n\n" and one line
// per fault, of the definition the first.
std::string policy_fault(const PolicyRecord& policy);

// For input that does not fit into a PolicyRecord: the line (ending in a newline) for each part;
// join them in this order behind kValidationFailed. Empty: no fault.
inline constexpr std::string_view kValidationFailed = "Validation failed\n\n";
std::string definition_fault(const PolicyDefinition& definition, bool of_operator);
// A value of no type that PolicyValue has (null, an object, a list with other things than strings,
// a number too large), printed as Erlang prints it: never valid.
std::string unusable_value_fault(std::string_view key, std::string_view term, bool of_operator);
std::string target_fault(std::string_view apply_to);  // what policy_target() does not know
std::string pattern_fault(std::string_view pattern);
std::string pattern_type_fault(std::string_view term);   // a pattern that is no string
std::string priority_type_fault(std::string_view term);  // a priority that is no number

// "all", "queues", "exchanges", "classic_queues", "quorum_queues".
std::optional<PolicyTarget> policy_target(std::string_view apply_to);
std::string_view name_of(PolicyTarget target);

// As Erlang's ~p prints it: <<"text">>, 5, 1.5, true, [<<"a">>,<<"b">>].
std::string erlang_term(const PolicyValue& value);

}  // namespace ringtail::cluster::metadata
