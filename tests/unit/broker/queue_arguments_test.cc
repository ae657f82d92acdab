// The texts were recorded from RabbitMQ 3.10.8.
#include "broker/queue_arguments.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "broker/amqp/field_table.h"
#include "broker/runtime/bytes.h"

namespace queue_arguments_test {

using namespace ringtail;
using namespace ringtail::broker;
using amqp::FieldTable;
using amqp::FieldValue;
using cluster::metadata::MirrorMode;
using cluster::metadata::Mirrors;
using cluster::metadata::Overflow;
using cluster::metadata::QueueOptions;
using cluster::metadata::QueueRecord;
using cluster::metadata::QueueType;
using cluster::metadata::VhostRecord;

namespace {

// What the client is told, without the part that is always the same; empty: accepted.
std::string fault(const FieldTable& table, QueueOptions* out = nullptr, bool quorum = true) {
  QueueOptions options;
  amqp::AmqpError error;
  const std::string encoded = table.encode();
  const bool ok =
      decode_queue_arguments(runtime::as_bytes(encoded),
                             {.vhost = "/", .queue = "q", .accept_quorum = quorum}, options, error);
  if (out != nullptr) *out = options;
  if (ok) return {};
  CHECK(error.code == amqp::ReplyCode::kPreconditionFailed);
  return error.text;
}

std::string fault(const char* name, FieldValue value) {
  return fault(FieldTable().set(name, std::move(value)));
}

// As fault(), of "invalid arg 'name' for queue 'q' in vhost '/': detail".
std::string detail(const char* name, FieldValue value) {
  const std::string text = fault(name, std::move(value));
  const std::string head = std::string("invalid arg '") + name + "' for queue 'q' in vhost '/': ";
  if (text.empty()) return {};
  CHECK(text.starts_with(head));
  return text.substr(std::min(head.size(), text.size()));
}

QueueOptions decoded(const FieldTable& table) {
  QueueOptions options;
  CHECK(fault(table, &options).empty());
  return options;
}

FieldTable quorum() { return FieldTable().set("x-queue-type", "quorum"); }

constexpr std::int64_t kLong = 1;

}  // namespace

TEST_CASE("no arguments, and unknown ones") {
  CHECK(decoded({}) == QueueOptions{});
  CHECK(decoded(FieldTable().set("x-foo", true).set("x-ha-policy-params", kLong)) ==
        QueueOptions{});
}

TEST_CASE("mirrors: the texts of the releases that had the argument") {
  CHECK(detail("x-ha-policy", kLong) == "{unacceptable_type,long}");
  CHECK(detail("x-ha-policy", true) == "{unacceptable_type,bool}");
  CHECK(detail("x-ha-policy", "exactly") == "{invalid_ha_policy,<<\"exactly\">>}");
  CHECK(detail("x-ha-policy", "") == "{invalid_ha_policy,<<>>}");
  CHECK(detail("x-ha-policy", "nodes") == "{require,'x-ha-policy-params'}");
  const auto with = [](FieldValue params) {
    const std::string text =
        fault(FieldTable().set("x-ha-policy", "nodes").set("x-ha-policy-params", params));
    const std::string head = "invalid arg 'x-ha-policy' for queue 'q' in vhost '/': ";
    CHECK((text.empty() || text.starts_with(head)));
    return text.substr(std::min(head.size(), text.size()));
  };
  using Array = amqp::FieldArray;
  CHECK(with("rabbit@a") == "{ha_nodes_policy_params_not_array_of_longstr,longstr}");
  CHECK(with(Array()) == "{require_non_empty_list_of_nodes_for_ha}");
  CHECK(with(Array().add("a").add(kLong).add(false)) ==
        "{require_node_list_as_longstrs_for_ha,[{longstr,<<\"a\">>},{long,1},{bool,false}]}");
  CHECK(with(Array().add("rabbit@a")).empty());
}

TEST_CASE("mirrors: what the argument asks for") {
  CHECK(decoded(FieldTable().set("x-ha-policy", "all")).mirrors == Mirrors{});
  // The list counts with "nodes" alone.
  CHECK(decoded(FieldTable().set("x-ha-policy", "all").set("x-ha-policy-params", true)).mirrors ==
        Mirrors{});
  const auto wish =
      decoded(FieldTable()
                  .set("x-ha-policy", "nodes")
                  .set("x-ha-policy-params", amqp::FieldArray().add("b@h").add("a@h")))
          .mirrors;
  REQUIRE(wish.has_value());
  CHECK(wish->mode == MirrorMode::kNodes);
  CHECK(wish->nodes == std::vector<std::string>{"b@h", "a@h"});
  CHECK(wish->automatic_sync);
  CHECK_FALSE(wish->promote_unsynced_on_failure);
  CHECK(decoded(FieldTable().set("x-ha-min-in-sync", 2 * kLong)).min_in_sync == 2);
  CHECK(detail("x-ha-min-in-sync", 0 * kLong) == "{value_zero,0}");
  for (const QueueType type : {QueueType::kClassic, QueueType::kQuorum}) {
    const auto compared = compared_queue_arguments(type);
    for (const char* name : {"x-ha-policy", "x-ha-policy-params", "x-ha-min-in-sync"}) {
      CHECK(std::find(compared.begin(), compared.end(), name) != compared.end());
    }
  }
}

TEST_CASE("numbers: type, sign, zero, maximum") {
  for (const char* name : {"x-expires", "x-message-ttl", "x-max-length", "x-max-length-bytes",
                           "x-max-priority", "x-queue-version"}) {
    CAPTURE(name);
    CHECK(detail(name, "a") == "\"expected integer, got longstr\"");
    CHECK(detail(name, true) == "\"expected integer, got bool\"");
    CHECK(detail(name, amqp::Void{}) == "\"expected integer, got void\"");
    CHECK(detail(name, 1.5) == "\"expected integer, got double\"");
    CHECK(detail(name, amqp::Timestamp{1}) == "\"expected integer, got timestamp\"");
    CHECK(detail(name, std::int64_t{-1}) == "{value_negative,-1}");
    CHECK(detail(name, std::int8_t{1}).empty());
  }
  CHECK(detail("x-expires", std::int32_t{0}) == "{value_zero,0}");
  CHECK(detail("x-message-ttl", std::int32_t{0}).empty());
  for (const char* name : {"x-expires", "x-message-ttl"}) {
    CHECK(detail(name, std::int64_t{315'360'000'000}).empty());
    CHECK(detail(name, std::int64_t{315'360'000'001}) == "{value_too_large,315360000001}");
  }
  CHECK(detail("x-max-length", std::int64_t{1} << 62).empty());
  CHECK(detail("x-max-priority", std::int32_t{255}).empty());
  CHECK(detail("x-max-priority", std::int32_t{256}) == "{max_value_exceeded,256}");
  CHECK(detail("x-queue-version", std::int32_t{2}).empty());
  CHECK(detail("x-queue-version", std::int32_t{3}) == "\"unsupported queue version '3'\"");
}

TEST_CASE("words: type and value") {
  for (const char* name : {"x-overflow", "x-queue-mode", "x-queue-type", "x-queue-leader-locator",
                           "x-dead-letter-strategy"}) {
    CAPTURE(name);
    CHECK(detail(name, std::int32_t{1}) == "{unacceptable_type,signedint}");
    CHECK(detail(name, false) == "{unacceptable_type,bool}");
  }
  CHECK(detail("x-overflow", "") == "invalid_overflow");
  CHECK(detail("x-queue-mode", "a") == "\"unsupported queue mode 'a'\"");
  CHECK(detail("x-queue-mode", "lazy").empty());
  CHECK(detail("x-queue-leader-locator", "zz") == "invalid_queue_locator_arg");
  CHECK(detail("x-dead-letter-strategy", "zz") == "invalid_dlx_strategy");
  CHECK(detail("x-single-active-consumer", "true") == "{unacceptable_type,longstr}");
  // RabbitMQ fails at this one with 541.
  CHECK(detail("x-queue-master-locator", "zz") == "invalid_queue_locator_arg");
  CHECK(detail("x-queue-master-locator", "min-masters").empty());
}

TEST_CASE("dead lettering") {
  CHECK(detail("x-dead-letter-routing-key", "k") == "routing_key_but_no_dlx_defined");
  CHECK(detail("x-dead-letter-routing-key", kLong) == "{unacceptable_type,long}");
  const auto options =
      decoded(FieldTable().set("x-dead-letter-routing-key", "k").set("x-dead-letter-exchange", ""));
  CHECK(options.dead_letter_exchange == "");
  CHECK(options.dead_letter_routing_key == "k");
  std::string name;
  const std::string good = FieldTable().set("x-dead-letter-exchange", "dlx").encode();
  CHECK(exchange_argument(runtime::as_bytes(good), "x-dead-letter-exchange", name) ==
        NamedExchange::kName);
  CHECK(name == "dlx");
  const std::string bad = FieldTable().set("x-dead-letter-exchange", std::int32_t{1}).encode();
  CHECK(exchange_argument(runtime::as_bytes(bad), "x-dead-letter-exchange", name) ==
        NamedExchange::kWrongType);
  CHECK(name == "signedint");
  CHECK(exchange_argument({}, "x-dead-letter-exchange", name) == NamedExchange::kAbsent);
}

TEST_CASE("everything at once, decoded") {
  const auto options = decoded(FieldTable()
                                   .set("x-expires", std::int32_t{1000})
                                   .set("x-message-ttl", std::int16_t{0})
                                   .set("x-max-length", std::int64_t{5})
                                   .set("x-max-length-bytes", std::uint32_t{6})
                                   .set("x-max-priority", std::uint8_t{9})
                                   .set("x-overflow", "reject-publish-dlx")
                                   .set("x-single-active-consumer", true)
                                   .set("x-delivery-limit", std::int32_t{3})
                                   .set("x-consumer-timeout", std::int32_t{7}));
  CHECK(options.expires_ms == 1000);
  CHECK(options.message_ttl_ms == 0);
  CHECK(options.max_length == 5);
  CHECK(options.max_length_bytes == 6);
  CHECK(options.max_priority == 9);
  CHECK(options.overflow == Overflow::kRejectPublishDlx);
  CHECK(options.single_active_consumer);
  CHECK(options.delivery_limit == 3);
  CHECK(options.consumer_timeout_ms == 7);
  CHECK(options.type == QueueType::kClassic);
}

TEST_CASE("the first fault in RabbitMQ's order is the one that is told") {
  FieldTable table;
  const char* order[] = {"x-expires",
                         "x-message-ttl",
                         "x-dead-letter-routing-key",
                         "x-max-length",
                         "x-max-length-bytes",
                         "x-max-priority",
                         "x-overflow",
                         "x-queue-mode",
                         "x-queue-version",
                         "x-single-active-consumer"};
  for (const char* name : order) table.prepend(name, amqp::Void{});
  for (const char* name : order) {
    CAPTURE(name);
    CHECK(fault(table).starts_with(std::string("invalid arg '") + name + "'"));
    table.erase(name);
  }
  CHECK(fault(table).empty());
}

TEST_CASE("arguments of other types of queue") {
  for (const char* name :
       {"x-max-in-memory-length", "x-max-in-memory-bytes", "x-quorum-initial-group-size",
        "x-max-age", "x-stream-max-segment-size-bytes", "x-initial-cluster-size"}) {
    CAPTURE(name);
    CHECK(fault(name, std::int32_t{1}) ==
          std::string("invalid arg '") + name +
              "' for queue 'q' in vhost '/' of queue type rabbit_classic_queue");
  }
  for (const char* name : {"x-max-priority", "x-queue-mode", "x-queue-version",
                           "x-queue-master-locator", "x-max-age"}) {
    CAPTURE(name);
    CHECK(fault(quorum().set(name, std::int32_t{1})) ==
          std::string("invalid arg '") + name +
              "' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue");
  }
  CHECK(fault(quorum().set("x-quorum-initial-group-size", std::int32_t{0})) ==
        "invalid arg 'x-quorum-initial-group-size' for queue 'q' in vhost '/': {value_zero,0}");
  CHECK(fault(quorum().set("x-max-in-memory-length", std::int32_t{10})).empty());
}

TEST_CASE("types of queue") {
  CHECK(decoded(quorum()).type == QueueType::kQuorum);
  CHECK(decoded(FieldTable().set("x-queue-type", "classic")).type == QueueType::kClassic);
  CHECK(detail("x-queue-type", "stream") == "\"unsupported queue type 'stream'\"");
  CHECK(detail("x-queue-type", "Classic") == "\"unsupported queue type 'Classic'\"");
  CHECK(detail("x-queue-type", "") == "\"unsupported queue type ''\"");
  CHECK(fault(quorum(), nullptr, false) ==
        "invalid arg 'x-queue-type' for queue 'q' in vhost '/': \"queue type 'quorum' is refused "
        "by the configuration of this node\"");
}

TEST_CASE("a delivery limit is for every queue") {
  CHECK(decoded(FieldTable().set("x-delivery-limit", std::int32_t{0})).delivery_limit == 0);
  CHECK(decoded(quorum().set("x-delivery-limit", std::int32_t{5})).delivery_limit == 5);
  CHECK_FALSE(decoded(quorum().set("x-delivery-limit", std::int32_t{-1})).delivery_limit);
  CHECK(detail("x-delivery-limit", "5") == "\"expected integer, got longstr\"");
}

TEST_CASE("the type of a declaration") {
  const auto settled = [](QueueRecord wanted, const VhostRecord* vhost,
                          const QueueRecord* current = nullptr) {
    settle_queue_type(vhost, current, wanted);
    return wanted;
  };
  const std::string as_quorum = quorum().encode();
  VhostRecord vhost;
  QueueRecord plain;
  plain.durable = true;
  CHECK(settled(plain, nullptr).arguments.empty());
  CHECK(settled(plain, &vhost).arguments.empty());
  vhost.default_queue_type = "classic";
  CHECK(settled(plain, &vhost).arguments.empty());
  vhost.default_queue_type = "quorum";
  CHECK(settled(plain, &vhost).arguments == as_quorum);
  QueueRecord other = plain;
  other.auto_delete = true;
  CHECK(settled(other, &vhost).arguments.empty());
  other = plain;
  other.durable = false;
  CHECK(settled(other, &vhost).arguments.empty());
  other = plain;
  other.exclusive_owner = 7;
  CHECK(settled(other, &vhost).arguments.empty());
  other = plain;
  other.arguments = FieldTable().set("x-queue-type", "classic").encode();
  CHECK(settled(other, &vhost).arguments == other.arguments);
  // One that is there keeps its type when the default changes.
  QueueRecord classic;
  CHECK(settled(plain, &vhost, &classic).arguments.empty());
  QueueRecord current;
  current.options.type = QueueType::kQuorum;
  vhost.default_queue_type = "classic";
  CHECK(settled(plain, &vhost, &current).arguments == as_quorum);
  vhost.default_queue_type.clear();
  CHECK(settled(plain, &vhost, &current).arguments.empty());  // 406, as in RabbitMQ
  // Quorum queues are durable, whatever was said.
  other = {};
  other.arguments = as_quorum;
  CHECK(settled(other, nullptr).durable);
  other.exclusive_owner = 7;
  CHECK_FALSE(settled(other, nullptr).durable);
}

TEST_CASE("arguments of consumers") {
  const auto consume = [](const FieldTable& table, std::int32_t* priority = nullptr) {
    ConsumerArguments out;
    amqp::AmqpError error;
    const std::string encoded = table.encode();
    const bool ok = decode_consumer_arguments(runtime::as_bytes(encoded), "/", "q",
                                              QueueType::kClassic, out, error);
    if (priority != nullptr) *priority = out.priority;
    return ok ? std::string() : error.text;
  };
  std::int32_t priority = 0;
  CHECK(consume({}).empty());
  CHECK(consume(FieldTable().set("x-priority", std::int16_t{-5}), &priority).empty());
  CHECK(priority == -5);
  CHECK(consume(FieldTable().set("x-priority", std::int64_t{1} << 40), &priority).empty());
  CHECK(priority == INT32_MAX);
  CHECK(consume(FieldTable().set("x-priority", "a")) ==
        "invalid arg 'x-priority' for queue 'q' in vhost '/': \"expected integer, got longstr\"");
  CHECK(consume(FieldTable().set("x-cancel-on-ha-failover", true)).empty());
  CHECK(consume(FieldTable().set("x-cancel-on-ha-failover", std::int32_t{1})) ==
        "invalid arg 'x-cancel-on-ha-failover' for queue 'q' in vhost '/': "
        "{unacceptable_type,signedint}");
  CHECK(consume(FieldTable().set("x-stream-offset", "first")) ==
        "invalid arg 'x-stream-offset' for queue 'q' in vhost '/' of queue type "
        "rabbit_classic_queue");
}

}  // namespace queue_arguments_test
