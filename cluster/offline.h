// The metadata of a node that does not run, as its own part of the log has it: for tools that read
// a data directory. Where others had agreed on more since, it is not in it; what was never agreed
// on may be.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/runtime/disk.h"
#include "broker/runtime/status.h"
#include "cluster/identity.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster {

struct OfflineMetadata {
  Identity identity;
  std::unique_ptr<metadata::Store> store;
};

// kCorrupt names file and offset. `run` carries out what was asked of the disk until nothing is
// left.
runtime::Result<OfflineMetadata> read_offline(runtime::Disk& disk, const std::string& data_dir,
                                              const std::function<void()>& run);

}  // namespace ringtail::cluster
