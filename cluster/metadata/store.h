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

#include "cluster/metadata/commands.h"
#include "cluster/metadata/saved_state.h"
#include "cluster/metadata/view.h"

namespace ringtail::cluster::metadata {

class Store final : public View {
 public:
  Store();
  // Knows one node already, number 0, which is up and has so many shards.
  explicit Store(std::uint16_t shards);
  ~Store() override;

  CommandResult apply(const Command& command);
  // Whether a proposal of a node is to be applied: each counts once, whatever is sent again, and
  // none counts that a life which has ended has left behind. `request` is one more than the last
  // that counted, or the first that its sender still waits for (`oldest`): what it has given up may
  // be missing. A proposal of life 0 (of a node that asks for its first life) always counts.
  bool accept(NodeId from, Life life, std::uint64_t request, std::uint64_t oldest);

  // Whether a node of this number was forgotten, or replaced. It never comes back: who lost its
  // data directory draws another number.
  bool is_forgotten(NodeId id) const;
  void for_each_forgotten(const std::function<void(NodeId)>& visit) const;

  // Members of views end, and views in which some have get a master, under marks that count up:
  // this is the last that was set.
  std::uint64_t last_mark() const;
  // There are mirrored queues of which the node is the master and does nothing yet, because members
  // have ended: it is to say that it lives (LeadQueues).
  bool awaits_lead(NodeId id) const;

  // All that it knows.
  SavedState save() const;
  // The same but for exchanges, queues and bindings.
  SavedState save_without_resources() const;
  // Becomes what was saved, of this log at a later point or, where nothing has been applied yet, at
  // any: observers are told of what is different, as of changes: what goes, then what is new.
  void restore(const SavedState& saved);

  std::uint64_t version() const override { return version_; }
  std::uint64_t access_version() const override { return access_version_; }
  Qid next_qid() const override;
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
  std::shared_ptr<const EffectivePolicy> effective_policy(const QueueRecord& queue) const override;
  std::shared_ptr<const NodeRecord> node(NodeId id) const override;
  std::shared_ptr<const NodeRecord> node_named(std::string_view name) const override;
  void for_each_node(
      const std::function<void(const std::shared_ptr<const NodeRecord>&)>& visit) const override;
  void add_observer(Observer& observer) override;

 private:
  struct State;
  std::uint64_t version_ = 0;
  std::uint64_t access_version_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace ringtail::cluster::metadata
