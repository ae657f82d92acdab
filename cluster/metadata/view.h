// Reading the metadata on a shard: lookups in this shard's replica, and being told of changes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

// Told of every change after it was applied, on the shard of the replica, in order. What the
// observer reads from the view is the state after the change.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void exchange_added(const std::shared_ptr<const ExchangeRecord>&) {}
  virtual void exchange_removed(const ExchangeRecord&) {}
  virtual void queue_added(const std::shared_ptr<const QueueRecord>&) {}
  virtual void queue_removed(const QueueRecord&) {}
  virtual void binding_added(const BindingRecord&) {}
  virtual void binding_removed(const BindingRecord&) {}
  // The record was replaced: its policy has changed, or a queue's view, or both in turn. A queue
  // that is mirrored, or was until now, gets another home so, and never by queue_moved().
  virtual void exchange_changed(const std::shared_ptr<const ExchangeRecord>&) {}
  virtual void queue_changed(const std::shared_ptr<const QueueRecord>&) {}
  // It has another home or another shard of its home, where it begins with what lies on the disk.
  virtual void queue_moved(const std::shared_ptr<const QueueRecord>&) {}
  virtual void vhost_removed(const VhostRecord&) {}  // after all that was in it
  virtual void user_removed(const UserRecord&) {}
  // Users, permissions or vhosts are no longer what they were: what was concluded from them falls.
  virtual void access_changed() {}
  // A node came, began a life, or ended one (before the queues that go with it).
  virtual void node_changed(const std::shared_ptr<const NodeRecord>&) {}
  virtual void node_removed(const NodeRecord&) {}
  // All that was different in a whole state that has taken the place of the former one was told.
  virtual void state_restored() {}
};

// Read-only; one per shard; used on that shard's thread. Lookups cost one hash of the name.
class View {
 public:
  virtual ~View() = default;
  // Grows with every applied change: what was computed from the view at one version holds while the
  // version stays.
  virtual std::uint64_t version() const = 0;
  // Grows with every change of vhosts, users, permissions and topic permissions.
  virtual std::uint64_t access_version() const = 0;
  // Above every qid that has been given, as far as this replica knows: a queue of this qid or a
  // higher one is still to come.
  virtual Qid next_qid() const = 0;
  virtual bool has_vhost(std::string_view vhost) const = 0;
  // Null when there is none.
  virtual std::shared_ptr<const VhostRecord> vhost(std::string_view name) const = 0;
  virtual std::shared_ptr<const UserRecord> user(std::string_view name) const = 0;
  virtual std::shared_ptr<const PermissionRecord> permission(std::string_view vhost,
                                                             std::string_view user) const = 0;
  virtual std::shared_ptr<const TopicPermissionRecord> topic_permission(
      std::string_view vhost, std::string_view user, std::string_view exchange) const = 0;
  virtual std::shared_ptr<const QueueRecord> queue(std::string_view vhost,
                                                   std::string_view name) const = 0;
  virtual std::shared_ptr<const ExchangeRecord> exchange(std::string_view vhost,
                                                         std::string_view name) const = 0;
  // Null when there is none.
  virtual std::shared_ptr<const NodeRecord> node(NodeId id) const = 0;
  virtual std::shared_ptr<const NodeRecord> node_named(std::string_view name) const = 0;
  // By name.
  virtual void for_each_node(
      const std::function<void(const std::shared_ptr<const NodeRecord>&)>& visit) const = 0;
  // What is in force for a queue of that vhost, name and type; null: no policy.
  virtual std::shared_ptr<const EffectivePolicy> effective_policy(
      const QueueRecord& queue) const = 0;
  virtual void for_each_queue(
      const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const = 0;
  // The rest is for listing: each in a fixed order (by name; queues, exchanges and bindings by
  // age). The visitor may return early by its own means only; it must not change the view.
  virtual void for_each_vhost(
      const std::function<void(const std::shared_ptr<const VhostRecord>&)>& visit) const = 0;
  virtual void for_each_user(
      const std::function<void(const std::shared_ptr<const UserRecord>&)>& visit) const = 0;
  virtual void for_each_permission(
      const std::function<void(const std::shared_ptr<const PermissionRecord>&)>& visit) const = 0;
  virtual void for_each_topic_permission(
      const std::function<void(const std::shared_ptr<const TopicPermissionRecord>&)>& visit)
      const = 0;
  virtual void for_each_policy(
      const std::function<void(const std::shared_ptr<const PolicyRecord>&)>& visit) const = 0;
  virtual void for_each_parameter(
      const std::function<void(const std::shared_ptr<const ParameterRecord>&)>& visit) const = 0;
  virtual void for_each_exchange(
      std::string_view vhost,
      const std::function<void(const std::shared_ptr<const ExchangeRecord>&)>& visit) const = 0;
  virtual void for_each_queue_of(
      std::string_view vhost,
      const std::function<void(const std::shared_ptr<const QueueRecord>&)>& visit) const = 0;
  // The implied bindings of the default exchange are not among them.
  virtual void for_each_binding(std::string_view vhost,
                                const std::function<void(const BindingRecord&)>& visit) const = 0;
  // Of one exchange as the source, or of one destination, by age: passes over `skip` of them and
  // visits up to `limit`; how many it visited. For lists that are read in portions.
  virtual std::size_t visit_bindings_from(
      std::string_view vhost, std::string_view source, std::size_t skip, std::size_t limit,
      const std::function<void(const BindingRecord&)>& visit) const = 0;
  virtual std::size_t visit_bindings_to(
      std::string_view vhost, DestinationKind kind, std::string_view destination, std::size_t skip,
      std::size_t limit, const std::function<void(const BindingRecord&)>& visit) const = 0;
  virtual std::size_t queue_count(std::string_view vhost) const = 0;
  // Tells the observer the present state first: nodes by name, exchanges and queues in the order of
  // their creation, then bindings. It must live as long as the replica applies changes.
  virtual void add_observer(Observer& observer) = 0;
};

}  // namespace ringtail::cluster::metadata
