// The content header (AMQP 0-9-1, 4.2.6): class, body size and the basic class's properties.
//
// Properties stay encoded from publisher to consumer. PropertiesView looks into them,
// PropertyTraits is the little that the broker needs of every message, BasicProperties is for
// building them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "broker/amqp/field_table.h"
#include "broker/amqp/wire.h"

namespace ringtail::amqp {

// What a header frame carries. `properties` (flag words and values, not looked at yet) slices it.
struct ContentHeader {
  static constexpr std::size_t kFixedSize = 12;  // class, weight, body size

  std::uint16_t class_id = 0;
  std::uint64_t body_size = 0;
  std::span<const std::uint8_t> properties;

  // False when it is too short or its weight is not zero.
  bool parse(std::span<const std::uint8_t> payload) {
    if (payload.size() < kFixedSize + 2) return false;
    class_id = load_u16(payload.data());
    if (load_u16(payload.data() + 2) != 0) return false;
    body_size = load_u64(payload.data() + 4);
    properties = payload.subspan(kFixedSize);
    return true;
  }
};

// Flags of the first flag word, in the order in which the values follow.
enum class Property : std::uint16_t {
  kContentType = 1 << 15,
  kContentEncoding = 1 << 14,
  kHeaders = 1 << 13,
  kDeliveryMode = 1 << 12,
  kPriority = 1 << 11,
  kCorrelationId = 1 << 10,
  kReplyTo = 1 << 9,
  kExpiration = 1 << 8,
  kMessageId = 1 << 7,
  kTimestamp = 1 << 6,
  kType = 1 << 5,
  kUserId = 1 << 4,
  kAppId = 1 << 3,
  kClusterId = 1 << 2,
};

// What the broker needs of each message it takes. Texts and headers slice the properties.
struct PropertyTraits {
  bool persistent = false;  // delivery_mode 2
  bool has_priority = false;
  bool has_expiration = false;
  bool has_headers = false;
  bool has_user_id = false;
  bool has_reply_to = false;
  std::uint8_t priority = 0;
  std::string_view expiration;  // the text as received, not looked at
  std::string_view user_id;
  std::string_view reply_to;
  std::span<const std::uint8_t> headers;  // the entries of the table
};

namespace detail {
bool decode_traits_walk(std::span<const std::uint8_t> properties, PropertyTraits& traits);
}  // namespace detail

// Validates all of the properties (headers included) and takes the traits out of them. False when
// they are malformed: cut short, followed by more, a bad headers table, or a flag that the basic
// class does not know. `traits` must be default-made.
inline bool decode_traits(std::span<const std::uint8_t> properties, PropertyTraits& traits) {
  // Most messages carry nothing, or a delivery mode only.
  if (properties.size() == 2) return load_u16(properties.data()) == 0;
  if (properties.size() == 3 &&
      load_u16(properties.data()) == static_cast<std::uint16_t>(Property::kDeliveryMode)) {
    traits.persistent = properties[2] == 2;
    return true;
  }
  return detail::decode_traits_walk(properties, traits);
}

// Looks into encoded properties; each accessor walks up to its value. Slices them. Accessors answer
// none for what is not there and for everything in malformed properties from the damage on.
class PropertiesView {
 public:
  explicit PropertiesView(std::span<const std::uint8_t> properties) : properties_(properties) {}

  // Whether decode_traits() would accept them.
  bool valid() const;
  bool has(Property property) const;

  std::optional<std::string_view> content_type() const { return text(Property::kContentType); }
  std::optional<std::string_view> content_encoding() const {
    return text(Property::kContentEncoding);
  }
  std::optional<std::span<const std::uint8_t>> headers() const;  // the entries of the table
  std::optional<std::uint8_t> delivery_mode() const { return octet(Property::kDeliveryMode); }
  std::optional<std::uint8_t> priority() const { return octet(Property::kPriority); }
  std::optional<std::string_view> correlation_id() const { return text(Property::kCorrelationId); }
  std::optional<std::string_view> reply_to() const { return text(Property::kReplyTo); }
  std::optional<std::string_view> expiration() const { return text(Property::kExpiration); }
  std::optional<std::string_view> message_id() const { return text(Property::kMessageId); }
  std::optional<std::uint64_t> timestamp() const;
  std::optional<std::string_view> type() const { return text(Property::kType); }
  std::optional<std::string_view> user_id() const { return text(Property::kUserId); }
  std::optional<std::string_view> app_id() const { return text(Property::kAppId); }
  std::optional<std::string_view> cluster_id() const { return text(Property::kClusterId); }

 private:
  std::optional<std::span<const std::uint8_t>> value(Property property) const;
  std::optional<std::string_view> text(Property property) const;
  std::optional<std::uint8_t> octet(Property property) const;

  std::span<const std::uint8_t> properties_;
};

// Properties decoded, to read at leisure, change, or build. Texts are at most 255 bytes; encode()
// cuts longer ones.
struct BasicProperties {
  std::optional<std::string> content_type;
  std::optional<std::string> content_encoding;
  std::optional<FieldTable> headers;
  std::optional<std::uint8_t> delivery_mode;
  std::optional<std::uint8_t> priority;
  std::optional<std::string> correlation_id;
  std::optional<std::string> reply_to;
  std::optional<std::string> expiration;
  std::optional<std::string> message_id;
  std::optional<std::uint64_t> timestamp;
  std::optional<std::string> type;
  std::optional<std::string> user_id;
  std::optional<std::string> app_id;
  std::optional<std::string> cluster_id;

  // None when PropertiesView::valid() says no.
  static std::optional<BasicProperties> decode(std::span<const std::uint8_t> properties);
  // Flag word and values.
  std::string encode() const;
  bool operator==(const BasicProperties&) const = default;
};

// The flag word of a message without properties.
inline constexpr std::uint8_t kNoProperties[2] = {0, 0};

}  // namespace ringtail::amqp
