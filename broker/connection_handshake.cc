// From the protocol header to an open connection (AMQP 0-9-1, 1.4.2), and channel 0 from there on.
#include <fmt/format.h>

#include <utility>

#include "broker/amqp/errors.h"
#include "broker/amqp/field_table.h"
#include "broker/auth.h"
#include "broker/channel.h"
#include "broker/cluster_name.h"
#include "broker/connection.h"
#include "broker/connection_registry.h"
#include "broker/runtime/log.h"
#include "broker/runtime/version.h"

namespace ringtail::broker {

using runtime::log;
using runtime::LogLevel;

namespace {

constexpr std::size_t kClusterNameShownMax = 255;

std::string server_properties(const runtime::Config& config, std::string cluster_name) {
  amqp::FieldTable capabilities;
  for (const char* name : {"publisher_confirms", "exchange_exchange_bindings", "basic.nack",
                           "consumer_cancel_notify", "connection.blocked", "consumer_priorities",
                           "authentication_failure_close", "per_consumer_qos", "direct_reply_to"}) {
    capabilities.set(name, true);
  }
  amqp::FieldTable table;
  table.set("capabilities", std::move(capabilities));
  table.set("cluster_name", std::move(cluster_name));
  table.set("copyright", "The Ringtail developers");
  table.set("information", "Licensed under the Apache License 2.0");
  table.set("platform", "C++20");
  table.set("product", config.product);
  table.set("version", runtime::kVersion);
  return table.encode();
}

bool capability(std::span<const std::uint8_t> properties, std::string_view name) {
  const auto capabilities = amqp::find_in_table(properties, "capabilities");
  if (!capabilities) return false;
  const auto table = capabilities->as_table();
  if (!table) return false;
  const auto value = amqp::find_in_table(*table, name);
  return value && value->as_bool().value_or(false);
}

}  // namespace

void Connection::send_start() {
  std::string cluster = cluster_name(broker_shard_.view(), broker_shard_.config());
  // An operator may give it any length; the frame has to fit into what every client takes.
  if (cluster.size() > kClusterNameShownMax) cluster.resize(kClusterNameShownMax);
  const std::string properties = server_properties(broker_shard_.config(), std::move(cluster));
  const std::string mechanisms =
      offered_mechanisms(broker_shard_.config(), stream_->tls() != nullptr);
  send(0, amqp::ConnectionStart{.version_major = 0,
                                .version_minor = 9,
                                .server_properties = runtime::as_bytes(properties),
                                .mechanisms = mechanisms,
                                .locales = "en_US"});
}

void Connection::handle_connection_method(const amqp::Frame& frame) {
  if (frame.type != amqp::FrameType::kMethod) {
    fail(amqp::unexpected_frame(
        fmt::format("frame of type {} on channel 0", static_cast<unsigned>(frame.type))));
    return;
  }
  if (frame.payload.size() < 4) {
    fail(amqp::frame_error("method frame on channel 0 without class and method"));
    return;
  }
  const std::uint32_t key = amqp::load_u32(frame.payload.data());
  const auto arguments = frame.payload.subspan(4);
  if (state_ == ConnectionState::kOpen) {
    handle_open_method(key, arguments);
  } else if (state_ < ConnectionState::kOpen) {
    handle_handshake_method(key, arguments);
  } else if (key == amqp::kMethodKey<amqp::ConnectionCloseOk>) {
    close_stream();
  } else if (key == amqp::kMethodKey<amqp::ConnectionClose> &&
             state_ == ConnectionState::kClosing) {
    // Both sides closed at once.
    send(0, amqp::ConnectionCloseOk{});
    close_when_written_ = true;
  }
}

void Connection::handle_handshake_method(std::uint32_t key,
                                         std::span<const std::uint8_t> arguments) {
  const auto unexpected = [&] { fail_method(key); };
  const auto decode = [&](auto method, auto handler) {
    if (method.decode(arguments)) {
      (this->*handler)(method);
    } else {
      fail(amqp::frame_error("malformed arguments of a connection method"));
    }
  };
  switch (key) {
    case amqp::kMethodKey<amqp::ConnectionStartOk>:
      if (state_ != ConnectionState::kAwaitStartOk) return unexpected();
      return decode(amqp::ConnectionStartOk{}, &Connection::handle_start_ok);
    case amqp::kMethodKey<amqp::ConnectionTuneOk>:
      if (state_ != ConnectionState::kAwaitTuneOk) return unexpected();
      return decode(amqp::ConnectionTuneOk{}, &Connection::handle_tune_ok);
    case amqp::kMethodKey<amqp::ConnectionOpen>:
      if (state_ != ConnectionState::kAwaitOpen) return unexpected();
      return decode(amqp::ConnectionOpen{}, &Connection::handle_open);
    case amqp::kMethodKey<amqp::ConnectionClose>:
      if (state_ != ConnectionState::kAwaitOpen) return close_stream();
      return begin_client_close();
    default:
      return unexpected();
  }
}

void Connection::handle_open_method(std::uint32_t key, std::span<const std::uint8_t> arguments) {
  switch (key) {
    case amqp::kMethodKey<amqp::ConnectionClose>: {
      amqp::ConnectionClose method;
      if (!method.decode(arguments)) {
        fail(amqp::frame_error("malformed arguments of connection.close"));
        return;
      }
      begin_client_close();
      return;
    }
    case amqp::kMethodKey<amqp::ConnectionUpdateSecret>: {
      amqp::ConnectionUpdateSecret method;
      if (!method.decode(arguments)) {
        fail(amqp::frame_error("malformed arguments of connection.update-secret"));
        return;
      }
      // Passwords do not expire: there is nothing to renew.
      send(0, amqp::ConnectionUpdateSecretOk{});
      return;
    }
    default:
      fail_method(key);
  }
}

// A method on channel 0 that does not belong there, or not yet.
void Connection::fail_method(std::uint32_t key) {
  const auto state_name = [this]() -> std::string_view {
    switch (state_) {
      case ConnectionState::kAwaitTuneOk:
        return "tuning";
      case ConnectionState::kAwaitOpen:
        return "opening";
      case ConnectionState::kOpen:
        return "running";
      default:
        return "starting";
    }
  };
  amqp::AmqpError error = amqp::unexpected_method(state_name());
  error.class_id = static_cast<std::uint16_t>(key >> 16);
  error.method_id = static_cast<std::uint16_t>(key);
  fail(error);
}

void Connection::read_client_properties(std::span<const std::uint8_t> table) {
  client_.authentication_failure_close = capability(table, "authentication_failure_close");
  client_.consumer_cancel_notify = capability(table, "consumer_cancel_notify");
  client_.connection_blocked = capability(table, "connection.blocked");
}

void Connection::handle_start_ok(const amqp::ConnectionStartOk& method) {
  read_client_properties(method.client_properties);
  const LoginResult result = login(broker_shard_.config(), broker_shard_.view(),
                                   {.mechanism = method.mechanism,
                                    .response = method.response,
                                    .tls = stream_->tls(),
                                    .peer_is_loopback = stream_->peer_is_loopback()});
  switch (result.verdict) {
    case LoginResult::Verdict::kAccepted:
      break;
    case LoginResult::Verdict::kUnknownMechanism:
      log(LogLevel::kError, "connection", "{}: unknown authentication mechanism '{}'",
          stream_->peer_name(), for_log(method.mechanism));
      refuse_silently();
      return;
    case LoginResult::Verdict::kMalformed:
    case LoginResult::Verdict::kRefused:
      log(LogLevel::kError, "connection", "{}: login of user '{}' refused: {}",
          stream_->peer_name(), for_log(result.user), result.reason);
      refuse_login(std::string(method.mechanism));
      return;
  }
  user_ = result.user;
  auth_mechanism_ = method.mechanism;
  client_properties_ = runtime::as_text(method.client_properties);
  transition(ConnectionState::kAwaitTuneOk);
  const runtime::Config& config = broker_shard_.config();
  send(0, amqp::ConnectionTune{.channel_max = config.channel_max,
                               .frame_max = config.frame_max,
                               .heartbeat = config.heartbeat_s});
}

void Connection::refuse_login(const std::string& mechanism) {
  if (!client_.authentication_failure_close) {
    refuse_silently();
    return;
  }
  auth_mechanism_ = mechanism;
  refuse(runtime::kLoginPauseMs, &Connection::explain_refusal);
}

void Connection::refuse_silently() { refuse(runtime::kRefusalPauseMs, &Connection::close_stream); }

// The client waits, and meanwhile costs a timer: nothing of it is read or kept.
void Connection::refuse(std::uint64_t pause_ms, void (Connection::*then)()) {
  transition(ConnectionState::kRefusing);
  std::vector<std::uint8_t>().swap(leftover_);
  refusal_held_ = broker_shard_.hold_refusal();
  update_reading();
  set_timer(refusal_held_ ? pause_ms : 0, 0, then);
}

void Connection::explain_refusal() {
  transition(ConnectionState::kClosing);
  const amqp::AmqpError error = amqp::login_refused(auth_mechanism_);
  send(0, amqp::ConnectionClose{.reply_code = static_cast<std::uint16_t>(error.code),
                                .reply_text = amqp::reply_text(error)});
  set_timer(runtime::kCloseTimeoutMs, 0, &Connection::close_stream);
  update_reading();
}

// A tuned value of 0 means no limit, which is above any limit of ours.
bool Connection::check_tuned(std::uint32_t wanted, std::uint32_t minimum, std::uint32_t maximum,
                             const char* name) {
  if (wanted != 0 && wanted < minimum) {
    fail(amqp::tuned_too_low(name, wanted, minimum));
    return false;
  }
  if (maximum != 0 && (wanted == 0 || wanted > maximum)) {
    fail(amqp::tuned_too_high(name, wanted, maximum));
    return false;
  }
  return true;
}

void Connection::handle_tune_ok(const amqp::ConnectionTuneOk& method) {
  const runtime::Config& config = broker_shard_.config();
  if (!check_tuned(method.frame_max, runtime::kFrameMinSize, config.frame_max, "frame_max") ||
      !check_tuned(method.channel_max, 0, config.channel_max, "channel_max")) {
    return;
  }
  frame_max_ = method.frame_max;
  channel_max_ = method.channel_max;
  // RabbitMQ counts the payload alone, so clients may send frames that are 8 octets longer than
  // frame_max allows.
  reader_.set_payload_max(frame_max_ == 0 ? UINT32_MAX : frame_max_);
  heartbeat_s_ = method.heartbeat;
  transition(ConnectionState::kAwaitOpen);
}

// Where limits are counted (connection_registry.h) is asked first, as in RabbitMQ, and what the
// user may do afterwards. Until the answer nothing is read: a client may well have sent more.
void Connection::handle_open(const amqp::ConnectionOpen& method) {
  vhost_ = method.virtual_host;
  if (!broker_shard_.view().has_vhost(vhost_)) {
    fail_open(amqp::vhost_not_found(vhost_));
    return;
  }
  transition(ConnectionState::kAwaitAdmission);
  registered_ = true;
  auto letter = std::make_unique<Admit>();
  letter->connection = id_;
  letter->user = user_;
  letter->vhost = vhost_;
  shard_.post(address_, ConnectionRegistry::address(shard_.node()), std::move(letter));
  update_reading();
}

void Connection::fail_open(amqp::AmqpError error) {
  error.class_id = amqp::ConnectionOpen::kClassId;
  error.method_id = amqp::ConnectionOpen::kMethodId;
  fail(error);
}

void Connection::admitted(const Admitted& answer) {
  if (state_ != ConnectionState::kAwaitAdmission) return;  // it has ended meanwhile
  switch (answer.admission) {
    case Admission::kYes:
      if (!broker_shard_.access().may_enter(user_, vhost_)) {
        return fail_open(amqp::vhost_access_refused(vhost_, user_));
      }
      return opened();
    case Admission::kNodeFull:
      return fail_open(amqp::node_connection_limit(answer.limit));
    case Admission::kVhostFull:
      return fail_open(amqp::vhost_connection_limit(vhost_, user_, answer.limit));
    case Admission::kUserFull:
      return fail_open(amqp::user_connection_limit(user_, answer.limit));
    case Admission::kNoVhost:
      return fail_open(amqp::vhost_not_found(vhost_));
    case Admission::kNoUser:
      return fail_open(amqp::vhost_access_refused(vhost_, user_));
  }
}

void Connection::opened() {
  transition(ConnectionState::kOpen);
  send(0, amqp::ConnectionOpenOk{});
  if (heartbeat_s_ == 0) {
    timer_->stop();
  } else {
    const std::uint64_t half_ms = std::uint64_t{heartbeat_s_} * 500;
    set_timer(half_ms, half_ms, &Connection::heartbeat_tick);
  }
  update_reading();
  // What came behind connection.open.
  const std::vector<std::uint8_t> kept = std::exchange(leftover_, {});
  if (!kept.empty()) parse(kept);
}

}  // namespace ringtail::broker
