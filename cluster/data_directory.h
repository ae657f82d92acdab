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
  bool force_boot = false;
  // A member of the cluster that the node joins, or joined, as set_join() has it; empty: none.
  std::string join;
};

// Makes it if need be. `cookie_file` empty: `cookie` in it. kBusy: another node uses it.
runtime::Result<DataDirectory> open_data_directory(runtime::Env& env, const std::string& data_dir,
                                                   const std::string& cookie_file);

// The node of this directory, which is empty otherwise, is to join that member's cluster
// ("host:port" or "name@host") at its next start.
runtime::Status set_join(runtime::Disk& disk, const std::string& data_dir,
                         const std::string& member);
// The node of this directory is not to wait for a majority of its cluster at its next start: the
// others are lost. A file says so, which ringtailctl makes too.
inline constexpr const char* kForceBootFile = "/force_boot";
runtime::Status set_force_boot(runtime::Disk& disk, const std::string& data_dir);
runtime::Status forget_force_boot(runtime::Disk& disk, const std::string& data_dir);
// Removes all that the node knows and has; what is left is the lock and the cookie. The next start
// is that of a new node.
runtime::Status wipe_data_directory(runtime::Disk& disk, const std::string& data_dir);

}  // namespace ringtail::cluster
