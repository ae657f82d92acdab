// What a message tells of its deaths: the header x-death, as RabbitMQ 3.10 writes it. Pure
// functions.
//
// x-death is an array of tables, one for each queue and reason, the newest death first. A table has
// count (long), reason, queue (longstr), time (timestamp, of the first death of this kind),
// exchange (longstr), routing-keys (array of longstr: the key and those of CC) and, where the
// message had an expiration, original-expiration (longstr). Two habits of RabbitMQ that clients see
// are kept: each death turns the order of the other tables round, and what is written anew is
// sorted by name except in a message's first table.
#pragma once

#include <cstdint>
#include <string_view>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "queue/dead_letters.h"

namespace ringtail::broker {

struct Death {
  queue::DeathReason reason = queue::DeathReason::kRejected;
  std::string_view queue;
  std::string_view exchange;     // that the message was published to
  std::string_view routing_key;  // with which
  std::uint64_t seconds = 0;     // since 1970
};

std::string_view death_reason_name(queue::DeathReason reason);

// Adds a death to the headers and takes the expiration away. An x-death that is no array is
// replaced; what is no table in it is dropped.
void record_death(const Death& death, amqp::BasicProperties& properties);

// Whether a message with these headers, which has just died for an automatic reason, would go round
// in a circle at `queue`: it has died there, and no client has rejected it since.
bool goes_round(const amqp::FieldTable& headers, std::string_view queue);

}  // namespace ringtail::broker
