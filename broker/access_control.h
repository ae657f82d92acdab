// What users may do: permissions and topic permissions of the metadata as compiled patterns.
//
// One per shard, owned by its BrokerShard, on its thread. What was compiled for a user in a vhost
// is kept until View::access_version() changes: a change of permissions acts on the next operation
// of connections that are open. The hot path asks once per exchange and keeps the answer together
// with that version (Channel::may_publish()).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "broker/amqp/errors.h"
#include "broker/runtime/pattern.h"
#include "cluster/metadata/view.h"

namespace ringtail::broker {

// A pattern of a permission. An empty text matches the empty name alone; one that does not compile
// (the HTTP interface refuses them, a definitions file might bring one) matches nothing.
class NamePattern {
 public:
  explicit NamePattern(std::string_view text);
  bool matches(std::string_view name) const;

 private:
  enum class Kind : std::uint8_t { kEverything, kEmptyName, kPattern, kNothing };
  Kind kind_ = Kind::kNothing;
  std::optional<runtime::Pattern> pattern_;
};

class AccessControl {
 public:
  explicit AccessControl(const cluster::metadata::View& view) : view_(view) {}

  // What was answered holds while this does not change.
  std::uint64_t version() const { return view_.access_version(); }

  // Whether the user may enter the vhost.
  bool may_enter(std::string_view user, std::string_view vhost) const;

  // Whether the user may do this with the queue or exchange of that name (of the default exchange
  // shown_exchange()).
  bool allows(std::string_view user, std::string_view vhost, amqp::Permission permission,
              std::string_view name);

  // The pattern that routing keys of this topic exchange must match, {username} and {vhost} filled
  // in; null: any key will do. Valid until version() changes. `permission` is kWrite or kRead.
  const NamePattern* topic_pattern(std::string_view user, std::string_view vhost,
                                   std::string_view exchange, amqp::Permission permission);

  // "amq.default" for the default exchange, as which permissions know it.
  static std::string_view shown_exchange(std::string_view exchange) {
    return exchange.empty() ? std::string_view("amq.default") : exchange;
  }

 private:
  struct TopicRules {
    NamePattern write;
    NamePattern read;
  };
  struct Rules {
    NamePattern configure;
    NamePattern write;
    NamePattern read;
    // By exchange; null: no topic permission. Holds the exchanges that were asked for and exist in
    // records, never a name that a client made up.
    std::map<std::string, std::unique_ptr<TopicRules>, std::less<>> topics;
  };
  using Key = std::pair<std::string, std::string>;  // user, vhost

  Rules& rules(std::string_view user, std::string_view vhost);

  const cluster::metadata::View& view_;
  std::uint64_t rules_version_ = 0;
  std::map<Key, Rules> rules_;
};

// The text of a topic permission's pattern with the variables of RabbitMQ filled in: {username} and
// {vhost}. Each stands for itself: what it holds is quoted, so that a user's name is no pattern.
// {client_id} belongs to MQTT and stays as it is for AMQP clients.
std::string with_variables(std::string_view pattern, std::string_view user, std::string_view vhost);

}  // namespace ringtail::broker
