// The methods of AMQP 0-9-1 and RabbitMQ's extensions of it: one plain struct each.
// Written by tools/gen_methods.py; change the table there, not this file.
//
// Strings and tables slice the memory they were decoded from and live no longer. A table
// is its encoded entries without the length in front (field_table.h). decode() takes a
// method frame's payload behind the class and method ids; it is false when that is cut
// short, is followed by more, or holds a malformed table or text, and the fields are
// then unspecified. encode() writes encoded_size() bytes and returns their end; a short
// string over 255 bytes is cut. Reserved fields are no members: skipped on decode, zero
// or empty on encode. visit_fields() calls visit(name, member) for each, in wire order.
//
// Short strings that a client sends must be UTF-8, as RabbitMQ wants it; like there,
// basic.publish is let off, for speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "broker/amqp/wire.h"

namespace ringtail::amqp {

// Class and method in one number, for switches.
constexpr std::uint32_t method_key(std::uint16_t class_id, std::uint16_t method_id) {
  return static_cast<std::uint32_t>(class_id) << 16 | method_id;
}
template <typename Method>
inline constexpr std::uint32_t kMethodKey = method_key(Method::kClassId, Method::kMethodId);

struct MethodInfo {
  std::uint16_t class_id;
  std::uint16_t method_id;
  const char* name;   // "basic.publish"
  bool has_content;   // a header frame and body frames follow
  bool client_sends;  // a client may send it
  bool server_sends;
};

// Null when there is no such method.
const MethodInfo* find_method(std::uint16_t class_id, std::uint16_t method_id);
// "basic.publish"; null when there is no such method.
const char* method_name(std::uint16_t class_id, std::uint16_t method_id);

// connection.start, server to client.
struct ConnectionStart {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  std::uint8_t version_major = 0;
  std::uint8_t version_minor = 0;
  std::span<const std::uint8_t> server_properties;
  std::string_view mechanisms;
  std::string_view locales;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("version_major", self.version_major);
    visit("version_minor", self.version_minor);
    visit("server_properties", self.server_properties);
    visit("mechanisms", self.mechanisms);
    visit("locales", self.locales);
  }
};

// connection.start-ok, client to server.
struct ConnectionStartOk {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  std::span<const std::uint8_t> client_properties;
  std::string_view mechanism;
  std::string_view response;
  std::string_view locale;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("client_properties", self.client_properties);
    visit("mechanism", self.mechanism);
    visit("response", self.response);
    visit("locale", self.locale);
  }
};

// connection.secure, server to client.
struct ConnectionSecure {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 20;
  static constexpr bool kHasContent = false;

  std::string_view challenge;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("challenge", self.challenge);
  }
};

// connection.secure-ok, client to server.
struct ConnectionSecureOk {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 21;
  static constexpr bool kHasContent = false;

  std::string_view response;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("response", self.response);
  }
};

// connection.tune, server to client.
struct ConnectionTune {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 30;
  static constexpr bool kHasContent = false;

  std::uint16_t channel_max = 0;
  std::uint32_t frame_max = 0;
  std::uint16_t heartbeat = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("channel_max", self.channel_max);
    visit("frame_max", self.frame_max);
    visit("heartbeat", self.heartbeat);
  }
};

// connection.tune-ok, client to server.
struct ConnectionTuneOk {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 31;
  static constexpr bool kHasContent = false;

  std::uint16_t channel_max = 0;
  std::uint32_t frame_max = 0;
  std::uint16_t heartbeat = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("channel_max", self.channel_max);
    visit("frame_max", self.frame_max);
    visit("heartbeat", self.heartbeat);
  }
};

// connection.open, client to server.
struct ConnectionOpen {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 40;
  static constexpr bool kHasContent = false;

  std::string_view virtual_host;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("virtual_host", self.virtual_host);
  }
};

// connection.open-ok, server to client.
struct ConnectionOpenOk {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 41;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// connection.close, both ways.
struct ConnectionClose {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 50;
  static constexpr bool kHasContent = false;

  std::uint16_t reply_code = 0;
  std::string_view reply_text;
  std::uint16_t class_id = 0;
  std::uint16_t method_id = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("reply_code", self.reply_code);
    visit("reply_text", self.reply_text);
    visit("class_id", self.class_id);
    visit("method_id", self.method_id);
  }
};

// connection.close-ok, both ways.
struct ConnectionCloseOk {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 51;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// connection.blocked, server to client.
struct ConnectionBlocked {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 60;
  static constexpr bool kHasContent = false;

  std::string_view reason;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("reason", self.reason);
  }
};

// connection.unblocked, server to client.
struct ConnectionUnblocked {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 61;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// connection.update-secret, client to server.
struct ConnectionUpdateSecret {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 70;
  static constexpr bool kHasContent = false;

  std::string_view new_secret;
  std::string_view reason;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("new_secret", self.new_secret);
    visit("reason", self.reason);
  }
};

// connection.update-secret-ok, server to client.
struct ConnectionUpdateSecretOk {
  static constexpr std::uint16_t kClassId = 10;
  static constexpr std::uint16_t kMethodId = 71;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// channel.open, client to server.
struct ChannelOpen {
  static constexpr std::uint16_t kClassId = 20;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// channel.open-ok, server to client.
struct ChannelOpenOk {
  static constexpr std::uint16_t kClassId = 20;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// channel.flow, both ways.
struct ChannelFlow {
  static constexpr std::uint16_t kClassId = 20;
  static constexpr std::uint16_t kMethodId = 20;
  static constexpr bool kHasContent = false;

  bool active = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("active", self.active);
  }
};

// channel.flow-ok, both ways.
struct ChannelFlowOk {
  static constexpr std::uint16_t kClassId = 20;
  static constexpr std::uint16_t kMethodId = 21;
  static constexpr bool kHasContent = false;

  bool active = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("active", self.active);
  }
};

// channel.close, both ways.
struct ChannelClose {
  static constexpr std::uint16_t kClassId = 20;
  static constexpr std::uint16_t kMethodId = 40;
  static constexpr bool kHasContent = false;

  std::uint16_t reply_code = 0;
  std::string_view reply_text;
  std::uint16_t class_id = 0;
  std::uint16_t method_id = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("reply_code", self.reply_code);
    visit("reply_text", self.reply_text);
    visit("class_id", self.class_id);
    visit("method_id", self.method_id);
  }
};

// channel.close-ok, both ways.
struct ChannelCloseOk {
  static constexpr std::uint16_t kClassId = 20;
  static constexpr std::uint16_t kMethodId = 41;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// access.request, client to server.
struct AccessRequest {
  static constexpr std::uint16_t kClassId = 30;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  std::string_view realm;
  bool exclusive = false;
  bool passive = false;
  bool active = false;
  bool write = false;
  bool read = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("realm", self.realm);
    visit("exclusive", self.exclusive);
    visit("passive", self.passive);
    visit("active", self.active);
    visit("write", self.write);
    visit("read", self.read);
  }
};

// access.request-ok, server to client.
struct AccessRequestOk {
  static constexpr std::uint16_t kClassId = 30;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  std::uint16_t ticket = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("ticket", self.ticket);
  }
};

// exchange.declare, client to server.
struct ExchangeDeclare {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  std::string_view exchange;
  std::string_view type;
  bool passive = false;
  bool durable = false;
  bool auto_delete = false;
  bool internal = false;
  bool nowait = false;
  std::span<const std::uint8_t> arguments;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("exchange", self.exchange);
    visit("type", self.type);
    visit("passive", self.passive);
    visit("durable", self.durable);
    visit("auto_delete", self.auto_delete);
    visit("internal", self.internal);
    visit("nowait", self.nowait);
    visit("arguments", self.arguments);
  }
};

// exchange.declare-ok, server to client.
struct ExchangeDeclareOk {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// exchange.delete, client to server.
struct ExchangeDelete {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 20;
  static constexpr bool kHasContent = false;

  std::string_view exchange;
  bool if_unused = false;
  bool nowait = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("exchange", self.exchange);
    visit("if_unused", self.if_unused);
    visit("nowait", self.nowait);
  }
};

// exchange.delete-ok, server to client.
struct ExchangeDeleteOk {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 21;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// exchange.bind, client to server.
struct ExchangeBind {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 30;
  static constexpr bool kHasContent = false;

  std::string_view destination;
  std::string_view source;
  std::string_view routing_key;
  bool nowait = false;
  std::span<const std::uint8_t> arguments;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("destination", self.destination);
    visit("source", self.source);
    visit("routing_key", self.routing_key);
    visit("nowait", self.nowait);
    visit("arguments", self.arguments);
  }
};

// exchange.bind-ok, server to client.
struct ExchangeBindOk {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 31;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// exchange.unbind, client to server.
struct ExchangeUnbind {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 40;
  static constexpr bool kHasContent = false;

  std::string_view destination;
  std::string_view source;
  std::string_view routing_key;
  bool nowait = false;
  std::span<const std::uint8_t> arguments;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("destination", self.destination);
    visit("source", self.source);
    visit("routing_key", self.routing_key);
    visit("nowait", self.nowait);
    visit("arguments", self.arguments);
  }
};

// exchange.unbind-ok, server to client.
struct ExchangeUnbindOk {
  static constexpr std::uint16_t kClassId = 40;
  static constexpr std::uint16_t kMethodId = 51;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// queue.declare, client to server.
struct QueueDeclare {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  bool passive = false;
  bool durable = false;
  bool exclusive = false;
  bool auto_delete = false;
  bool nowait = false;
  std::span<const std::uint8_t> arguments;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("passive", self.passive);
    visit("durable", self.durable);
    visit("exclusive", self.exclusive);
    visit("auto_delete", self.auto_delete);
    visit("nowait", self.nowait);
    visit("arguments", self.arguments);
  }
};

// queue.declare-ok, server to client.
struct QueueDeclareOk {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  std::uint32_t message_count = 0;
  std::uint32_t consumer_count = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("message_count", self.message_count);
    visit("consumer_count", self.consumer_count);
  }
};

// queue.bind, client to server.
struct QueueBind {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 20;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  std::string_view exchange;
  std::string_view routing_key;
  bool nowait = false;
  std::span<const std::uint8_t> arguments;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("exchange", self.exchange);
    visit("routing_key", self.routing_key);
    visit("nowait", self.nowait);
    visit("arguments", self.arguments);
  }
};

// queue.bind-ok, server to client.
struct QueueBindOk {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 21;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// queue.purge, client to server.
struct QueuePurge {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 30;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  bool nowait = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("nowait", self.nowait);
  }
};

// queue.purge-ok, server to client.
struct QueuePurgeOk {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 31;
  static constexpr bool kHasContent = false;

  std::uint32_t message_count = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("message_count", self.message_count);
  }
};

// queue.delete, client to server.
struct QueueDelete {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 40;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  bool if_unused = false;
  bool if_empty = false;
  bool nowait = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("if_unused", self.if_unused);
    visit("if_empty", self.if_empty);
    visit("nowait", self.nowait);
  }
};

// queue.delete-ok, server to client.
struct QueueDeleteOk {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 41;
  static constexpr bool kHasContent = false;

  std::uint32_t message_count = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("message_count", self.message_count);
  }
};

// queue.unbind, client to server.
struct QueueUnbind {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 50;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  std::string_view exchange;
  std::string_view routing_key;
  std::span<const std::uint8_t> arguments;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("exchange", self.exchange);
    visit("routing_key", self.routing_key);
    visit("arguments", self.arguments);
  }
};

// queue.unbind-ok, server to client.
struct QueueUnbindOk {
  static constexpr std::uint16_t kClassId = 50;
  static constexpr std::uint16_t kMethodId = 51;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// basic.qos, client to server.
struct BasicQos {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  std::uint32_t prefetch_size = 0;
  std::uint16_t prefetch_count = 0;
  bool global = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("prefetch_size", self.prefetch_size);
    visit("prefetch_count", self.prefetch_count);
    visit("global", self.global);
  }
};

// basic.qos-ok, server to client.
struct BasicQosOk {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// basic.consume, client to server.
struct BasicConsume {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 20;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  std::string_view consumer_tag;
  bool no_local = false;
  bool no_ack = false;
  bool exclusive = false;
  bool nowait = false;
  std::span<const std::uint8_t> arguments;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("consumer_tag", self.consumer_tag);
    visit("no_local", self.no_local);
    visit("no_ack", self.no_ack);
    visit("exclusive", self.exclusive);
    visit("nowait", self.nowait);
    visit("arguments", self.arguments);
  }
};

// basic.consume-ok, server to client.
struct BasicConsumeOk {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 21;
  static constexpr bool kHasContent = false;

  std::string_view consumer_tag;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("consumer_tag", self.consumer_tag);
  }
};

// basic.cancel, both ways.
struct BasicCancel {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 30;
  static constexpr bool kHasContent = false;

  std::string_view consumer_tag;
  bool nowait = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("consumer_tag", self.consumer_tag);
    visit("nowait", self.nowait);
  }
};

// basic.cancel-ok, both ways.
struct BasicCancelOk {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 31;
  static constexpr bool kHasContent = false;

  std::string_view consumer_tag;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("consumer_tag", self.consumer_tag);
  }
};

// basic.publish, client to server.
struct BasicPublish {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 40;
  static constexpr bool kHasContent = true;

  std::string_view exchange;
  std::string_view routing_key;
  bool mandatory = false;
  bool immediate = false;
  // Exchange and routing key as two short strings; set by decode() only.
  std::span<const std::uint8_t> route;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("exchange", self.exchange);
    visit("routing_key", self.routing_key);
    visit("mandatory", self.mandatory);
    visit("immediate", self.immediate);
  }
};

// basic.return, server to client.
struct BasicReturn {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 50;
  static constexpr bool kHasContent = true;

  std::uint16_t reply_code = 0;
  std::string_view reply_text;
  std::string_view exchange;
  std::string_view routing_key;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("reply_code", self.reply_code);
    visit("reply_text", self.reply_text);
    visit("exchange", self.exchange);
    visit("routing_key", self.routing_key);
  }
};

// basic.deliver, server to client.
struct BasicDeliver {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 60;
  static constexpr bool kHasContent = true;

  std::string_view consumer_tag;
  std::uint64_t delivery_tag = 0;
  bool redelivered = false;
  std::string_view exchange;
  std::string_view routing_key;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("consumer_tag", self.consumer_tag);
    visit("delivery_tag", self.delivery_tag);
    visit("redelivered", self.redelivered);
    visit("exchange", self.exchange);
    visit("routing_key", self.routing_key);
  }
};

// basic.get, client to server.
struct BasicGet {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 70;
  static constexpr bool kHasContent = false;

  std::string_view queue;
  bool no_ack = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("queue", self.queue);
    visit("no_ack", self.no_ack);
  }
};

// basic.get-ok, server to client.
struct BasicGetOk {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 71;
  static constexpr bool kHasContent = true;

  std::uint64_t delivery_tag = 0;
  bool redelivered = false;
  std::string_view exchange;
  std::string_view routing_key;
  std::uint32_t message_count = 0;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("delivery_tag", self.delivery_tag);
    visit("redelivered", self.redelivered);
    visit("exchange", self.exchange);
    visit("routing_key", self.routing_key);
    visit("message_count", self.message_count);
  }
};

// basic.get-empty, server to client.
struct BasicGetEmpty {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 72;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// basic.ack, both ways.
struct BasicAck {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 80;
  static constexpr bool kHasContent = false;

  std::uint64_t delivery_tag = 0;
  bool multiple = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("delivery_tag", self.delivery_tag);
    visit("multiple", self.multiple);
  }
};

// basic.reject, client to server.
struct BasicReject {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 90;
  static constexpr bool kHasContent = false;

  std::uint64_t delivery_tag = 0;
  bool requeue = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("delivery_tag", self.delivery_tag);
    visit("requeue", self.requeue);
  }
};

// basic.recover-async, client to server.
struct BasicRecoverAsync {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 100;
  static constexpr bool kHasContent = false;

  bool requeue = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("requeue", self.requeue);
  }
};

// basic.recover, client to server.
struct BasicRecover {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 110;
  static constexpr bool kHasContent = false;

  bool requeue = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("requeue", self.requeue);
  }
};

// basic.recover-ok, server to client.
struct BasicRecoverOk {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 111;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// basic.nack, both ways.
struct BasicNack {
  static constexpr std::uint16_t kClassId = 60;
  static constexpr std::uint16_t kMethodId = 120;
  static constexpr bool kHasContent = false;

  std::uint64_t delivery_tag = 0;
  bool multiple = false;
  bool requeue = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("delivery_tag", self.delivery_tag);
    visit("multiple", self.multiple);
    visit("requeue", self.requeue);
  }
};

// confirm.select, client to server.
struct ConfirmSelect {
  static constexpr std::uint16_t kClassId = 85;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  bool nowait = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& visit) {
    visit("nowait", self.nowait);
  }
};

// confirm.select-ok, server to client.
struct ConfirmSelectOk {
  static constexpr std::uint16_t kClassId = 85;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// tx.select, client to server.
struct TxSelect {
  static constexpr std::uint16_t kClassId = 90;
  static constexpr std::uint16_t kMethodId = 10;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// tx.select-ok, server to client.
struct TxSelectOk {
  static constexpr std::uint16_t kClassId = 90;
  static constexpr std::uint16_t kMethodId = 11;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// tx.commit, client to server.
struct TxCommit {
  static constexpr std::uint16_t kClassId = 90;
  static constexpr std::uint16_t kMethodId = 20;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// tx.commit-ok, server to client.
struct TxCommitOk {
  static constexpr std::uint16_t kClassId = 90;
  static constexpr std::uint16_t kMethodId = 21;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// tx.rollback, client to server.
struct TxRollback {
  static constexpr std::uint16_t kClassId = 90;
  static constexpr std::uint16_t kMethodId = 30;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

// tx.rollback-ok, server to client.
struct TxRollbackOk {
  static constexpr std::uint16_t kClassId = 90;
  static constexpr std::uint16_t kMethodId = 31;
  static constexpr bool kHasContent = false;

  bool decode(std::span<const std::uint8_t> wire);
  std::size_t encoded_size() const;
  std::uint8_t* encode(std::uint8_t* out) const;
  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}
};

inline bool BasicPublish::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() < 5) return false;
  std::size_t left = wire.size() - 5;
  const std::uint8_t* at = wire.data();
  at += 2;
  const std::uint8_t* route_at = at;
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
  route = {route_at, static_cast<std::size_t>(at - route_at)};
  mandatory = (at[0] & 0x1) != 0;
  immediate = (at[0] & 0x2) != 0;
  return left == 0;
}

inline bool BasicAck::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 9) return false;
  const std::uint8_t* at = wire.data();
  delivery_tag = load_u64(at);
  at += 8;
  multiple = (at[0] & 0x1) != 0;
  return true;
}

inline bool BasicReject::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 9) return false;
  const std::uint8_t* at = wire.data();
  delivery_tag = load_u64(at);
  at += 8;
  requeue = (at[0] & 0x1) != 0;
  return true;
}

inline bool BasicNack::decode(std::span<const std::uint8_t> wire) {
  if (wire.size() != 9) return false;
  const std::uint8_t* at = wire.data();
  delivery_tag = load_u64(at);
  at += 8;
  multiple = (at[0] & 0x1) != 0;
  requeue = (at[0] & 0x2) != 0;
  return true;
}

// Calls `visit` with a default-made struct of the method's type; false when there is
// no such method.
template <typename Visitor>
bool visit_method(std::uint16_t class_id, std::uint16_t method_id, Visitor&& visit) {
  switch (method_key(class_id, method_id)) {
    case kMethodKey<ConnectionStart>:
      visit(ConnectionStart{});
      return true;
    case kMethodKey<ConnectionStartOk>:
      visit(ConnectionStartOk{});
      return true;
    case kMethodKey<ConnectionSecure>:
      visit(ConnectionSecure{});
      return true;
    case kMethodKey<ConnectionSecureOk>:
      visit(ConnectionSecureOk{});
      return true;
    case kMethodKey<ConnectionTune>:
      visit(ConnectionTune{});
      return true;
    case kMethodKey<ConnectionTuneOk>:
      visit(ConnectionTuneOk{});
      return true;
    case kMethodKey<ConnectionOpen>:
      visit(ConnectionOpen{});
      return true;
    case kMethodKey<ConnectionOpenOk>:
      visit(ConnectionOpenOk{});
      return true;
    case kMethodKey<ConnectionClose>:
      visit(ConnectionClose{});
      return true;
    case kMethodKey<ConnectionCloseOk>:
      visit(ConnectionCloseOk{});
      return true;
    case kMethodKey<ConnectionBlocked>:
      visit(ConnectionBlocked{});
      return true;
    case kMethodKey<ConnectionUnblocked>:
      visit(ConnectionUnblocked{});
      return true;
    case kMethodKey<ConnectionUpdateSecret>:
      visit(ConnectionUpdateSecret{});
      return true;
    case kMethodKey<ConnectionUpdateSecretOk>:
      visit(ConnectionUpdateSecretOk{});
      return true;
    case kMethodKey<ChannelOpen>:
      visit(ChannelOpen{});
      return true;
    case kMethodKey<ChannelOpenOk>:
      visit(ChannelOpenOk{});
      return true;
    case kMethodKey<ChannelFlow>:
      visit(ChannelFlow{});
      return true;
    case kMethodKey<ChannelFlowOk>:
      visit(ChannelFlowOk{});
      return true;
    case kMethodKey<ChannelClose>:
      visit(ChannelClose{});
      return true;
    case kMethodKey<ChannelCloseOk>:
      visit(ChannelCloseOk{});
      return true;
    case kMethodKey<AccessRequest>:
      visit(AccessRequest{});
      return true;
    case kMethodKey<AccessRequestOk>:
      visit(AccessRequestOk{});
      return true;
    case kMethodKey<ExchangeDeclare>:
      visit(ExchangeDeclare{});
      return true;
    case kMethodKey<ExchangeDeclareOk>:
      visit(ExchangeDeclareOk{});
      return true;
    case kMethodKey<ExchangeDelete>:
      visit(ExchangeDelete{});
      return true;
    case kMethodKey<ExchangeDeleteOk>:
      visit(ExchangeDeleteOk{});
      return true;
    case kMethodKey<ExchangeBind>:
      visit(ExchangeBind{});
      return true;
    case kMethodKey<ExchangeBindOk>:
      visit(ExchangeBindOk{});
      return true;
    case kMethodKey<ExchangeUnbind>:
      visit(ExchangeUnbind{});
      return true;
    case kMethodKey<ExchangeUnbindOk>:
      visit(ExchangeUnbindOk{});
      return true;
    case kMethodKey<QueueDeclare>:
      visit(QueueDeclare{});
      return true;
    case kMethodKey<QueueDeclareOk>:
      visit(QueueDeclareOk{});
      return true;
    case kMethodKey<QueueBind>:
      visit(QueueBind{});
      return true;
    case kMethodKey<QueueBindOk>:
      visit(QueueBindOk{});
      return true;
    case kMethodKey<QueuePurge>:
      visit(QueuePurge{});
      return true;
    case kMethodKey<QueuePurgeOk>:
      visit(QueuePurgeOk{});
      return true;
    case kMethodKey<QueueDelete>:
      visit(QueueDelete{});
      return true;
    case kMethodKey<QueueDeleteOk>:
      visit(QueueDeleteOk{});
      return true;
    case kMethodKey<QueueUnbind>:
      visit(QueueUnbind{});
      return true;
    case kMethodKey<QueueUnbindOk>:
      visit(QueueUnbindOk{});
      return true;
    case kMethodKey<BasicQos>:
      visit(BasicQos{});
      return true;
    case kMethodKey<BasicQosOk>:
      visit(BasicQosOk{});
      return true;
    case kMethodKey<BasicConsume>:
      visit(BasicConsume{});
      return true;
    case kMethodKey<BasicConsumeOk>:
      visit(BasicConsumeOk{});
      return true;
    case kMethodKey<BasicCancel>:
      visit(BasicCancel{});
      return true;
    case kMethodKey<BasicCancelOk>:
      visit(BasicCancelOk{});
      return true;
    case kMethodKey<BasicPublish>:
      visit(BasicPublish{});
      return true;
    case kMethodKey<BasicReturn>:
      visit(BasicReturn{});
      return true;
    case kMethodKey<BasicDeliver>:
      visit(BasicDeliver{});
      return true;
    case kMethodKey<BasicGet>:
      visit(BasicGet{});
      return true;
    case kMethodKey<BasicGetOk>:
      visit(BasicGetOk{});
      return true;
    case kMethodKey<BasicGetEmpty>:
      visit(BasicGetEmpty{});
      return true;
    case kMethodKey<BasicAck>:
      visit(BasicAck{});
      return true;
    case kMethodKey<BasicReject>:
      visit(BasicReject{});
      return true;
    case kMethodKey<BasicRecoverAsync>:
      visit(BasicRecoverAsync{});
      return true;
    case kMethodKey<BasicRecover>:
      visit(BasicRecover{});
      return true;
    case kMethodKey<BasicRecoverOk>:
      visit(BasicRecoverOk{});
      return true;
    case kMethodKey<BasicNack>:
      visit(BasicNack{});
      return true;
    case kMethodKey<ConfirmSelect>:
      visit(ConfirmSelect{});
      return true;
    case kMethodKey<ConfirmSelectOk>:
      visit(ConfirmSelectOk{});
      return true;
    case kMethodKey<TxSelect>:
      visit(TxSelect{});
      return true;
    case kMethodKey<TxSelectOk>:
      visit(TxSelectOk{});
      return true;
    case kMethodKey<TxCommit>:
      visit(TxCommit{});
      return true;
    case kMethodKey<TxCommitOk>:
      visit(TxCommitOk{});
      return true;
    case kMethodKey<TxRollback>:
      visit(TxRollback{});
      return true;
    case kMethodKey<TxRollbackOk>:
      visit(TxRollbackOk{});
      return true;
    default:
      return false;
  }
}

}  // namespace ringtail::amqp
