#include "broker/routing/exchange.h"

namespace ringtail::broker {

namespace {

// In the order of names.
constexpr ExchangeType kTypes[] = {
    {"direct", "AMQP direct exchange, as per the AMQP specification", make_direct_index},
    {"fanout", "AMQP fanout exchange, as per the AMQP specification", make_fanout_index},
    {"headers", "AMQP headers exchange, as per the AMQP specification", make_headers_index, nullptr,
     fault_of_headers_binding},
    {"topic", "AMQP topic exchange, as per the AMQP specification", make_topic_index},
    {"x-consistent-hash", "Consistent Hashing Exchange", make_consistent_hash_index,
     fault_of_consistent_hash, fault_of_consistent_hash_binding},
    {"x-modulus-hash", "Modulus Hashing Exchange", make_modulus_hash_index},
    {"x-random", "Randomly picks a binding (queue) to route via (to).", make_random_index},
    {"x-recent-history", "Recent History Exchange.", make_fanout_index, fault_of_recent_history,
     nullptr, true},
};

}  // namespace

std::span<const ExchangeType> exchange_types() { return kTypes; }

const ExchangeType* find_exchange_type(std::string_view name) {
  for (const ExchangeType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

}  // namespace ringtail::broker
