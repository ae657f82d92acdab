// The store's part that begins with what was saved, and that says what is to be saved.
#include <utility>

#include "broker/runtime/check.h"
#include "cluster/metadata/store_state.h"

namespace ringtail::cluster::metadata {

void Store::set_sink(ChangeSink* sink) {
  state_->sink = sink;
  state_->access.set_sink(sink);
  state_->policies.set_sink(sink);
}

void Store::restore(const SavedState& saved) {
  RT_CHECK(state_->next_qid == 1 && state_->vhosts.size() == 1 && state_->bindings.empty(),
           "restoring into a store that has been used");
  ChangeSink* const sink = state_->sink;
  set_sink(nullptr);
  state_->applying = true;
  state_->restore(saved);
  state_->applying = false;
  set_sink(sink);
}

// Policies come first: they are given to what is created after them.
void Store::State::restore(const SavedState& saved) {
  drop_vhost(vhosts.begin()->second);
  next_qid = saved.first_qid;
  for (const auto& record : saved.users) access.users.put(record->name, UserRecord(*record));
  for (const auto& record : saved.policies) policies.put(*record);
  for (const auto& record : saved.vhosts) create_vhost(*record);
  for (const auto& record : saved.permissions) {
    access.permissions.put({record->vhost, record->user}, PermissionRecord(*record));
  }
  for (const auto& record : saved.topic_permissions) {
    access.topic_permissions.put({record->vhost, record->user, record->exchange},
                                 TopicPermissionRecord(*record));
  }
  for (const auto& record : saved.parameters) {
    access.parameters.put({record->component, record->vhost, record->name},
                          ParameterRecord(*record));
  }
  for (const auto& record : saved.exchanges) {
    Vhost* where = vhost(record->vhost);
    if (where != nullptr) create_exchange(*where, *record);
  }
  for (const auto& record : saved.queues) {
    Vhost* where = vhost(record->vhost);
    if (where != nullptr) create_queue(*where, *record, ShardId{0});
  }
  for (const BindingRecord& record : saved.bindings) {
    BindingKey key{};
    if (resolve(record, key) == Outcome::kDone) create_binding(key, record);
  }
  access_result(Outcome::kDone);
}

// --- the walk ------------------------------------------------------------------------------------

void SavedWalk::leave(const Binding& going) {
  if (binding != &going) return;
  auto& list = exchange->bindings_from;
  const auto next = std::next(list.iterator_to(*binding));
  binding = next == list.end() ? nullptr : &*next;
}

void SavedWalk::leave(const ExchangeEntry& going) {
  if (exchange != &going) return;
  exchange = nullptr;
  binding = nullptr;
}

std::uint64_t Store::begin_walk() {
  SavedWalk& walk = state_->walks[++state_->last_walk];
  SavedState& records = walk.records;
  const auto keep = [](auto& list) {
    return [&list](const auto& record) { list.push_back(record); };
  };
  for_each_vhost(keep(records.vhosts));
  for_each_user(keep(records.users));
  for_each_permission(keep(records.permissions));
  for_each_topic_permission(keep(records.topic_permissions));
  for_each_parameter(keep(records.parameters));
  for_each_policy(keep(records.policies));
  for (const auto& [name, vhost] : state_->vhosts) {
    for (const ExchangeEntry* entry : entries_by_age<ExchangeEntry>(vhost.exchanges)) {
      walk.exchanges.push_back(entry->record);
      if (is_saved(*entry->record)) records.exchanges.push_back(entry->record);
    }
  }
  for_each_queue([&](const auto& record) {
    if (is_saved(*record)) records.queues.push_back(record);
  });
  return state_->last_walk;
}

void Store::end_walk(std::uint64_t number) { state_->walks.erase(number); }

namespace {

// Tells of the records of one list from `next` on, as far as `limit` goes; `next` counts over all
// lists.
template <typename List>
void tell_some(const List& list, std::size_t& first, std::size_t& next, std::size_t& limit,
               ChangeSink& visitor) {
  while (limit > 0 && next < first + list.size()) {
    visitor.changed(ChangeKind::kPut, list[next - first].get());
    ++next;
    --limit;
  }
  first += list.size();
}

}  // namespace

bool Store::walk_saved(std::uint64_t number, std::size_t limit, ChangeSink& visitor) {
  const auto found = state_->walks.find(number);
  RT_CHECK(found != state_->walks.end(), "a walk that has not begun");
  SavedWalk* const walk = &found->second;
  std::size_t first = 0;
  std::size_t& next = walk->next_record;
  const SavedState& records = walk->records;
  tell_some(records.vhosts, first, next, limit, visitor);
  tell_some(records.users, first, next, limit, visitor);
  tell_some(records.permissions, first, next, limit, visitor);
  tell_some(records.topic_permissions, first, next, limit, visitor);
  tell_some(records.parameters, first, next, limit, visitor);
  tell_some(records.policies, first, next, limit, visitor);
  tell_some(records.exchanges, first, next, limit, visitor);
  tell_some(records.queues, first, next, limit, visitor);
  for (; limit > 0; --limit) {
    if (walk->binding != nullptr) {
      Binding& binding = *walk->binding;
      if (is_saved(binding)) {
        const BindingRecord record = record_of(binding);
        visitor.changed(ChangeKind::kPut, &record);
      }
      walk->leave(binding);
    } else if (walk->next_exchange < walk->exchanges.size()) {
      const ExchangeRecord& record = *walk->exchanges[walk->next_exchange++];
      Vhost* where = state_->vhost(record.vhost);
      ExchangeEntry* entry = where == nullptr ? nullptr : where->exchanges.find(record.name);
      walk->exchange = entry;
      if (entry != nullptr && !entry->bindings_from.empty()) {
        walk->binding = &entry->bindings_from.front();
      }
    } else {
      end_walk(number);
      return false;
    }
  }
  return true;
}

}  // namespace ringtail::cluster::metadata
