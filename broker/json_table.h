// JSON and what the broker keeps: argument tables, policy definitions. Whatever speaks JSON
// (definitions, the HTTP interface) converts here, so that a value means the same everywhere.
//
// The rules are RabbitMQ's: a whole number becomes a long ('l'), any other number a double, text a
// longstr, an object a table, an array an array; null is refused. Objects have their members in the
// order of their names. The other way the width of a number is lost, as it is there.
//
// Pure functions, any thread. No exception of the library leaves this file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "broker/amqp/field_table.h"
#include "broker/runtime/status.h"
#include "cluster/metadata/queue_options.h"

namespace ringtail::broker {

using Json = nlohmann::json;                 // members in the order of their names
using OrderedJson = nlohmann::ordered_json;  // in the order in which they were added

// kInvalid: the text says what is wrong and where. Nesting goes as deep as a field table's
// (runtime::kTableDepthMax), so that what is parsed can be walked.
runtime::Result<Json> parse_json(std::string_view text);

// Compact. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(const Json& json);
std::string json_text(const OrderedJson& json);

// kInvalid: it is no object, or holds what no table can; the text names the value's place.
runtime::Result<amqp::FieldTable> table_of_json(const Json& object);
// One value, as in a table; `name` is for the error.
runtime::Result<amqp::FieldValue> value_of_json(const Json& json, std::string_view name);
Json json_of_table(const amqp::FieldTable& table);
Json json_of_value(const amqp::FieldValue& value);

// The same with a table's bytes, as records keep them.
runtime::Result<std::string> arguments_of_json(const Json& object);
Json json_of_arguments(std::string_view entries);

// kInvalid: no object, or a value that no policy has (null, an object, a list of other than text).
// Which keys there are and what they may be is judged elsewhere (cluster/metadata/policy_rules.h).
runtime::Result<cluster::metadata::PolicyDefinition> policy_definition_of_json(const Json& object);
Json json_of_policy_definition(const cluster::metadata::PolicyDefinition& definition);

}  // namespace ringtail::broker
