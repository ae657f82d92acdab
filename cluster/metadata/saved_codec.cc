#include "cluster/metadata/saved_codec.h"

#include <limits>
#include <set>
#include <utility>

#include "broker/runtime/log.h"
#include "cluster/metadata/saved.pb.h"

namespace ringtail::cluster::metadata {

namespace {

using runtime::Code;
using runtime::Status;

// --- records to bytes ----------------------------------------------------------------------------

void encode(const VhostRecord& from, saved::Change& change) {
  saved::Vhost& to = *change.mutable_vhost();
  to.set_name(from.name);
  to.set_description(from.description);
  for (const std::string& tag : from.tags) to.add_tags(tag);
  to.set_default_queue_type(from.default_queue_type);
  if (from.limits.max_connections) to.set_max_connections(*from.limits.max_connections);
  if (from.limits.max_queues) to.set_max_queues(*from.limits.max_queues);
}

void encode(const UserRecord& from, saved::Change& change) {
  saved::User& to = *change.mutable_user();
  to.set_name(from.name);
  to.set_password_hash(from.password_hash);
  to.set_hashing(static_cast<saved::PasswordHashing>(from.hashing));
  for (const std::string& tag : from.tags) to.add_tags(tag);
  if (from.limits.max_connections) to.set_max_connections(*from.limits.max_connections);
  if (from.limits.max_channels) to.set_max_channels(*from.limits.max_channels);
}

void encode(const PermissionRecord& from, saved::Change& change) {
  saved::Permission& to = *change.mutable_permission();
  to.set_vhost(from.vhost);
  to.set_user(from.user);
  to.set_configure(from.configure);
  to.set_write(from.write);
  to.set_read(from.read);
}

void encode(const TopicPermissionRecord& from, saved::Change& change) {
  saved::TopicPermission& to = *change.mutable_topic_permission();
  to.set_vhost(from.vhost);
  to.set_user(from.user);
  to.set_exchange(from.exchange);
  to.set_write(from.write);
  to.set_read(from.read);
}

struct SettingEncoder {
  saved::PolicySetting& to;
  void operator()(bool value) const { to.set_flag(value); }
  void operator()(std::int64_t value) const { to.set_integer(value); }
  void operator()(double value) const { to.set_number(value); }
  void operator()(const std::string& value) const { to.set_text(value); }
  void operator()(const std::vector<std::string>& value) const {
    saved::StringList& list = *to.mutable_list();
    for (const std::string& item : value) list.add_items(item);
  }
};

void encode(const PolicyRecord& from, saved::Change& change) {
  saved::Policy& to = *change.mutable_policy();
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_of_operator(from.of_operator);
  to.set_pattern(from.pattern);
  to.set_apply_to(static_cast<saved::PolicyTarget>(from.apply_to));
  to.set_priority(from.priority);
  for (const auto& [key, value] : from.definition) {
    saved::PolicySetting& setting = *to.add_definition();
    setting.set_key(key);
    std::visit(SettingEncoder{setting}, value);
  }
}

void encode(const ParameterRecord& from, saved::Change& change) {
  saved::Parameter& to = *change.mutable_parameter();
  to.set_component(from.component);
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_value(from.value);
}

void encode(const ExchangeRecord& from, saved::Change& change) {
  saved::Exchange& to = *change.mutable_exchange();
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_type(from.type);
  to.set_auto_delete(from.auto_delete);
  to.set_internal(from.internal);
  to.set_arguments(from.arguments);
}

void encode(const QueueRecord& from, saved::Change& change) {
  saved::Queue& to = *change.mutable_queue();
  to.set_vhost(from.vhost);
  to.set_name(from.name);
  to.set_qid(from.qid.value);
  to.set_auto_delete(from.auto_delete);
  to.set_arguments(from.arguments);
  const QueueOptions& options = from.options;
  to.set_type(static_cast<saved::QueueType>(options.type));
  if (options.message_ttl_ms) to.set_message_ttl_ms(*options.message_ttl_ms);
  if (options.expires_ms) to.set_expires_ms(*options.expires_ms);
  if (options.max_length) to.set_max_length(*options.max_length);
  if (options.max_length_bytes) to.set_max_length_bytes(*options.max_length_bytes);
  if (options.overflow) to.set_overflow(static_cast<saved::Overflow>(*options.overflow));
  if (options.dead_letter_exchange) to.set_dead_letter_exchange(*options.dead_letter_exchange);
  if (options.dead_letter_routing_key) {
    to.set_dead_letter_routing_key(*options.dead_letter_routing_key);
  }
  if (options.delivery_limit) to.set_delivery_limit(*options.delivery_limit);
  if (options.consumer_timeout_ms) to.set_consumer_timeout_ms(*options.consumer_timeout_ms);
  to.set_max_priority(options.max_priority);
  to.set_single_active_consumer(options.single_active_consumer);
}

void encode(const BindingRecord& from, saved::Change& change) {
  saved::Binding& to = *change.mutable_binding();
  to.set_vhost(from.vhost);
  to.set_source(from.source);
  to.set_to_exchange(from.kind == DestinationKind::kExchange);
  to.set_destination(from.destination);
  to.set_routing_key(from.routing_key);
  to.set_arguments(from.arguments);
}

// What names a record is enough to erase it.
template <typename Record>
Record name_of(const Record& record) {
  return record;
}
ExchangeRecord name_of(const ExchangeRecord& record) {
  return {.vhost = record.vhost, .name = record.name};
}
QueueRecord name_of(const QueueRecord& record) {
  QueueRecord name;
  name.qid = record.qid;
  name.vhost = record.vhost;
  name.name = record.name;
  return name;
}
PolicyRecord name_of(const PolicyRecord& record) {
  return {.vhost = record.vhost, .name = record.name, .of_operator = record.of_operator};
}
UserRecord name_of(const UserRecord& record) { return {.name = record.name}; }
VhostRecord name_of(const VhostRecord& record) { return {.name = record.name}; }

// --- bytes to records ----------------------------------------------------------------------------

template <typename Enum>
Enum enum_of(int value, Enum last) {
  return value >= 0 && value <= static_cast<int>(last) ? static_cast<Enum>(value) : Enum{};
}

VhostRecord decode(const saved::Vhost& from) {
  VhostRecord to;
  to.name = from.name();
  to.description = from.description();
  to.tags = {from.tags().begin(), from.tags().end()};
  to.default_queue_type = from.default_queue_type();
  if (from.has_max_connections()) to.limits.max_connections = from.max_connections();
  if (from.has_max_queues()) to.limits.max_queues = from.max_queues();
  return to;
}

UserRecord decode(const saved::User& from) {
  UserRecord to;
  to.name = from.name();
  to.password_hash = from.password_hash();
  to.hashing = enum_of(from.hashing(), PasswordHashing::kMd5);
  to.tags = {from.tags().begin(), from.tags().end()};
  if (from.has_max_connections()) to.limits.max_connections = from.max_connections();
  if (from.has_max_channels()) to.limits.max_channels = from.max_channels();
  return to;
}

PermissionRecord decode(const saved::Permission& from) {
  return {from.vhost(), from.user(), from.configure(), from.write(), from.read()};
}

TopicPermissionRecord decode(const saved::TopicPermission& from) {
  return {from.vhost(), from.user(), from.exchange(), from.write(), from.read()};
}

PolicyRecord decode(const saved::Policy& from) {
  PolicyRecord to;
  to.vhost = from.vhost();
  to.name = from.name();
  to.of_operator = from.of_operator();
  to.pattern = from.pattern();
  to.apply_to = enum_of(from.apply_to(), PolicyTarget::kQuorumQueues);
  to.priority = from.priority();
  for (const saved::PolicySetting& setting : from.definition()) {
    PolicyValue value;
    switch (setting.value_case()) {
      case saved::PolicySetting::kFlag:
        value = setting.flag();
        break;
      case saved::PolicySetting::kInteger:
        value = std::int64_t{setting.integer()};
        break;
      case saved::PolicySetting::kNumber:
        value = setting.number();
        break;
      case saved::PolicySetting::kText:
        value = setting.text();
        break;
      case saved::PolicySetting::kList:
        value =
            std::vector<std::string>(setting.list().items().begin(), setting.list().items().end());
        break;
      case saved::PolicySetting::VALUE_NOT_SET:
        continue;
    }
    to.definition.emplace(setting.key(), std::move(value));
  }
  return to;
}

ParameterRecord decode(const saved::Parameter& from) {
  return {from.component(), from.vhost(), from.name(), from.value()};
}

ExchangeRecord decode(const saved::Exchange& from) {
  ExchangeRecord to;
  to.vhost = from.vhost();
  to.name = from.name();
  to.type = from.type();
  to.durable = true;
  to.auto_delete = from.auto_delete();
  to.internal = from.internal();
  to.arguments = from.arguments();
  return to;
}

QueueRecord decode(const saved::Queue& from) {
  QueueRecord to;
  to.qid.value = from.qid();
  to.vhost = from.vhost();
  to.name = from.name();
  to.durable = true;
  to.auto_delete = from.auto_delete();
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
  return to;
}

BindingRecord decode(const saved::Binding& from) {
  BindingRecord to;
  to.vhost = from.vhost();
  to.source = from.source();
  to.kind = from.to_exchange() ? DestinationKind::kExchange : DestinationKind::kQueue;
  to.destination = from.destination();
  to.routing_key = from.routing_key();
  to.arguments = from.arguments();
  return to;
}

// The parts of a key, each with its length in front: no two keys are alike.
void append_part(std::string& key, std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key.append(part);
}

template <typename... Parts>
std::string key_of_parts(const Parts&... parts) {
  std::string key;
  (append_part(key, parts), ...);
  return key;
}

std::string key_of(const VhostRecord& record) { return record.name; }
std::string key_of(const UserRecord& record) { return record.name; }
std::string key_of(const PermissionRecord& record) {
  return key_of_parts(record.vhost, record.user);
}
std::string key_of(const TopicPermissionRecord& record) {
  return key_of_parts(record.vhost, record.user, record.exchange);
}
std::string key_of(const PolicyRecord& record) {
  return key_of_parts(record.vhost, record.of_operator ? "o" : "", record.name);
}
std::string key_of(const ParameterRecord& record) {
  return key_of_parts(record.component, record.vhost, record.name);
}
std::string key_of(const ExchangeRecord& record) { return key_of_parts(record.vhost, record.name); }
std::string key_of(const QueueRecord& record) { return key_of_parts(record.vhost, record.name); }
std::string key_of(const BindingRecord& record) {
  return key_of_parts(record.vhost, record.source, record.destination,
                      record.kind == DestinationKind::kExchange ? "e" : "", record.routing_key,
                      record.arguments);
}

// Records by key, each with its age: one that is put again keeps it.
template <typename Record>
class Table {
 public:
  void change(bool erased, Record record) {
    std::string key = key_of(record);
    if (erased) {
      rows_.erase(key);
      return;
    }
    Row& row = rows_[std::move(key)];
    if (row.age == 0) row.age = ++last_age_;
    row.record = std::move(record);
  }
  bool has(const std::string& key) const { return rows_.contains(key); }
  // By age; empties the table.
  std::vector<Record> take() {
    std::map<std::uint64_t, typename std::map<std::string, Row>::iterator> by_age;
    for (auto at = rows_.begin(); at != rows_.end(); ++at) by_age.emplace(at->second.age, at);
    std::vector<Record> records;
    records.reserve(rows_.size());
    for (const auto& [age, at] : by_age) {
      records.push_back(std::move(at->second.record));
      rows_.erase(at);
    }
    return records;
  }

 private:
  struct Row {
    std::uint64_t age = 0;
    Record record;
  };
  std::map<std::string, Row> rows_;
  std::uint64_t last_age_ = 0;
};

}  // namespace

void ChangeEncoder::changed(ChangeKind kind, AnyRecord record) {
  saved::Changes one;
  saved::Change& change = *one.add_changes();
  change.set_erased(kind == ChangeKind::kErase);
  std::visit(
      [&](const auto* known) {
        if (kind == ChangeKind::kErase) {
          encode(name_of(*known), change);
        } else {
          encode(*known, change);
        }
      },
      record);
  one.AppendToString(&bytes_);
}

struct SavedStateBuilder::State {
  Table<VhostRecord> vhosts;
  Table<UserRecord> users;
  Table<PermissionRecord> permissions;
  Table<TopicPermissionRecord> topic_permissions;
  Table<PolicyRecord> policies;
  Table<ParameterRecord> parameters;
  Table<ExchangeRecord> exchanges;
  Table<QueueRecord> queues;
  Table<BindingRecord> bindings;

  bool apply(const saved::Change& change);
  bool has_exchange(const std::string& vhost, const std::string& name) const;
  bool whole(const BindingRecord& binding) const;
};

SavedStateBuilder::SavedStateBuilder() : state_(std::make_unique<State>()) {}
SavedStateBuilder::~SavedStateBuilder() = default;

bool SavedStateBuilder::State::apply(const saved::Change& change) {
  const bool erased = change.erased();
  switch (change.record_case()) {
    case saved::Change::kVhost:
      vhosts.change(erased, decode(change.vhost()));
      return true;
    case saved::Change::kUser:
      users.change(erased, decode(change.user()));
      return true;
    case saved::Change::kPermission:
      permissions.change(erased, decode(change.permission()));
      return true;
    case saved::Change::kTopicPermission:
      topic_permissions.change(erased, decode(change.topic_permission()));
      return true;
    case saved::Change::kPolicy:
      policies.change(erased, decode(change.policy()));
      return true;
    case saved::Change::kParameter:
      parameters.change(erased, decode(change.parameter()));
      return true;
    case saved::Change::kExchange:
      exchanges.change(erased, decode(change.exchange()));
      return true;
    case saved::Change::kQueue:
      queues.change(erased, decode(change.queue()));
      return true;
    case saved::Change::kBinding:
      bindings.change(erased, decode(change.binding()));
      return true;
    case saved::Change::RECORD_NOT_SET:
      break;
  }
  return false;
}

Status SavedStateBuilder::apply(std::string_view bytes) {
  saved::Changes changes;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !changes.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {Code::kCorrupt, "does not hold changes of records"};
  }
  for (const saved::Change& change : changes.changes()) {
    if (!state_->apply(change)) {
      return {Code::kCorrupt, "holds a record of a kind that this version does not know"};
    }
  }
  return {};
}

// The pre-declared exchanges are not saved: they come with their vhost.
bool SavedStateBuilder::State::has_exchange(const std::string& vhost,
                                            const std::string& name) const {
  if (!vhosts.has(vhost)) return false;
  return name.starts_with("amq.") || exchanges.has(key_of_parts(vhost, name));
}

bool SavedStateBuilder::State::whole(const BindingRecord& binding) const {
  if (!has_exchange(binding.vhost, binding.source)) return false;
  return binding.kind == DestinationKind::kExchange
             ? has_exchange(binding.vhost, binding.destination)
             : queues.has(key_of_parts(binding.vhost, binding.destination));
}

SavedState SavedStateBuilder::finish() {
  SavedState saved;
  for (BindingRecord& binding : state_->bindings.take()) {
    if (state_->whole(binding)) {
      saved.bindings.push_back(std::move(binding));
    } else {
      runtime::log(runtime::LogLevel::kError, "metadata",
                   "a saved binding from '{}' to '{}' in vhost '{}' has lost an end: left out",
                   binding.source, binding.destination, binding.vhost);
    }
  }
  const auto share = [](auto& table, auto& list) {
    using Record = typename std::remove_reference_t<decltype(list)>::value_type::element_type;
    for (auto& record : table.take()) list.push_back(std::make_shared<Record>(std::move(record)));
  };
  share(state_->vhosts, saved.vhosts);
  share(state_->users, saved.users);
  share(state_->permissions, saved.permissions);
  share(state_->topic_permissions, saved.topic_permissions);
  share(state_->policies, saved.policies);
  share(state_->parameters, saved.parameters);
  share(state_->exchanges, saved.exchanges);
  share(state_->queues, saved.queues);
  return saved;
}

}  // namespace ringtail::cluster::metadata
