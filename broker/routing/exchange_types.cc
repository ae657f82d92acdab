#include "broker/routing/exchange.h"

namespace ringtail::broker {

namespace {

constexpr ExchangeType kTypes[] = {
    {"direct", make_direct_index, nullptr},
    {"fanout", make_fanout_index, nullptr},
    {"topic", make_topic_index, nullptr},
    {"headers", make_headers_index, fault_of_headers_binding},
};

}  // namespace

const ExchangeType* find_exchange_type(std::string_view name) {
  for (const ExchangeType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

}  // namespace ringtail::broker
