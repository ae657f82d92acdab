// Values of message headers and binding arguments as headers exchanges compare them. RabbitMQ
// compares the decoded values as Erlang terms with == (rabbit_exchange_type_headers): numbers of
// all types (timestamps too) by value, longstr and binary by their bytes, true and false only with
// themselves. Inside of tables and arrays the types must agree as well.
#pragma once

#include <cstdint>

#include "broker/amqp/field_table.h"

namespace ringtail::broker {

bool same_header_value(const amqp::ValueView& a, const amqp::ValueView& b);

// Equal for values that are the same.
std::uint64_t hash_header_value(const amqp::ValueView& value);

}  // namespace ringtail::broker
