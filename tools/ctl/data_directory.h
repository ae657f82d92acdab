// The data directory of a node that does not run: its lock, which queues there are, and what the
// journals say of them. Read by the broker's own readers, so that both see the same.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/ids.h"
#include "queue/store/journal_reader.h"
#include "tools/ctl/data_disk.h"

namespace ringtail::ctl {

struct DurableQueue {
  runtime::Qid qid;
  std::string vhost;
  std::string name;
};

// Holds the directory's lock while it lives.
class DataDirectory {
 public:
  explicit DataDirectory(std::string path) : path_(std::move(path)) {}

  // kBusy: a node runs on it. kNotFound: it is no data directory.
  runtime::Status lock();
  // The durable queues, by directory name; kCorrupt: the metadata is damaged, the text says where.
  // Queues whose names make no directory name are left out: they have no messages.
  runtime::Status read_queues();
  runtime::Status read_journals();

  const std::string& path() const { return path_; }
  std::string queue_path(const std::string& directory) const {
    return path_ + "/queues/" + directory;
  }
  DataDisk& disk() { return disk_; }
  const std::map<std::string, DurableQueue>& queues() const { return queues_; }
  queue::store::JournalsRead& journals() { return journals_; }
  // What the journals say of a queue; nothing, if they do not know it.
  const queue::store::JournaledQueue& journaled(runtime::Qid qid) const;

 private:
  const std::string path_;
  DataDisk disk_;
  DataEnv env_{disk_};
  std::unique_ptr<runtime::FileLock> lock_;
  std::map<std::string, DurableQueue> queues_;
  queue::store::JournalsRead journals_;
};

}  // namespace ringtail::ctl
