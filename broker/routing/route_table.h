// From (exchange, routing key, headers) to queues: pure functions over this shard's replica of the
// metadata. Kept up to date by observing the replica; routing reads it without locks and without
// allocating when the caller reuses its result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/metadata/view.h"

namespace ringtail::broker {

// What routing looks at in a message.
struct Routable {
  std::string_view routing_key;
  std::span<const std::uint8_t>
      properties;  // content properties as received, for headers exchanges
  std::span<const std::string_view> further_keys = {};  // of the headers CC and BCC
  // A number that differs from message to message: what exchanges that choose by chance choose by,
  // so that routing itself has none.
  std::uint64_t chance = 0;
};

// What exchange.declare may name, and what RabbitMQ says of it.
struct ExchangeTypeInfo {
  std::string_view name;
  std::string_view description;
};

// An exchange as the route table holds it: its record and its bindings, indexed by its type.
class Exchange;

// Lives as long as its shard, on its thread.
class RouteTable : public cluster::metadata::Observer {
 public:
  explicit RouteTable(cluster::metadata::View& view);
  ~RouteTable() override;

  // Null when there is none. Valid until the view's version changes.
  const Exchange* find(std::string_view vhost, std::string_view name) const;
  static const cluster::metadata::ExchangeRecord& record(const Exchange& exchange);
  static const std::shared_ptr<const cluster::metadata::ExchangeRecord>& shared_record(
      const Exchange& exchange);

  // Appends each queue that the message reaches, once, in the order in which it is first reached:
  // through bindings, exchange-to-exchange bindings (cycles allowed) and, where an exchange matches
  // nothing, its alternate exchange. The records are valid until the view's version changes.
  // Appends to `remembering` the exchanges on the way that keep the message (recent_history.h).
  void route(const Exchange& exchange, const Routable& message,
             std::vector<const cluster::metadata::QueueRecord*>& out,
             std::vector<const Exchange*>* remembering = nullptr) const;

  // The types that exchange.declare knows, in the order of their names.
  static bool knows_type(std::string_view type);
  static std::vector<ExchangeTypeInfo> types();
  // What a type finds wrong with an exchange's arguments or with a binding's key and arguments
  // (field tables' bytes), as RabbitMQ words it behind "PRECONDITION_FAILED - "; none: nothing.
  static std::optional<std::string> fault_of_declaration(std::string_view type,
                                                         std::string_view arguments);
  static std::optional<std::string> fault_of_binding(const Exchange& exchange,
                                                     std::string_view routing_key,
                                                     std::string_view arguments);

  void exchange_added(
      const std::shared_ptr<const cluster::metadata::ExchangeRecord>& record) override;
  void exchange_changed(
      const std::shared_ptr<const cluster::metadata::ExchangeRecord>& record) override;
  void exchange_removed(const cluster::metadata::ExchangeRecord& record) override;
  void queue_added(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override;
  void queue_changed(const std::shared_ptr<const cluster::metadata::QueueRecord>& record) override;
  void queue_removed(const cluster::metadata::QueueRecord& record) override;
  void binding_added(const cluster::metadata::BindingRecord& record) override;
  void binding_removed(const cluster::metadata::BindingRecord& record) override;
  void vhost_removed(const cluster::metadata::VhostRecord& record) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringtail::broker
