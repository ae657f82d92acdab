#include "tools/ctl/message_json.h"

#include <openssl/evp.h>

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/amqp/utf8.h"
#include "broker/runtime/bytes.h"

namespace ringtail::ctl {

using amqp::FieldArray;
using amqp::FieldTable;
using amqp::FieldValue;
using queue::Message;

namespace {

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // it ends with a zero
  const auto encoded = runtime::as_bytes(bytes);
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), encoded.data(),
                  static_cast<int>(encoded.size()));
  out.pop_back();
  return out;
}

std::string text(std::string_view bytes) {
  return amqp::valid_utf8(bytes) ? std::string(bytes) : base64(bytes);
}

Json json_of(const FieldTable& table);

Json json_of(const FieldValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, amqp::Void>) {
          return "undefined";  // as RabbitMQ writes it
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return text(held);
        } else if constexpr (std::is_same_v<Held, amqp::Binary>) {
          return text(held.bytes);
        } else if constexpr (std::is_same_v<Held, amqp::Decimal>) {
          return held.value / std::pow(10.0, held.scale);
        } else if constexpr (std::is_same_v<Held, amqp::Timestamp>) {
          return held.seconds;
        } else if constexpr (std::is_same_v<Held, FieldTable>) {
          return json_of(held);
        } else if constexpr (std::is_same_v<Held, FieldArray>) {
          Json items = Json::array();
          for (const FieldValue& item : held.items()) items.push_back(json_of(item));
          return items;
        } else {
          return held;
        }
      },
      value.variant());
}

Json json_of(const FieldTable& table) {
  Json object = Json::object();
  for (const auto& entry : table.entries()) {
    if (!object.contains(entry.name)) object[text(entry.name)] = json_of(entry.value);
  }
  return object;
}

Json json_of_properties(std::span<const std::uint8_t> encoded) {
  const auto properties = amqp::BasicProperties::decode(encoded);
  if (!properties) return {{"raw", base64(runtime::as_text(encoded))}};
  Json object = Json::object();
  const auto add = [&object](const char* name, const auto& value) {
    if (!value) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(*value)>, std::string>) {
      object[name] = text(*value);
    } else {
      object[name] = *value;
    }
  };
  add("content_type", properties->content_type);
  add("content_encoding", properties->content_encoding);
  if (properties->headers) object["headers"] = json_of(*properties->headers);
  add("delivery_mode", properties->delivery_mode);
  add("priority", properties->priority);
  add("correlation_id", properties->correlation_id);
  add("reply_to", properties->reply_to);
  add("expiration", properties->expiration);
  add("message_id", properties->message_id);
  add("timestamp", properties->timestamp);
  add("type", properties->type);
  add("user_id", properties->user_id);
  add("app_id", properties->app_id);
  add("cluster_id", properties->cluster_id);
  return object;
}

std::string body_of(const Message& message) {
  if (message.body_is_inline()) return std::string(runtime::as_text(message.inline_body()));
  std::string body;
  body.reserve(static_cast<std::size_t>(message.body_size()));
  for (const runtime::Bytes& piece : message.large_body().pieces()) {
    body += runtime::as_text(piece.span());
  }
  return body;
}

}  // namespace

Json json_of_message(const queue::store::StoredMessage& stored) {
  const Message& message = *stored.message;
  Json object = {{"number", queue::store::number_of(stored.position)},
                 {"redelivered", stored.delivered},
                 {"exchange", text(message.exchange())},
                 {"routing_key", text(message.routing_key())},
                 {"properties", json_of_properties(message.properties())}};
  if (!message.blind_keys().empty()) {
    const auto keys = FieldArray::decode(message.blind_keys());
    object["bcc"] =
        keys ? json_of(FieldValue(*keys)) : Json(base64(runtime::as_text(message.blind_keys())));
  }
  if (stored.expires_at_ms != queue::kNoExpiration) object["expires_at"] = stored.expires_at_ms;
  const std::string body = body_of(message);
  const bool readable = amqp::valid_utf8(body);
  object["payload_bytes"] = body.size();
  object["payload"] = readable ? body : base64(body);
  object["payload_encoding"] = readable ? "string" : "base64";
  return object;
}

}  // namespace ringtail::ctl
