// The metadata state machine: vhosts, exchanges, queues, bindings. Every shard of the node holds
// one and applies the same commands in the same order (metadata/service.h brings them; with a
// cluster, Raft orders them). Deterministic: no clock, no chance, no walk over a hash map decides
// anything.
//
// A new store holds the vhost "/" and in every vhost the pre-declared exchanges of AMQP 0-9-1 and
// RabbitMQ: "" and amq.direct (direct), amq.fanout, amq.topic, amq.headers and amq.match (headers),
// amq.rabbitmq.trace (topic, internal); all durable. The default exchange's bindings are implied
// (each queue by its name) and are not among the binding records.
//
// An auto-delete exchange goes when the last binding of which it is the source goes, by an unbind
// or with the destination, and the bindings that point to it go with it. Changes are told in this
// order: the bindings of what is removed, oldest first, then the removed itself, then the exchanges
// that this orphaned, in the order in which they lost their last binding.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/metadata/changes.h"
#include "cluster/metadata/commands.h"
#include "cluster/metadata/view.h"

namespace ringtail::cluster::metadata {

class Store final : public View {
 public:
  // `shards`: how many shards this node spreads its queues over.
  explicit Store(std::uint16_t shards);
  ~Store() override;

  CommandResult apply(const Command& command);

  // For a journal. Null: nobody is told.
  void set_sink(ChangeSink* sink);
  // Begins with what was saved, in the place of the vhost "/" of a new store; observers are told.
  // Queues are placed anew. Nothing has been applied before; nothing is told to the sink.
  void restore(const SavedState& saved);
  // A walk over all records that outlive a restart, for a snapshot: walk_saved() tells of the next
  // `limit` (or so) of them and says whether there are more; it ends by itself, or by end_walk().
  // The store may change in between; what is told then is each record as it is when its turn comes,
  // or was when the walk began.
  std::uint64_t begin_walk();
  bool walk_saved(std::uint64_t walk, std::size_t limit, ChangeSink& visitor);
  void end_walk(std::uint64_t walk);

  std::uint64_t version() const override { return version_; }
  std::uint64_t access_version() const override { return access_version_; }
  bool has_vhost(std::string_view vhost) const override;
  std::shared_ptr<const VhostRecord> vhost(std::string_view name) const override;
  std::shared_ptr<const UserRecord> user(std::string_view name) const override;
  std::shared_ptr<const PermissionRecord> permission(std::string_view vhost,
                                                     std::string_view user) const override;
  std::shared_ptr<const TopicPermissionRecord> topic_permission(
      std::string_view vhost, std::string_view user, std::string_view exchange) const override;
  std::shared_ptr<const QueueRecord> queue(std::string_view vhost,
                                           std::string_view name) const override;
  std::shared_ptr<const ExchangeRecord> exchange(std::string_view vhost,
                                                 std::string_view name) const override;
  void for_each_queue(
      const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const override;
  void for_each_vhost(
      const std::function<void(const std::shared_ptr<const VhostRecord>&)>& visit) const override;
  void for_each_user(
      const std::function<void(const std::shared_ptr<const UserRecord>&)>& visit) const override;
  void for_each_permission(
      const std::function<void(const std::shared_ptr<const PermissionRecord>&)>& visit)
      const override;
  void for_each_topic_permission(
      const std::function<void(const std::shared_ptr<const TopicPermissionRecord>&)>& visit)
      const override;
  void for_each_policy(
      const std::function<void(const std::shared_ptr<const PolicyRecord>&)>& visit) const override;
  void for_each_parameter(const std::function<void(const std::shared_ptr<const ParameterRecord>&)>&
                              visit) const override;
  void for_each_exchange(std::string_view vhost,
                         const std::function<void(const std::shared_ptr<const ExchangeRecord>&)>&
                             visit) const override;
  void for_each_queue_of(
      std::string_view vhost,
      const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const override;
  void for_each_binding(std::string_view vhost,
                        const std::function<void(const BindingRecord&)>& visit) const override;
  std::size_t visit_bindings_from(
      std::string_view vhost, std::string_view source, std::size_t skip, std::size_t limit,
      const std::function<void(const BindingRecord&)>& visit) const override;
  std::size_t visit_bindings_to(
      std::string_view vhost, DestinationKind kind, std::string_view destination, std::size_t skip,
      std::size_t limit, const std::function<void(const BindingRecord&)>& visit) const override;
  std::size_t queue_count(std::string_view vhost) const override;
  void add_observer(Observer& observer) override;

 private:
  struct State;
  std::uint64_t version_ = 0;
  std::uint64_t access_version_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace ringtail::cluster::metadata
