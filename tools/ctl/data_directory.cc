#include "tools/ctl/data_directory.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/metadata/log_reader.h"
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
  cluster::metadata::LogReader reader(disk_, path_ + "/metadata");
  Status result{Code::kIo, "the metadata was not read to its end"};
  reader.start([&](Result<cluster::metadata::ReadLogs> read) {
    result = read.status();
    if (!read.ok()) return;
    for (const auto& record : read.value().state.queues) {
      const auto directory = queue::store::directory_name(record->vhost, record->name);
      if (!directory.ok() || !record->durable) continue;
      queues_[directory.value()] = {record->qid, record->vhost, record->name};
    }
  });
  disk_.run();
  return result;
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
