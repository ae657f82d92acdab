// A replica's metadata, encoded as it changes, so that a snapshot of it is there at once
// (kept_list.h). Exchanges, queues and bindings are kept so; the rest is small, and encoded when a
// snapshot is taken.
//
// Costs about a hundred bytes for a binding and a queue. The control shard's replica has one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "broker/runtime/bytes.h"
#include "cluster/metadata/kept_list.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

// Observes the store, and lives as long.
class KeptState final : public Observer {
 public:
  explicit KeptState(Store& store);

  // All that the store knows, as `State` of commands.proto. `index`: of the last entry of the log
  // that counts in it.
  runtime::BytesChain snapshot(std::uint64_t index) const;

  void exchange_added(const std::shared_ptr<const ExchangeRecord>& record) override;
  void exchange_removed(const ExchangeRecord& record) override;
  void queue_added(const std::shared_ptr<const QueueRecord>& record) override;
  void queue_removed(const QueueRecord& record) override;
  void queue_changed(const std::shared_ptr<const QueueRecord>& record) override;
  void queue_moved(const std::shared_ptr<const QueueRecord>& record) override;
  void binding_added(const BindingRecord& record) override;
  void binding_removed(const BindingRecord& record) override;
  void state_restored() override;

 private:
  const Store& store_;
  // Exchanges and bindings in the order of their creation; queues by qid, which is the same.
  std::uint64_t next_key_ = 1;
  KeptList exchanges_;
  KeptList queues_;
  KeptList bindings_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> exchange_keys_;  // vhost, name
  std::unordered_multimap<std::uint64_t, std::uint64_t> binding_keys_;  // by hash of the bytes
};

}  // namespace ringtail::cluster::metadata
