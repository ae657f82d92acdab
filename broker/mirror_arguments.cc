#include "broker/mirror_arguments.h"

#include <fmt/format.h>

#include "cluster/metadata/policy_rules.h"

namespace ringtail::broker {

using amqp::ValueView;
using cluster::metadata::erlang_term;
using cluster::metadata::MirrorMode;
using cluster::metadata::Mirrors;
using cluster::metadata::PolicyValue;

namespace {

// {longstr,<<"a">>}; of values that have more to them the type alone.
std::string typed_term(const ValueView& value) {
  const std::string_view type = amqp::type_name(value.type);
  std::string term = "...";
  if (const auto text = value.as_text()) {
    term = erlang_term(PolicyValue(std::string(*text)));
  } else if (const auto number = value.as_int()) {
    term = std::to_string(*number);
  } else if (const auto real = value.as_double()) {
    term = erlang_term(PolicyValue(*real));
  } else if (const auto flag = value.as_bool()) {
    term = *flag ? "true" : "false";
  } else if (value.type == amqp::FieldType::kVoid) {
    term = "undefined";
  }
  return fmt::format("{{{},{}}}", type, term);
}

std::optional<std::string> decode_nodes(std::span<const std::uint8_t> arguments, Mirrors& mirrors) {
  const auto params = amqp::find_in_table(arguments, kHaPolicyParams);
  if (!params) return "{require,'x-ha-policy-params'}";
  const auto array = params->as_array();
  if (!array) {
    return fmt::format("{{ha_nodes_policy_params_not_array_of_longstr,{}}}",
                       amqp::type_name(params->type));
  }
  std::string items;
  bool all_text = true;
  amqp::ArrayWalk walk(*array);
  for (ValueView item; walk.next(item);) {
    items += (items.empty() ? "" : ",") + typed_term(item);
    const auto text = item.as_text();
    all_text = all_text && text.has_value();
    if (text) mirrors.nodes.emplace_back(*text);
  }
  if (items.empty()) return "{require_non_empty_list_of_nodes_for_ha}";
  if (!all_text) return fmt::format("{{require_node_list_as_longstrs_for_ha,[{}]}}", items);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> decode_ha_policy(std::span<const std::uint8_t> arguments,
                                            const ValueView& value,
                                            std::optional<Mirrors>& mirrors) {
  const auto text = value.as_text();
  if (!text) return fmt::format("{{unacceptable_type,{}}}", amqp::type_name(value.type));
  Mirrors wish;
  if (*text == "nodes") {
    wish.mode = MirrorMode::kNodes;
    if (auto fault = decode_nodes(arguments, wish)) return fault;
  } else if (*text != "all") {
    return fmt::format("{{invalid_ha_policy,{}}}", erlang_term(PolicyValue(std::string(*text))));
  }
  mirrors = std::move(wish);
  return std::nullopt;
}

}  // namespace ringtail::broker
