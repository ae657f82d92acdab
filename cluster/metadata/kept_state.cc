#include "cluster/metadata/kept_state.h"

#include <functional>
#include <memory>
#include <string_view>

#include "broker/runtime/check.h"
#include "cluster/metadata/commands_codec.h"

namespace ringtail::cluster::metadata {

namespace {

std::uint64_t hash_of(const std::string& bytes) { return std::hash<std::string>()(bytes); }

}  // namespace

KeptState::KeptState(Store& store) : store_(store) { store.add_observer(*this); }

runtime::BytesChain KeptState::snapshot(std::uint64_t index) const {
  SavedState rest = store_.save_without_resources();
  rest.index = index;
  runtime::BytesChain chain;
  chain.append(runtime::Bytes::copy(runtime::as_bytes(encode(rest))));
  exchanges_.append_to(chain);
  queues_.append_to(chain);
  bindings_.append_to(chain);
  return chain;
}

// Ages may be others now: everything is put down again.
void KeptState::state_restored() {
  exchanges_.clear();
  queues_.clear();
  bindings_.clear();
  exchange_keys_.clear();
  binding_keys_.clear();
  const SavedState saved = store_.save();
  for (const auto& record : saved.exchanges) exchange_added(record);
  for (const auto& record : saved.queues) queue_added(record);
  for (const BindingRecord& record : saved.bindings) binding_added(record);
}

void KeptState::exchange_added(const std::shared_ptr<const ExchangeRecord>& record) {
  if (record->predeclared) return;
  exchanges_.put(next_key_, encode_alone(*record));
  exchange_keys_[{record->vhost, record->name}] = next_key_++;
}

void KeptState::exchange_removed(const ExchangeRecord& record) {
  const auto found = exchange_keys_.find({record.vhost, record.name});
  if (found == exchange_keys_.end()) return;
  exchanges_.remove(found->second);
  exchange_keys_.erase(found);
}

void KeptState::queue_added(const std::shared_ptr<const QueueRecord>& record) {
  queues_.put(record->qid.value, encode_alone(*record));
}

void KeptState::queue_removed(const QueueRecord& record) { queues_.remove(record.qid.value); }

void KeptState::queue_changed(const std::shared_ptr<const QueueRecord>& record) {
  queue_added(record);
}

void KeptState::queue_moved(const std::shared_ptr<const QueueRecord>& record) {
  queue_added(record);
}

void KeptState::binding_added(const BindingRecord& record) {
  const std::string bytes = encode_alone(record);
  bindings_.put(next_key_, bytes);
  binding_keys_.emplace(hash_of(bytes), next_key_++);
}

void KeptState::binding_removed(const BindingRecord& record) {
  const std::string bytes = encode_alone(record);
  auto [at, end] = binding_keys_.equal_range(hash_of(bytes));
  while (at != end && bindings_.find(at->second) != bytes) ++at;
  RT_CHECK(at != end, "a binding went that was not kept");
  bindings_.remove(at->second);
  binding_keys_.erase(at);
}

}  // namespace ringtail::cluster::metadata
