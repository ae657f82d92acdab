#include "cluster/metadata/commands_codec.h"

#include <limits>
#include <optional>
#include <utility>

#include "cluster/metadata/commands.pb.h"
#include "cluster/metadata/records_codec.h"

namespace ringtail::cluster::metadata {

namespace {

using runtime::Code;
using runtime::Result;
using runtime::Status;

// --- commands to bytes ---------------------------------------------------------------------------

struct CommandEncoder {
  wire::Command& to;

  void operator()(const PutVhost& c) const { encode(c.record, *to.mutable_put_vhost()); }
  void operator()(const DeleteVhost& c) const { to.set_delete_vhost(c.name); }
  void operator()(const SetVhostLimits& c) const {
    wire::VhostLimits& limits = *to.mutable_set_vhost_limits();
    limits.set_vhost(c.vhost);
    if (c.limits.max_connections) limits.set_max_connections(*c.limits.max_connections);
    if (c.limits.max_queues) limits.set_max_queues(*c.limits.max_queues);
  }
  void operator()(const PutUser& c) const { encode(c.record, *to.mutable_put_user()); }
  void operator()(const DeleteUser& c) const { to.set_delete_user(c.name); }
  void operator()(const SetUserLimits& c) const {
    wire::UserLimits& limits = *to.mutable_set_user_limits();
    limits.set_user(c.user);
    if (c.limits.max_connections) limits.set_max_connections(*c.limits.max_connections);
    if (c.limits.max_channels) limits.set_max_channels(*c.limits.max_channels);
  }
  void operator()(const PutPermission& c) const { encode(c.record, *to.mutable_put_permission()); }
  void operator()(const DeletePermission& c) const {
    wire::Permission& name = *to.mutable_delete_permission();
    name.set_vhost(c.vhost);
    name.set_user(c.user);
  }
  void operator()(const PutTopicPermission& c) const {
    encode(c.record, *to.mutable_put_topic_permission());
  }
  void operator()(const DeleteTopicPermission& c) const {
    wire::DeleteTopicPermission& name = *to.mutable_delete_topic_permission();
    name.set_vhost(c.vhost);
    name.set_user(c.user);
    if (c.exchange) name.set_exchange(*c.exchange);
  }
  void operator()(const PutPolicy& c) const { encode(c.record, *to.mutable_put_policy()); }
  void operator()(const DeletePolicy& c) const {
    wire::DeletePolicy& name = *to.mutable_delete_policy();
    name.set_vhost(c.vhost);
    name.set_name(c.name);
    name.set_of_operator(c.of_operator);
  }
  void operator()(const PutParameter& c) const { encode(c.record, *to.mutable_put_parameter()); }
  void operator()(const DeleteParameter& c) const {
    wire::Parameter& name = *to.mutable_delete_parameter();
    name.set_component(c.component);
    name.set_vhost(c.vhost);
    name.set_name(c.name);
  }
  void operator()(const DeclareExchange& c) const {
    encode(c.record, *to.mutable_declare_exchange());
  }
  void operator()(const DeleteExchange& c) const {
    wire::DeleteExchange& name = *to.mutable_delete_exchange();
    name.set_vhost(c.vhost);
    name.set_name(c.name);
    name.set_if_unused(c.if_unused);
  }
  void operator()(const DeclareQueue& c) const {
    wire::DeclareQueue& queue = *to.mutable_declare_queue();
    encode(c.record, *queue.mutable_record());
    queue.set_client_shard(c.client_shard.value);
    queue.set_fewest_queues(c.fewest_queues);
  }
  void operator()(const DeleteQueue& c) const {
    wire::Queue& name = *to.mutable_delete_queue();
    name.set_vhost(c.vhost);
    name.set_name(c.name);
    name.set_qid(c.qid.value);
  }
  void operator()(const Bind& c) const { encode(c.record, *to.mutable_bind()); }
  void operator()(const Unbind& c) const { encode(c.record, *to.mutable_unbind()); }
  void operator()(const NodeUp& c) const { encode(c.record, *to.mutable_node_up()); }
  void operator()(const NodeDown& c) const {
    wire::NodeDown& down = *to.mutable_node_down();
    down.set_node(c.node.value);
    down.set_life(c.life);
    down.set_in_order(c.in_order);
    down.set_term(c.term);
  }
  void operator()(const ForgetNode& c) const { to.set_forget_node(c.node.value); }
  void operator()(const ChangeView& c) const {
    wire::ChangeView& change = *to.mutable_change_view();
    change.set_vhost(c.vhost);
    change.set_name(c.name);
    change.set_qid(c.qid.value);
    change.set_epoch(c.epoch);
    change.set_revision(c.revision);
    change.set_evict(c.kind == ViewChangeKind::kEvict);
    change.set_node(c.node.value);
    change.set_life(c.life);
  }
  void operator()(const LeadQueues& c) const {
    wire::LeadQueues& lead = *to.mutable_lead_queues();
    lead.set_node(c.node.value);
    lead.set_life(c.life);
    lead.set_up_to(c.up_to);
  }
  void operator()(const TransferQueue& c) const {
    wire::TransferQueue& transfer = *to.mutable_transfer_queue();
    transfer.set_vhost(c.vhost);
    transfer.set_name(c.name);
    transfer.set_qid(c.qid.value);
    transfer.set_node(c.node.value);
  }
};

// --- bytes to commands ---------------------------------------------------------------------------

SetVhostLimits limits_of(const wire::VhostLimits& from) {
  SetVhostLimits to;
  to.vhost = from.vhost();
  if (from.has_max_connections()) to.limits.max_connections = from.max_connections();
  if (from.has_max_queues()) to.limits.max_queues = from.max_queues();
  return to;
}

SetUserLimits limits_of(const wire::UserLimits& from) {
  SetUserLimits to;
  to.user = from.user();
  if (from.has_max_connections()) to.limits.max_connections = from.max_connections();
  if (from.has_max_channels()) to.limits.max_channels = from.max_channels();
  return to;
}

DeleteTopicPermission name_of(const wire::DeleteTopicPermission& from) {
  DeleteTopicPermission to{from.vhost(), from.user(), std::nullopt};
  if (from.has_exchange()) to.exchange = from.exchange();
  return to;
}

DeclareQueue declaration_of(const wire::DeclareQueue& from) {
  return {decode(from.record()), ShardId{static_cast<std::uint16_t>(from.client_shard())},
          from.fewest_queues()};
}

// Those that change who may do what, and the parameters.
std::optional<Command> decode_access(const wire::Command& from) {
  switch (from.command_case()) {
    case wire::Command::kPutVhost:
      return PutVhost{decode(from.put_vhost())};
    case wire::Command::kDeleteVhost:
      return DeleteVhost{from.delete_vhost()};
    case wire::Command::kSetVhostLimits:
      return limits_of(from.set_vhost_limits());
    case wire::Command::kPutUser:
      return PutUser{decode(from.put_user())};
    case wire::Command::kDeleteUser:
      return DeleteUser{from.delete_user()};
    case wire::Command::kSetUserLimits:
      return limits_of(from.set_user_limits());
    case wire::Command::kPutPermission:
      return PutPermission{decode(from.put_permission())};
    case wire::Command::kDeletePermission:
      return DeletePermission{from.delete_permission().vhost(), from.delete_permission().user()};
    case wire::Command::kPutTopicPermission:
      return PutTopicPermission{decode(from.put_topic_permission())};
    case wire::Command::kDeleteTopicPermission:
      return name_of(from.delete_topic_permission());
    case wire::Command::kPutPolicy:
      return PutPolicy{decode(from.put_policy())};
    case wire::Command::kDeletePolicy:
      return DeletePolicy{from.delete_policy().vhost(), from.delete_policy().name(),
                          from.delete_policy().of_operator()};
    case wire::Command::kPutParameter:
      return PutParameter{decode(from.put_parameter())};
    case wire::Command::kDeleteParameter:
      return DeleteParameter{from.delete_parameter().component(), from.delete_parameter().vhost(),
                             from.delete_parameter().name()};
    default:
      return std::nullopt;
  }
}

ChangeView change_of(const wire::ChangeView& from) {
  return {from.vhost(),        from.name(),
          Qid{from.qid()},     from.epoch(),
          from.revision(),     from.evict() ? ViewChangeKind::kEvict : ViewChangeKind::kAdmit,
          NodeId{from.node()}, from.life()};
}

// Those that change who has copies of a mirrored queue, and who leads; then the rest.
std::optional<Command> decode_mirroring(const wire::Command& from) {
  switch (from.command_case()) {
    case wire::Command::kChangeView:
      return change_of(from.change_view());
    case wire::Command::kLeadQueues:
      return LeadQueues{NodeId{from.lead_queues().node()}, from.lead_queues().life(),
                        from.lead_queues().up_to()};
    case wire::Command::kTransferQueue:
      return TransferQueue{from.transfer_queue().vhost(), from.transfer_queue().name(),
                           Qid{from.transfer_queue().qid()}, NodeId{from.transfer_queue().node()}};
    default:
      return decode_access(from);
  }
}

std::optional<Command> decode_command(const wire::Command& from) {
  switch (from.command_case()) {
    case wire::Command::kDeclareExchange:
      return DeclareExchange{decode(from.declare_exchange())};
    case wire::Command::kDeleteExchange:
      return DeleteExchange{from.delete_exchange().vhost(), from.delete_exchange().name(),
                            from.delete_exchange().if_unused()};
    case wire::Command::kDeclareQueue:
      return declaration_of(from.declare_queue());
    case wire::Command::kDeleteQueue:
      return DeleteQueue{from.delete_queue().vhost(), from.delete_queue().name(),
                         Qid{from.delete_queue().qid()}};
    case wire::Command::kBind:
      return Bind{decode(from.bind())};
    case wire::Command::kUnbind:
      return Unbind{decode(from.unbind())};
    case wire::Command::kNodeUp:
      return NodeUp{decode(from.node_up())};
    case wire::Command::kNodeDown:
      return NodeDown{NodeId{from.node_down().node()}, from.node_down().life(),
                      from.node_down().in_order(), from.node_down().term()};
    case wire::Command::kForgetNode:
      return ForgetNode{NodeId{from.forget_node()}};
    default:
      return decode_mirroring(from);
  }
}

template <typename Message>
bool parse(std::string_view bytes, Message& message) {
  return bytes.size() <= std::numeric_limits<int>::max() &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

template <typename List, typename Add>
void encode_list(const List& list, const Add& add) {
  for (const auto& record : list) encode(*record, *add());
}

template <typename Wires, typename List>
void decode_list(const Wires& wires, List& list) {
  using Record = typename List::value_type::element_type;
  list.reserve(static_cast<std::size_t>(wires.size()));
  for (const auto& one : wires) list.push_back(std::make_shared<Record>(decode(one)));
}

}  // namespace

std::string encode(const Proposal& proposal) {
  wire::Proposal to;
  to.set_node(proposal.node.value);
  to.set_life(proposal.life);
  to.set_first_request(proposal.first_request);
  to.set_oldest_request(proposal.oldest_request);
  for (const Command& command : proposal.commands) {
    std::visit(CommandEncoder{*to.add_commands()}, command);
  }
  return to.SerializeAsString();
}

Result<Proposal> decode_proposal(std::string_view bytes) {
  wire::Proposal from;
  if (!parse(bytes, from)) return Status{Code::kCorrupt, "does not hold a proposal"};
  Proposal proposal{NodeId{from.node()}, from.life(), from.first_request(), from.oldest_request()};
  proposal.commands.reserve(static_cast<std::size_t>(from.commands_size()));
  for (const wire::Command& command : from.commands()) {
    std::optional<Command> known = decode_command(command);
    if (!known) {
      return Status{Code::kCorrupt, "holds a command of a kind that this version does not know"};
    }
    proposal.commands.push_back(*std::move(known));
  }
  return proposal;
}

std::string encode(const SavedState& state) {
  wire::State to;
  for (const SavedNode& node : state.nodes) {
    wire::SavedNode& saved = *to.add_nodes();
    encode(*node.record, *saved.mutable_node());
    saved.set_last_request(node.last_request);
  }
  for (const NodeId id : state.forgotten) to.add_forgotten(id.value);
  encode_list(state.vhosts, [&to] { return to.add_vhosts(); });
  encode_list(state.users, [&to] { return to.add_users(); });
  encode_list(state.permissions, [&to] { return to.add_permissions(); });
  encode_list(state.topic_permissions, [&to] { return to.add_topic_permissions(); });
  encode_list(state.policies, [&to] { return to.add_policies(); });
  encode_list(state.parameters, [&to] { return to.add_parameters(); });
  encode_list(state.exchanges, [&to] { return to.add_exchanges(); });
  encode_list(state.queues, [&to] { return to.add_queues(); });
  for (const BindingRecord& binding : state.bindings) encode(binding, *to.add_bindings());
  to.set_next_qid(state.next_qid);
  to.set_last_mark(state.last_mark);
  to.set_index(state.index);
  return to.SerializeAsString();
}

std::string encode_alone(const ExchangeRecord& record) {
  wire::State to;
  encode(record, *to.add_exchanges());
  return to.SerializeAsString();
}

std::string encode_alone(const QueueRecord& record) {
  wire::State to;
  encode(record, *to.add_queues());
  return to.SerializeAsString();
}

std::string encode_alone(const BindingRecord& record) {
  wire::State to;
  encode(record, *to.add_bindings());
  return to.SerializeAsString();
}

Result<SavedState> decode_state(std::string_view bytes) {
  wire::State from;
  if (!parse(bytes, from)) return Status{Code::kCorrupt, "does not hold the metadata"};
  SavedState state;
  for (const wire::SavedNode& node : from.nodes()) {
    state.nodes.push_back(
        {std::make_shared<const NodeRecord>(decode(node.node())), node.last_request()});
  }
  for (const std::uint32_t id : from.forgotten()) state.forgotten.push_back(NodeId{id});
  decode_list(from.vhosts(), state.vhosts);
  decode_list(from.users(), state.users);
  decode_list(from.permissions(), state.permissions);
  decode_list(from.topic_permissions(), state.topic_permissions);
  decode_list(from.policies(), state.policies);
  decode_list(from.parameters(), state.parameters);
  decode_list(from.exchanges(), state.exchanges);
  decode_list(from.queues(), state.queues);
  state.bindings.reserve(static_cast<std::size_t>(from.bindings_size()));
  for (const wire::Binding& binding : from.bindings()) state.bindings.push_back(decode(binding));
  state.next_qid = from.next_qid();
  state.last_mark = from.last_mark();
  state.index = from.index();
  return state;
}

}  // namespace ringtail::cluster::metadata
