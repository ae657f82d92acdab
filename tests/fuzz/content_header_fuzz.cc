// Content headers: the four ways to look at properties agree with each other, and what is valid
// survives decode and encode.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "broker/amqp/content_header.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"

namespace {

using namespace ringtail::amqp;

bool same(std::optional<std::string_view> view, const std::optional<std::string>& text) {
  return view.has_value() == text.has_value() && (!view || *view == *text);
}

void check_view(const PropertiesView& view, const BasicProperties& decoded) {
  RT_CHECK(same(view.content_type(), decoded.content_type), "content_type");
  RT_CHECK(same(view.content_encoding(), decoded.content_encoding), "content_encoding");
  RT_CHECK(view.headers().has_value() == decoded.headers.has_value(), "headers");
  if (view.headers()) RT_CHECK(FieldTable::decode(*view.headers()) == decoded.headers, "headers");
  RT_CHECK(view.delivery_mode() == decoded.delivery_mode, "delivery_mode");
  RT_CHECK(view.priority() == decoded.priority, "priority");
  RT_CHECK(same(view.correlation_id(), decoded.correlation_id), "correlation_id");
  RT_CHECK(same(view.reply_to(), decoded.reply_to), "reply_to");
  RT_CHECK(same(view.expiration(), decoded.expiration), "expiration");
  RT_CHECK(same(view.message_id(), decoded.message_id), "message_id");
  RT_CHECK(view.timestamp() == decoded.timestamp, "timestamp");
  RT_CHECK(same(view.type(), decoded.type), "type");
  RT_CHECK(same(view.user_id(), decoded.user_id), "user_id");
  RT_CHECK(same(view.app_id(), decoded.app_id), "app_id");
  RT_CHECK(same(view.cluster_id(), decoded.cluster_id), "cluster_id");
  RT_CHECK(view.has(Property::kHeaders) == decoded.headers.has_value(), "has");
}

void check_traits(const PropertyTraits& traits, const BasicProperties& decoded) {
  RT_CHECK(traits.persistent == (decoded.delivery_mode == std::uint8_t{2}), "persistent");
  RT_CHECK(traits.has_priority == decoded.priority.has_value(), "has_priority");
  RT_CHECK(traits.priority == decoded.priority.value_or(0), "priority");
  RT_CHECK(traits.has_expiration == decoded.expiration.has_value(), "has_expiration");
  RT_CHECK(traits.expiration == decoded.expiration.value_or(""), "expiration");
  RT_CHECK(traits.has_user_id == decoded.user_id.has_value(), "has_user_id");
  RT_CHECK(traits.user_id == decoded.user_id.value_or(""), "user_id");
  RT_CHECK(traits.has_reply_to == decoded.reply_to.has_value(), "has_reply_to");
  RT_CHECK(traits.reply_to == decoded.reply_to.value_or(""), "reply_to");
  RT_CHECK(traits.has_headers == decoded.headers.has_value(), "has_headers");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ContentHeader header;
  if (!header.parse({data, size})) return 0;
  RT_CHECK(header.properties.data() + header.properties.size() == data + size, "not all of it");
  const PropertiesView view(header.properties);
  PropertyTraits traits;
  const bool valid = decode_traits(header.properties, traits);
  const auto decoded = BasicProperties::decode(header.properties);
  RT_CHECK(view.valid() == valid, "valid() and decode_traits() differ");
  RT_CHECK(decoded.has_value() == valid, "decode() and decode_traits() differ");
  if (!valid) {
    // Must stay inside all the same.
    view.headers();
    view.timestamp();
    view.cluster_id();
    view.priority();
    return 0;
  }
  check_view(view, *decoded);
  check_traits(traits, *decoded);
  const std::string encoded = decoded->encode();
  const auto again = BasicProperties::decode(ringtail::runtime::as_bytes(encoded));
  RT_CHECK(again == decoded, "decodes to other properties");
  RT_CHECK(again->encode() == encoded, "encodes to something else");
  return 0;
}
