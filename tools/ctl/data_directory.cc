#include "tools/ctl/data_directory.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/offline.h"
#include "queue/store/directory_name.h"

namespace ringtail::ctl {

using runtime::Code;
using runtime::Result;
using runtime::Status;

Status DataDirectory::lock() {
  auto lock = disk_.lock(path_ + "/lock");
  if (lock.ok()) {
    lock_ = std::move(lock).value();
    return {};
  }
  if (lock.status().code() == Code::kBusy) {
    return {Code::kBusy, fmt::format("a node runs on the data directory {} ({}): stop it first",
                                     path_, lock.status().text())};
  }
  if (lock.status().code() == Code::kNotFound) {
    return {Code::kNotFound,
            fmt::format("{} is no data directory: {}", path_, lock.status().text())};
  }
  return lock.status();
}

Status DataDirectory::read_queues() {
  const auto read = cluster::read_offline(disk_, path_, [this] { disk_.run(); });
  if (!read.ok()) return read.status();
  const runtime::NodeId node = read.value().identity.node;
  read.value().store->for_each_queue([this, node](const auto& record) {
    const auto directory = queue::store::directory_name(record->vhost, record->name);
    if (!directory.ok() || !record->durable || record->exclusive() || record->home != node) return;
    queues_[directory.value()] = {record->qid, record->vhost, record->name};
  });
  return {};
}

Status DataDirectory::read_journals() {
  const std::string directory = path_ + "/journal";
  const auto shards = queue::store::journal_shards(disk_, directory);
  RT_TRY(shards.status());
  queue::store::JournalReader reader(env_, directory, shards.value());
  Status result{Code::kIo, "the journals were not read to their end"};
  reader.start([&](Result<queue::store::JournalsRead> read) {
    result = read.status();
    if (read.ok()) journals_ = std::move(read).value();
  });
  disk_.run();
  return result;
}

const queue::store::JournaledQueue& DataDirectory::journaled(runtime::Qid qid) const {
  static const queue::store::JournaledQueue kNothing;
  const auto found = journals_.queues.find(qid);
  return found == journals_.queues.end() ? kNothing : found->second;
}

}  // namespace ringtail::ctl
