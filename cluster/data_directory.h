// What a node learns from its data directory before it starts: who it is and what it shares with
// its cluster; and the lock that keeps the directory for this process alone.
#pragma once

#include <memory>
#include <string>

#include "broker/runtime/env.h"
#include "cluster/identity.h"

namespace ringtail::cluster {

struct DataDirectory {
  std::unique_ptr<runtime::FileLock> lock;
  Identity identity;
  std::string cookie;
};

// Makes it if need be. `cookie_file` empty: `cookie` in it. kBusy: another node uses it.
runtime::Result<DataDirectory> open_data_directory(runtime::Env& env, const std::string& data_dir,
                                                   const std::string& cookie_file);

}  // namespace ringtail::cluster
