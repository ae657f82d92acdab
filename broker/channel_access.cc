// What a channel's user may do, asked where RabbitMQ asks it (access_control.h knows the answers).
#include <algorithm>

#include "broker/access_control.h"
#include "broker/channel.h"

namespace ringtail::broker {

using amqp::Permission;
using cluster::metadata::QueueRecord;
using QueueRecordPtr = std::shared_ptr<const QueueRecord>;

namespace {

// Exchanges that a channel keeps the answer for; one that publishes to more asks again.
constexpr std::size_t kGrantsMax = 16;

constexpr std::string_view kTopic = "topic";
constexpr std::string_view kImpersonator = "impersonator";

}  // namespace

bool Channel::may(Permission permission, std::string_view kind, std::string_view name) {
  const std::string_view asked = kind == "exchange" ? AccessControl::shown_exchange(name) : name;
  if (broker_shard_.access().allows(connection_.user(), connection_.vhost(), permission, asked)) {
    return true;
  }
  fail(amqp::access_refused(kind, connection_.vhost(), name, connection_.user()));
  return false;
}

// Topic permissions are about exchanges of the type topic alone.
bool Channel::may_use_topic(Permission permission, const Exchange& exchange,
                            std::string_view routing_key) {
  const auto& record = RouteTable::record(exchange);
  if (record.type != kTopic) return true;
  const NamePattern* pattern = broker_shard_.access().topic_pattern(
      connection_.user(), connection_.vhost(), record.name, permission);
  if (pattern == nullptr || pattern->matches(routing_key)) return true;
  fail(amqp::topic_access_refused(routing_key, connection_.vhost(), record.name,
                                  connection_.user()));
  return false;
}

// --- publishing ---------------------------------------------------------------------------------

bool Channel::check_publish() {
  const std::uint64_t version = broker_shard_.view().access_version();
  if (grants_version_ != version) {
    grants_.clear();
    grants_version_ = version;
  }
  last_grant_ = nullptr;
  const std::string_view exchange = incoming_.exchange();
  const auto known = std::find_if(grants_.begin(), grants_.end(), [exchange](const auto& grant) {
    return grant.exchange == exchange;
  });
  if (known != grants_.end()) {
    last_grant_ = &*known;
  } else {
    if (!may(Permission::kWrite, "exchange", exchange)) return false;
    if (grants_.size() >= kGrantsMax) grants_.clear();
    last_grant_ = &grants_.emplace_back(
        PublishGrant{std::string(exchange),
                     broker_shard_.access().topic_pattern(connection_.user(), connection_.vhost(),
                                                          exchange, Permission::kWrite)});
  }
  return last_grant_->topic == nullptr || exchange_takes_publishes();
}

// What RabbitMQ checks before it looks at a message's properties, other than the permission on the
// exchange.
bool Channel::exchange_takes_publishes() {
  const std::string_view name = incoming_.exchange();
  const Exchange* exchange = broker_shard_.routes().find(connection_.vhost(), name);
  if (exchange == nullptr) {
    fail(amqp::not_found_exchange(connection_.vhost(), name));
    return false;
  }
  if (RouteTable::record(*exchange).internal) {
    fail(amqp::internal_exchange_refused(connection_.vhost(), name));
    return false;
  }
  return may_use_topic(Permission::kWrite, *exchange, incoming_.routing_key());
}

// Something is wrong with the message that comes, unless something is wrong with its exchange.
void Channel::fail_publish(amqp::AmqpError error) {
  if (exchange_takes_publishes()) fail(std::move(error));
}

// The property user-id must be the user's name, but for those that may speak for others.
bool Channel::impersonates(std::string_view user_id) const {
  if (user_id == connection_.user()) return true;
  const auto user = broker_shard_.view().user(connection_.user());
  return user != nullptr &&
         std::find(user->tags.begin(), user->tags.end(), kImpersonator) != user->tags.end();
}

// --- queues -------------------------------------------------------------------------------------

bool Channel::resolve_name(std::string_view name, std::string& resolved) {
  resolved = std::string(name);
  std::erase_if(resolved, [](char c) { return c == '\r' || c == '\n'; });
  if (name.empty()) resolved = last_queue_;
  if (!resolved.empty()) return true;
  fail(amqp::not_found_no_previous_queue());
  return false;
}

QueueRecordPtr Channel::usable_queue(std::string_view name, Permission permission) {
  std::string resolved;
  if (!resolve_name(name, resolved) || !may(permission, "queue", resolved)) return nullptr;
  auto record = broker_shard_.view().queue(connection_.vhost(), resolved);
  if (record == nullptr) {
    fail(amqp::not_found_queue(connection_.vhost(), resolved));
    return nullptr;
  }
  return check_exclusive(*record) ? record : nullptr;
}

}  // namespace ringtail::broker
