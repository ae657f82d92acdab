#include "broker/http/queue_rows.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "broker/broker_shard.h"
#include "broker/http/cluster_nodes.h"
#include "broker/http/limits.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::QueueRecord;
using cluster::metadata::View;
using queue::QueueStats;
using runtime::Qid;
using runtime::ShardId;

namespace {

using Visit = std::function<void(queue::QueueProcess&)>;

void for_each_process(Call& call, const Visit& visit) {
  for (std::uint16_t shard = 0; shard < call.gateway().shards(); ++shard) {
    Qid at{0};
    do {
      if (!call.on_shard(ShardId{shard}, [&](BrokerShard& broker_shard) {
            at = broker_shard.queues().visit_some(at, kPortion, visit);
          })) {
        return;
      }
    } while (at != Qid{0});
  }
}

using RecordPtr = std::shared_ptr<const QueueRecord>;

// Only the metadata knows them here; a vhost at a time. A node that is alone has none.
void for_each_far_queue(Call& call, const std::vector<std::string>& vhosts,
                        const std::function<void(const RecordPtr&)>& visit) {
  if (ClusterNodes(call).alone()) return;
  for (const std::string& vhost : vhosts) {
    call.on_shard(ShardId{0}, [&](BrokerShard& shard) {
      shard.view().for_each_queue_of(vhost, [&](const RecordPtr& record) {
        if (record->home != shard.shard().node()) visit(record);
      });
    });
  }
}

std::vector<std::string> all_vhosts(Call& call) {
  std::vector<std::string> names;
  call.read([&](const View& view) {
    view.for_each_vhost([&](const auto& vhost) { names.push_back(vhost->name); });
  });
  return names;
}

void add_far_rows(Call& call, const std::vector<std::string>& vhosts, bool figures,
                  std::vector<QueueRow>& rows) {
  std::vector<RecordPtr> far;
  for_each_far_queue(call, vhosts, [&](const RecordPtr& record) { far.push_back(record); });
  std::vector<QueueAnswer> answers;
  if (figures) answers = call.inspect_queues(far);
  for (std::size_t i = 0; i < far.size(); ++i) {
    QueueRow row{std::move(far[i])};
    row.known = figures && answers[i].answer == queue::Answer::kOk;
    if (row.known) row.stats = answers[i].stats;
    // It went while it was asked.
    const bool gone = figures && !row.known && !answers[i].node_down &&
                      answers[i].answer == queue::Answer::kNotFound;
    if (!gone) rows.push_back(std::move(row));
  }
}

}  // namespace

void for_each_queue(Call& call,
                    const std::function<void(const QueueRecord&, const QueueStats&)>& visit) {
  for_each_process(call, [&](queue::QueueProcess& queue) { visit(queue.record(), queue.stats()); });
}

std::vector<std::string> visible_vhosts(Call& call) {
  std::vector<std::string> names;
  call.read([&](const View& view) {
    view.for_each_vhost([&](const auto& vhost) {
      if (call.may_see(view, vhost->name)) names.push_back(vhost->name);
    });
  });
  return names;
}

std::vector<QueueRow> queue_rows(Call& call, std::string_view vhost, bool figures) {
  std::vector<std::string> names = visible_vhosts(call);
  // Of one vhost: its route has looked whether the user may.
  if (!vhost.empty()) names = {std::string(vhost)};
  const std::set<std::string_view> visible(names.begin(), names.end());
  std::vector<QueueRow> rows;
  for_each_process(call, [&](queue::QueueProcess& queue) {
    const QueueRecord& record = queue.record();
    if (visible.contains(record.vhost)) rows.push_back({queue.shared_record(), queue.stats()});
  });
  add_far_rows(call, names, figures, rows);
  std::sort(rows.begin(), rows.end(), [](const QueueRow& a, const QueueRow& b) {
    return std::tie(a.record->vhost, a.record->name) < std::tie(b.record->vhost, b.record->name);
  });
  return rows;
}

std::vector<RecordPtr> queue_records(Call& call, std::string_view vhost) {
  std::vector<RecordPtr> records;
  for_each_process(call, [&](queue::QueueProcess& queue) {
    if (vhost.empty() || queue.record().vhost == vhost) records.push_back(queue.shared_record());
  });
  const std::vector<std::string> vhosts =
      vhost.empty() ? all_vhosts(call) : std::vector<std::string>{std::string(vhost)};
  for_each_far_queue(call, vhosts, [&](const RecordPtr& record) { records.push_back(record); });
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return std::tie(a->vhost, a->qid.value) < std::tie(b->vhost, b->qid.value);
  });
  return records;
}

void QueueTotals::add(const QueueStats& stats) {
  ++queues;
  ready += stats.messages_ready;
  unacknowledged += stats.messages_unacknowledged;
  published += stats.published;
  delivered += stats.delivered;
  acknowledged += stats.acknowledged;
  redelivered += stats.redelivered;
  consumers += stats.consumers;
}

void put_depth(Json& object, std::uint64_t ready, std::uint64_t unacknowledged) {
  put_count(object, "messages", ready + unacknowledged);
  put_count(object, "messages_ready", ready);
  put_count(object, "messages_unacknowledged", unacknowledged);
}

Json message_stats_json(const QueueTotals& totals) {
  Json json = Json::object();
  put_count(json, "publish", totals.published);
  put_count(json, "deliver_get", totals.delivered);
  put_count(json, "ack", totals.acknowledged);
  put_count(json, "redeliver", totals.redelivered);
  return json;
}

}  // namespace ringtail::broker::http
