#include "cluster/data_directory.h"

#include <algorithm>
#include <utility>

namespace ringtail::cluster {

using runtime::Code;
using runtime::Result;
using runtime::Status;

namespace {

constexpr const char* kJoinFile = "/join";

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<DataDirectory> open_data_directory(runtime::Env& env, const std::string& data_dir,
                                          const std::string& cookie_file) {
  const std::string context = "data directory " + data_dir;
  runtime::Disk& disk = env.disk();
  if (Status made = disk.make_directory(data_dir); !made.ok()) return made.within(context);
  auto lock = disk.lock(data_dir + "/lock");
  if (!lock.ok() && lock.status().code() == Code::kBusy) {
    return Status{Code::kBusy, context + " is in use by another node: " + lock.status().text()};
  }
  if (!lock.ok()) return lock.status().within(context);
  if (disk.list(data_dir + "/metadata").ok()) {
    return Status{Code::kInvalid,
                  context +
                      " was made by an earlier build, which kept its metadata otherwise: "
                      "export its definitions with that build, and begin with an empty one"};
  }
  // So that it is still there after a loss of power. One who may not read the parent directory
  // found the data directory made already.
  (void)disk.sync_directory(parent_of(data_dir));
  auto identity = load_identity(disk, data_dir, env.rng());
  if (!identity.ok()) return identity.status().within(context);
  auto cookie =
      load_cookie(disk, cookie_file.empty() ? data_dir + "/cookie" : cookie_file, env.rng());
  if (!cookie.ok()) return cookie.status();
  const auto names = disk.list(data_dir);
  if (!names.ok()) return names.status().within(context);
  // Whoever made it, and whoever may read it.
  const bool force = std::find(names.value().begin(), names.value().end(), kForceBootFile + 1) !=
                     names.value().end();
  std::string join;
  if (auto member = disk.content(data_dir + kJoinFile); member.ok()) {
    join = std::move(member).value();
  }
  return DataDirectory{std::move(lock).value(), identity.value(), std::move(cookie).value(), force,
                       std::move(join)};
}

Status set_force_boot(runtime::Disk& disk, const std::string& data_dir) {
  return disk.replace(data_dir + kForceBootFile, "");
}

Status forget_force_boot(runtime::Disk& disk, const std::string& data_dir) {
  RT_TRY(disk.remove(data_dir + kForceBootFile));
  return disk.sync_directory(data_dir);
}

Status set_join(runtime::Disk& disk, const std::string& data_dir, const std::string& member) {
  return disk.replace(data_dir + kJoinFile, member);
}

Status wipe_data_directory(runtime::Disk& disk, const std::string& data_dir) {
  auto names = disk.list(data_dir);
  if (!names.ok()) return names.status();
  // Raft's log before the number that it belongs to: a start in between says that it is lost, where
  // a log without a number would be taken for a cluster that was about to begin.
  const auto place = [](const std::string& name) {
    return name == "raft" ? 0 : name == "node" ? 1 : 2;
  };
  std::stable_sort(
      names.value().begin(), names.value().end(),
      [&place](const std::string& a, const std::string& b) { return place(a) < place(b); });
  for (const std::string& name : names.value()) {
    if (name == "lock" || name == "cookie") continue;
    RT_TRY(disk.remove_tree(data_dir + "/" + name));
    if (place(name) == 0) RT_TRY(disk.sync_directory(data_dir));
  }
  return disk.sync_directory(data_dir);
}

}  // namespace ringtail::cluster
