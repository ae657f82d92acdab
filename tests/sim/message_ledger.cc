#include "tests/sim/message_ledger.h"

#include <doctest/doctest.h>

#include <charconv>

namespace ringtail::sim {

std::string MessageId::text() const {
  return std::to_string(publisher) + "." + std::to_string(number) + "|";
}

MessageId MessageId::of(const std::string& body) {
  const std::size_t dot = body.find('.');
  const std::size_t bar = body.find('|');
  REQUIRE(dot < bar);
  REQUIRE(bar != std::string::npos);
  MessageId id;
  std::from_chars(body.data(), body.data() + dot, id.publisher);
  std::from_chars(body.data() + dot + 1, body.data() + bar, id.number);
  return id;
}

void SeenInOrder::fresh(MessageId id) {
  CAPTURE(id.publisher);
  CAPTURE(id.number);
  std::uint32_t& last = last_[id.publisher];
  CHECK_MESSAGE(last < id.number, "out of order");
  last = id.number;
}

void MessageLedger::publishing(MessageId id, const std::set<std::string>& must,
                               const std::set<std::string>& may) {
  for (const std::string& queue : may) queues_[queue].copies[id];
  for (const std::string& queue : must) queues_[queue].copies[id].must = true;
}

void MessageLedger::confirmed(MessageId id) {
  confirmed_.insert(id);
  ++confirms_;
}

MessageLedger::Copy& MessageLedger::copy(const std::string& queue, MessageId id) {
  CAPTURE(queue);
  CAPTURE(id.publisher);
  CAPTURE(id.number);
  auto& copies = queues_[queue].copies;
  const auto found = copies.find(id);
  REQUIRE_MESSAGE(found != copies.end(), "was never published to that queue");
  return found->second;
}

void MessageLedger::delivered(const std::string& queue, MessageId id, bool redelivered) {
  Copy& one = copy(queue, id);
  ++deliveries_;
  CAPTURE(queue);
  CAPTURE(id.publisher);
  CAPTURE(id.number);
  if (!redelivered) {
    // One that was seen before may have been under way to a client that had to wait for it.
    CHECK_MESSAGE(!one.fresh, "delivered again, and not marked");
    one.fresh = true;
  }
  one.seen = true;
}

void MessageLedger::acknowledged(const std::string& queue, MessageId id) {
  copy(queue, id).acknowledged = true;
}

void MessageLedger::held(const std::string& queue, const std::vector<Held>& all) {
  CAPTURE(queue);
  SeenInOrder order;
  std::set<MessageId> found;
  for (const Held& one : all) {
    CAPTURE(one.id.publisher);
    CAPTURE(one.id.number);
    const Copy& known = copy(queue, one.id);
    CHECK_MESSAGE(found.insert(one.id).second, "twice");
    if (known.seen) CHECK_MESSAGE(one.redelivered, "seen before, and not marked");
    order.fresh(one.id);
  }
  for (const auto& [id, known] : queues_[queue].copies) {
    if (!known.must || !confirmed_.contains(id) || known.acknowledged) continue;
    CAPTURE(id.publisher);
    CAPTURE(id.number);
    CHECK_MESSAGE(found.contains(id), "confirmed, and lost");
  }
}

}  // namespace ringtail::sim
