#include "broker/placement.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/amqp/field_table.h"
#include "broker/broker_shard.h"

namespace ringtail::broker {

using cluster::metadata::DeclareQueue;
using cluster::metadata::NodeRecord;
using cluster::metadata::QueueRecord;

namespace {

std::string locator_of(const BrokerShard& shard, const QueueRecord& record) {
  const auto argument =
      amqp::find_in_table(runtime::as_bytes(record.arguments), "x-queue-master-locator");
  if (argument) return std::string(argument->as_text().value_or(""));
  // x-ha-policy is older than any locator: the master is where the client is.
  if (record.options.mirrors) return "client-local";
  const auto policy = shard.view().effective_policy(record);
  if (policy != nullptr) {
    const auto found = policy->definition.find("queue-master-locator");
    if (found != policy->definition.end()) {
      if (const auto* text = std::get_if<std::string>(&found->second)) return *text;
    }
  }
  return shard.config().queue_master_locator;
}

// The nodes that are up; where mirrors are wanted on some and any of those is up, those.
std::vector<runtime::NodeId> candidates(const BrokerShard& shard, const QueueRecord& record) {
  const auto wish = cluster::metadata::wanted_mirrors(record.options,
                                                      shard.view().effective_policy(record).get());
  std::vector<runtime::NodeId> up;
  std::vector<runtime::NodeId> listed;
  shard.view().for_each_node([&](const std::shared_ptr<const NodeRecord>& node) {
    if (!node->up) return;
    up.push_back(node->id);
    if (wish &&
        std::find(wish->nodes.begin(), wish->nodes.end(), node->name) != wish->nodes.end()) {
      listed.push_back(node->id);
    }
  });
  return listed.empty() ? up : listed;
}

}  // namespace

DeclareQueue placed(BrokerShard& shard, QueueRecord record) {
  DeclareQueue command{std::move(record), shard.shard().id(), false};
  command.record.home = shard.shard().node();
  if (command.record.exclusive()) return command;
  const std::string locator = locator_of(shard, command.record);
  if (locator == "min-masters" || locator == "balanced") {
    command.fewest_queues = true;
  } else if (locator == "random") {
    const std::vector<runtime::NodeId> up = candidates(shard, command.record);
    if (!up.empty()) command.record.home = up[shard.chance() % up.size()];
  }
  return command;
}

}  // namespace ringtail::broker
