#include "broker/http/queue_rows.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "broker/broker_shard.h"
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

std::vector<QueueRow> queue_rows(Call& call, std::string_view vhost) {
  const std::vector<std::string> names = visible_vhosts(call);
  const std::set<std::string_view> visible(names.begin(), names.end());
  std::vector<QueueRow> rows;
  for_each_process(call, [&](queue::QueueProcess& queue) {
    const QueueRecord& record = queue.record();
    if (vhost.empty() ? !visible.contains(record.vhost) : record.vhost != vhost) return;
    rows.push_back({queue.shared_record(), queue.stats()});
  });
  std::sort(rows.begin(), rows.end(), [](const QueueRow& a, const QueueRow& b) {
    return std::tie(a.record->vhost, a.record->name) < std::tie(b.record->vhost, b.record->name);
  });
  return rows;
}

std::vector<std::shared_ptr<const QueueRecord>> queue_records(Call& call, std::string_view vhost) {
  std::vector<std::shared_ptr<const QueueRecord>> records;
  for_each_process(call, [&](queue::QueueProcess& queue) {
    if (vhost.empty() || queue.record().vhost == vhost) records.push_back(queue.shared_record());
  });
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
