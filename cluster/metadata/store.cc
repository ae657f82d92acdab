#include "cluster/metadata/store.h"

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "broker/runtime/check.h"
#include "cluster/metadata/access_records.h"

namespace ringtail::cluster::metadata {

namespace {

namespace intrusive = boost::intrusive;

struct BySource;
struct ByDestination;
using SourceHook = intrusive::list_base_hook<intrusive::tag<BySource>>;
using DestinationHook = intrusive::list_base_hook<intrusive::tag<ByDestination>>;

struct ExchangeEntry;
struct Endpoint;

// One binding: in the set of all (which owns it), in the list of its source and in that of its
// destination. Key and arguments lie side by side in one allocation, because there may be millions.
struct Binding : SourceHook, DestinationHook {
  ExchangeEntry* source = nullptr;
  Endpoint* destination = nullptr;
  std::size_t hash = 0;
  std::unique_ptr<char[]> text;
  std::uint32_t key_size = 0;
  std::uint32_t arguments_size = 0;

  std::string_view key() const { return {text.get(), key_size}; }
  std::string_view arguments() const { return {text.get() + key_size, arguments_size}; }
};

template <typename Tag>
using BindingList = intrusive::list<Binding, intrusive::base_hook<intrusive::list_base_hook<Tag>>,
                                    intrusive::constant_time_size<false>>;

// What a binding may point to. `id` is unique among queues and exchanges and grows with creation.
struct Endpoint {
  Endpoint(DestinationKind destination_kind, std::uint64_t number)
      : kind(destination_kind), id(number) {}
  const DestinationKind kind;
  const std::uint64_t id;
  BindingList<intrusive::tag<ByDestination>> bindings_to;
};

struct QueueEntry : Endpoint {
  explicit QueueEntry(std::uint64_t number) : Endpoint(DestinationKind::kQueue, number) {}
  std::shared_ptr<const QueueRecord> record;
};

struct ExchangeEntry : Endpoint {
  explicit ExchangeEntry(std::uint64_t number) : Endpoint(DestinationKind::kExchange, number) {}
  std::shared_ptr<const ExchangeRecord> record;
  BindingList<intrusive::tag<BySource>> bindings_from;
  bool going = false;  // being removed
};

// What makes a binding itself and no other.
struct BindingKey {
  const ExchangeEntry* source;
  const Endpoint* destination;
  std::string_view key;
  std::string_view arguments;
};

std::size_t mix(std::size_t hash, std::size_t more) {
  return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
}

struct BindingHash {
  using is_transparent = void;
  std::size_t operator()(const std::unique_ptr<Binding>& binding) const noexcept {
    return binding->hash;
  }
  std::size_t operator()(const BindingKey& key) const noexcept {
    const std::hash<std::string_view> text;
    std::size_t hash = mix(text(key.key), key.source->id);
    hash = mix(hash, key.destination->id);
    return key.arguments.empty() ? hash : mix(hash, text(key.arguments));
  }
};

struct BindingEqual {
  using is_transparent = void;
  static BindingKey view(const BindingKey& key) { return key; }
  static BindingKey view(const std::unique_ptr<Binding>& binding) {
    return {binding->source, binding->destination, binding->key(), binding->arguments()};
  }
  template <typename Left, typename Right>
  bool operator()(const Left& left, const Right& right) const noexcept {
    const BindingKey a = view(left);
    const BindingKey b = view(right);
    return a.source == b.source && a.destination == b.destination && a.key == b.key &&
           a.arguments == b.arguments;
  }
};

// The keys are the names in the records.
struct Vhost {
  std::shared_ptr<const VhostRecord> record;
  std::unordered_map<std::string_view, std::unique_ptr<ExchangeEntry>> exchanges;
  std::unordered_map<std::string_view, std::unique_ptr<QueueEntry>> queues;
};

template <typename Map>
auto* find_entry(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second.get();
}

// In the order of creation, since a hash map has none.
template <typename Entry, typename Map>
void append_entries(const Map& map, std::vector<const Entry*>& out) {
  for (const auto& [name, entry] : map) out.push_back(entry.get());
}
template <typename Entry>
void sort_by_creation(std::vector<const Entry*>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->id < b->id; });
}

BindingRecord record_of(const Binding& binding) {
  BindingRecord record;
  const ExchangeRecord& source = *binding.source->record;
  record.vhost = source.vhost;
  record.source = source.name;
  record.kind = binding.destination->kind;
  record.destination = record.kind == DestinationKind::kQueue
                           ? static_cast<const QueueEntry*>(binding.destination)->record->name
                           : static_cast<const ExchangeEntry*>(binding.destination)->record->name;
  record.routing_key = binding.key();
  record.arguments = binding.arguments();
  return record;
}

struct Predeclared {
  const char* name;
  const char* type;
  bool internal;
};

constexpr Predeclared kPredeclared[] = {
    {"", "direct", false},
    {"amq.direct", "direct", false},
    {"amq.fanout", "fanout", false},
    {"amq.topic", "topic", false},
    {"amq.headers", "headers", false},
    {"amq.match", "headers", false},
    {"amq.rabbitmq.trace", "topic", true},
};

// Qids stay below the ids of well-known actors (service.h) and of invented ones (ids.h).
constexpr std::uint64_t kQidLimit = 1ULL << 62;

}  // namespace

struct Store::State {
  State(std::uint16_t shards, std::uint64_t& store_version, std::uint64_t& store_access_version)
      : queues_of_shard(shards, 0), version(store_version), access_version(store_access_version) {}

  std::map<std::string, Vhost, std::less<>> vhosts;
  std::unordered_set<std::unique_ptr<Binding>, BindingHash, BindingEqual> bindings;
  std::vector<std::size_t> queues_of_shard;
  std::uint64_t next_id = 1;
  std::uint64_t next_qid = 1;
  std::uint64_t& version;         // the store's
  std::uint64_t& access_version;  // the store's
  AccessRecords access;
  RecordMap<std::tuple<std::string, bool, std::string>, PolicyRecord> policies;
  std::vector<Observer*> observers;
  std::vector<ExchangeEntry*> orphans;  // auto-delete exchanges that lost their last binding
  bool applying = false;

  Vhost* vhost(std::string_view name) {
    const auto found = vhosts.find(name);
    return found == vhosts.end() ? nullptr : &found->second;
  }
  const Vhost* vhost(std::string_view name) const {
    const auto found = vhosts.find(name);
    return found == vhosts.end() ? nullptr : &found->second;
  }

  CommandResult apply(const PutVhost& command);
  CommandResult apply(const DeleteVhost& command);
  CommandResult apply(const SetVhostLimits& command);
  CommandResult apply(const DeleteUser& command);
  CommandResult apply(const PutPolicy& command);
  CommandResult apply(const DeletePolicy& command);
  // Those that change nothing but the access records.
  template <typename AccessCommand>
  CommandResult apply(const AccessCommand& command) {
    if constexpr (requires { command.record.vhost; }) {
      if (!command.record.vhost.empty() && vhost(command.record.vhost) == nullptr) {
        return {Outcome::kNoVhost, nullptr, nullptr};
      }
    }
    return access_result(access.apply(command));
  }
  CommandResult access_result(Outcome outcome);
  CommandResult apply(const DeclareExchange& command);
  CommandResult apply(const DeleteExchange& command);
  CommandResult apply(const DeclareQueue& command);
  CommandResult apply(const DeleteQueue& command);
  CommandResult apply(const Bind& command);
  CommandResult apply(const Unbind& command);

  void create_vhost(const VhostRecord& record);
  void create_exchange(Vhost& vhost, const ExchangeRecord& record);
  // Finds both ends of a binding; anything but kDone says which is missing.
  Outcome resolve(const BindingRecord& record, BindingKey& key);
  void drop_binding(Binding& binding);
  void drop_exchange(Vhost& vhost, ExchangeEntry& entry);
  void drop_orphans(Vhost& vhost);
  ShardId emptiest_shard() const;
};

Store::Store(std::uint16_t shards)
    : state_(std::make_unique<State>(shards, version_, access_version_)) {
  RT_CHECK(shards > 0, "a node has at least one shard");
  VhostRecord record;
  record.name = "/";
  state_->create_vhost(record);
}

Store::~Store() {
  // The lists must be empty when their entries go.
  for (const auto& binding : state_->bindings) {
    binding->source->bindings_from.erase(binding->source->bindings_from.iterator_to(*binding));
    binding->destination->bindings_to.erase(
        binding->destination->bindings_to.iterator_to(*binding));
  }
}

CommandResult Store::apply(const Command& command) {
  RT_CHECK(!state_->applying, "an observer changed the store that it observes");
  state_->applying = true;
  CommandResult result =
      std::visit([this](const auto& known) { return state_->apply(known); }, command);
  state_->applying = false;
  return result;
}

bool Store::has_vhost(std::string_view vhost) const { return state_->vhost(vhost) != nullptr; }

std::shared_ptr<const VhostRecord> Store::vhost(std::string_view name) const {
  const Vhost* found = state_->vhost(name);
  return found == nullptr ? nullptr : found->record;
}

std::shared_ptr<const UserRecord> Store::user(std::string_view name) const {
  return state_->access.users.find(std::string(name));
}

std::shared_ptr<const PermissionRecord> Store::permission(std::string_view vhost,
                                                          std::string_view user) const {
  return state_->access.permissions.find({std::string(vhost), std::string(user)});
}

std::shared_ptr<const TopicPermissionRecord> Store::topic_permission(
    std::string_view vhost, std::string_view user, std::string_view exchange) const {
  return state_->access.topic_permissions.find(
      {std::string(vhost), std::string(user), std::string(exchange)});
}

std::shared_ptr<const QueueRecord> Store::queue(std::string_view vhost,
                                                std::string_view name) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return nullptr;
  const QueueEntry* entry = find_entry(where->queues, name);
  return entry == nullptr ? nullptr : entry->record;
}

std::shared_ptr<const ExchangeRecord> Store::exchange(std::string_view vhost,
                                                      std::string_view name) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return nullptr;
  const ExchangeEntry* entry = find_entry(where->exchanges, name);
  return entry == nullptr ? nullptr : entry->record;
}

void Store::for_each_queue(
    const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const {
  std::vector<const QueueEntry*> queues;
  for (const auto& [name, vhost] : state_->vhosts) append_entries(vhost.queues, queues);
  sort_by_creation(queues);
  for (const QueueEntry* entry : queues) visit(entry->record);
}

void Store::for_each_vhost(
    const std::function<void(const std::shared_ptr<const VhostRecord>&)>& visit) const {
  for (const auto& [name, vhost] : state_->vhosts) visit(vhost.record);
}

void Store::for_each_user(
    const std::function<void(const std::shared_ptr<const UserRecord>&)>& visit) const {
  state_->access.users.for_each(visit);
}

void Store::for_each_permission(
    const std::function<void(const std::shared_ptr<const PermissionRecord>&)>& visit) const {
  state_->access.permissions.for_each(visit);
}

void Store::for_each_topic_permission(
    const std::function<void(const std::shared_ptr<const TopicPermissionRecord>&)>& visit) const {
  state_->access.topic_permissions.for_each(visit);
}

void Store::for_each_policy(
    const std::function<void(const std::shared_ptr<const PolicyRecord>&)>& visit) const {
  state_->policies.for_each(visit);
}

void Store::for_each_parameter(
    const std::function<void(const std::shared_ptr<const ParameterRecord>&)>& visit) const {
  state_->access.parameters.for_each(visit);
}

void Store::for_each_exchange(
    std::string_view vhost,
    const std::function<void(const std::shared_ptr<const ExchangeRecord>&)>& visit) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return;
  std::vector<const ExchangeEntry*> exchanges;
  append_entries(where->exchanges, exchanges);
  sort_by_creation(exchanges);
  for (const ExchangeEntry* entry : exchanges) visit(entry->record);
}

void Store::for_each_queue_of(
    std::string_view vhost,
    const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return;
  std::vector<const QueueEntry*> queues;
  append_entries(where->queues, queues);
  sort_by_creation(queues);
  for (const QueueEntry* entry : queues) visit(entry->record);
}

void Store::for_each_binding(std::string_view vhost,
                             const std::function<void(const BindingRecord&)>& visit) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return;
  std::vector<const ExchangeEntry*> exchanges;
  append_entries(where->exchanges, exchanges);
  sort_by_creation(exchanges);
  for (const ExchangeEntry* entry : exchanges) {
    for (const Binding& binding : entry->bindings_from) visit(record_of(binding));
  }
}

std::size_t Store::queue_count(std::string_view vhost) const {
  const Vhost* where = state_->vhost(vhost);
  return where == nullptr ? 0 : where->queues.size();
}

void Store::add_observer(Observer& observer) {
  RT_CHECK(!state_->applying, "an observer was added in the middle of a change");
  std::vector<const ExchangeEntry*> exchanges;
  for (const auto& [name, vhost] : state_->vhosts) append_entries(vhost.exchanges, exchanges);
  sort_by_creation(exchanges);
  for (const ExchangeEntry* entry : exchanges) observer.exchange_added(entry->record);
  for_each_queue([&observer](const auto& record) { observer.queue_added(record); });
  for (const ExchangeEntry* entry : exchanges) {
    for (const Binding& binding : entry->bindings_from) observer.binding_added(record_of(binding));
  }
  state_->observers.push_back(&observer);
}

CommandResult Store::State::access_result(Outcome outcome) {
  if (outcome == Outcome::kDone || outcome == Outcome::kReplaced) {
    ++access_version;
    for (Observer* observer : observers) observer->access_changed();
  }
  return {outcome, nullptr, nullptr};
}

CommandResult Store::State::apply(const PutVhost& command) {
  Vhost* where = vhost(command.record.name);
  if (where == nullptr) {
    create_vhost(command.record);
    return access_result(Outcome::kDone);
  }
  VhostRecord record = command.record;
  record.limits = where->record->limits;
  where->record = std::make_shared<const VhostRecord>(std::move(record));
  return access_result(Outcome::kReplaced);
}

CommandResult Store::State::apply(const SetVhostLimits& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  VhostRecord record = *where->record;
  record.limits = command.limits;
  where->record = std::make_shared<const VhostRecord>(std::move(record));
  return access_result(Outcome::kReplaced);
}

CommandResult Store::State::apply(const DeleteUser& command) {
  const auto removed = access.remove_user(command.name);
  if (removed == nullptr) return {Outcome::kNoUser, nullptr, nullptr};
  const CommandResult result = access_result(Outcome::kDone);
  for (Observer* observer : observers) observer->user_removed(*removed);
  return result;
}

CommandResult Store::State::apply(const DeleteVhost&) {
  return {Outcome::kNoVhost, nullptr, nullptr};
}

CommandResult Store::State::apply(const PutPolicy& command) {
  if (vhost(command.record.vhost) == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  return {policies.put({command.record.vhost, command.record.of_operator, command.record.name},
                       command.record),
          nullptr, nullptr};
}

CommandResult Store::State::apply(const DeletePolicy& command) {
  const bool removed =
      policies.erase({command.vhost, command.of_operator, command.name}) != nullptr;
  return {removed ? Outcome::kDone : Outcome::kUnchanged, nullptr, nullptr};
}

CommandResult Store::State::apply(const DeclareExchange& command) {
  Vhost* where = vhost(command.record.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  if (const ExchangeEntry* entry = find_entry(where->exchanges, command.record.name)) {
    return {Outcome::kUnchanged, nullptr, entry->record};
  }
  create_exchange(*where, command.record);
  return {Outcome::kDone, nullptr, where->exchanges.find(command.record.name)->second->record};
}

CommandResult Store::State::apply(const DeleteExchange& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  ExchangeEntry* entry = find_entry(where->exchanges, command.name);
  if (entry == nullptr) return {Outcome::kUnchanged, nullptr, nullptr};
  if (entry->record->predeclared) return {Outcome::kUnchanged, nullptr, entry->record};
  if (command.if_unused && !entry->bindings_from.empty()) {
    return {Outcome::kInUse, nullptr, entry->record};
  }
  ++version;
  drop_exchange(*where, *entry);
  drop_orphans(*where);
  return {};
}

CommandResult Store::State::apply(const DeclareQueue& command) {
  Vhost* where = vhost(command.record.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  if (const QueueEntry* entry = find_entry(where->queues, command.record.name)) {
    return {Outcome::kUnchanged, entry->record, nullptr};
  }
  ++version;
  auto record = std::make_shared<QueueRecord>(command.record);
  RT_CHECK(next_qid < kQidLimit, "out of queue ids");
  record->qid = Qid{next_qid++};
  record->shard = record->exclusive() ? command.client_shard : emptiest_shard();
  RT_CHECK(record->shard.value < queues_of_shard.size(), "a client on a shard that is not there");
  ++queues_of_shard[record->shard.value];
  auto entry = std::make_unique<QueueEntry>(next_id++);
  entry->record = record;
  where->queues.emplace(record->name, std::move(entry));
  CommandResult result{Outcome::kDone, std::move(record), nullptr};
  for (Observer* observer : observers) observer->queue_added(result.queue);
  return result;
}

CommandResult Store::State::apply(const DeleteQueue& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  const auto found = where->queues.find(command.name);
  if (found == where->queues.end()) return {Outcome::kUnchanged, nullptr, nullptr};
  QueueEntry& entry = *found->second;
  if (entry.record->qid != command.qid) return {Outcome::kUnchanged, entry.record, nullptr};
  ++version;
  while (!entry.bindings_to.empty()) drop_binding(entry.bindings_to.front());
  const std::shared_ptr<const QueueRecord> record = entry.record;
  --queues_of_shard[record->shard.value];
  where->queues.erase(found);
  for (Observer* observer : observers) observer->queue_removed(*record);
  drop_orphans(*where);
  return {};
}

CommandResult Store::State::apply(const Bind& command) {
  BindingKey key{};
  const Outcome found = resolve(command.record, key);
  if (found != Outcome::kDone) return {found, nullptr, nullptr};
  // The default exchange's bindings are implied; the channel refuses others.
  if (key.source->record->name.empty() || bindings.find(key) != bindings.end()) {
    return {Outcome::kUnchanged, nullptr, key.source->record};
  }
  ++version;
  auto binding = std::make_unique<Binding>();
  binding->source = const_cast<ExchangeEntry*>(key.source);
  binding->destination = const_cast<Endpoint*>(key.destination);
  binding->hash = BindingHash()(key);
  binding->key_size = static_cast<std::uint32_t>(key.key.size());
  binding->arguments_size = static_cast<std::uint32_t>(key.arguments.size());
  const std::size_t size = key.key.size() + key.arguments.size();
  if (size > 0) {
    binding->text.reset(new char[size]);
    std::copy(key.key.begin(), key.key.end(), binding->text.get());
    std::copy(key.arguments.begin(), key.arguments.end(), binding->text.get() + key.key.size());
  }
  binding->source->bindings_from.push_back(*binding);
  binding->destination->bindings_to.push_back(*binding);
  CommandResult result{Outcome::kDone, nullptr, key.source->record};
  bindings.insert(std::move(binding));
  for (Observer* observer : observers) observer->binding_added(command.record);
  return result;
}

CommandResult Store::State::apply(const Unbind& command) {
  BindingKey key{};
  const Outcome outcome = resolve(command.record, key);
  if (outcome != Outcome::kDone) return {outcome, nullptr, nullptr};
  const auto found = bindings.find(key);
  if (found == bindings.end()) return {Outcome::kUnchanged, nullptr, key.source->record};
  ++version;
  Vhost& where = *vhost(command.record.vhost);
  drop_binding(**found);
  drop_orphans(where);
  const ExchangeEntry* source = find_entry(where.exchanges, command.record.source);
  return {Outcome::kDone, nullptr, source == nullptr ? nullptr : source->record};
}

void Store::State::create_vhost(const VhostRecord& vhost_record) {
  ++version;
  Vhost& where = vhosts[vhost_record.name];
  where.record = std::make_shared<const VhostRecord>(vhost_record);
  for (const Predeclared& known : kPredeclared) {
    ExchangeRecord record;
    record.vhost = vhost_record.name;
    record.name = known.name;
    record.type = known.type;
    record.durable = true;
    record.internal = known.internal;
    record.predeclared = true;
    create_exchange(where, record);
  }
}

void Store::State::create_exchange(Vhost& where, const ExchangeRecord& record) {
  ++version;
  auto entry = std::make_unique<ExchangeEntry>(next_id++);
  entry->record = std::make_shared<const ExchangeRecord>(record);
  const std::shared_ptr<const ExchangeRecord> added = entry->record;
  where.exchanges.emplace(added->name, std::move(entry));
  for (Observer* observer : observers) observer->exchange_added(added);
}

Outcome Store::State::resolve(const BindingRecord& record, BindingKey& key) {
  const Vhost* where = vhost(record.vhost);
  if (where == nullptr) return Outcome::kNoVhost;
  key.source = find_entry(where->exchanges, record.source);
  if (key.source == nullptr) return Outcome::kNoExchange;
  if (record.kind == DestinationKind::kQueue) {
    key.destination = find_entry(where->queues, record.destination);
  } else {
    key.destination = find_entry(where->exchanges, record.destination);
  }
  if (key.destination == nullptr) return Outcome::kNoDestination;
  key.key = record.routing_key;
  key.arguments = record.arguments;
  return Outcome::kDone;
}

void Store::State::drop_binding(Binding& binding) {
  const BindingRecord record = record_of(binding);
  ExchangeEntry& source = *binding.source;
  source.bindings_from.erase(source.bindings_from.iterator_to(binding));
  binding.destination->bindings_to.erase(binding.destination->bindings_to.iterator_to(binding));
  const BindingKey key{&source, binding.destination, binding.key(), binding.arguments()};
  bindings.erase(bindings.find(key));
  for (Observer* observer : observers) observer->binding_removed(record);
  if (source.record->auto_delete && source.bindings_from.empty() && !source.going &&
      !source.record->predeclared) {
    source.going = true;
    orphans.push_back(&source);
  }
}

void Store::State::drop_exchange(Vhost& where, ExchangeEntry& entry) {
  entry.going = true;
  while (!entry.bindings_from.empty()) drop_binding(entry.bindings_from.front());
  while (!entry.bindings_to.empty()) drop_binding(entry.bindings_to.front());
  const std::shared_ptr<const ExchangeRecord> record = entry.record;
  where.exchanges.erase(where.exchanges.find(record->name));
  for (Observer* observer : observers) observer->exchange_removed(*record);
}

// Removing one may orphan those bound to it; they join the end of the line.
void Store::State::drop_orphans(Vhost& where) {
  for (std::size_t next = 0; next < orphans.size(); ++next) drop_exchange(where, *orphans[next]);
  orphans.clear();
}

ShardId Store::State::emptiest_shard() const {
  const auto least = std::min_element(queues_of_shard.begin(), queues_of_shard.end());
  return ShardId{static_cast<std::uint16_t>(least - queues_of_shard.begin())};
}

}  // namespace ringtail::cluster::metadata
