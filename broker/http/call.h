// One request while a route works on it: who asks, what he may, and the way to the shards.
//
// Lives on one of the server's threads. What a route does after a failed trip to a shard has no
// effect: the client is told that the node did not answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/amqp/reply_codes.h"
#include "broker/http/gateway.h"
#include "broker/http/message.h"
#include "broker/http/node_facts.h"
#include "broker/queue_calls.h"
#include "cluster/metadata/commands.h"
#include "cluster/metadata/view.h"

namespace ringtail::broker::http {

class Call {
 public:
  using UserPtr = std::shared_ptr<const cluster::metadata::UserRecord>;
  using QueuePtr = std::shared_ptr<const cluster::metadata::QueueRecord>;

  Call(const Request& request, Gateway& gateway, const NodeFacts& facts)
      : request_(request), gateway_(gateway), facts_(facts) {}

  const Request& request() const { return request_; }
  const NodeFacts& facts() const { return facts_; }
  const runtime::Config& config() const { return *facts_.config; }
  Gateway& gateway() { return gateway_; }
  // The parts of the path that its route leaves open, in order.
  const std::string& part(std::size_t index) const { return parts_[index]; }
  void set_parts(std::vector<std::string> parts) { parts_ = std::move(parts); }

  // --- who asks ---
  const cluster::metadata::UserRecord& user() const { return *user_; }
  void set_user(UserPtr user) { user_ = std::move(user); }
  bool has_tag(std::string_view tag) const;
  bool is_administrator() const { return has_tag("administrator"); }
  bool is_monitor() const { return is_administrator() || has_tag("monitoring"); }
  bool is_policymaker() const { return is_administrator() || has_tag("policymaker"); }
  bool is_manager() const { return is_monitor() || is_policymaker() || has_tag("management"); }
  // Whether the user may enter the vhost; on a shard's thread.
  bool may_enter(const cluster::metadata::View& view, std::string_view vhost) const;
  // Whether he is shown what is in it: monitors see all.
  bool may_see(const cluster::metadata::View& view, std::string_view vhost) const;

  // --- the shards ---
  // Runs `read` on shard 0's thread and waits. False: it has not run.
  bool read(const std::function<void(const cluster::metadata::View&)>& read);
  UserPtr user_named(const std::string& name);  // null: there is none
  bool on_shard(runtime::ShardId shard, const std::function<void(BrokerShard&)>& call);
  bool on_every_shard(const std::function<void(BrokerShard&)>& call);
  // Changes the metadata. Every shard has the change when it returns. Where no majority of the
  // cluster agrees in time the call has failed (503): the outcome is never kUnavailable.
  cluster::metadata::CommandResult propose(cluster::metadata::Command command);
  // Many, in order, several on their way at a time; what came of each. Ends at the first for which
  // no majority was found.
  std::vector<cluster::metadata::Outcome> propose_all(
      const std::vector<cluster::metadata::Command>& commands);
  // The queue's own shard; some shard, where it lives on another node.
  runtime::ShardId nearest_shard(const cluster::metadata::QueueRecord& queue) const;
  // Asks a queue; kNotFound: it is gone, or its node is.
  QueueAnswer ask_queue(const cluster::metadata::QueueRecord& queue, const QueueQuestion& question);
  // How much queues of other nodes hold, many questions on their way at a time; an answer for each.
  // A node that keeps silent does not fail the call: its queues count as not reached (node_down).
  std::vector<QueueAnswer> inspect_queues(const std::vector<QueuePtr>& queues);

  bool failed() const { return !failure_.ok(); }
  const runtime::Status& failure() const { return failure_; }

 private:
  bool keep(const runtime::Status& status);
  bool agreed(cluster::metadata::Outcome outcome);

  const Request& request_;
  Gateway& gateway_;
  const NodeFacts& facts_;
  std::vector<std::string> parts_;
  UserPtr user_;
  runtime::Status failure_;
};

// What a client's mistake, as a channel would report it, is over HTTP.
Response amqp_failure(const amqp::AmqpError& error);

}  // namespace ringtail::broker::http
