// Inside of routing: an exchange, and what a type of exchange has to provide. To add a type, write
// its BindingIndex in a file of its own and name it in exchange_types.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/routing/route_table.h"
#include "broker/routing/target_set.h"
#include "broker/runtime/parted.h"

namespace ringtail::broker {

using cluster::metadata::ExchangeRecord;

// The bindings of one exchange, arranged for its type. Lives on the shard of its table.
class BindingIndex {
 public:
  virtual ~BindingIndex() = default;
  // No two bindings agree in key, arguments and target. A target stays until its bindings are gone.
  virtual void add(std::string_view key, std::string_view arguments, const Target& target) = 0;
  // The binding is there.
  virtual void remove(std::string_view key, std::string_view arguments, const Target& target) = 0;
  // Reaches every target that a binding leads the message to; as often as it likes.
  virtual void match(const Routable& message, Matches& matches) const = 0;
};

// What is wrong, as RabbitMQ words it; none: nothing.
using Fault = std::optional<std::string>;

struct ExchangeType {
  std::string_view name;
  std::string_view description;  // RabbitMQ's
  // For an exchange in whose arguments fault_of_declaration found no fault.
  std::unique_ptr<BindingIndex> (*make_index)(const ExchangeRecord& record);
  // Null: nothing ever is wrong.
  Fault (*fault_of_declaration)(std::string_view arguments) = nullptr;
  Fault (*fault_of_binding)(std::string_view key, std::string_view arguments) = nullptr;
  bool remembers = false;  // its messages go to recent_history.h too
};

// Null when there is no such type.
const ExchangeType* find_exchange_type(std::string_view name);

// In the order of names.
std::span<const ExchangeType> exchange_types();

std::unique_ptr<BindingIndex> make_consistent_hash_index(const ExchangeRecord& record);
std::unique_ptr<BindingIndex> make_direct_index(const ExchangeRecord& record);
std::unique_ptr<BindingIndex> make_fanout_index(const ExchangeRecord& record);
std::unique_ptr<BindingIndex> make_headers_index(const ExchangeRecord& record);
std::unique_ptr<BindingIndex> make_modulus_hash_index(const ExchangeRecord& record);
std::unique_ptr<BindingIndex> make_random_index(const ExchangeRecord& record);
std::unique_ptr<BindingIndex> make_topic_index(const ExchangeRecord& record);
Fault fault_of_consistent_hash(std::string_view arguments);
Fault fault_of_consistent_hash_binding(std::string_view key, std::string_view arguments);
Fault fault_of_headers_binding(std::string_view key, std::string_view arguments);
Fault fault_of_recent_history(std::string_view arguments);

struct VhostRoutes;

class Exchange : public Target {
 public:
  Exchange(std::shared_ptr<const cluster::metadata::ExchangeRecord> record,
           const ExchangeType& type, VhostRoutes& vhost);

  const cluster::metadata::ExchangeRecord& record() const { return *record_; }
  const std::shared_ptr<const cluster::metadata::ExchangeRecord>& shared_record() const {
    return record_;
  }
  // Its policy has changed.
  void replace(std::shared_ptr<const cluster::metadata::ExchangeRecord> record);
  const ExchangeType& type() const { return type_; }
  BindingIndex& index() { return *index_; }
  const BindingIndex& index() const { return *index_; }
  const VhostRoutes& vhost() const { return vhost_; }
  // The default exchange leads to each queue by its name; its index stays empty.
  bool is_default() const { return default_; }
  // The name of the exchange for messages that match nothing here; null: none.
  const std::string* alternate() const { return alternate_ ? &*alternate_ : nullptr; }

 private:
  std::shared_ptr<const cluster::metadata::ExchangeRecord> record_;
  const ExchangeType& type_;
  VhostRoutes& vhost_;
  const bool default_;
  const std::unique_ptr<BindingIndex> index_;
  std::optional<std::string> alternate_;
};

// The name of a queue or exchange.
std::string_view name_of(const Target& target);

// The exchanges and queues of one vhost by name; the keys are the names in the records.
struct VhostRoutes {
  runtime::NameMap<Exchange> exchanges;
  runtime::NameMap<QueueTarget> queues;

  Exchange* exchange(std::string_view name) const { return exchanges.find(name); }
  QueueTarget* queue(std::string_view name) const { return queues.find(name); }
};

// Calls `visit` with the routing key and then with each further one.
template <typename Visit>
void for_each_key(const Routable& message, Visit visit) {
  visit(message.routing_key);
  for (const std::string_view key : message.further_keys) visit(key);
}

// Lets a hash map with std::string keys be searched with a std::string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace ringtail::broker
