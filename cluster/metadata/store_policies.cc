// The store's part that gives queues and exchanges their policies.
#include <algorithm>
#include <utility>
#include <vector>

#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

std::shared_ptr<const EffectivePolicy> Store::effective_policy(const QueueRecord& queue) const {
  return state_->policy_of(queue);
}

EffectivePolicyPtr Store::State::policy_of(const QueueRecord& record) const {
  return policies.of({.vhost = record.vhost, .name = record.name, .type = record.options.type});
}

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

namespace {

PolicySubject subject_of(const ExchangeRecord& record) {
  return {.vhost = record.vhost, .name = record.name, .exchange = true};
}
PolicySubject subject_of(const QueueRecord& record) {
  return {.vhost = record.vhost, .name = record.name, .type = record.options.type};
}

template <typename Entry>
struct Changed {
  Entry* entry;
  EffectivePolicyPtr policy;
};

// Those that get another policy, oldest first: mostly few of many.
template <typename Entry, typename Map>
std::vector<Changed<Entry>> changed_by(const Policies::Recompute& recompute, const Map& map) {
  std::vector<Changed<Entry>> changed;
  map.for_each([&](Entry& entry) {
    const auto& record = *entry.record;
    auto policy = recompute(subject_of(record), record.policy);
    if (policy != record.policy) changed.push_back({&entry, std::move(policy)});
  });
  std::sort(changed.begin(), changed.end(),
            [](const auto& a, const auto& b) { return a.entry->age < b.entry->age; });
  return changed;
}

}  // namespace

// Observers are told of exchanges, then of queues, oldest first.
void Store::State::apply_policies(Vhost& where, const Policies::Recompute& recompute) {
  for (auto& one : changed_by<ExchangeEntry>(recompute, where.exchanges)) {
    set_policy(where, *one.entry, std::move(one.policy));
  }
  for (auto& one : changed_by<QueueEntry>(recompute, where.queues)) {
    set_policy(where, *one.entry, std::move(one.policy));
  }
}

void Store::State::set_policy(Vhost& where, QueueEntry& entry, EffectivePolicyPtr policy) {
  ++version;
  auto record = std::make_shared<QueueRecord>(*entry.record);
  record->policy = std::move(policy);
  const std::shared_ptr<const QueueRecord> changed = std::move(record);
  replace_record(where.queues, entry, changed);
  for (Observer* observer : observers) observer->queue_changed(changed);
  if (!restoring) place(where, entry);
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
