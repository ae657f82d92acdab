#include "broker/amqp/content_header.h"

#include <bit>

#include "broker/runtime/bytes.h"

namespace ringtail::amqp {

namespace {

constexpr std::uint16_t kContinued = 1;  // another flag word follows
constexpr std::uint16_t kUnknown = 2;    // the flag that the basic class has no property for

// Takes the values off the properties one by one, in the order of their flags.
class PropertyWalk {
 public:
  explicit PropertyWalk(std::span<const std::uint8_t> properties) : left_(properties) {
    if (!take_flags(flags_)) return;
    bool more = (flags_ & kContinued) != 0;
    if ((flags_ & kUnknown) != 0) return;
    flags_ = static_cast<std::uint16_t>(flags_ & ~kContinued);
    while (more) {
      std::uint16_t word = 0;
      // The basic class has no properties beyond the first word.
      if (!take_flags(word) || (word & ~kContinued) != 0) return;
      more = (word & kContinued) != 0;
    }
    ok_ = true;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && flags_ == 0 && left_.empty(); }
  std::uint16_t flags() const { return flags_; }

  // The next property and its value (strings and tables without their length); false at the end
  // and when the value is cut short.
  bool next(Property& property, std::span<const std::uint8_t>& value) {
    if (!ok_ || flags_ == 0) return false;
    const int highest = 15 - std::countl_zero(flags_);
    property = static_cast<Property>(1 << highest);
    flags_ = static_cast<std::uint16_t>(flags_ ^ (1 << highest));
    std::size_t head = 0;
    std::size_t size = 0;
    if (!measure(property, head, size) || left_.size() - head < size) {
      ok_ = false;
      return false;
    }
    value = left_.subspan(head, size);
    left_ = left_.subspan(head + size);
    return true;
  }

 private:
  bool take_flags(std::uint16_t& word) {
    if (left_.size() < 2) return false;
    word = load_u16(left_.data());
    left_ = left_.subspan(2);
    return true;
  }

  // Size of the length in front and of the value; false when not even the length is there.
  bool measure(Property property, std::size_t& head, std::size_t& size) const {
    switch (property) {
      case Property::kDeliveryMode:
      case Property::kPriority:
        size = 1;
        return true;
      case Property::kTimestamp:
        size = 8;
        return true;
      case Property::kHeaders:
        head = 4;
        if (left_.size() < head) return false;
        size = load_u32(left_.data());
        return true;
      case Property::kContentType:
      case Property::kContentEncoding:
      case Property::kCorrelationId:
      case Property::kReplyTo:
      case Property::kExpiration:
      case Property::kMessageId:
      case Property::kType:
      case Property::kUserId:
      case Property::kAppId:
      case Property::kClusterId:
        head = 1;
        if (left_.size() < head) return false;
        size = left_[0];
        return true;
    }
    return false;
  }

  std::span<const std::uint8_t> left_;
  std::uint16_t flags_ = 0;
  bool ok_ = false;
};

}  // namespace

namespace detail {

bool decode_traits_walk(std::span<const std::uint8_t> properties, PropertyTraits& traits) {
  PropertyWalk walk(properties);
  Property property{};
  std::span<const std::uint8_t> value;
  while (walk.next(property, value)) {
    switch (property) {
      case Property::kDeliveryMode:
        traits.persistent = value[0] == 2;
        break;
      case Property::kPriority:
        traits.has_priority = true;
        traits.priority = value[0];
        break;
      case Property::kExpiration:
        traits.has_expiration = true;
        traits.expiration = runtime::as_text(value);
        break;
      case Property::kUserId:
        traits.has_user_id = true;
        traits.user_id = runtime::as_text(value);
        break;
      case Property::kReplyTo:
        traits.has_reply_to = true;
        traits.reply_to = runtime::as_text(value);
        break;
      case Property::kHeaders:
        if (!validate_table(value)) return false;
        traits.has_headers = true;
        traits.headers = value;
        break;
      case Property::kContentType:
      case Property::kContentEncoding:
      case Property::kCorrelationId:
      case Property::kMessageId:
      case Property::kTimestamp:
      case Property::kType:
      case Property::kAppId:
      case Property::kClusterId:
        break;
    }
  }
  return walk.at_end();
}

}  // namespace detail

bool PropertiesView::valid() const {
  PropertyTraits traits;
  return decode_traits(properties_, traits);
}

bool PropertiesView::has(Property property) const {
  const PropertyWalk walk(properties_);
  return walk.ok() && (walk.flags() & static_cast<std::uint16_t>(property)) != 0;
}

std::optional<std::span<const std::uint8_t>> PropertiesView::value(Property wanted) const {
  PropertyWalk walk(properties_);
  if ((walk.flags() & static_cast<std::uint16_t>(wanted)) == 0) return std::nullopt;
  Property property{};
  std::span<const std::uint8_t> value;
  while (walk.next(property, value)) {
    if (property == wanted) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> PropertiesView::text(Property property) const {
  const auto found = value(property);
  if (!found) return std::nullopt;
  return runtime::as_text(*found);
}

std::optional<std::uint8_t> PropertiesView::octet(Property property) const {
  const auto found = value(property);
  if (!found) return std::nullopt;
  return (*found)[0];
}

std::optional<std::span<const std::uint8_t>> PropertiesView::headers() const {
  return value(Property::kHeaders);
}

std::optional<std::uint64_t> PropertiesView::timestamp() const {
  const auto found = value(Property::kTimestamp);
  if (!found) return std::nullopt;
  return load_u64(found->data());
}

namespace {

// The texts of BasicProperties with their flags, in the order of the flags.
struct TextProperty {
  Property property;
  std::optional<std::string> BasicProperties::*member;
};
constexpr TextProperty kTexts[] = {
    {Property::kContentType, &BasicProperties::content_type},
    {Property::kContentEncoding, &BasicProperties::content_encoding},
    {Property::kCorrelationId, &BasicProperties::correlation_id},
    {Property::kReplyTo, &BasicProperties::reply_to},
    {Property::kExpiration, &BasicProperties::expiration},
    {Property::kMessageId, &BasicProperties::message_id},
    {Property::kType, &BasicProperties::type},
    {Property::kUserId, &BasicProperties::user_id},
    {Property::kAppId, &BasicProperties::app_id},
    {Property::kClusterId, &BasicProperties::cluster_id},
};

// Builds the flags and the values behind them; call in the order of the flags.
class PropertyBuilder {
 public:
  void octet(Property property, std::optional<std::uint8_t> value) {
    if (!value) return;
    flag(property);
    out_.push_back(static_cast<char>(*value));
  }
  void number(Property property, std::optional<std::uint64_t> value) {
    if (!value) return;
    flag(property);
    std::uint8_t bytes[8];
    store_u64(bytes, *value);
    append(bytes);
  }
  void text(Property property, const std::optional<std::string>& value) {
    if (!value) return;
    flag(property);
    const std::size_t size = short_string_size(*value);
    out_.push_back(static_cast<char>(size));
    out_.append(*value, 0, size);
  }
  void table(Property property, const std::optional<FieldTable>& value) {
    if (!value) return;
    flag(property);
    const std::string entries = value->encode();
    std::uint8_t bytes[4];
    store_u32(bytes, static_cast<std::uint32_t>(entries.size()));
    append(bytes);
    out_ += entries;
  }
  std::string finish() {
    out_[0] = static_cast<char>(flags_ >> 8);
    out_[1] = static_cast<char>(flags_ & 0xFF);
    return std::move(out_);
  }

 private:
  void flag(Property property) {
    flags_ = static_cast<std::uint16_t>(flags_ | static_cast<std::uint16_t>(property));
  }
  void append(std::span<const std::uint8_t> bytes) { out_ += runtime::as_text(bytes); }

  std::string out_ = std::string(2, '\0');
  std::uint16_t flags_ = 0;
};

}  // namespace

std::optional<BasicProperties> BasicProperties::decode(std::span<const std::uint8_t> properties) {
  PropertyWalk walk(properties);
  BasicProperties out;
  Property property{};
  std::span<const std::uint8_t> value;
  while (walk.next(property, value)) {
    if (property == Property::kDeliveryMode) {
      out.delivery_mode = value[0];
    } else if (property == Property::kPriority) {
      out.priority = value[0];
    } else if (property == Property::kTimestamp) {
      out.timestamp = load_u64(value.data());
    } else if (property == Property::kHeaders) {
      out.headers = FieldTable::decode(value);
      if (!out.headers) return std::nullopt;
    } else {
      for (const TextProperty& text : kTexts) {
        if (text.property == property) out.*text.member = std::string(runtime::as_text(value));
      }
    }
  }
  if (!walk.at_end()) return std::nullopt;
  return out;
}

std::string BasicProperties::encode() const {
  PropertyBuilder builder;
  builder.text(Property::kContentType, content_type);
  builder.text(Property::kContentEncoding, content_encoding);
  builder.table(Property::kHeaders, headers);
  builder.octet(Property::kDeliveryMode, delivery_mode);
  builder.octet(Property::kPriority, priority);
  builder.text(Property::kCorrelationId, correlation_id);
  builder.text(Property::kReplyTo, reply_to);
  builder.text(Property::kExpiration, expiration);
  builder.text(Property::kMessageId, message_id);
  builder.number(Property::kTimestamp, timestamp);
  builder.text(Property::kType, type);
  builder.text(Property::kUserId, user_id);
  builder.text(Property::kAppId, app_id);
  builder.text(Property::kClusterId, cluster_id);
  return builder.finish();
}

}  // namespace ringtail::amqp
