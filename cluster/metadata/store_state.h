// The inside of the store: its indexes, and what its parts (store.cc, store_policies.cc,
// store_saved.cc) share. Nobody else includes this.
#pragma once

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "broker/runtime/parted.h"
#include "cluster/metadata/access_records.h"
#include "cluster/metadata/mirror_placement.h"
#include "cluster/metadata/policies.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

namespace intrusive = boost::intrusive;

struct BySource;
struct ByDestination;
using SourceHook = intrusive::list_base_hook<intrusive::tag<BySource>>;
using DestinationHook = intrusive::list_base_hook<intrusive::tag<ByDestination>>;

struct ExchangeEntry;
struct Endpoint;

// One binding: in the set of all (which owns it), in the list of its source and in that of its
// destination. Key and arguments lie side by side in one allocation, because there may be millions.
struct Binding : SourceHook, DestinationHook {
  ExchangeEntry* source = nullptr;
  Endpoint* destination = nullptr;
  std::size_t hash = 0;
  std::unique_ptr<char[]> text;
  std::uint32_t key_size = 0;
  std::uint32_t arguments_size = 0;

  std::string_view key() const { return {text.get(), key_size}; }
  std::string_view arguments() const { return {text.get() + key_size, arguments_size}; }
};

template <typename Tag>
using BindingList = intrusive::list<Binding, intrusive::base_hook<intrusive::list_base_hook<Tag>>,
                                    intrusive::constant_time_size<false>>;

// What a binding may point to. `id` is unique among queues and exchanges; `age` grows with
// creation, alike in every replica.
struct Endpoint {
  Endpoint(DestinationKind destination_kind, std::uint64_t number)
      : kind(destination_kind), id(number) {}
  const DestinationKind kind;
  const std::uint64_t id;
  std::uint64_t age = 0;
  BindingList<intrusive::tag<ByDestination>> bindings_to;
};

struct QueueEntry : Endpoint {
  explicit QueueEntry(std::uint64_t number) : Endpoint(DestinationKind::kQueue, number) {}
  std::shared_ptr<const QueueRecord> record;
};

struct ExchangeEntry : Endpoint {
  explicit ExchangeEntry(std::uint64_t number) : Endpoint(DestinationKind::kExchange, number) {}
  std::shared_ptr<const ExchangeRecord> record;
  BindingList<intrusive::tag<BySource>> bindings_from;
  bool going = false;  // being removed
};

// What makes a binding itself and no other.
struct BindingKey {
  const ExchangeEntry* source;
  const Endpoint* destination;
  std::string_view key;
  std::string_view arguments;
};

inline std::size_t mix(std::size_t hash, std::size_t more) {
  return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
}

struct BindingHash {
  using is_transparent = void;
  std::size_t operator()(const std::unique_ptr<Binding>& binding) const noexcept {
    return binding->hash;
  }
  std::size_t operator()(const BindingKey& key) const noexcept {
    const std::hash<std::string_view> text;
    std::size_t hash = mix(text(key.key), key.source->id);
    hash = mix(hash, key.destination->id);
    return key.arguments.empty() ? hash : mix(hash, text(key.arguments));
  }
};

struct BindingEqual {
  using is_transparent = void;
  static BindingKey view(const BindingKey& key) { return key; }
  static BindingKey view(const std::unique_ptr<Binding>& binding) {
    return {binding->source, binding->destination, binding->key(), binding->arguments()};
  }
  template <typename Left, typename Right>
  bool operator()(const Left& left, const Right& right) const noexcept {
    const BindingKey a = view(left);
    const BindingKey b = view(right);
    return a.source == b.source && a.destination == b.destination && a.key == b.key &&
           a.arguments == b.arguments;
  }
};

// The keys are the names in the records.
struct Vhost {
  std::shared_ptr<const VhostRecord> record;
  runtime::NameMap<ExchangeEntry> exchanges;
  runtime::NameMap<QueueEntry> queues;
};

// In the order of creation, since a hash map has none.
template <typename Entry, typename Map>
std::vector<Entry*> entries_by_age(const Map& map) {
  std::vector<Entry*> entries;
  entries.reserve(map.size());
  map.for_each([&entries](Entry& entry) { entries.push_back(&entry); });
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->age < b->age; });
  return entries;
}
template <typename Entry, typename Map>
void append_entries(const Map& map, std::vector<const Entry*>& out) {
  map.for_each([&out](const Entry& entry) { out.push_back(&entry); });
}
template <typename Entry>
void sort_by_age(std::vector<const Entry*>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->age < b->age; });
}

inline BindingRecord record_of(const Binding& binding) {
  BindingRecord record;
  const ExchangeRecord& source = *binding.source->record;
  record.vhost = source.vhost;
  record.source = source.name;
  record.kind = binding.destination->kind;
  record.destination = record.kind == DestinationKind::kQueue
                           ? static_cast<const QueueEntry*>(binding.destination)->record->name
                           : static_cast<const ExchangeEntry*>(binding.destination)->record->name;
  record.routing_key = binding.key();
  record.arguments = binding.arguments();
  return record;
}

// The keys of the store's maps are the names in the records: a record is replaced under its key.
template <typename Map, typename Entry, typename RecordPtr>
void replace_record(Map& map, Entry& entry, const RecordPtr& record) {
  const auto before = std::exchange(entry.record, record);
  map.move_name(record->name);
}

struct NodeEntry {
  std::shared_ptr<const NodeRecord> record;
  std::vector<std::size_t> queues_of_shard;
  std::uint64_t last_request = 0;  // of its proposals in its present life (Store::accept)
  std::size_t masters = 0;         // queues of which it is the home
  std::size_t unled =
      0;  // those of which it is the master and where members have ended (LeadQueues)
  std::size_t copies() const;
};

// Where the fewest queues and copies of queues are.
ShardId emptiest_shard(const NodeEntry& node);

struct Store::State {
  State(std::uint64_t& store_version, std::uint64_t& store_access_version)
      : version(store_version), access_version(store_access_version) {}

  std::map<std::string, Vhost, std::less<>> vhosts;
  using BindingSet = std::unordered_set<std::unique_ptr<Binding>, BindingHash, BindingEqual>;
  runtime::Parted<BindingSet> bindings;
  // Null: there is none.
  Binding* find_binding(const BindingKey& key) const {
    const BindingSet& part = bindings.of(BindingHash()(key));
    const auto found = part.find(key);
    return found == part.end() ? nullptr : found->get();
  }
  std::map<NodeId, NodeEntry> nodes;
  std::set<NodeId> forgotten;  // numbers of nodes that were; each counts for one data directory
  std::uint64_t next_id = 1;
  std::uint64_t next_age = 1;
  std::uint64_t next_qid = 1;
  std::uint64_t last_mark = 0;    // of views in which a member has ended
  std::uint64_t& version;         // the store's
  std::uint64_t& access_version;  // the store's
  AccessRecords access;
  Policies policies;
  std::vector<Observer*> observers;
  std::vector<ExchangeEntry*> orphans;  // auto-delete exchanges that lost their last binding
  bool applying = false;
  bool restoring = false;  // nothing goes by itself

  Vhost* vhost(std::string_view name) {
    const auto found = vhosts.find(name);
    return found == vhosts.end() ? nullptr : &found->second;
  }
  const Vhost* vhost(std::string_view name) const {
    const auto found = vhosts.find(name);
    return found == vhosts.end() ? nullptr : &found->second;
  }

  CommandResult apply(const PutVhost& command);
  CommandResult apply(const DeleteVhost& command);
  CommandResult apply(const SetVhostLimits& command);
  CommandResult apply(const DeleteUser& command);
  CommandResult apply(const PutPolicy& command);
  CommandResult apply(const DeletePolicy& command);
  // Those that change nothing but the access records.
  template <typename AccessCommand>
  CommandResult apply(const AccessCommand& command) {
    if constexpr (requires { command.record.vhost; }) {
      if (!command.record.vhost.empty() && vhost(command.record.vhost) == nullptr) {
        return {Outcome::kNoVhost, nullptr, nullptr};
      }
    }
    return access_result(access.apply(command));
  }
  CommandResult access_result(Outcome outcome);
  CommandResult apply(const DeclareExchange& command);
  CommandResult apply(const DeleteExchange& command);
  CommandResult apply(const DeclareQueue& command);
  CommandResult apply(const DeleteQueue& command);
  CommandResult apply(const Bind& command);
  CommandResult apply(const Unbind& command);
  CommandResult apply(const NodeUp& command);
  CommandResult apply(const NodeDown& command);
  CommandResult apply(const ForgetNode& command);
  CommandResult apply(const ChangeView& command);
  CommandResult apply(const LeadQueues& command);
  CommandResult apply(const TransferQueue& command);

  void create_vhost(const VhostRecord& record);
  void replace_vhost(Vhost& vhost, VhostRecord record);
  void create_exchange(Vhost& vhost, const ExchangeRecord& record);
  // `record` has all that is the store's to give.
  std::shared_ptr<const QueueRecord> create_queue(Vhost& vhost, QueueRecord record);
  void create_binding(const BindingKey& key, const BindingRecord& record);
  // Finds both ends of a binding; anything but kDone says which is missing.
  Outcome resolve(const BindingRecord& record, BindingKey& key);
  void drop_binding(Binding& binding);
  void drop_exchange(Vhost& vhost, ExchangeEntry& entry);
  void drop_orphans(Vhost& vhost);
  void drop_queue(Vhost& vhost, QueueEntry& entry);
  // All that is in it, and what names it; the vhost's own entry too.
  void drop_vhost(Vhost& vhost);

  EffectivePolicyPtr policy_of(const QueueRecord& record) const;
  // Gives every queue and exchange of the vhost the policy that `recompute` says.
  void apply_policies(Vhost& vhost, const Policies::Recompute& recompute);
  void set_policy(Vhost& vhost, QueueEntry& entry, EffectivePolicyPtr policy);
  void set_policy(Vhost& vhost, ExchangeEntry& entry, EffectivePolicyPtr policy);

  void restore(const SavedState& saved);
  void drop_unsaved_access(const SavedState& saved);
  void drop_unsaved_bindings(const SavedState& saved);
  void drop_unsaved_resources(const SavedState& saved);
  void restore_access(const SavedState& saved);
  void restore_nodes(const SavedState& saved);
  void restore_resources(const SavedState& saved);
  bool has_places(const QueueRecord& record) const;
  void restore_queue(const QueueRecord& saved);

  NodeEntry* node(NodeId id);
  NodeEntry* node_named(std::string_view name);
  NodeEntry* up_node(NodeEntry* entry) const;  // null where it is not up
  // Where a queue that is declared is to live; null: nowhere. `record` has its policy.
  NodeEntry* home_of(const QueueRecord& record, bool fewest_queues);
  // Queues by age.
  using Found = std::vector<std::pair<Vhost*, QueueEntry*>>;
  Found queues_if(const std::function<bool(const QueueRecord&)>& condition);
  Found unmirrored_at(NodeId home);
  void end_life(NodeEntry& entry, bool in_order);
  // The queues and copies of a node get places anew over the shards that it has now.
  void spread_queues(NodeEntry& at);
  // The queues of a node that have no mirrors get places on another.
  void move_queues(NodeEntry& at, NodeId of);
  void drop_queues(NodeId home, bool durable_too);  // that have no mirrors

  // --- mirrored queues (store_views.cc) ---
  // Counts a record in what its nodes have, or no more.
  void tally(const QueueRecord& record, bool more);
  // Another place or view: counts it, and tells observers.
  void replace_queue(Vhost& where, QueueEntry& entry, QueueRecord record);
  void put_queue(Vhost& where, QueueEntry& entry, QueueRecord wanted);  // it is counted already
  // As the next revision.
  void set_view(Vhost& where, QueueEntry& entry, QueueView view);
  void mark(QueueView& view);
  void lead(QueueView& view, std::size_t at);
  void fill_vacancy(QueueView& view, bool durable);
  std::vector<PlacementNode> placement_nodes() const;  // by name
  QueueMember new_member(NodeId id, std::uint64_t revision, bool in_sync);
  // Of a queue that is new and empty; null: it has no mirrors.
  std::shared_ptr<const QueueView> first_view(const QueueRecord& record);
  void begin_view(Vhost& where, QueueEntry& entry);
  void end_view(Vhost& where, QueueEntry& entry);
  // False: there is nothing more to do.
  bool take_step(Vhost& where, QueueEntry& entry, const PlacementStep& step);
  // Brings a queue to where it is wanted, as far as that is possible now.
  void place(Vhost& where, QueueEntry& entry, const std::vector<NodeId>& former = {});
  // Nodes have come or gone: who may lead leads, and all are placed.
  void settle_queues();
  void end_memberships(NodeId id);
  // The node's disk will not come back. Queues of which nobody else has a whole copy go, or begin
  // anew on the successor.
  void lose_memberships(NodeId id, const NodeEntry* successor);
  void set_node(NodeEntry& entry, NodeRecord record);
  void forget(NodeEntry& entry);
};

}  // namespace ringtail::cluster::metadata
