#include "broker/amqp/errors.h"

#include <cstddef>
#include <initializer_list>
#include <utility>

namespace ringtail::amqp {

namespace {

std::string join(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string out;
  out.reserve(size);
  for (const std::string_view part : parts) out += part;
  return out;
}

AmqpError error(ReplyCode code, std::string text) {
  AmqpError out;
  out.code = code;
  out.text = std::move(text);
  return out;
}

AmqpError error(ReplyCode code, std::initializer_list<std::string_view> parts) {
  return error(code, join(parts));
}

std::string number(std::uint64_t value) { return std::to_string(value); }

}  // namespace

std::string resource_text(std::string_view kind, std::string_view vhost, std::string_view name) {
  return join({kind, " '", name, "' in vhost '", vhost, "'"});
}

std::string queue_text(std::string_view vhost, std::string_view queue) {
  return resource_text("queue", vhost, queue);
}

std::string exchange_text(std::string_view vhost, std::string_view exchange) {
  return resource_text("exchange", vhost, exchange);
}

AmqpError not_found_queue(std::string_view vhost, std::string_view queue) {
  return error(ReplyCode::kNotFound, {"no ", queue_text(vhost, queue)});
}

AmqpError not_found_exchange(std::string_view vhost, std::string_view exchange) {
  return error(ReplyCode::kNotFound, {"no ", exchange_text(vhost, exchange)});
}

AmqpError not_found_no_previous_queue() {
  return error(ReplyCode::kNotFound, {"no previously declared queue"});
}

AmqpError not_found_home_node_down(std::string_view vhost, std::string_view queue,
                                   std::string_view node) {
  return error(ReplyCode::kNotFound, {"home node '", node, "' of durable ",
                                      queue_text(vhost, queue), " is down or inaccessible"});
}

AmqpError not_found_queue_damaged(std::string_view vhost, std::string_view queue) {
  return error(ReplyCode::kNotFound,
               {queue_text(vhost, queue), " is damaged on disk and can only be deleted"});
}

AmqpError not_found_queue_timeout(std::string_view vhost, std::string_view queue) {
  return error(ReplyCode::kNotFound,
               {"failed to perform operation on ", queue_text(vhost, queue), " due to timeout"});
}

AmqpError resource_locked(std::string_view vhost, std::string_view queue) {
  return error(ReplyCode::kResourceLocked,
               {"cannot obtain exclusive access to locked ", queue_text(vhost, queue),
                ". It could be originally declared on another connection or the exclusive "
                "property value does not match that of the original declaration."});
}

AmqpError access_refused(std::string_view kind, std::string_view vhost, std::string_view name,
                         std::string_view user) {
  const std::string_view shown = kind == "exchange" && name.empty() ? "amq.default" : name;
  return error(ReplyCode::kAccessRefused,
               {"access to ", resource_text(kind, vhost, shown), " refused for user '", user, "'"});
}

AmqpError topic_access_refused(std::string_view routing_key, std::string_view vhost,
                               std::string_view exchange, std::string_view user) {
  return error(ReplyCode::kAccessRefused,
               {"access to topic '", routing_key, "' in ", exchange_text(vhost, exchange),
                " refused for user '", user, "'"});
}

AmqpError reserved_name(std::string_view kind, std::string_view name) {
  return error(ReplyCode::kAccessRefused,
               {kind, " name '", name, "' contains reserved prefix 'amq.*'"});
}

AmqpError default_exchange_refused() {
  return error(ReplyCode::kAccessRefused, {"operation not permitted on the default exchange"});
}

AmqpError system_exchange_refused(std::string_view vhost, std::string_view exchange) {
  return error(ReplyCode::kAccessRefused,
               {"deletion of system ", exchange_text(vhost, exchange), " not allowed"});
}

AmqpError internal_exchange_refused(std::string_view vhost, std::string_view exchange) {
  return error(ReplyCode::kAccessRefused,
               {"cannot publish to internal ", exchange_text(vhost, exchange)});
}

AmqpError queue_in_exclusive_use(std::string_view vhost, std::string_view queue) {
  return error(ReplyCode::kAccessRefused, {queue_text(vhost, queue), " in exclusive use"});
}

AmqpError login_refused(std::string_view mechanism) {
  return error(ReplyCode::kAccessRefused, {"Login was refused using authentication mechanism ",
                                           mechanism, ". For details see the broker logfile."});
}

AmqpError precondition_failed(std::string text) {
  return error(ReplyCode::kPreconditionFailed, std::move(text));
}

AmqpError invalid_argument(std::string_view argument, std::string_view resource,
                           std::string_view detail) {
  return error(ReplyCode::kPreconditionFailed,
               {"invalid arg '", argument, "' for ", resource, ": ", detail});
}

AmqpError unknown_exchange_type(std::string_view type) {
  // 3.10 closes the connection; 3.13 the channel, with 406.
  return error(ReplyCode::kCommandInvalid,
               {type.empty() ? "invalid exchange type '" : "unknown exchange type '", type, "'"});
}

AmqpError queue_in_use(std::string_view vhost, std::string_view queue) {
  return error(ReplyCode::kPreconditionFailed, {queue_text(vhost, queue), " in use"});
}

AmqpError queue_not_empty(std::string_view vhost, std::string_view queue) {
  return error(ReplyCode::kPreconditionFailed, {queue_text(vhost, queue), " not empty"});
}

AmqpError exchange_in_use(std::string_view vhost, std::string_view exchange) {
  return error(ReplyCode::kPreconditionFailed, {exchange_text(vhost, exchange), " in use"});
}

AmqpError unknown_delivery_tag(std::uint64_t delivery_tag) {
  return error(ReplyCode::kPreconditionFailed, {"unknown delivery tag ", number(delivery_tag)});
}

AmqpError wrong_user_id(std::string_view claimed, std::string_view user) {
  return error(ReplyCode::kPreconditionFailed,
               {"user_id property set to '", claimed, "' but authenticated user was '", user, "'"});
}

AmqpError invalid_expiration(std::string_view expiration, std::string_view detail) {
  return error(ReplyCode::kPreconditionFailed, {"invalid expiration '", expiration, "': ", detail});
}

AmqpError message_too_large(std::uint64_t size, std::uint64_t max) {
  return error(
      ReplyCode::kPreconditionFailed,
      {"message size ", number(size), " is larger than configured max size ", number(max)});
}

AmqpError cannot_switch_confirm_to_tx() {
  return error(ReplyCode::kPreconditionFailed, {"cannot switch from confirm to tx mode"});
}

AmqpError cannot_switch_tx_to_confirm() {
  return error(ReplyCode::kPreconditionFailed, {"cannot switch from tx to confirm mode"});
}

AmqpError channel_not_transactional() {
  return error(ReplyCode::kPreconditionFailed, {"channel is not transactional"});
}

AmqpError acknowledgement_timed_out(std::uint16_t channel, std::uint64_t timeout_ms) {
  return error(ReplyCode::kPreconditionFailed,
               {"delivery acknowledgement on channel ", number(channel),
                " timed out. Timeout value used: ", number(timeout_ms),
                " ms. This timeout value can be configured, see consumers doc guide to learn "
                "more"});
}

AmqpError queue_limit_reached(std::string_view vhost, std::string_view queue, std::uint64_t limit) {
  return error(ReplyCode::kPreconditionFailed,
               {"cannot declare queue '", queue, "': queue limit in vhost '", vhost, "' (",
                number(limit), ") is reached"});
}

AmqpError cluster_queue_limit_reached(std::string_view queue, std::uint64_t limit) {
  return error(ReplyCode::kPreconditionFailed,
               {"cannot declare queue '", queue, "': queue limit in cluster (", number(limit),
                ") is reached"});
}

AmqpError invalid_argument_type(std::string_view type, std::string_view argument,
                                std::string_view resource) {
  return error(ReplyCode::kPreconditionFailed,
               {"invalid type '", type, "' for arg '", argument, "' in ", resource});
}

AmqpError vhost_not_found(std::string_view vhost) {
  return error(ReplyCode::kNotAllowed, {"vhost ", vhost, " not found"});
}

AmqpError vhost_access_refused(std::string_view vhost, std::string_view user) {
  return error(ReplyCode::kNotAllowed,
               {"access to vhost '", vhost, "' refused for user '", user, "'"});
}

AmqpError vhost_connection_limit(std::string_view vhost, std::string_view user,
                                 std::uint64_t limit) {
  return error(ReplyCode::kNotAllowed, {"access to vhost '", vhost, "' refused for user '", user,
                                        "': connection limit (", number(limit), ") is reached"});
}

AmqpError user_connection_limit(std::string_view user, std::uint64_t limit) {
  return error(ReplyCode::kNotAllowed,
               {"connection refused for user '", user, "': user connection limit (", number(limit),
                ") is reached"});
}

AmqpError node_connection_limit(std::uint64_t limit) {
  return error(ReplyCode::kNotAllowed,
               {"connection refused: node connection limit (", number(limit), ") is reached"});
}

AmqpError user_channel_limit(std::string_view user, std::uint64_t limit) {
  return error(ReplyCode::kNotAllowed,
               {"number of channels opened for user '", user,
                "' has reached the maximum allowed user limit of (", number(limit), ")"});
}

AmqpError vhost_down(std::string_view vhost, std::string_view user) {
  return error(ReplyCode::kInternalError, {"access to vhost '", vhost, "' refused for user '", user,
                                           "': vhost '", vhost, "' is down"});
}

AmqpError consumer_tag_in_use(std::string_view tag) {
  return error(ReplyCode::kNotAllowed, {"attempt to reuse consumer tag '", tag, "'"});
}

AmqpError too_many_consumers(std::uint64_t max) {
  return error(ReplyCode::kNotAllowed,
               {"reached maximum (", number(max), ") of consumers per channel"});
}

AmqpError too_many_channels(std::uint64_t open, std::uint64_t channel_max) {
  return error(ReplyCode::kNotAllowed,
               {"number of channels opened (", number(open),
                ") has reached the negotiated channel_max (", number(channel_max), ")"});
}

AmqpError tuned_too_high(std::string_view what, std::uint64_t value, std::uint64_t max) {
  return error(ReplyCode::kNotAllowed,
               {"negotiated ", what, " = ", number(value),
                what == "channel_max" && value == 0 ? " (no limit)" : "",
                " is higher than the maximum allowed value (", number(max), ")"});
}

AmqpError tuned_too_low(std::string_view what, std::uint64_t value, std::uint64_t min) {
  return error(ReplyCode::kNotAllowed,
               {"negotiated ", what, " = ", number(value),
                " is lower than the minimum allowed value (", number(min), ")"});
}

AmqpError not_implemented(std::string text) {
  return error(ReplyCode::kNotImplemented, std::move(text));
}

AmqpError prefetch_size_not_implemented(std::uint32_t prefetch_size) {
  return error(ReplyCode::kNotImplemented, {"prefetch_size!=0 (", number(prefetch_size), ")"});
}

AmqpError second_channel_open() {
  return error(ReplyCode::kChannelError, {"second 'channel.open' seen"});
}

AmqpError expected_channel_open() {
  return error(ReplyCode::kChannelError, {"expected 'channel.open'"});
}

AmqpError unexpected_method(std::string_view state) {
  return error(ReplyCode::kChannelError, {"unexpected method in connection state ", state});
}

AmqpError unimplemented_method() {
  return error(ReplyCode::kCommandInvalid, {"unimplemented method"});
}

AmqpError unknown_auth_mechanism(std::string_view mechanism) {
  return error(ReplyCode::kCommandInvalid, {"unknown authentication mechanism '", mechanism, "'"});
}

AmqpError frame_error(std::string text) { return error(ReplyCode::kFrameError, std::move(text)); }

AmqpError syntax_error(std::string text) { return error(ReplyCode::kSyntaxError, std::move(text)); }

AmqpError unexpected_frame(std::string text) {
  return error(ReplyCode::kUnexpectedFrame, std::move(text));
}

AmqpError connection_forced(std::string text) {
  return error(ReplyCode::kConnectionForced, std::move(text));
}

AmqpError internal_error(std::string text) {
  return error(ReplyCode::kInternalError, std::move(text));
}

}  // namespace ringtail::amqp
