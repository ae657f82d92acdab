// Queues with their figures, as lists need them: read on the queues' shards in portions, so that no
// shard is held for long however many there are.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "broker/http/call.h"
#include "broker/json_table.h"
#include "queue/queue_process.h"

namespace ringtail::broker::http {

struct QueueRow {
  std::shared_ptr<const cluster::metadata::QueueRecord> record;
  queue::QueueStats stats = {};
  // The queue's node has been heard; otherwise the figures are not known.
  bool known = true;
};

// Those of this node. Calls `visit` on the shards' threads, one after the other.
void for_each_queue(Call& call, const std::function<void(const cluster::metadata::QueueRecord&,
                                                         const queue::QueueStats&)>& visit);

// Those that the user may see, of one vhost (empty: of all), by vhost and name; of all nodes. With
// `figures` queues of other nodes are asked for theirs.
std::vector<QueueRow> queue_rows(Call& call, std::string_view vhost, bool figures);
// Whoever asks; of one vhost (empty: of all) and all nodes, by vhost and age.
std::vector<std::shared_ptr<const cluster::metadata::QueueRecord>> queue_records(
    Call& call, std::string_view vhost);
// The names of the vhosts that the user may see.
std::vector<std::string> visible_vhosts(Call& call);

struct QueueTotals {
  std::uint64_t queues = 0;
  std::uint64_t ready = 0;
  std::uint64_t unacknowledged = 0;
  std::uint64_t published = 0;
  std::uint64_t delivered = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t redelivered = 0;
  std::uint64_t consumers = 0;
  void add(const queue::QueueStats& stats);
};
// messages, messages_ready, messages_unacknowledged.
void put_depth(Json& object, std::uint64_t ready, std::uint64_t unacknowledged);
// message_stats.
Json message_stats_json(const QueueTotals& totals);

}  // namespace ringtail::broker::http
