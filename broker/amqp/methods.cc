// Written by tools/gen_methods.py; change the table there, not this file.
#include "broker/amqp/methods.h"

#include <algorithm>
#include <iterator>

#include "broker/amqp/field_table.h"
#include "broker/amqp/utf8.h"
#include "broker/runtime/bytes.h"

namespace ringtail::amqp {

namespace {

// Ordered by class and method, for the search below.
constexpr MethodInfo kMethods[] = {
    {10, 10, "connection.start", false, false, true},
    {10, 11, "connection.start-ok", false, true, false},
    {10, 20, "connection.secure", false, false, true},
    {10, 21, "connection.secure-ok", false, true, false},
    {10, 30, "connection.tune", false, false, true},
    {10, 31, "connection.tune-ok", false, true, false},
    {10, 40, "connection.open", false, true, false},
    {10, 41, "connection.open-ok", false, false, true},
    {10, 50, "connection.close", false, true, true},
    {10, 51, "connection.close-ok", false, true, true},
    {10, 60, "connection.blocked", false, false, true},
    {10, 61, "connection.unblocked", false, false, true},
    {10, 70, "connection.update-secret", false, true, false},
    {10, 71, "connection.update-secret-ok", false, false, true},
    {20, 10, "channel.open", false, true, false},
    {20, 11, "channel.open-ok", false, false, true},
    {20, 20, "channel.flow", false, true, true},
    {20, 21, "channel.flow-ok", false, true, true},
    {20, 40, "channel.close", false, true, true},
    {20, 41, "channel.close-ok", false, true, true},
    {30, 10, "access.request", false, true, false},
    {30, 11, "access.request-ok", false, false, true},
    {40, 10, "exchange.declare", false, true, false},
    {40, 11, "exchange.declare-ok", false, false, true},
    {40, 20, "exchange.delete", false, true, false},
    {40, 21, "exchange.delete-ok", false, false, true},
    {40, 30, "exchange.bind", false, true, false},
    {40, 31, "exchange.bind-ok", false, false, true},
    {40, 40, "exchange.unbind", false, true, false},
    {40, 51, "exchange.unbind-ok", false, false, true},
    {50, 10, "queue.declare", false, true, false},
    {50, 11, "queue.declare-ok", false, false, true},
    {50, 20, "queue.bind", false, true, false},
    {50, 21, "queue.bind-ok", false, false, true},
    {50, 30, "queue.purge", false, true, false},
    {50, 31, "queue.purge-ok", false, false, true},
    {50, 40, "queue.delete", false, true, false},
    {50, 41, "queue.delete-ok", false, false, true},
    {50, 50, "queue.unbind", false, true, false},
    {50, 51, "queue.unbind-ok", false, false, true},
    {60, 10, "basic.qos", false, true, false},
    {60, 11, "basic.qos-ok", false, false, true},
    {60, 20, "basic.consume", false, true, false},
    {60, 21, "basic.consume-ok", false, false, true},
    {60, 30, "basic.cancel", false, true, true},
    {60, 31, "basic.cancel-ok", false, true, true},
    {60, 40, "basic.publish", true, true, false},
    {60, 50, "basic.return", true, false, true},
    {60, 60, "basic.deliver", true, false, true},
    {60, 70, "basic.get", false, true, false},
    {60, 71, "basic.get-ok", true, false, true},
    {60, 72, "basic.get-empty", false, false, true},
    {60, 80, "basic.ack", false, true, true},
    {60, 90, "basic.reject", false, true, false},
    {60, 100, "basic.recover-async", false, true, false},
    {60, 110, "basic.recover", false, true, false},
    {60, 111, "basic.recover-ok", false, false, true},
    {60, 120, "basic.nack", false, true, true},
    {85, 10, "confirm.select", false, true, false},
    {85, 11, "confirm.select-ok", false, false, true},
    {90, 10, "tx.select", false, true, false},
    {90, 11, "tx.select-ok", false, false, true},
    {90, 20, "tx.commit", false, true, false},
    {90, 21, "tx.commit-ok", false, false, true},
    {90, 30, "tx.rollback", false, true, false},
    {90, 31, "tx.rollback-ok", false, false, true},
};

}  // namespace

const MethodInfo* find_method(std::uint16_t class_id, std::uint16_t method_id) {
  const std::uint32_t key = method_key(class_id, method_id);
  const auto before = [](const MethodInfo& info, std::uint32_t wanted) {
    return method_key(info.class_id, info.method_id) < wanted;
  };
  const MethodInfo* found = std::lower_bound(std::begin(kMethods), std::end(kMethods), key, before);
  if (found == std::end(kMethods)) return nullptr;
  return method_key(found->class_id, found->method_id) == key ? found : nullptr;
}

const char* method_name(std::uint16_t class_id, std::uint16_t method_id) {
  const MethodInfo* info = find_method(class_id, method_id);
  return info == nullptr ? nullptr : info->name;
}

bool ConnectionStart::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 14) return false;
  std::size_t left = wire.size() - 14;
  const std::uint8_t* at = wire.data();
  version_major = at[0];
  at += 1;
  version_minor = at[0];
  at += 1;
  const std::size_t server_properties_size = load_u32(at);
  if (server_properties_size > left) return false;
  left -= server_properties_size;
  server_properties = {at + 4, server_properties_size};
  at += 4 + server_properties_size;
  const std::size_t mechanisms_size = load_u32(at);
  if (mechanisms_size > left) return false;
  left -= mechanisms_size;
  mechanisms = text_at(at + 4, mechanisms_size);
  at += 4 + mechanisms_size;
  const std::size_t locales_size = load_u32(at);
  if (locales_size > left) return false;
  left -= locales_size;
  locales = text_at(at + 4, locales_size);
  return left == 0 && validate_table(server_properties);
}

std::size_t ConnectionStart::encoded_size() const {
  return 14 + server_properties.size() + mechanisms.size() + locales.size();
}

std::uint8_t* ConnectionStart::encode(std::uint8_t* out) const {
  out = store_u8(out, version_major);
  out = store_u8(out, version_minor);
  out = store_long_bytes(out, server_properties);
  out = store_long_bytes(out, runtime::as_bytes(mechanisms));
  out = store_long_bytes(out, runtime::as_bytes(locales));
  return out;
}

bool ConnectionStartOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 10) return false;
  std::size_t left = wire.size() - 10;
  const std::uint8_t* at = wire.data();
  const std::size_t client_properties_size = load_u32(at);
  if (client_properties_size > left) return false;
  left -= client_properties_size;
  client_properties = {at + 4, client_properties_size};
  at += 4 + client_properties_size;
  const std::size_t mechanism_size = at[0];
  if (mechanism_size > left) return false;
  left -= mechanism_size;
  mechanism = text_at(at + 1, mechanism_size);
  at += 1 + mechanism_size;
  const std::size_t response_size = load_u32(at);
  if (response_size > left) return false;
  left -= response_size;
  response = text_at(at + 4, response_size);
  at += 4 + response_size;
  const std::size_t locale_size = at[0];
  if (locale_size > left) return false;
  left -= locale_size;
  locale = text_at(at + 1, locale_size);
  return left == 0 && valid_utf8(mechanism) && valid_utf8(locale) &&
         validate_table(client_properties);
}

std::size_t ConnectionStartOk::encoded_size() const {
  return 10 + client_properties.size() + short_string_size(mechanism) + response.size() +
         short_string_size(locale);
}

std::uint8_t* ConnectionStartOk::encode(std::uint8_t* out) const {
  out = store_long_bytes(out, client_properties);
  out = store_short_string(out, mechanism);
  out = store_long_bytes(out, runtime::as_bytes(response));
  out = store_short_string(out, locale);
  return out;
}

bool ConnectionSecure::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 4) return false;
  std::size_t left = wire.size() - 4;
  const std::uint8_t* at = wire.data();
  const std::size_t challenge_size = load_u32(at);
  if (challenge_size > left) return false;
  left -= challenge_size;
  challenge = text_at(at + 4, challenge_size);
  return left == 0;
}

std::size_t ConnectionSecure::encoded_size() const { return 4 + challenge.size(); }

std::uint8_t* ConnectionSecure::encode(std::uint8_t* out) const {
  out = store_long_bytes(out, runtime::as_bytes(challenge));
  return out;
}

bool ConnectionSecureOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 4) return false;
  std::size_t left = wire.size() - 4;
  const std::uint8_t* at = wire.data();
  const std::size_t response_size = load_u32(at);
  if (response_size > left) return false;
  left -= response_size;
  response = text_at(at + 4, response_size);
  return left == 0;
}

std::size_t ConnectionSecureOk::encoded_size() const { return 4 + response.size(); }

std::uint8_t* ConnectionSecureOk::encode(std::uint8_t* out) const {
  out = store_long_bytes(out, runtime::as_bytes(response));
  return out;
}

bool ConnectionTune::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 8) return false;
  const std::uint8_t* at = wire.data();
  channel_max = load_u16(at);
  at += 2;
  frame_max = load_u32(at);
  at += 4;
  heartbeat = load_u16(at);
  return true;
}

std::size_t ConnectionTune::encoded_size() const { return 8; }

std::uint8_t* ConnectionTune::encode(std::uint8_t* out) const {
  out = store_u16(out, channel_max);
  out = store_u32(out, frame_max);
  out = store_u16(out, heartbeat);
  return out;
}

bool ConnectionTuneOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 8) return false;
  const std::uint8_t* at = wire.data();
  channel_max = load_u16(at);
  at += 2;
  frame_max = load_u32(at);
  at += 4;
  heartbeat = load_u16(at);
  return true;
}

std::size_t ConnectionTuneOk::encoded_size() const { return 8; }

std::uint8_t* ConnectionTuneOk::encode(std::uint8_t* out) const {
  out = store_u16(out, channel_max);
  out = store_u32(out, frame_max);
  out = store_u16(out, heartbeat);
  return out;
}

bool ConnectionOpen::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 3) return false;
  std::size_t left = wire.size() - 3;
  const std::uint8_t* at = wire.data();
  const std::size_t virtual_host_size = at[0];
  if (virtual_host_size > left) return false;
  left -= virtual_host_size;
  virtual_host = text_at(at + 1, virtual_host_size);
  at += 1 + virtual_host_size;
  const std::size_t capabilities_size = at[0];
  if (capabilities_size > left) return false;
  left -= capabilities_size;
  at += 1 + capabilities_size;
  return left == 0 && valid_utf8(virtual_host);
}

std::size_t ConnectionOpen::encoded_size() const { return 3 + short_string_size(virtual_host); }

std::uint8_t* ConnectionOpen::encode(std::uint8_t* out) const {
  out = store_short_string(out, virtual_host);
  out = store_short_string(out, {});
  *out++ = 0;
  return out;
}

bool ConnectionOpenOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 1) return false;
  std::size_t left = wire.size() - 1;
  const std::uint8_t* at = wire.data();
  const std::size_t known_hosts_size = at[0];
  if (known_hosts_size > left) return false;
  left -= known_hosts_size;
  return left == 0;
}

std::size_t ConnectionOpenOk::encoded_size() const { return 1; }

std::uint8_t* ConnectionOpenOk::encode(std::uint8_t* out) const {
  out = store_short_string(out, {});
  return out;
}

bool ConnectionClose::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 7) return false;
  std::size_t left = wire.size() - 7;
  const std::uint8_t* at = wire.data();
  reply_code = load_u16(at);
  at += 2;
  const std::size_t reply_text_size = at[0];
  if (reply_text_size > left) return false;
  left -= reply_text_size;
  reply_text = text_at(at + 1, reply_text_size);
  at += 1 + reply_text_size;
  class_id = load_u16(at);
  at += 2;
  method_id = load_u16(at);
  return left == 0 && valid_utf8(reply_text);
}

std::size_t ConnectionClose::encoded_size() const { return 7 + short_string_size(reply_text); }

std::uint8_t* ConnectionClose::encode(std::uint8_t* out) const {
  out = store_u16(out, reply_code);
  out = store_short_string(out, reply_text);
  out = store_u16(out, class_id);
  out = store_u16(out, method_id);
  return out;
}

bool ConnectionCloseOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ConnectionCloseOk::encoded_size() const { return 0; }

std::uint8_t* ConnectionCloseOk::encode(std::uint8_t* out) const { return out; }

bool ConnectionBlocked::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 1) return false;
  std::size_t left = wire.size() - 1;
  const std::uint8_t* at = wire.data();
  const std::size_t reason_size = at[0];
  if (reason_size > left) return false;
  left -= reason_size;
  reason = text_at(at + 1, reason_size);
  return left == 0;
}

std::size_t ConnectionBlocked::encoded_size() const { return 1 + short_string_size(reason); }

std::uint8_t* ConnectionBlocked::encode(std::uint8_t* out) const {
  out = store_short_string(out, reason);
  return out;
}

bool ConnectionUnblocked::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ConnectionUnblocked::encoded_size() const { return 0; }

std::uint8_t* ConnectionUnblocked::encode(std::uint8_t* out) const { return out; }

bool ConnectionUpdateSecret::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 5) return false;
  std::size_t left = wire.size() - 5;
  const std::uint8_t* at = wire.data();
  const std::size_t new_secret_size = load_u32(at);
  if (new_secret_size > left) return false;
  left -= new_secret_size;
  new_secret = text_at(at + 4, new_secret_size);
  at += 4 + new_secret_size;
  const std::size_t reason_size = at[0];
  if (reason_size > left) return false;
  left -= reason_size;
  reason = text_at(at + 1, reason_size);
  return left == 0 && valid_utf8(reason);
}

std::size_t ConnectionUpdateSecret::encoded_size() const {
  return 5 + new_secret.size() + short_string_size(reason);
}

std::uint8_t* ConnectionUpdateSecret::encode(std::uint8_t* out) const {
  out = store_long_bytes(out, runtime::as_bytes(new_secret));
  out = store_short_string(out, reason);
  return out;
}

bool ConnectionUpdateSecretOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ConnectionUpdateSecretOk::encoded_size() const { return 0; }

std::uint8_t* ConnectionUpdateSecretOk::encode(std::uint8_t* out) const { return out; }

bool ChannelOpen::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 1) return false;
  std::size_t left = wire.size() - 1;
  const std::uint8_t* at = wire.data();
  const std::size_t out_of_band_size = at[0];
  if (out_of_band_size > left) return false;
  left -= out_of_band_size;
  return left == 0;
}

std::size_t ChannelOpen::encoded_size() const { return 1; }

std::uint8_t* ChannelOpen::encode(std::uint8_t* out) const {
  out = store_short_string(out, {});
  return out;
}

bool ChannelOpenOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 4) return false;
  std::size_t left = wire.size() - 4;
  const std::uint8_t* at = wire.data();
  const std::size_t channel_id_size = load_u32(at);
  if (channel_id_size > left) return false;
  left -= channel_id_size;
  return left == 0;
}

std::size_t ChannelOpenOk::encoded_size() const { return 4; }

std::uint8_t* ChannelOpenOk::encode(std::uint8_t* out) const {
  out = store_long_bytes(out, {});
  return out;
}

bool ChannelFlow::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 1) return false;
  const std::uint8_t* at = wire.data();
  active = (at[0] & 0x1) != 0;
  return true;
}

std::size_t ChannelFlow::encoded_size() const { return 1; }

std::uint8_t* ChannelFlow::encode(std::uint8_t* out) const {
  int bits = 0;
  if (active) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool ChannelFlowOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 1) return false;
  const std::uint8_t* at = wire.data();
  active = (at[0] & 0x1) != 0;
  return true;
}

std::size_t ChannelFlowOk::encoded_size() const { return 1; }

std::uint8_t* ChannelFlowOk::encode(std::uint8_t* out) const {
  int bits = 0;
  if (active) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool ChannelClose::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 7) return false;
  std::size_t left = wire.size() - 7;
  const std::uint8_t* at = wire.data();
  reply_code = load_u16(at);
  at += 2;
  const std::size_t reply_text_size = at[0];
  if (reply_text_size > left) return false;
  left -= reply_text_size;
  reply_text = text_at(at + 1, reply_text_size);
  at += 1 + reply_text_size;
  class_id = load_u16(at);
  at += 2;
  method_id = load_u16(at);
  return left == 0 && valid_utf8(reply_text);
}

std::size_t ChannelClose::encoded_size() const { return 7 + short_string_size(reply_text); }

std::uint8_t* ChannelClose::encode(std::uint8_t* out) const {
  out = store_u16(out, reply_code);
  out = store_short_string(out, reply_text);
  out = store_u16(out, class_id);
  out = store_u16(out, method_id);
  return out;
}

bool ChannelCloseOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ChannelCloseOk::encoded_size() const { return 0; }

std::uint8_t* ChannelCloseOk::encode(std::uint8_t* out) const { return out; }

bool AccessRequest::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 2) return false;
  std::size_t left = wire.size() - 2;
  const std::uint8_t* at = wire.data();
  const std::size_t realm_size = at[0];
  if (realm_size > left) return false;
  left -= realm_size;
  realm = text_at(at + 1, realm_size);
  at += 1 + realm_size;
  exclusive = (at[0] & 0x1) != 0;
  passive = (at[0] & 0x2) != 0;
  active = (at[0] & 0x4) != 0;
  write = (at[0] & 0x8) != 0;
  read = (at[0] & 0x10) != 0;
  return left == 0 && valid_utf8(realm);
}

std::size_t AccessRequest::encoded_size() const { return 2 + short_string_size(realm); }

std::uint8_t* AccessRequest::encode(std::uint8_t* out) const {
  out = store_short_string(out, realm);
  int bits = 0;
  if (exclusive) bits |= 0x1;
  if (passive) bits |= 0x2;
  if (active) bits |= 0x4;
  if (write) bits |= 0x8;
  if (read) bits |= 0x10;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool AccessRequestOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 2) return false;
  const std::uint8_t* at = wire.data();
  ticket = load_u16(at);
  return true;
}

std::size_t AccessRequestOk::encoded_size() const { return 2; }

std::uint8_t* AccessRequestOk::encode(std::uint8_t* out) const {
  out = store_u16(out, ticket);
  return out;
}

bool ExchangeDeclare::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 9) return false;
  std::size_t left = wire.size() - 9;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t exchange_size = at[0];
  if (exchange_size > left) return false;
  left -= exchange_size;
  exchange = text_at(at + 1, exchange_size);
  at += 1 + exchange_size;
  const std::size_t type_size = at[0];
  if (type_size > left) return false;
  left -= type_size;
  type = text_at(at + 1, type_size);
  at += 1 + type_size;
  passive = (at[0] & 0x1) != 0;
  durable = (at[0] & 0x2) != 0;
  auto_delete = (at[0] & 0x4) != 0;
  internal = (at[0] & 0x8) != 0;
  nowait = (at[0] & 0x10) != 0;
  at += 1;
  const std::size_t arguments_size = load_u32(at);
  if (arguments_size > left) return false;
  left -= arguments_size;
  arguments = {at + 4, arguments_size};
  return left == 0 && valid_utf8(exchange) && valid_utf8(type) && validate_table(arguments);
}

std::size_t ExchangeDeclare::encoded_size() const {
  return 9 + short_string_size(exchange) + short_string_size(type) + arguments.size();
}

std::uint8_t* ExchangeDeclare::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, exchange);
  out = store_short_string(out, type);
  int bits = 0;
  if (passive) bits |= 0x1;
  if (durable) bits |= 0x2;
  if (auto_delete) bits |= 0x4;
  if (internal) bits |= 0x8;
  if (nowait) bits |= 0x10;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_long_bytes(out, arguments);
  return out;
}

bool ExchangeDeclareOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ExchangeDeclareOk::encoded_size() const { return 0; }

std::uint8_t* ExchangeDeclareOk::encode(std::uint8_t* out) const { return out; }

bool ExchangeDelete::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 4) return false;
  std::size_t left = wire.size() - 4;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t exchange_size = at[0];
  if (exchange_size > left) return false;
  left -= exchange_size;
  exchange = text_at(at + 1, exchange_size);
  at += 1 + exchange_size;
  if_unused = (at[0] & 0x1) != 0;
  nowait = (at[0] & 0x2) != 0;
  return left == 0 && valid_utf8(exchange);
}

std::size_t ExchangeDelete::encoded_size() const { return 4 + short_string_size(exchange); }

std::uint8_t* ExchangeDelete::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, exchange);
  int bits = 0;
  if (if_unused) bits |= 0x1;
  if (nowait) bits |= 0x2;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool ExchangeDeleteOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ExchangeDeleteOk::encoded_size() const { return 0; }

std::uint8_t* ExchangeDeleteOk::encode(std::uint8_t* out) const { return out; }

bool ExchangeBind::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 10) return false;
  std::size_t left = wire.size() - 10;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t destination_size = at[0];
  if (destination_size > left) return false;
  left -= destination_size;
  destination = text_at(at + 1, destination_size);
  at += 1 + destination_size;
  const std::size_t source_size = at[0];
  if (source_size > left) return false;
  left -= source_size;
  source = text_at(at + 1, source_size);
  at += 1 + source_size;
  const std::size_t routing_key_size = at[0];
  if (routing_key_size > left) return false;
  left -= routing_key_size;
  routing_key = text_at(at + 1, routing_key_size);
  at += 1 + routing_key_size;
  nowait = (at[0] & 0x1) != 0;
  at += 1;
  const std::size_t arguments_size = load_u32(at);
  if (arguments_size > left) return false;
  left -= arguments_size;
  arguments = {at + 4, arguments_size};
  return left == 0 && valid_utf8(destination) && valid_utf8(source) && valid_utf8(routing_key) &&
         validate_table(arguments);
}

std::size_t ExchangeBind::encoded_size() const {
  return 10 + short_string_size(destination) + short_string_size(source) +
         short_string_size(routing_key) + arguments.size();
}

std::uint8_t* ExchangeBind::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, destination);
  out = store_short_string(out, source);
  out = store_short_string(out, routing_key);
  int bits = 0;
  if (nowait) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_long_bytes(out, arguments);
  return out;
}

bool ExchangeBindOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ExchangeBindOk::encoded_size() const { return 0; }

std::uint8_t* ExchangeBindOk::encode(std::uint8_t* out) const { return out; }

bool ExchangeUnbind::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 10) return false;
  std::size_t left = wire.size() - 10;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t destination_size = at[0];
  if (destination_size > left) return false;
  left -= destination_size;
  destination = text_at(at + 1, destination_size);
  at += 1 + destination_size;
  const std::size_t source_size = at[0];
  if (source_size > left) return false;
  left -= source_size;
  source = text_at(at + 1, source_size);
  at += 1 + source_size;
  const std::size_t routing_key_size = at[0];
  if (routing_key_size > left) return false;
  left -= routing_key_size;
  routing_key = text_at(at + 1, routing_key_size);
  at += 1 + routing_key_size;
  nowait = (at[0] & 0x1) != 0;
  at += 1;
  const std::size_t arguments_size = load_u32(at);
  if (arguments_size > left) return false;
  left -= arguments_size;
  arguments = {at + 4, arguments_size};
  return left == 0 && valid_utf8(destination) && valid_utf8(source) && valid_utf8(routing_key) &&
         validate_table(arguments);
}

std::size_t ExchangeUnbind::encoded_size() const {
  return 10 + short_string_size(destination) + short_string_size(source) +
         short_string_size(routing_key) + arguments.size();
}

std::uint8_t* ExchangeUnbind::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, destination);
  out = store_short_string(out, source);
  out = store_short_string(out, routing_key);
  int bits = 0;
  if (nowait) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_long_bytes(out, arguments);
  return out;
}

bool ExchangeUnbindOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ExchangeUnbindOk::encoded_size() const { return 0; }

std::uint8_t* ExchangeUnbindOk::encode(std::uint8_t* out) const { return out; }

bool QueueDeclare::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 8) return false;
  std::size_t left = wire.size() - 8;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  passive = (at[0] & 0x1) != 0;
  durable = (at[0] & 0x2) != 0;
  exclusive = (at[0] & 0x4) != 0;
  auto_delete = (at[0] & 0x8) != 0;
  nowait = (at[0] & 0x10) != 0;
  at += 1;
  const std::size_t arguments_size = load_u32(at);
  if (arguments_size > left) return false;
  left -= arguments_size;
  arguments = {at + 4, arguments_size};
  return left == 0 && valid_utf8(queue) && validate_table(arguments);
}

std::size_t QueueDeclare::encoded_size() const {
  return 8 + short_string_size(queue) + arguments.size();
}

std::uint8_t* QueueDeclare::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, queue);
  int bits = 0;
  if (passive) bits |= 0x1;
  if (durable) bits |= 0x2;
  if (exclusive) bits |= 0x4;
  if (auto_delete) bits |= 0x8;
  if (nowait) bits |= 0x10;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_long_bytes(out, arguments);
  return out;
}

bool QueueDeclareOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 9) return false;
  std::size_t left = wire.size() - 9;
  const std::uint8_t* at = wire.data();
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  message_count = load_u32(at);
  at += 4;
  consumer_count = load_u32(at);
  return left == 0;
}

std::size_t QueueDeclareOk::encoded_size() const { return 9 + short_string_size(queue); }

std::uint8_t* QueueDeclareOk::encode(std::uint8_t* out) const {
  out = store_short_string(out, queue);
  out = store_u32(out, message_count);
  out = store_u32(out, consumer_count);
  return out;
}

bool QueueBind::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 10) return false;
  std::size_t left = wire.size() - 10;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  const std::size_t exchange_size = at[0];
  if (exchange_size > left) return false;
  left -= exchange_size;
  exchange = text_at(at + 1, exchange_size);
  at += 1 + exchange_size;
  const std::size_t routing_key_size = at[0];
  if (routing_key_size > left) return false;
  left -= routing_key_size;
  routing_key = text_at(at + 1, routing_key_size);
  at += 1 + routing_key_size;
  nowait = (at[0] & 0x1) != 0;
  at += 1;
  const std::size_t arguments_size = load_u32(at);
  if (arguments_size > left) return false;
  left -= arguments_size;
  arguments = {at + 4, arguments_size};
  return left == 0 && valid_utf8(queue) && valid_utf8(exchange) && valid_utf8(routing_key) &&
         validate_table(arguments);
}

std::size_t QueueBind::encoded_size() const {
  return 10 + short_string_size(queue) + short_string_size(exchange) +
         short_string_size(routing_key) + arguments.size();
}

std::uint8_t* QueueBind::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, queue);
  out = store_short_string(out, exchange);
  out = store_short_string(out, routing_key);
  int bits = 0;
  if (nowait) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_long_bytes(out, arguments);
  return out;
}

bool QueueBindOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t QueueBindOk::encoded_size() const { return 0; }

std::uint8_t* QueueBindOk::encode(std::uint8_t* out) const { return out; }

bool QueuePurge::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 4) return false;
  std::size_t left = wire.size() - 4;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  nowait = (at[0] & 0x1) != 0;
  return left == 0 && valid_utf8(queue);
}

std::size_t QueuePurge::encoded_size() const { return 4 + short_string_size(queue); }

std::uint8_t* QueuePurge::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, queue);
  int bits = 0;
  if (nowait) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool QueuePurgeOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 4) return false;
  const std::uint8_t* at = wire.data();
  message_count = load_u32(at);
  return true;
}

std::size_t QueuePurgeOk::encoded_size() const { return 4; }

std::uint8_t* QueuePurgeOk::encode(std::uint8_t* out) const {
  out = store_u32(out, message_count);
  return out;
}

bool QueueDelete::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 4) return false;
  std::size_t left = wire.size() - 4;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  if_unused = (at[0] & 0x1) != 0;
  if_empty = (at[0] & 0x2) != 0;
  nowait = (at[0] & 0x4) != 0;
  return left == 0 && valid_utf8(queue);
}

std::size_t QueueDelete::encoded_size() const { return 4 + short_string_size(queue); }

std::uint8_t* QueueDelete::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, queue);
  int bits = 0;
  if (if_unused) bits |= 0x1;
  if (if_empty) bits |= 0x2;
  if (nowait) bits |= 0x4;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool QueueDeleteOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 4) return false;
  const std::uint8_t* at = wire.data();
  message_count = load_u32(at);
  return true;
}

std::size_t QueueDeleteOk::encoded_size() const { return 4; }

std::uint8_t* QueueDeleteOk::encode(std::uint8_t* out) const {
  out = store_u32(out, message_count);
  return out;
}

bool QueueUnbind::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 9) return false;
  std::size_t left = wire.size() - 9;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  const std::size_t exchange_size = at[0];
  if (exchange_size > left) return false;
  left -= exchange_size;
  exchange = text_at(at + 1, exchange_size);
  at += 1 + exchange_size;
  const std::size_t routing_key_size = at[0];
  if (routing_key_size > left) return false;
  left -= routing_key_size;
  routing_key = text_at(at + 1, routing_key_size);
  at += 1 + routing_key_size;
  const std::size_t arguments_size = load_u32(at);
  if (arguments_size > left) return false;
  left -= arguments_size;
  arguments = {at + 4, arguments_size};
  return left == 0 && valid_utf8(queue) && valid_utf8(exchange) && valid_utf8(routing_key) &&
         validate_table(arguments);
}

std::size_t QueueUnbind::encoded_size() const {
  return 9 + short_string_size(queue) + short_string_size(exchange) +
         short_string_size(routing_key) + arguments.size();
}

std::uint8_t* QueueUnbind::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, queue);
  out = store_short_string(out, exchange);
  out = store_short_string(out, routing_key);
  out = store_long_bytes(out, arguments);
  return out;
}

bool QueueUnbindOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t QueueUnbindOk::encoded_size() const { return 0; }

std::uint8_t* QueueUnbindOk::encode(std::uint8_t* out) const { return out; }

bool BasicQos::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 7) return false;
  const std::uint8_t* at = wire.data();
  prefetch_size = load_u32(at);
  at += 4;
  prefetch_count = load_u16(at);
  at += 2;
  global = (at[0] & 0x1) != 0;
  return true;
}

std::size_t BasicQos::encoded_size() const { return 7; }

std::uint8_t* BasicQos::encode(std::uint8_t* out) const {
  out = store_u32(out, prefetch_size);
  out = store_u16(out, prefetch_count);
  int bits = 0;
  if (global) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool BasicQosOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t BasicQosOk::encoded_size() const { return 0; }

std::uint8_t* BasicQosOk::encode(std::uint8_t* out) const { return out; }

bool BasicConsume::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 9) return false;
  std::size_t left = wire.size() - 9;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  const std::size_t consumer_tag_size = at[0];
  if (consumer_tag_size > left) return false;
  left -= consumer_tag_size;
  consumer_tag = text_at(at + 1, consumer_tag_size);
  at += 1 + consumer_tag_size;
  no_local = (at[0] & 0x1) != 0;
  no_ack = (at[0] & 0x2) != 0;
  exclusive = (at[0] & 0x4) != 0;
  nowait = (at[0] & 0x8) != 0;
  at += 1;
  const std::size_t arguments_size = load_u32(at);
  if (arguments_size > left) return false;
  left -= arguments_size;
  arguments = {at + 4, arguments_size};
  return left == 0 && valid_utf8(queue) && valid_utf8(consumer_tag) && validate_table(arguments);
}

std::size_t BasicConsume::encoded_size() const {
  return 9 + short_string_size(queue) + short_string_size(consumer_tag) + arguments.size();
}

std::uint8_t* BasicConsume::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, queue);
  out = store_short_string(out, consumer_tag);
  int bits = 0;
  if (no_local) bits |= 0x1;
  if (no_ack) bits |= 0x2;
  if (exclusive) bits |= 0x4;
  if (nowait) bits |= 0x8;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_long_bytes(out, arguments);
  return out;
}

bool BasicConsumeOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 1) return false;
  std::size_t left = wire.size() - 1;
  const std::uint8_t* at = wire.data();
  const std::size_t consumer_tag_size = at[0];
  if (consumer_tag_size > left) return false;
  left -= consumer_tag_size;
  consumer_tag = text_at(at + 1, consumer_tag_size);
  return left == 0;
}

std::size_t BasicConsumeOk::encoded_size() const { return 1 + short_string_size(consumer_tag); }

std::uint8_t* BasicConsumeOk::encode(std::uint8_t* out) const {
  out = store_short_string(out, consumer_tag);
  return out;
}

bool BasicCancel::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 2) return false;
  std::size_t left = wire.size() - 2;
  const std::uint8_t* at = wire.data();
  const std::size_t consumer_tag_size = at[0];
  if (consumer_tag_size > left) return false;
  left -= consumer_tag_size;
  consumer_tag = text_at(at + 1, consumer_tag_size);
  at += 1 + consumer_tag_size;
  nowait = (at[0] & 0x1) != 0;
  return left == 0 && valid_utf8(consumer_tag);
}

std::size_t BasicCancel::encoded_size() const { return 2 + short_string_size(consumer_tag); }

std::uint8_t* BasicCancel::encode(std::uint8_t* out) const {
  out = store_short_string(out, consumer_tag);
  int bits = 0;
  if (nowait) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool BasicCancelOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 1) return false;
  std::size_t left = wire.size() - 1;
  const std::uint8_t* at = wire.data();
  const std::size_t consumer_tag_size = at[0];
  if (consumer_tag_size > left) return false;
  left -= consumer_tag_size;
  consumer_tag = text_at(at + 1, consumer_tag_size);
  return left == 0 && valid_utf8(consumer_tag);
}

std::size_t BasicCancelOk::encoded_size() const { return 1 + short_string_size(consumer_tag); }

std::uint8_t* BasicCancelOk::encode(std::uint8_t* out) const {
  out = store_short_string(out, consumer_tag);
  return out;
}

std::size_t BasicPublish::encoded_size() const {
  return 5 + short_string_size(exchange) + short_string_size(routing_key);
}

std::uint8_t* BasicPublish::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, exchange);
  out = store_short_string(out, routing_key);
  int bits = 0;
  if (mandatory) bits |= 0x1;
  if (immediate) bits |= 0x2;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool BasicReturn::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 5) return false;
  std::size_t left = wire.size() - 5;
  const std::uint8_t* at = wire.data();
  reply_code = load_u16(at);
  at += 2;
  const std::size_t reply_text_size = at[0];
  if (reply_text_size > left) return false;
  left -= reply_text_size;
  reply_text = text_at(at + 1, reply_text_size);
  at += 1 + reply_text_size;
  const std::size_t exchange_size = at[0];
  if (exchange_size > left) return false;
  left -= exchange_size;
  exchange = text_at(at + 1, exchange_size);
  at += 1 + exchange_size;
  const std::size_t routing_key_size = at[0];
  if (routing_key_size > left) return false;
  left -= routing_key_size;
  routing_key = text_at(at + 1, routing_key_size);
  return left == 0;
}

std::size_t BasicReturn::encoded_size() const {
  return 5 + short_string_size(reply_text) + short_string_size(exchange) +
         short_string_size(routing_key);
}

std::uint8_t* BasicReturn::encode(std::uint8_t* out) const {
  out = store_u16(out, reply_code);
  out = store_short_string(out, reply_text);
  out = store_short_string(out, exchange);
  out = store_short_string(out, routing_key);
  return out;
}

bool BasicDeliver::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 12) return false;
  std::size_t left = wire.size() - 12;
  const std::uint8_t* at = wire.data();
  const std::size_t consumer_tag_size = at[0];
  if (consumer_tag_size > left) return false;
  left -= consumer_tag_size;
  consumer_tag = text_at(at + 1, consumer_tag_size);
  at += 1 + consumer_tag_size;
  delivery_tag = load_u64(at);
  at += 8;
  redelivered = (at[0] & 0x1) != 0;
  at += 1;
  const std::size_t exchange_size = at[0];
  if (exchange_size > left) return false;
  left -= exchange_size;
  exchange = text_at(at + 1, exchange_size);
  at += 1 + exchange_size;
  const std::size_t routing_key_size = at[0];
  if (routing_key_size > left) return false;
  left -= routing_key_size;
  routing_key = text_at(at + 1, routing_key_size);
  return left == 0;
}

std::size_t BasicDeliver::encoded_size() const {
  return 12 + short_string_size(consumer_tag) + short_string_size(exchange) +
         short_string_size(routing_key);
}

std::uint8_t* BasicDeliver::encode(std::uint8_t* out) const {
  out = store_short_string(out, consumer_tag);
  out = store_u64(out, delivery_tag);
  int bits = 0;
  if (redelivered) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_short_string(out, exchange);
  out = store_short_string(out, routing_key);
  return out;
}

bool BasicGet::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 4) return false;
  std::size_t left = wire.size() - 4;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::size_t queue_size = at[0];
  if (queue_size > left) return false;
  left -= queue_size;
  queue = text_at(at + 1, queue_size);
  at += 1 + queue_size;
  no_ack = (at[0] & 0x1) != 0;
  return left == 0 && valid_utf8(queue);
}

std::size_t BasicGet::encoded_size() const { return 4 + short_string_size(queue); }

std::uint8_t* BasicGet::encode(std::uint8_t* out) const {
  out = store_u16(out, 0);
  out = store_short_string(out, queue);
  int bits = 0;
  if (no_ack) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool BasicGetOk::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 15) return false;
  std::size_t left = wire.size() - 15;
  const std::uint8_t* at = wire.data();
  delivery_tag = load_u64(at);
  at += 8;
  redelivered = (at[0] & 0x1) != 0;
  at += 1;
  const std::size_t exchange_size = at[0];
  if (exchange_size > left) return false;
  left -= exchange_size;
  exchange = text_at(at + 1, exchange_size);
  at += 1 + exchange_size;
  const std::size_t routing_key_size = at[0];
  if (routing_key_size > left) return false;
  left -= routing_key_size;
  routing_key = text_at(at + 1, routing_key_size);
  at += 1 + routing_key_size;
  message_count = load_u32(at);
  return left == 0;
}

std::size_t BasicGetOk::encoded_size() const {
  return 15 + short_string_size(exchange) + short_string_size(routing_key);
}

std::uint8_t* BasicGetOk::encode(std::uint8_t* out) const {
  out = store_u64(out, delivery_tag);
  int bits = 0;
  if (redelivered) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  out = store_short_string(out, exchange);
  out = store_short_string(out, routing_key);
  out = store_u32(out, message_count);
  return out;
}

bool BasicGetEmpty::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 1) return false;
  std::size_t left = wire.size() - 1;
  const std::uint8_t* at = wire.data();
  const std::size_t cluster_id_size = at[0];
  if (cluster_id_size > left) return false;
  left -= cluster_id_size;
  return left == 0;
}

std::size_t BasicGetEmpty::encoded_size() const { return 1; }

std::uint8_t* BasicGetEmpty::encode(std::uint8_t* out) const {
  out = store_short_string(out, {});
  return out;
}

std::size_t BasicAck::encoded_size() const { return 9; }

std::uint8_t* BasicAck::encode(std::uint8_t* out) const {
  out = store_u64(out, delivery_tag);
  int bits = 0;
  if (multiple) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

std::size_t BasicReject::encoded_size() const { return 9; }

std::uint8_t* BasicReject::encode(std::uint8_t* out) const {
  out = store_u64(out, delivery_tag);
  int bits = 0;
  if (requeue) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool BasicRecoverAsync::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 1) return false;
  const std::uint8_t* at = wire.data();
  requeue = (at[0] & 0x1) != 0;
  return true;
}

std::size_t BasicRecoverAsync::encoded_size() const { return 1; }

std::uint8_t* BasicRecoverAsync::encode(std::uint8_t* out) const {
  int bits = 0;
  if (requeue) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool BasicRecover::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 1) return false;
  const std::uint8_t* at = wire.data();
  requeue = (at[0] & 0x1) != 0;
  return true;
}

std::size_t BasicRecover::encoded_size() const { return 1; }

std::uint8_t* BasicRecover::encode(std::uint8_t* out) const {
  int bits = 0;
  if (requeue) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool BasicRecoverOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t BasicRecoverOk::encoded_size() const { return 0; }

std::uint8_t* BasicRecoverOk::encode(std::uint8_t* out) const { return out; }

std::size_t BasicNack::encoded_size() const { return 9; }

std::uint8_t* BasicNack::encode(std::uint8_t* out) const {
  out = store_u64(out, delivery_tag);
  int bits = 0;
  if (multiple) bits |= 0x1;
  if (requeue) bits |= 0x2;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool ConfirmSelect::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 1) return false;
  const std::uint8_t* at = wire.data();
  nowait = (at[0] & 0x1) != 0;
  return true;
}

std::size_t ConfirmSelect::encoded_size() const { return 1; }

std::uint8_t* ConfirmSelect::encode(std::uint8_t* out) const {
  int bits = 0;
  if (nowait) bits |= 0x1;
  *out++ = static_cast<std::uint8_t>(bits);
  return out;
}

bool ConfirmSelectOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t ConfirmSelectOk::encoded_size() const { return 0; }

std::uint8_t* ConfirmSelectOk::encode(std::uint8_t* out) const { return out; }

bool TxSelect::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t TxSelect::encoded_size() const { return 0; }

std::uint8_t* TxSelect::encode(std::uint8_t* out) const { return out; }

bool TxSelectOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t TxSelectOk::encoded_size() const { return 0; }

std::uint8_t* TxSelectOk::encode(std::uint8_t* out) const { return out; }

bool TxCommit::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t TxCommit::encoded_size() const { return 0; }

std::uint8_t* TxCommit::encode(std::uint8_t* out) const { return out; }

bool TxCommitOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t TxCommitOk::encoded_size() const { return 0; }

std::uint8_t* TxCommitOk::encode(std::uint8_t* out) const { return out; }

bool TxRollback::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t TxRollback::encoded_size() const { return 0; }

std::uint8_t* TxRollback::encode(std::uint8_t* out) const { return out; }

bool TxRollbackOk::decode(std::span<const std::uint8_t> wire) { return wire.empty(); }

std::size_t TxRollbackOk::encoded_size() const { return 0; }

std::uint8_t* TxRollbackOk::encode(std::uint8_t* out) const { return out; }

}  // namespace ringtail::amqp
