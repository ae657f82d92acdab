// Writes the store's saved records into a new snapshot file, a few at a time, while the store goes
// on changing: what changes meanwhile is in the log that began before this, and is applied over the
// snapshot when both are read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "broker/runtime/disk.h"
#include "cluster/metadata/log_file.h"
#include "cluster/metadata/saved_codec.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

// On the owner's shard; lives until `done` has run. Under its final name the file is whole.
class SnapshotWriter {
 public:
  // `bytes`: the size of the snapshot.
  using Done = std::function<void(const runtime::Status& status, std::uint64_t bytes)>;
  SnapshotWriter(runtime::Disk& disk, Store& store, std::string directory, const LogHeader& header);

  void start(Done done);
  // Ends as soon as the disk lets go of it, with kClosed.
  void abort() { aborted_ = true; }

 private:
  void step();
  void written(const runtime::Status& status);
  runtime::Status rename();
  void end(const runtime::Status& status);

  runtime::Disk& disk_;
  Store& store_;
  const std::string directory_;
  const std::string unfinished_;
  const LogHeader header_;
  Done done_;
  std::unique_ptr<runtime::File> file_;
  ChangeEncoder encoder_;
  std::string buffer_;
  runtime::DiskRequest request_;
  std::uint64_t walk_ = 0;
  std::uint64_t index_ = 0;
  std::uint64_t bytes_ = 0;
  bool more_ = true;
  bool syncing_ = false;
  bool aborted_ = false;
};

}  // namespace ringtail::cluster::metadata
