#include "broker/dead_letters.h"

#include <algorithm>
#include <array>
#include <utility>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/death.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using cluster::metadata::QueueRecord;
using queue::DeathReason;

namespace {

constexpr std::string_view kCc = "CC";

void append_keys(std::span<const std::uint8_t> array, std::vector<std::string>& keys) {
  amqp::ArrayWalk walk(array);
  amqp::ValueView item;
  while (walk.next(item)) {
    if (const auto key = item.as_text()) keys.emplace_back(*key);
  }
}

void append_keys(const amqp::FieldValue* array, std::vector<std::string>& keys) {
  if (array == nullptr || array->as_array() == nullptr) return;
  for (const amqp::FieldValue& item : array->as_array()->items()) {
    if (const auto key = item.as_text()) keys.emplace_back(*key);
  }
}

// Exchange and routing key as two short strings. A dead letter routing key may be longer than a
// short string can be; receivers see its beginning.
std::string route_of(std::string_view exchange, std::string_view routing_key) {
  std::string route;
  for (std::string_view text : {exchange, routing_key}) {
    text = text.substr(0, runtime::kShortStringMax);
    route += static_cast<char>(text.size());
    route += text;
  }
  return route;
}

}  // namespace

DeadLetters::DeadLetters(runtime::Shard& shard, cluster::metadata::View& view,
                         const RouteTable& routes, RecentHistory& history)
    : shard_(shard), routes_(routes), history_(history), publisher_(shard) {
  view.add_observer(*this);
}

void DeadLetters::dead_letter(const std::shared_ptr<const QueueRecord>& queue,
                              const cluster::metadata::QueueOptions& options, DeathReason reason,
                              queue::MessageRef message) {
  const Exchange* exchange = routes_.find(queue->vhost, *options.dead_letter_exchange);
  if (exchange == nullptr) {
    if (told_no_exchange_.insert(queue->qid).second) {
      runtime::log(runtime::LogLevel::kWarning, "queue",
                   "queue '{}' in vhost '{}': dead letters are dropped, there is no exchange '{}'",
                   queue->name, queue->vhost, *options.dead_letter_exchange);
    }
    return;
  }
  auto properties =
      amqp::BasicProperties::decode(message->properties()).value_or(amqp::BasicProperties());
  record_death({.reason = reason,
                .queue = queue->name,
                .exchange = message->exchange(),
                .routing_key = message->routing_key(),
                .seconds = shard_.env().clock().wall_ms() / 1000},
               properties);
  Letter letter;
  if (options.dead_letter_routing_key) {
    properties.headers->erase(kCc);
    letter.routing_key = *options.dead_letter_routing_key;
  } else {
    append_keys(properties.headers->find(kCc), letter.further_keys);
    letter.blind_keys = message->blind_keys();
    append_keys(letter.blind_keys, letter.further_keys);
    letter.routing_key = message->routing_key();
  }
  letter.properties = properties.encode();
  route(*exchange, letter);
  if (reason != DeathReason::kRejected) drop_circles(*queue, *properties.headers);
  send(*exchange, letter, *message);
}

void DeadLetters::route(const Exchange& exchange, const Letter& letter) {
  targets_.clear();
  remembering_.clear();
  const std::vector<std::string_view> keys(letter.further_keys.begin(), letter.further_keys.end());
  routes_.route(exchange,
                {.routing_key = letter.routing_key,
                 .properties = runtime::as_bytes(letter.properties),
                 .further_keys = keys,
                 .chance = shard_.env().rng().next()},
                targets_, &remembering_);
}

void DeadLetters::drop_circles(const QueueRecord& queue, const amqp::FieldTable& headers) {
  const auto dropped = std::erase_if(targets_, [&headers](const QueueRecord* target) {
    return goes_round(headers, target->name);
  });
  if (dropped == 0 || !told_circle_.insert(queue.qid).second) return;
  runtime::log(
      runtime::LogLevel::kWarning, "queue",
      "queue '{}' in vhost '{}': a message was dropped, dead lettering leads it round in a "
      "circle; this is not reported again",
      queue.name, queue.vhost);
}

void DeadLetters::send(const Exchange& exchange, const Letter& letter, const queue::Message& dead) {
  if (targets_.empty() && remembering_.empty()) return;
  queue::Message::Traits traits = dead.traits();
  traits.expiration_ms = queue::kNoExpiration;
  const std::string where = route_of(RouteTable::record(exchange).name, letter.routing_key);
  const queue::MessageRef message(queue::Message::create_around(
      dead, runtime::as_bytes(where), runtime::as_bytes(letter.properties), traits,
      letter.blind_keys));
  for (const QueueRecord* target : targets_) publisher_.publish(*target, message);
  if (!remembering_.empty()) history_.remember(remembering_, message);
}

void DeadLetters::queue_removed(const QueueRecord& record) {
  publisher_.forget(record.qid);
  told_no_exchange_.erase(record.qid);
  told_circle_.erase(record.qid);
}

}  // namespace ringtail::broker
