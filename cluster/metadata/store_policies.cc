// The store's part that gives queues and exchanges their policies.
#include <utility>

#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

namespace {

// The keys of the store's maps are the names in the records: a record is replaced under its key.
template <typename Map, typename Entry, typename RecordPtr>
void replace_record(Map& map, Entry& entry, const RecordPtr& record) {
  auto node = map.extract(entry.record->name);
  entry.record = record;
  node.key() = entry.record->name;
  map.insert(std::move(node));
}

}  // namespace

CommandResult Store::State::apply(const PutPolicy& command) {
  Vhost* where = vhost(command.record.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  const auto [outcome, recompute] = policies.put(command.record);
  apply_policies(*where, recompute);
  return {outcome, nullptr, nullptr};
}

CommandResult Store::State::apply(const DeletePolicy& command) {
  Vhost* where = vhost(command.vhost);
  if (where == nullptr) return {Outcome::kNoVhost, nullptr, nullptr};
  const auto [outcome, recompute] =
      policies.erase(command.vhost, command.of_operator, command.name);
  if (outcome == Outcome::kDone) apply_policies(*where, recompute);
  return {outcome, nullptr, nullptr};
}

// Observers are told of exchanges, then of queues, oldest first.
void Store::State::apply_policies(Vhost& where, const Policies::Recompute& recompute) {
  for (ExchangeEntry* entry : entries_by_age<ExchangeEntry>(where.exchanges)) {
    const ExchangeRecord& record = *entry->record;
    auto policy =
        recompute({.vhost = record.vhost, .name = record.name, .exchange = true}, record.policy);
    if (policy != record.policy) set_policy(where, *entry, std::move(policy));
  }
  for (QueueEntry* entry : entries_by_age<QueueEntry>(where.queues)) {
    const QueueRecord& record = *entry->record;
    auto policy = recompute(
        {.vhost = record.vhost, .name = record.name, .type = record.options.type}, record.policy);
    if (policy != record.policy) set_policy(where, *entry, std::move(policy));
  }
}

void Store::State::set_policy(Vhost& where, QueueEntry& entry, EffectivePolicyPtr policy) {
  ++version;
  auto record = std::make_shared<QueueRecord>(*entry.record);
  record->policy = std::move(policy);
  const std::shared_ptr<const QueueRecord> changed = std::move(record);
  replace_record(where.queues, entry, changed);
  for (Observer* observer : observers) observer->queue_changed(changed);
}

void Store::State::set_policy(Vhost& where, ExchangeEntry& entry, EffectivePolicyPtr policy) {
  ++version;
  auto record = std::make_shared<ExchangeRecord>(*entry.record);
  record->policy = std::move(policy);
  const std::shared_ptr<const ExchangeRecord> changed = std::move(record);
  replace_record(where.exchanges, entry, changed);
  for (Observer* observer : observers) observer->exchange_changed(changed);
}

}  // namespace ringtail::cluster::metadata
