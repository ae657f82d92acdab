#include "cluster/metadata/store.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

namespace {

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

template <typename List>
std::size_t visit_some(const List& bindings, std::size_t skip, std::size_t limit,
                       const std::function<void(const BindingRecord&)>& visit) {
  std::size_t visited = 0;
  for (const Binding& binding : bindings) {
    if (skip > 0) {
      --skip;
    } else if (visited == limit) {
      break;
    } else {
      visit(record_of(binding));
      ++visited;
    }
  }
  return visited;
}

}  // namespace

Store::Store() : state_(std::make_unique<State>(version_, access_version_)) {
  VhostRecord record;
  record.name = "/";
  state_->create_vhost(record);
}

Store::Store(std::uint16_t shards) : Store() {
  RT_CHECK(shards > 0, "a node has at least one shard");
  apply(NodeUp{{.id = NodeId{0}, .name = "node", .shards = shards, .boot = 1}});
}

Store::~Store() {
  // The lists must be empty when their entries go.
  state_->bindings.for_each_part([](const State::BindingSet& part) {
    for (const auto& binding : part) {
      binding->source->bindings_from.erase(binding->source->bindings_from.iterator_to(*binding));
      binding->destination->bindings_to.erase(
          binding->destination->bindings_to.iterator_to(*binding));
    }
  });
}

CommandResult Store::apply(const Command& command) {
  RT_CHECK(!state_->applying, "an observer changed the store that it observes");
  state_->applying = true;
  CommandResult result =
      std::visit([this](const auto& known) { return state_->apply(known); }, command);
  state_->applying = false;
  return result;
}

Qid Store::next_qid() const { return Qid{state_->next_qid}; }

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
  const QueueEntry* entry = where->queues.find(name);
  return entry == nullptr ? nullptr : entry->record;
}

std::shared_ptr<const ExchangeRecord> Store::exchange(std::string_view vhost,
                                                      std::string_view name) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return nullptr;
  const ExchangeEntry* entry = where->exchanges.find(name);
  return entry == nullptr ? nullptr : entry->record;
}

void Store::for_each_queue(
    const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const {
  std::vector<const QueueEntry*> queues;
  for (const auto& [name, vhost] : state_->vhosts) append_entries(vhost.queues, queues);
  sort_by_age(queues);
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
  sort_by_age(exchanges);
  for (const ExchangeEntry* entry : exchanges) visit(entry->record);
}

void Store::for_each_queue_of(
    std::string_view vhost,
    const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return;
  std::vector<const QueueEntry*> queues;
  append_entries(where->queues, queues);
  sort_by_age(queues);
  for (const QueueEntry* entry : queues) visit(entry->record);
}

void Store::for_each_binding(std::string_view vhost,
                             const std::function<void(const BindingRecord&)>& visit) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return;
  std::vector<const ExchangeEntry*> exchanges;
  append_entries(where->exchanges, exchanges);
  sort_by_age(exchanges);
  for (const ExchangeEntry* entry : exchanges) {
    for (const Binding& binding : entry->bindings_from) visit(record_of(binding));
  }
}

std::size_t Store::visit_bindings_from(
    std::string_view vhost, std::string_view source, std::size_t skip, std::size_t limit,
    const std::function<void(const BindingRecord&)>& visit) const {
  const Vhost* where = state_->vhost(vhost);
  const ExchangeEntry* entry = where == nullptr ? nullptr : where->exchanges.find(source);
  return entry == nullptr ? 0 : visit_some(entry->bindings_from, skip, limit, visit);
}

std::size_t Store::visit_bindings_to(std::string_view vhost, DestinationKind kind,
                                     std::string_view destination, std::size_t skip,
                                     std::size_t limit,
                                     const std::function<void(const BindingRecord&)>& visit) const {
  const Vhost* where = state_->vhost(vhost);
  if (where == nullptr) return 0;
  const Endpoint* entry = nullptr;
  if (kind == DestinationKind::kQueue) {
    entry = where->queues.find(destination);
  } else {
    entry = where->exchanges.find(destination);
  }
  return entry == nullptr ? 0 : visit_some(entry->bindings_to, skip, limit, visit);
}

std::size_t Store::queue_count(std::string_view vhost) const {
  const Vhost* where = state_->vhost(vhost);
  return where == nullptr ? 0 : where->queues.size();
}

void Store::add_observer(Observer& observer) {
  RT_CHECK(!state_->applying, "an observer was added in the middle of a change");
  std::vector<const ExchangeEntry*> exchanges;
  for (const auto& [name, vhost] : state_->vhosts) append_entries(vhost.exchanges, exchanges);
  sort_by_age(exchanges);
  for_each_node([&observer](const auto& record) { observer.node_changed(record); });
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
  replace_vhost(*where, std::move(record));
  return access_result(Outcome::kReplaced);
}

CommandResult Store::State::apply(const SetVhostLimits& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  VhostRecord record = *where->record;
  record.limits = command.limits;
  replace_vhost(*where, std::move(record));
  return access_result(Outcome::kReplaced);
}

CommandResult Store::State::apply(const DeleteUser& command) {
  const auto removed = access.remove_user(command.name);
  if (removed == nullptr) return {Outcome::kNoUser, nullptr, nullptr};
  const CommandResult result = access_result(Outcome::kDone);
  for (Observer* observer : observers) observer->user_removed(*removed);
  return result;
}

CommandResult Store::State::apply(const DeleteVhost& command) {
  Vhost* where = vhost(command.name);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  const std::shared_ptr<const VhostRecord> record = where->record;
  drop_vhost(*where);
  const CommandResult result = access_result(Outcome::kDone);
  for (Observer* observer : observers) observer->vhost_removed(*record);
  return result;
}

CommandResult Store::State::apply(const DeclareExchange& command) {
  Vhost* where = vhost(command.record.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  if (const ExchangeEntry* entry = where->exchanges.find(command.record.name)) {
    return {Outcome::kUnchanged, nullptr, entry->record};
  }
  create_exchange(*where, command.record);
  return {Outcome::kDone, nullptr, where->exchanges.find(command.record.name)->record};
}

CommandResult Store::State::apply(const DeleteExchange& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  ExchangeEntry* entry = where->exchanges.find(command.name);
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
  if (const QueueEntry* entry = where->queues.find(command.record.name)) {
    return {Outcome::kUnchanged, entry->record, nullptr};
  }
  const std::optional<std::uint64_t>& limit = where->record->limits.max_queues;
  if (limit && where->queues.size() >= *limit) return {Outcome::kQueueLimit, nullptr, nullptr};
  QueueRecord record = command.record;
  record.policy = policy_of(record);
  NodeEntry* home = home_of(record, command.fewest_queues);
  if (home == nullptr) return {Outcome::kNoNode, nullptr, nullptr};
  RT_CHECK(next_qid < kQidLimit, "out of queue ids");
  record.qid = Qid{next_qid++};
  record.home = home->record->id;
  const bool with_client =
      record.exclusive() && command.client_shard.value < home->queues_of_shard.size();
  record.shard = with_client ? command.client_shard : emptiest_shard(*home);
  record.view = first_view(record);
  return {Outcome::kDone, create_queue(*where, std::move(record)), nullptr};
}

CommandResult Store::State::apply(const DeleteQueue& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  QueueEntry* entry = where->queues.find(command.name);
  if (entry == nullptr) return {Outcome::kUnchanged, nullptr, nullptr};
  if (entry->record->qid != command.qid) return {Outcome::kUnchanged, entry->record, nullptr};
  drop_queue(*where, *entry);
  drop_orphans(*where);
  return {};
}

CommandResult Store::State::apply(const Bind& command) {
  BindingKey key{};
  const Outcome found = resolve(command.record, key);
  if (found != Outcome::kDone) return {found, nullptr, nullptr};
  // The default exchange's bindings are implied; the channel refuses others.
  if (key.source->record->name.empty() || find_binding(key) != nullptr) {
    return {Outcome::kUnchanged, nullptr, key.source->record};
  }
  create_binding(key, command.record);
  return {Outcome::kDone, nullptr, key.source->record};
}

CommandResult Store::State::apply(const Unbind& command) {
  BindingKey key{};
  const Outcome outcome = resolve(command.record, key);
  if (outcome != Outcome::kDone) return {outcome, nullptr, nullptr};
  Binding* found = find_binding(key);
  if (found == nullptr) return {Outcome::kUnchanged, nullptr, key.source->record};
  ++version;
  Vhost& where = *vhost(command.record.vhost);
  drop_binding(*found);
  drop_orphans(where);
  const ExchangeEntry* source = where.exchanges.find(command.record.source);
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

void Store::State::replace_vhost(Vhost& where, VhostRecord record) {
  where.record = std::make_shared<const VhostRecord>(std::move(record));
}

void Store::State::create_exchange(Vhost& where, const ExchangeRecord& wanted) {
  ++version;
  auto record = std::make_shared<ExchangeRecord>(wanted);
  record->policy = policies.of({.vhost = record->vhost, .name = record->name, .exchange = true});
  auto entry = std::make_unique<ExchangeEntry>(next_id++);
  entry->age = next_age++;
  entry->record = record;
  where.exchanges.add(record->name, std::move(entry));
  const std::shared_ptr<const ExchangeRecord> added = std::move(record);
  for (Observer* observer : observers) observer->exchange_added(added);
}

std::shared_ptr<const QueueRecord> Store::State::create_queue(Vhost& where, QueueRecord wanted) {
  ++version;
  const auto record = std::make_shared<const QueueRecord>(std::move(wanted));
  tally(*record, true);
  auto entry = std::make_unique<QueueEntry>(next_id++);
  entry->age = next_age++;
  entry->record = record;
  where.queues.add(record->name, std::move(entry));
  for (Observer* observer : observers) observer->queue_added(record);
  return record;
}

void Store::State::create_binding(const BindingKey& key, const BindingRecord& record) {
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
  BindingSet& part = bindings.of(binding->hash);
  part.insert(std::move(binding));
  bindings.grown();
  for (Observer* observer : observers) observer->binding_added(record);
}

Outcome Store::State::resolve(const BindingRecord& record, BindingKey& key) {
  const Vhost* where = vhost(record.vhost);
  if (where == nullptr) return Outcome::kNoVhost;
  key.source = where->exchanges.find(record.source);
  if (key.source == nullptr) return Outcome::kNoExchange;
  if (record.kind == DestinationKind::kQueue) {
    key.destination = where->queues.find(record.destination);
  } else {
    key.destination = where->exchanges.find(record.destination);
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
  BindingSet& part = bindings.of(binding.hash);
  part.erase(part.find(key));
  for (Observer* observer : observers) observer->binding_removed(record);
  if (!restoring && source.record->auto_delete && source.bindings_from.empty() && !source.going &&
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
  where.exchanges.remove(record->name);
  for (Observer* observer : observers) observer->exchange_removed(*record);
}

// Removing one may orphan those bound to it; they join the end of the line.
void Store::State::drop_orphans(Vhost& where) {
  for (std::size_t next = 0; next < orphans.size(); ++next) drop_exchange(where, *orphans[next]);
  orphans.clear();
}

void Store::State::drop_queue(Vhost& where, QueueEntry& entry) {
  ++version;
  while (!entry.bindings_to.empty()) drop_binding(entry.bindings_to.front());
  const std::shared_ptr<const QueueRecord> record = entry.record;
  tally(*record, false);
  where.queues.remove(record->name);
  for (Observer* observer : observers) observer->queue_removed(*record);
}

void Store::State::drop_vhost(Vhost& where) {
  ++version;
  // Every exchange goes in its turn, so that none is removed as an orphan in between.
  std::vector<ExchangeEntry*> exchanges = entries_by_age<ExchangeEntry>(where.exchanges);
  for (ExchangeEntry* entry : exchanges) entry->going = true;
  for (QueueEntry* entry : entries_by_age<QueueEntry>(where.queues)) drop_queue(where, *entry);
  for (ExchangeEntry* entry : exchanges) drop_exchange(where, *entry);
  const std::shared_ptr<const VhostRecord> record = where.record;
  access.remove_vhost(record->name);
  policies.erase_vhost(record->name);
  vhosts.erase(vhosts.find(record->name));
}

}  // namespace ringtail::cluster::metadata
