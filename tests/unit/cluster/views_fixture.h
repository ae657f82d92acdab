// For tests of mirrored queues' views: a store with nodes, and what a view looks like in a line.
#pragma once

#include <string>
#include <vector>

#include "cluster/metadata/commands_codec.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

inline NodeUp node_up(std::uint32_t id, std::uint64_t boot, std::uint16_t shards = 2,
                      std::string name = {}) {
  if (name.empty()) name = std::string(1, static_cast<char>('a' + id - 1));
  return {{.id = NodeId{id}, .name = name, .host = "h", .shards = shards, .boot = boot}};
}

// Nodes 1, 2, ... are called "a", "b", ...
struct Cluster {
  explicit Cluster(std::uint32_t count) {
    for (std::uint32_t id = 1; id <= count; ++id) up(id);
  }
  void up(std::uint32_t id, std::uint16_t shards = 2) { store.apply(node_up(id, ++boots, shards)); }
  void down(std::uint32_t id) { store.apply(NodeDown{NodeId{id}, life(id), false}); }
  Life life(std::uint32_t id) const { return store.node(NodeId{id})->life; }

  CommandResult declare(const std::string& name, std::optional<Mirrors> mirrors,
                        std::uint32_t home = 1, bool durable = true) {
    DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = name;
    command.record.home = NodeId{home};
    command.record.durable = durable;
    command.record.options.mirrors = std::move(mirrors);
    return store.apply(command);
  }
  std::shared_ptr<const QueueRecord> queue(const std::string& name = "q") const {
    return store.queue("/", name);
  }
  Outcome change(ViewChangeKind kind, std::uint32_t node, const std::string& name = "q") {
    const auto record = queue(name);
    return store
        .apply(ChangeView{"/", name, record->qid, record->view->epoch, record->view->revision, kind,
                          NodeId{node}, life(node)})
        .outcome;
  }
  Outcome admit(std::uint32_t node, const std::string& name = "q") {
    return change(ViewChangeKind::kAdmit, node, name);
  }
  Outcome evict(std::uint32_t node, const std::string& name = "q") {
    return change(ViewChangeKind::kEvict, node, name);
  }
  // As the owner of that node does.
  Outcome lead(std::uint32_t node) {
    return store.apply(LeadQueues{NodeId{node}, life(node), store.last_mark()}).outcome;
  }
  void policy(PolicyDefinition definition, std::int64_t priority = 0) {
    store.apply(PutPolicy{{.vhost = "/",
                           .name = "p",
                           .pattern = ".*",
                           .priority = priority,
                           .definition = std::move(definition)}});
  }
  void no_policy() { store.apply(DeletePolicy{"/", "p", false}); }

  // "2: a1 b1! c2?" is epoch 2 and node a in life 1, which leads; b, whose life has ended; c, which
  // joins.
  std::string view(const std::string& name = "q") const {
    const auto record = queue(name);
    if (record == nullptr) return "gone";
    if (record->view == nullptr) return "on " + store.node(record->home)->name;
    std::string text = std::to_string(record->view->epoch) + ":";
    for (const QueueMember& member : record->view->members) {
      const auto node = store.node(member.node);
      text += " " + (node == nullptr ? "?" : node->name) + std::to_string(member.life);
      if (member.ended) text += "!";
      if (!member.in_sync) text += "?";
    }
    return text;
  }

  Store store;
  std::uint64_t boots = 0;
};

inline Mirrors mirrors_all() { return {.mode = MirrorMode::kAll}; }
inline Mirrors mirrors_exactly(std::uint64_t count) {
  return {.mode = MirrorMode::kExactly, .count = count};
}
inline Mirrors mirrors_nodes(std::vector<std::string> names) {
  return {.mode = MirrorMode::kNodes, .nodes = std::move(names)};
}

}  // namespace ringtail::cluster::metadata
