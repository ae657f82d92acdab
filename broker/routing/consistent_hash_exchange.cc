// Consistent hash (RabbitMQ's plug-in): each message goes to one target, chosen by the hash of its
// routing key, of a header (argument hash-header) or of a property (hash-property); a binding's key
// is its weight. Messages without that header or property all go to one target. Further keys (CC,
// BCC) do not count.
//
// One binding of a target counts, its oldest; as in the plug-in, others of other keys stand by, but
// unlike there the next one takes over when it goes.
#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/routing/erlang_text.h"
#include "broker/routing/exchange.h"
#include "broker/routing/hash_ring.h"
#include "broker/routing/stable_hash.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

namespace {

constexpr std::string_view kHashHeader = "hash-header";
constexpr std::string_view kHashProperty = "hash-property";

enum class Source : std::uint8_t { kRoutingKey, kHeader, kMessageId, kCorrelationId, kTimestamp };

std::optional<Source> property_named(std::string_view name) {
  if (name == "message_id") return Source::kMessageId;
  if (name == "correlation_id") return Source::kCorrelationId;
  if (name == "timestamp") return Source::kTimestamp;
  return std::nullopt;
}

enum class Weight : std::uint8_t { kGood, kNoInteger, kTooSmall };

// Any number of digits is an integer to the plug-in; here a weight beyond 32 bits counts as the
// largest.
Weight weight_of(std::string_view key, std::uint32_t& weight) {
  std::string_view digits = key;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return Weight::kNoInteger;
  }
  weight = 0;
  const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
  if (error != std::errc()) weight = std::numeric_limits<std::uint32_t>::max();
  return negative || weight == 0 ? Weight::kTooSmall : Weight::kGood;
}

class ConsistentHashIndex : public BindingIndex {
 public:
  ConsistentHashIndex(Source source, std::string header)
      : source_(source), header_(std::move(header)) {}

  void add(std::string_view key, std::string_view arguments, const Target& target) override {
    std::vector<Binding>& bindings = bindings_[&target];
    Binding binding{std::string(key), std::string(arguments), 1};
    weight_of(key, binding.weight);
    bindings.push_back(std::move(binding));
    if (bindings.size() == 1) ring_.add(target, seed_of(target), bindings.front().weight);
  }

  void remove(std::string_view key, std::string_view arguments, const Target& target) override {
    const auto found = bindings_.find(&target);
    RT_CHECK(found != bindings_.end(), "a binding is removed that was never added");
    std::vector<Binding>& bindings = found->second;
    const auto binding = std::find_if(bindings.begin(), bindings.end(), [&](const Binding& one) {
      return one.key == key && one.arguments == arguments;
    });
    RT_CHECK(binding != bindings.end(), "a binding is removed that was never added");
    const bool counted = binding == bindings.begin();
    bindings.erase(binding);
    if (counted) {
      ring_.remove(target);
      if (!bindings.empty()) ring_.add(target, seed_of(target), bindings.front().weight);
    }
    if (bindings.empty()) bindings_.erase(found);
  }

  void match(const Routable& message, Matches& matches) const override {
    if (!ring_.empty()) matches.reach(ring_.find(hash_of(message)));
  }

 private:
  struct Binding {
    std::string key;
    std::string arguments;
    std::uint32_t weight;
  };

  static std::uint64_t seed_of(const Target& target) {
    return stable_hash(name_of(target), target.kind == Target::Kind::kQueue ? 1 : 2);
  }

  std::uint64_t hash_of(const Routable& message) const {
    const amqp::PropertiesView properties(message.properties);
    switch (source_) {
      case Source::kRoutingKey:
        return stable_hash(message.routing_key);
      case Source::kHeader: {
        const auto headers = properties.headers();
        const auto value = headers ? amqp::find_in_table(*headers, header_) : std::nullopt;
        // Of another type, another value.
        return value ? stable_hash(runtime::as_text(value->data),
                                   static_cast<std::uint64_t>(value->type))
                     : kNothing;
      }
      case Source::kMessageId:
        return stable_hash_of(properties.message_id());
      case Source::kCorrelationId:
        return stable_hash_of(properties.correlation_id());
      case Source::kTimestamp: {
        const auto seconds = properties.timestamp();
        return seconds ? mix_hash(*seconds + 1) : kNothing;
      }
    }
    return kNothing;
  }
  static std::uint64_t stable_hash_of(std::optional<std::string_view> text) {
    return text ? stable_hash(*text) : kNothing;
  }

  static constexpr std::uint64_t kNothing = 0;

  const Source source_;
  const std::string header_;
  // Of each target in the order in which they came: few.
  std::unordered_map<const Target*, std::vector<Binding>> bindings_;
  HashRing ring_;
};

Fault not_text(std::string_view argument, const amqp::ValueView& value) {
  return std::string("invalid arg '") + std::string(argument) + "': unacceptable_type " +
         amqp::type_name(value.type) + "; expected longstr";
}

}  // namespace

std::unique_ptr<BindingIndex> make_consistent_hash_index(const ExchangeRecord& record) {
  const auto table = runtime::as_bytes(record.arguments);
  if (const auto header = amqp::find_in_table(table, kHashHeader)) {
    return std::make_unique<ConsistentHashIndex>(Source::kHeader,
                                                 std::string(header->as_text().value_or("")));
  }
  const auto property = amqp::find_in_table(table, kHashProperty);
  const auto source = property ? property_named(property->as_text().value_or("")) : std::nullopt;
  return std::make_unique<ConsistentHashIndex>(source.value_or(Source::kRoutingKey), "");
}

Fault fault_of_consistent_hash(std::string_view arguments) {
  const auto header = amqp::find_in_table(runtime::as_bytes(arguments), kHashHeader);
  const auto property = amqp::find_in_table(runtime::as_bytes(arguments), kHashProperty);
  // The plug-in crashes at these two.
  if (header && !header->as_text()) return not_text(kHashHeader, *header);
  if (property && !property->as_text()) return not_text(kHashProperty, *property);
  if (header && property) return "hash-header and hash-property are mutually exclusive";
  if (property && !property_named(*property->as_text())) {
    return "Unsupported property: " + std::string(*property->as_text());
  }
  return std::nullopt;
}

Fault fault_of_consistent_hash_binding(std::string_view key, std::string_view) {
  std::uint32_t weight = 0;
  switch (weight_of(key, weight)) {
    case Weight::kGood:
      break;
    case Weight::kNoInteger:
      return "The binding key must be an integer: " + erlang_binary(key);
    case Weight::kTooSmall:
      return "The binding key must be greater than 0";
  }
  return std::nullopt;
}

}  // namespace ringtail::broker
