// The argument x-ha-policy of the releases 2.6 to 2.8, which asks for mirrors of a queue, with its
// companion x-ha-policy-params; checked with their texts.
//
//   all     a copy on every node, on those that join later too; the master is where the client is
//   nodes   on those that x-ha-policy-params names, the first of which is the master
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "broker/amqp/field_table.h"
#include "cluster/metadata/queue_options.h"

namespace ringtail::broker {

inline constexpr std::string_view kHaPolicyArgument = "x-ha-policy";
inline constexpr std::string_view kHaPolicyParams = "x-ha-policy-params";

// `value` is the one of x-ha-policy in these arguments. None: `mirrors` has the wish; otherwise
// what a client is told behind the colon of "invalid arg 'x-ha-policy' for ...".
std::optional<std::string> decode_ha_policy(std::span<const std::uint8_t> arguments,
                                            const amqp::ValueView& value,
                                            std::optional<cluster::metadata::Mirrors>& mirrors);

}  // namespace ringtail::broker
