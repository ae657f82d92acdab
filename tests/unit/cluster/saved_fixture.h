// For tests of stores: the content of one as text, and a random command.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "broker/runtime/bytes.h"
#include "cluster/metadata/commands_codec.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

// All that a store knows. Equal texts: equal stores, down to the ages of what they hold.
inline std::string text_of(const Store& store) { return encode(store.save()); }

inline std::string flat(const runtime::BytesChain& chain) {
  std::string text;
  for (const runtime::Bytes& piece : chain.pieces()) text += runtime::as_text(piece.span());
  return text;
}

// Who may do what, and policies.
inline Command random_access_command(std::mt19937& random) {
  const auto number = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  const std::string vhost = number(6) == 0 ? "v" : "/";
  const std::string user = "u" + std::to_string(number(3));
  const std::string policy = "p" + std::to_string(number(3));
  switch (number(7)) {
    case 0:
      return PutUser{{.name = user, .password_hash = std::string("\0\1\2", 3), .tags = {"t"}}};
    case 1:
      return number(3) == 0 ? Command(DeleteUser{user})
                            : Command(SetUserLimits{user, {.max_channels = number(4)}});
    case 2:
      return PutPermission{{.vhost = vhost, .user = user, .configure = "^a", .read = ".*"}};
    case 3: {
      PutPolicy command;
      command.record = {.vhost = vhost,
                        .name = policy,
                        .of_operator = number(2) == 0,
                        .pattern = "q",
                        .priority = -1,
                        .definition = {{"max-length", std::int64_t{number(4)}},
                                       {"ha-params", std::vector<std::string>{"n0", "n1"}}}};
      if (number(2) == 0) command.record.definition.emplace("ha-mode", std::string("nodes"));
      return command;
    }
    case 4:
      return number(4) == 0 ? Command(DeleteVhost{"v"}) : Command(PutVhost{{.name = "v"}});
    case 5:
      return DeletePolicy{vhost, policy, false};
    default:
      return PutParameter{{.component = "c", .vhost = vhost, .name = user, .value = "{}"}};
  }
}

// What masters and operators ask for; mostly from the view as it is.
inline Command random_view_command(std::mt19937& random, const Store& store, std::string vhost,
                                   std::string queue) {
  const auto number = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  std::vector<std::shared_ptr<const QueueRecord>> mirrored;
  store.for_each_queue([&mirrored](const auto& record) {
    if (record->view != nullptr) mirrored.push_back(record);
  });
  if (mirrored.empty()) return LeadQueues{NodeId{1}, 1, 1};
  const QueueRecord& record = *mirrored[number(static_cast<unsigned>(mirrored.size()))];
  const QueueView& view = *record.view;
  const QueueMember& member = view.members[number(static_cast<unsigned>(view.members.size()))];
  switch (number(4)) {
    case 0:
      return TransferQueue{std::move(vhost), std::move(queue), record.qid, member.node};
    case 1:
      return TransferQueue{record.vhost, record.name, record.qid, member.node};
    case 2:
      return LeadQueues{record.home, view.members.front().life, store.last_mark() - number(10) / 9};
    default:
      return ChangeView{record.vhost,
                        record.name,
                        record.qid,
                        view.epoch,
                        view.revision - number(10) / 9,
                        member.in_sync ? ViewChangeKind::kEvict : ViewChangeKind::kAdmit,
                        member.node,
                        member.life};
  }
}

inline Command random_declaration(std::mt19937& random, const std::string& vhost,
                                  const std::string& queue, NodeId node) {
  const auto number = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  DeclareQueue command;
  command.record.vhost = vhost;
  command.record.name = queue;
  command.record.durable = number(4) != 0;
  command.record.home = number(4) == 0 ? NodeId{0} : node;
  command.fewest_queues = number(3) == 0;
  command.record.exclusive_owner = number(8) == 0 ? 9 : 0;
  if (number(2) == 0) command.record.options.dead_letter_exchange = "";
  if (number(3) == 0) command.record.options.type = QueueType::kQuorum;
  if (number(2) == 0) {
    Mirrors mirrors;
    mirrors.mode = static_cast<MirrorMode>(number(4));
    mirrors.count = 1 + number(3);
    mirrors.nodes = {"n0", "n9", "n2"};
    mirrors.automatic_sync = number(2) == 0;
    command.record.options.mirrors = mirrors;
    command.record.options.min_in_sync = number(3);
  }
  return command;
}

// Names are few, so that they come and go.
inline Command random_command(std::mt19937& random, const Store& store) {
  const auto number = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  const std::string vhost = number(6) == 0 ? "v" : "/";
  const std::string queue = "q" + std::to_string(number(12));
  const std::string exchange = number(4) == 0 ? "amq.topic" : "e" + std::to_string(number(6));
  const std::string other = "e" + std::to_string(number(6));
  BindingRecord binding{.vhost = vhost,
                        .source = exchange,
                        .destination = queue,
                        .routing_key = std::to_string(number(5)),
                        .arguments = number(4) == 0 ? std::string("\0x", 2) : ""};
  if (number(5) == 0) {
    binding.kind = DestinationKind::kExchange;
    binding.destination = other;
  }
  // Whoever was forgotten is followed by another, and tries in vain now and then.
  NodeId node{1 + number(3)};
  while (store.is_forgotten(node) && number(8) != 0) node.value += 3;
  const unsigned pick = std::max(2U, number(24));
  if (pick >= 8 && pick <= 14) return random_access_command(random);
  if (pick >= 20) return random_view_command(random, store, vhost, queue);
  switch (pick) {
    case 2:
      return random_declaration(random, vhost, queue, node);
    case 3: {
      const auto record = store.queue(vhost, queue);
      return DeleteQueue{vhost, queue, record == nullptr ? Qid{0} : record->qid};
    }
    case 4:
    case 5:
      return DeclareExchange{{.vhost = vhost,
                              .name = other,
                              .type = "topic",
                              .durable = number(3) != 0,
                              .auto_delete = number(3) == 0}};
    case 6:
      return DeleteExchange{vhost, other, number(2) == 0};
    case 7:
      return Unbind{binding};
    case 15: {
      NodeUp command;
      command.record = {.id = node,
                        .name = "n" + std::to_string(number(3)),
                        .host = "h",
                        .port = 1,
                        .shards = static_cast<std::uint16_t>(1 + number(3)),
                        .boot = 1 + number(2)};
      return command;
    }
    case 16: {
      const auto record = store.node(node);
      return NodeDown{node, record == nullptr ? 1 : record->life, number(2) == 0};
    }
    case 17:
      if (number(4) == 0) return ForgetNode{node};
      return SetVhostLimits{vhost, {.max_queues = 8 + number(8)}};
    default:
      return Bind{binding};
  }
}

}  // namespace ringtail::cluster::metadata
