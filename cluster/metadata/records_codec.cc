#include "cluster/metadata/records_codec.h"

#include <variant>

#include "cluster/metadata/records.pb.h"

namespace ringtail::cluster::metadata {

// --- records to bytes ----------------------------------------------------------------------------

void encode(const VhostRecord& from, wire::Vhost& to) {
  to.set_name(from.name);
  to.set_description(from.description);
  for (const std::string& tag : from.tags) to.add_tags(tag);
  to.set_default_queue_type(from.default_queue_type);
  if (from.limits.max_connections) to.set_max_connections(*from.limits.max_connections);
  if (from.limits.max_queues) to.set_max_queues(*from.limits.max_queues);
}

void encode(const UserRecord& from, wire::User& to) {
  to.set_name(from.name);
  to.set_password_hash(from.password_hash);
  to.set_hashing(static_cast<wire::PasswordHashing>(from.hashing));
  for (const std::string& tag : from.tags) to.add_tags(tag);
  if (from.limits.max_connections) to.set_max_connections(*from.limits.max_connections);
  if (from.limits.max_channels) to.set_max_channels(*from.limits.max_channels);
}

void encode(const PermissionRecord& from, wire::Permission& to) {
  to.set_vhost(from.vhost);
  to.set_user(from.user);
  to.set_configure(from.configure);
  to.set_write(from.write);
  to.set_read(from.read);
}

void encode(const TopicPermissionRecord& from, wire::TopicPermission& to) {
  to.set_vhost(from.vhost);
  to.set_user(from.user);
  to.set_exchange(from.exchange);
  to.set_write(from.write);
  to.set_read(from.read);
}

namespace {

struct SettingEncoder {
  wire::PolicySetting& to;
  void operator()(bool value) const { to.set_flag(value); }
  void operator()(std::int64_t value) const { to.set_integer(value); }
  void operator()(double value) const { to.set_number(value); }
  void operator()(const std::string& value) const { to.set_text(value); }
  void operator()(const std::vector<std::string>& value) const {
    wire::StringList& list = *to.mutable_list();
    for (const std::string& item : value) list.add_items(item);
  }
};

}  // namespace

void encode(const PolicyRecord& from, wire::Policy& to) {
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_of_operator(from.of_operator);
  to.set_pattern(from.pattern);
  to.set_apply_to(static_cast<wire::PolicyTarget>(from.apply_to));
  to.set_priority(from.priority);
  for (const auto& [key, value] : from.definition) {
    wire::PolicySetting& setting = *to.add_definition();
    setting.set_key(key);
    std::visit(SettingEncoder{setting}, value);
  }
}

void encode(const ParameterRecord& from, wire::Parameter& to) {
  to.set_component(from.component);
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_value(from.value);
}

void encode(const ExchangeRecord& from, wire::Exchange& to) {
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_type(from.type);
  to.set_durable(from.durable);
  to.set_auto_delete(from.auto_delete);
  to.set_internal(from.internal);
  to.set_arguments(from.arguments);
}

namespace {

void encode(const Mirrors& from, wire::Mirrors& to) {
  to.set_mode(static_cast<wire::MirrorMode>(from.mode));
  to.set_count(from.count);
  for (const std::string& name : from.nodes) to.add_nodes(name);
  to.set_manual_sync(!from.automatic_sync);
  to.set_promote_unsynced_on_shutdown(from.promote_unsynced_on_shutdown);
  to.set_promote_unsynced_on_failure(from.promote_unsynced_on_failure);
  to.set_sync_batch_size(from.sync_batch_size);
}

void encode(const QueueView& from, wire::QueueView& to) {
  to.set_epoch(from.epoch);
  to.set_revision(from.revision);
  to.set_marked(from.marked);
  for (const QueueMember& member : from.members) {
    wire::QueueMember& one = *to.add_members();
    one.set_node(member.node.value);
    one.set_life(member.life);
    one.set_shard(member.shard.value);
    one.set_joined(member.joined);
    one.set_in_sync(member.in_sync);
    one.set_ended(member.ended);
  }
}

}  // namespace

void encode(const QueueRecord& from, wire::Queue& to) {
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_qid(from.qid.value);
  to.set_home(from.home.value);
  to.set_shard(from.shard.value);
  to.set_durable(from.durable);
  to.set_auto_delete(from.auto_delete);
  to.set_exclusive_owner(from.exclusive_owner);
  to.set_arguments(from.arguments);
  const QueueOptions& options = from.options;
  to.set_type(static_cast<wire::QueueType>(options.type));
  if (options.message_ttl_ms) to.set_message_ttl_ms(*options.message_ttl_ms);
  if (options.expires_ms) to.set_expires_ms(*options.expires_ms);
  if (options.max_length) to.set_max_length(*options.max_length);
  if (options.max_length_bytes) to.set_max_length_bytes(*options.max_length_bytes);
  if (options.overflow) to.set_overflow(static_cast<wire::Overflow>(*options.overflow));
  if (options.dead_letter_exchange) to.set_dead_letter_exchange(*options.dead_letter_exchange);
  if (options.dead_letter_routing_key) {
    to.set_dead_letter_routing_key(*options.dead_letter_routing_key);
  }
  if (options.delivery_limit) to.set_delivery_limit(*options.delivery_limit);
  if (options.consumer_timeout_ms) to.set_consumer_timeout_ms(*options.consumer_timeout_ms);
  to.set_max_priority(options.max_priority);
  to.set_single_active_consumer(options.single_active_consumer);
  if (options.mirrors) encode(*options.mirrors, *to.mutable_mirrors());
  if (options.min_in_sync) to.set_min_in_sync(*options.min_in_sync);
  if (from.view != nullptr) encode(*from.view, *to.mutable_view());
  to.set_last_epoch(from.last_epoch);
  to.set_last_revision(from.last_revision);
}

void encode(const BindingRecord& from, wire::Binding& to) {
  to.set_vhost(from.vhost);
  to.set_source(from.source);
  to.set_to_exchange(from.kind == DestinationKind::kExchange);
  to.set_destination(from.destination);
  to.set_routing_key(from.routing_key);
  to.set_arguments(from.arguments);
}

void encode(const NodeRecord& from, wire::Node& to) {
  to.set_id(from.id.value);
  to.set_name(from.name);
  to.set_host(from.host);
  to.set_port(from.port);
  to.set_shards(from.shards);
  to.set_life(from.life);
  to.set_up(from.up);
  to.set_boot(from.boot);
  to.set_stopped(from.stopped);
}

// --- bytes to records ----------------------------------------------------------------------------

namespace {

template <typename Enum>
Enum enum_of(int value, Enum last) {
  return value >= 0 && value <= static_cast<int>(last) ? static_cast<Enum>(value) : Enum{};
}

}  // namespace

VhostRecord decode(const wire::Vhost& from) {
  VhostRecord to;
  to.name = from.name();
  to.description = from.description();
  to.tags = {from.tags().begin(), from.tags().end()};
  to.default_queue_type = from.default_queue_type();
  if (from.has_max_connections()) to.limits.max_connections = from.max_connections();
  if (from.has_max_queues()) to.limits.max_queues = from.max_queues();
  return to;
}

UserRecord decode(const wire::User& from) {
  UserRecord to;
  to.name = from.name();
  to.password_hash = from.password_hash();
  to.hashing = enum_of(from.hashing(), PasswordHashing::kMd5);
  to.tags = {from.tags().begin(), from.tags().end()};
  if (from.has_max_connections()) to.limits.max_connections = from.max_connections();
  if (from.has_max_channels()) to.limits.max_channels = from.max_channels();
  return to;
}

PermissionRecord decode(const wire::Permission& from) {
  return {from.vhost(), from.user(), from.configure(), from.write(), from.read()};
}

TopicPermissionRecord decode(const wire::TopicPermission& from) {
  return {from.vhost(), from.user(), from.exchange(), from.write(), from.read()};
}

PolicyRecord decode(const wire::Policy& from) {
  PolicyRecord to;
  to.vhost = from.vhost();
  to.name = from.name();
  to.of_operator = from.of_operator();
  to.pattern = from.pattern();
  to.apply_to = enum_of(from.apply_to(), PolicyTarget::kQuorumQueues);
  to.priority = from.priority();
  for (const wire::PolicySetting& setting : from.definition()) {
    PolicyValue value;
    switch (setting.value_case()) {
      case wire::PolicySetting::kFlag:
        value = setting.flag();
        break;
      case wire::PolicySetting::kInteger:
        value = std::int64_t{setting.integer()};
        break;
      case wire::PolicySetting::kNumber:
        value = setting.number();
        break;
      case wire::PolicySetting::kText:
        value = setting.text();
        break;
      case wire::PolicySetting::kList:
        value =
            std::vector<std::string>(setting.list().items().begin(), setting.list().items().end());
        break;
      case wire::PolicySetting::VALUE_NOT_SET:
        continue;
    }
    to.definition.emplace(setting.key(), std::move(value));
  }
  return to;
}

ParameterRecord decode(const wire::Parameter& from) {
  return {from.component(), from.vhost(), from.name(), from.value()};
}

ExchangeRecord decode(const wire::Exchange& from) {
  ExchangeRecord to;
  to.vhost = from.vhost();
  to.name = from.name();
  to.type = from.type();
  to.durable = from.durable();
  to.auto_delete = from.auto_delete();
  to.internal = from.internal();
  to.arguments = from.arguments();
  return to;
}

namespace {

Mirrors mirrors_of(const wire::Mirrors& from) {
  Mirrors to;
  to.mode = enum_of(from.mode(), MirrorMode::kMajority);
  to.count = from.count();
  to.nodes = {from.nodes().begin(), from.nodes().end()};
  to.automatic_sync = !from.manual_sync();
  to.promote_unsynced_on_shutdown = from.promote_unsynced_on_shutdown();
  to.promote_unsynced_on_failure = from.promote_unsynced_on_failure();
  to.sync_batch_size = from.sync_batch_size();
  return to;
}

std::shared_ptr<const QueueView> view_of(const wire::QueueView& from) {
  auto to = std::make_shared<QueueView>();
  to->epoch = from.epoch();
  to->revision = from.revision();
  to->marked = from.marked();
  to->members.reserve(static_cast<std::size_t>(from.members_size()));
  for (const wire::QueueMember& one : from.members()) {
    to->members.push_back({NodeId{one.node()}, one.life(),
                           ShardId{static_cast<std::uint16_t>(one.shard())}, one.joined(),
                           one.in_sync(), one.ended()});
  }
  return to;
}

}  // namespace

QueueRecord decode(const wire::Queue& from) {
  QueueRecord to;
  to.qid.value = from.qid();
  to.vhost = from.vhost();
  to.name = from.name();
  to.home.value = from.home();
  to.shard.value = static_cast<std::uint16_t>(from.shard());
  to.durable = from.durable();
  to.auto_delete = from.auto_delete();
  to.exclusive_owner = from.exclusive_owner();
  to.arguments = from.arguments();
  QueueOptions& options = to.options;
  options.type = enum_of(from.type(), QueueType::kQuorum);
  if (from.has_message_ttl_ms()) options.message_ttl_ms = from.message_ttl_ms();
  if (from.has_expires_ms()) options.expires_ms = from.expires_ms();
  if (from.has_max_length()) options.max_length = from.max_length();
  if (from.has_max_length_bytes()) options.max_length_bytes = from.max_length_bytes();
  if (from.has_overflow()) {
    options.overflow = enum_of(from.overflow(), Overflow::kRejectPublishDlx);
  }
  if (from.has_dead_letter_exchange()) options.dead_letter_exchange = from.dead_letter_exchange();
  if (from.has_dead_letter_routing_key()) {
    options.dead_letter_routing_key = from.dead_letter_routing_key();
  }
  if (from.has_delivery_limit()) options.delivery_limit = from.delivery_limit();
  if (from.has_consumer_timeout_ms()) options.consumer_timeout_ms = from.consumer_timeout_ms();
  options.max_priority = static_cast<std::uint8_t>(from.max_priority());
  options.single_active_consumer = from.single_active_consumer();
  if (from.has_mirrors()) options.mirrors = mirrors_of(from.mirrors());
  if (from.has_min_in_sync()) options.min_in_sync = from.min_in_sync();
  if (from.has_view() && from.view().members_size() > 0) to.view = view_of(from.view());
  to.last_epoch = from.last_epoch();
  to.last_revision = from.last_revision();
  return to;
}

BindingRecord decode(const wire::Binding& from) {
  BindingRecord to;
  to.vhost = from.vhost();
  to.source = from.source();
  to.kind = from.to_exchange() ? DestinationKind::kExchange : DestinationKind::kQueue;
  to.destination = from.destination();
  to.routing_key = from.routing_key();
  to.arguments = from.arguments();
  return to;
}

NodeRecord decode(const wire::Node& from) {
  NodeRecord to;
  to.id.value = from.id();
  to.name = from.name();
  to.host = from.host();
  to.port = static_cast<std::uint16_t>(from.port());
  to.shards = static_cast<std::uint16_t>(from.shards());
  to.life = from.life();
  to.up = from.up();
  to.boot = from.boot();
  to.stopped = from.stopped();
  return to;
}

}  // namespace ringtail::cluster::metadata
