// A client's mistakes as RabbitMQ words them (clients match on these texts). Each function gives
// the AmqpError with its code; the caller fills in class_id and method_id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/amqp/reply_codes.h"

namespace ringtail::amqp {

// "queue 'q' in vhost '/'". `kind` is "queue" or "exchange".
std::string resource_text(std::string_view kind, std::string_view vhost, std::string_view name);
std::string queue_text(std::string_view vhost, std::string_view queue);
// The default exchange, whose name is empty, stays empty here; where permissions are concerned
// RabbitMQ calls it 'amq.default' (access_refused below).
std::string exchange_text(std::string_view vhost, std::string_view exchange);

// --- 404 ---
AmqpError not_found_queue(std::string_view vhost, std::string_view queue);
AmqpError not_found_exchange(std::string_view vhost, std::string_view exchange);
AmqpError not_found_no_previous_queue();
AmqpError not_found_home_node_down(std::string_view vhost, std::string_view queue,
                                   std::string_view node);
// What it has on the disk cannot be read; RabbitMQ's text for a queue whose process has crashed has
// no reason either, the node's log has it.
AmqpError not_found_queue_damaged(std::string_view vhost, std::string_view queue);
AmqpError not_found_queue_timeout(std::string_view vhost, std::string_view queue);
// queue.bind of a pair of which one side or both are missing takes the two above.

// --- 405 ---
AmqpError resource_locked(std::string_view vhost, std::string_view queue);

// --- 403 ---
// RabbitMQ 3.10 does not say which permission was missing (3.13 does).
enum class Permission : std::uint8_t { kConfigure, kWrite, kRead };
AmqpError access_refused(std::string_view kind, std::string_view vhost, std::string_view name,
                         std::string_view user);
AmqpError topic_access_refused(std::string_view routing_key, std::string_view vhost,
                               std::string_view exchange, std::string_view user);
AmqpError reserved_name(std::string_view kind, std::string_view name);
AmqpError default_exchange_refused();
AmqpError system_exchange_refused(std::string_view vhost, std::string_view exchange);
AmqpError internal_exchange_refused(std::string_view vhost, std::string_view exchange);
AmqpError queue_in_exclusive_use(std::string_view vhost, std::string_view queue);
// connection.close during login, for a client with authentication_failure_close.
AmqpError login_refused(std::string_view mechanism);

// --- 406 ---
AmqpError precondition_failed(std::string text);
// `detail` as it stands behind the colon: "{value_negative,-1}", "invalid_overflow" ...
AmqpError invalid_argument(std::string_view argument, std::string_view resource,
                           std::string_view detail);
AmqpError unknown_exchange_type(std::string_view type);
AmqpError queue_in_use(std::string_view vhost, std::string_view queue);
AmqpError queue_not_empty(std::string_view vhost, std::string_view queue);
AmqpError exchange_in_use(std::string_view vhost, std::string_view exchange);
AmqpError unknown_delivery_tag(std::uint64_t delivery_tag);
AmqpError wrong_user_id(std::string_view claimed, std::string_view user);
// `detail` as for invalid_argument: {leftover_string,"x"} ...
AmqpError invalid_expiration(std::string_view expiration, std::string_view detail);
AmqpError message_too_large(std::uint64_t size, std::uint64_t max);
AmqpError cannot_switch_confirm_to_tx();
AmqpError cannot_switch_tx_to_confirm();
AmqpError channel_not_transactional();
AmqpError acknowledgement_timed_out(std::uint16_t channel, std::uint64_t timeout_ms);
AmqpError queue_limit_reached(std::string_view vhost, std::string_view queue, std::uint64_t limit);
AmqpError cluster_queue_limit_reached(std::string_view queue, std::uint64_t limit);
AmqpError invalid_argument_type(std::string_view type, std::string_view argument,
                                std::string_view resource);

// --- 530 ---
AmqpError vhost_not_found(std::string_view vhost);
AmqpError vhost_access_refused(std::string_view vhost, std::string_view user);
AmqpError vhost_connection_limit(std::string_view vhost, std::string_view user,
                                 std::uint64_t limit);
AmqpError user_connection_limit(std::string_view user, std::uint64_t limit);
AmqpError node_connection_limit(std::uint64_t limit);
AmqpError user_channel_limit(std::string_view user, std::uint64_t limit);
AmqpError vhost_down(std::string_view vhost, std::string_view user);  // 541
AmqpError consumer_tag_in_use(std::string_view tag);
AmqpError too_many_consumers(std::uint64_t max);
AmqpError too_many_channels(std::uint64_t open, std::uint64_t channel_max);
// `what` is "frame_max" or "channel_max".
AmqpError tuned_too_high(std::string_view what, std::uint64_t value, std::uint64_t max);
AmqpError tuned_too_low(std::string_view what, std::uint64_t value, std::uint64_t min);

// --- 540 ---
AmqpError not_implemented(std::string text);
AmqpError prefetch_size_not_implemented(std::uint32_t prefetch_size);

// --- the connection's own ---
AmqpError second_channel_open();                               // 504
AmqpError expected_channel_open();                             // 504
AmqpError unexpected_method(std::string_view state);           // 504
AmqpError unimplemented_method();                              // 503
AmqpError unknown_auth_mechanism(std::string_view mechanism);  // 503
AmqpError frame_error(std::string text);                       // 501
AmqpError syntax_error(std::string text);                      // 502
AmqpError unexpected_frame(std::string text);                  // 505
AmqpError connection_forced(std::string text);                 // 320
// The metadata could not be changed: no majority of the cluster has agreed in time.
inline constexpr std::string_view kNoMajority =
    "the cluster has not agreed in time: this node reaches no majority of it";
AmqpError internal_error(std::string text);  // 541

}  // namespace ringtail::amqp
