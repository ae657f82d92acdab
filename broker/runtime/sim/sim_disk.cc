#include "broker/runtime/sim/sim_disk.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/sim/sim_env.h"

namespace ringtail::runtime {

namespace {

constexpr std::size_t kSectorSize = 512;

// "a//b/" and "a/./b" are "a/b"; ".." is not understood (nothing needs it).
std::string normal(const std::string& path) {
  std::string out;
  std::size_t at = 0;
  while (at < path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part(path.data() + at, end - at);
    if (!part.empty() && part != ".") {
      if (!out.empty() || path.front() == '/') out += '/';
      out += part;
    }
    at = end + 1;
  }
  if (out.empty()) out = path.starts_with('/') ? "/" : ".";
  return out;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view text_of(Code code) {
  return code == Code::kNoSpace ? "no space left on device" : "input/output error";
}

}  // namespace

// --- content ---

void SimInode::apply(std::vector<std::uint8_t>& target, std::uint64_t offset,
                     std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  if (target.size() < offset + bytes.size()) target.resize(offset + bytes.size());
  std::memcpy(target.data() + offset, bytes.data(), bytes.size());
}

void SimInode::apply(std::vector<std::uint8_t>& target, const Write& write) {
  if (!write.extends) return apply(target, write.offset, write.bytes);
  if (target.size() < write.offset) target.resize(write.offset);
}

void SimInode::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  apply(content_, offset, bytes);
  unsynced_.push_back({++write_count_, offset, {bytes.begin(), bytes.end()}});
}

void SimInode::extend(std::uint64_t size) {
  unsynced_.push_back({++write_count_, size, {}, true});
  apply(content_, unsynced_.back());
}

void SimInode::synced_up_to(std::uint64_t write_count) {
  std::deque<Write> rest;
  for (Write& write : unsynced_) {
    if (write.lost || write.number > write_count) {
      rest.push_back(std::move(write));
    } else {
      apply(durable_, write);
    }
  }
  unsynced_ = std::move(rest);
}

void SimInode::sync_failed_at(std::uint64_t write_count) {
  for (Write& write : unsynced_) write.lost = write.lost || write.number <= write_count;
}

void SimInode::tear(std::vector<std::uint8_t>& target, const Write& write, SimRng& rng) {
  if (write.extends && target.size() < write.offset) {
    return target.resize(rng.between(target.size(), write.offset));
  }
  std::size_t at = 0;
  while (at < write.bytes.size()) {
    // A sector of the disk, not of the write: what lies in front of it in the same sector survives.
    const std::size_t in_sector = kSectorSize - (write.offset + at) % kSectorSize;
    const std::size_t size = std::min(in_sector, write.bytes.size() - at);
    const std::uint64_t fate = rng.below(4);
    if (fate < 2) {
      apply(target, write.offset + at, {write.bytes.data() + at, size});
    } else if (fate == 2) {
      std::vector<std::uint8_t> rubbish(size);
      rng.fill_secure(rubbish);
      apply(target, write.offset + at, rubbish);
    }
    at += size;
  }
}

void SimInode::crash(SimRng& rng, const SimDiskOptions& options) {
  for (const Write& write : unsynced_) {
    const double fate = static_cast<double>(rng.below(1 << 20)) / (1 << 20);
    if (fate < options.crash_keeps) {
      apply(durable_, write);
    } else if (fate >= options.crash_keeps + options.crash_forgets) {
      tear(durable_, write, rng);
    }
  }
  unsynced_.clear();
  content_ = durable_;
}

// --- the drive ---

void SimDrive::fail_call(SimDiskCall call, std::uint64_t n, Code code, std::uint64_t count) {
  RT_CHECK(n > 0 && count > 0, "calls are counted from 1");
  const std::uint64_t first = calls(call) + n;
  faults_.push_back({call, first, first + count - 1, code});
}

Status SimDrive::begin_call(SimDiskCall call, const std::string& path) {
  const std::uint64_t number = ++calls_[static_cast<std::size_t>(call)];
  for (const Fault& fault : faults_) {
    if (fault.call == call && number >= fault.first && number <= fault.last) {
      return Status(fault.code, path + ": " + std::string(text_of(fault.code)));
    }
  }
  return {};
}

void SimDrive::set_name(const std::string& path, const InodePtr& inode) {
  if (inode == nullptr) {
    files_.erase(path);
  } else {
    files_[path] = inode;
    // A file that comes back stands somewhere.
    for (std::string name = directory_of(path); name != "." && name != "/";
         name = directory_of(name)) {
      directories_[name] = true;
    }
  }
}

void SimDrive::undo(const NameChange& change) {
  // Its old name is taken by a later, durable change: then the rename must have been durable too.
  if (!change.from.empty() && files_.contains(change.from)) return;
  set_name(change.path, change.before);
  if (!change.from.empty()) set_name(change.from, change.from_before);
}

void SimDrive::crash_names() {
  // For each directory: how many of its changes, from the oldest on, had reached the disk.
  std::map<std::string, std::uint64_t> made;
  for (const NameChange& change : changes_) ++made[change.directory];
  std::map<std::string, std::uint64_t> undone;
  for (const auto& [directory, count] : made) undone[directory] = world_.rng().below(count + 1);
  // A change that follows from an undone one (the same names) is undone with it: names cannot stand
  // on what never happened.
  std::set<std::string> unsettled;
  std::vector<const NameChange*> undo_list;
  std::map<std::string, std::uint64_t> seen;
  for (const NameChange& change : changes_) {
    const std::uint64_t kept = made[change.directory] - undone[change.directory];
    const bool lost = seen[change.directory]++ >= kept;
    if (!lost && !unsettled.contains(change.path) && !unsettled.contains(change.from)) continue;
    unsettled.insert(change.path);
    if (!change.from.empty()) unsettled.insert(change.from);
    undo_list.push_back(&change);
  }
  for (auto at = undo_list.rbegin(); at != undo_list.rend(); ++at) undo(**at);
  changes_.clear();
}

void SimDrive::crash() {
  kill_processes();
  crash_names();
  // In order of creation: a map of names would do too, but an inode may have gained another name.
  std::map<std::uint64_t, SimInode*> inodes;
  for (const auto& [path, inode] : files_) inodes[inode->sequence()] = inode.get();
  for (const auto& [sequence, inode] : inodes) inode->crash(world_.rng(), options_);
}

Result<std::vector<std::uint8_t>> SimDrive::content(const std::string& path) const {
  const auto found = files_.find(normal(path));
  if (found == files_.end()) return Status(Code::kNotFound, path + ": no such file");
  return found->second->content();
}

std::uint64_t SimDrive::used_bytes() const {
  std::uint64_t used = 0;
  for (const auto& [path, inode] : files_) used += inode->content().size();
  return used;
}

std::uint64_t SimDrive::room() const {
  // Counting is slow; nobody fills a drive of the default size.
  if (options_.capacity_bytes >= SimDiskOptions{}.capacity_bytes) return options_.capacity_bytes;
  return options_.capacity_bytes - std::min(options_.capacity_bytes, used_bytes());
}

// --- one open file ---

SimFile::SimFile(SimEnv& env, SimDrive& drive, std::string path, std::shared_ptr<SimInode> inode,
                 bool writable)
    : env_(env),
      drive_(drive),
      path_(std::move(path)),
      inode_(std::move(inode)),
      writable_(writable),
      generation_(drive.generation_) {}

SimFile::~SimFile() {
  RT_CHECK(queue_.empty() || generation_ != drive_.generation_,
           "a file is closed while a request of it is under way");
  env_.cancel(event_);
}

void SimFile::submit(Kind kind, DiskRequest& request) {
  queue_.push_back({kind, &request});
  if (!running_) begin_next();
}

void SimFile::begin_next() {
  running_ = true;
  run_later(queue_.front().kind == Kind::kSync);
}

void SimFile::run_later(bool syncs) {
  const SimDiskOptions& options = drive_.options_;
  sync_covers_ = inode_->write_count();
  const std::uint64_t delay_ns =
      syncs ? env_.world().rng().between(options.sync_min_ns, options.sync_max_ns)
            : env_.world().rng().between(options.latency_min_ns, options.latency_max_ns);
  event_ = env_.schedule(delay_ns, SimEventKind::kWork, [this, syncs] {
    if (generation_ != drive_.generation_) return;  // its process is dead
    const Status status = syncs ? run_sync() : run(queue_.front());
    // Its write may still be torn by a crash until the sync has run.
    if (status.ok() && !syncs && queue_.front().kind == Kind::kWriteAndSync) return run_later(true);
    finish(status);
  });
}

void SimFile::finish(const Status& status) {
  DiskRequest& request = *queue_.front().request;
  queue_.pop_front();
  running_ = false;
  event_ = {};
  if (!queue_.empty()) begin_next();
  // Last, and a copy: the callback may destroy this file and the request, or use it again.
  const std::function<void(const Status&)> done = request.done;
  done(status);
}

Status SimFile::run(const Pending& pending) {
  DiskRequest& request = *pending.request;
  request.transferred = 0;
  switch (pending.kind) {
    case Kind::kRead:
      return run_read(request);
    case Kind::kWrite:
    case Kind::kWriteAndSync:
      return run_write(request, request.offset);
    case Kind::kAppend:
      return run_write(request, inode_->content().size());
    case Kind::kSync:
      return run_sync();
    case Kind::kPreallocate:
      return run_preallocate(request);
  }
  return {};
}

Status SimFile::run_read(DiskRequest& request) {
  RT_TRY(drive_.begin_call(SimDiskCall::kRead, path_));
  const std::vector<std::uint8_t>& content = inode_->content();
  if (request.offset >= content.size()) return {};
  const std::size_t size =
      std::min<std::size_t>(request.buffer.size(), content.size() - request.offset);
  std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(request.offset), size,
              request.buffer.begin());
  request.transferred = size;
  return {};
}

Status SimFile::run_write(DiskRequest& request, std::uint64_t offset) {
  if (!writable_) return Status(Code::kInvalid, path_ + ": opened for reading only");
  RT_TRY(failed_);
  Status status = drive_.begin_call(SimDiskCall::kWrite, path_);
  std::size_t size = request.content.size();
  // A write that fails may have written a part.
  if (!status.ok() && size > 0) size = env_.world().rng().below(size);
  const std::uint64_t end = std::max<std::uint64_t>(offset + size, inode_->content().size());
  const std::uint64_t growth = end - inode_->content().size();
  if (const std::uint64_t room = drive_.room(); growth > room) {
    size -= std::min<std::size_t>(size, growth - room);
    status = Status(Code::kNoSpace, path_ + ": " + std::string(text_of(Code::kNoSpace)));
  }
  inode_->write(offset, request.content.first(size));
  request.transferred = size;
  return status;
}

Status SimFile::run_preallocate(const DiskRequest& request) {
  if (!writable_) return Status(Code::kInvalid, path_ + ": opened for reading only");
  RT_TRY(failed_);
  RT_TRY(drive_.begin_call(SimDiskCall::kWrite, path_));
  const std::uint64_t size = inode_->content().size();
  if (request.offset <= size) return {};
  if (request.offset - size > drive_.room()) {
    return Status(Code::kNoSpace, path_ + ": " + std::string(text_of(Code::kNoSpace)));
  }
  inode_->extend(request.offset);
  return {};
}

Status SimFile::run_sync() {
  RT_TRY(failed_);
  failed_ = drive_.begin_call(SimDiskCall::kSync, path_);
  if (failed_.ok()) {
    inode_->synced_up_to(sync_covers_);
  } else {
    inode_->sync_failed_at(sync_covers_);
  }
  return failed_;
}

// --- names ---

SimDisk::SimDisk(SimEnv& env) : env_(env), generation_(drive().generation_) {}

SimDrive& SimDisk::drive() const { return env_.host().drive(); }

// What a process does while it is taken apart, after it was killed, changes nothing.
Status SimDisk::begin_change(SimDiskCall call, const std::string& path) {
  if (generation_ != drive().generation_) return {Code::kClosed, path + ": the process has ended"};
  return drive().begin_call(call, path);
}

Result<std::unique_ptr<File>> SimDisk::open(const std::string& path, OpenMode mode) {
  const std::string name = normal(path);
  RT_TRY(mode == OpenMode::kCreateNew ? begin_change(SimDiskCall::kName, name)
                                      : drive().begin_call(SimDiskCall::kName, name));
  const auto found = drive().files_.find(name);
  std::shared_ptr<SimInode> inode;
  if (mode == OpenMode::kCreateNew) {
    if (found != drive().files_.end()) return Status(Code::kExists, path + ": exists already");
    const std::string directory = directory_of(name);
    if (directory != "." && directory != "/" && !drive().directories_.contains(directory)) {
      return Status(Code::kNotFound, path + ": no such directory");
    }
    inode = std::make_shared<SimInode>(++drive().last_inode_);
    drive().changes_.push_back({directory, name, nullptr, "", nullptr});
    drive().set_name(name, inode);
  } else if (found == drive().files_.end()) {
    return Status(Code::kNotFound, path + ": no such file");
  } else {
    inode = found->second;
  }
  return std::unique_ptr<File>(
      std::make_unique<SimFile>(env_, drive(), name, std::move(inode), mode != OpenMode::kRead));
}

Status SimDisk::make_directory(const std::string& path) {
  std::string name = normal(path);
  RT_TRY(begin_change(SimDiskCall::kName, name));
  if (drive().files_.contains(name)) return Status(Code::kExists, path + ": is a file");
  for (; name != "." && name != "/"; name = directory_of(name)) drive().directories_[name] = true;
  return {};
}

Result<std::vector<std::string>> SimDisk::list(const std::string& path) {
  const std::string name = normal(path);
  RT_TRY(drive().begin_call(SimDiskCall::kName, name));
  if (name != "." && name != "/" && !drive().directories_.contains(name)) {
    return Status(Code::kNotFound, path + ": no such directory");
  }
  std::set<std::string> names;
  const auto add = [&](const std::string& entry) {
    if (entry != name && directory_of(entry) == name) {
      names.insert(entry.substr(entry.rfind('/') == std::string::npos ? 0 : entry.rfind('/') + 1));
    }
  };
  // Paths are in order, so that those below it lie together.
  const std::string prefix = name == "." ? "" : name == "/" ? name : name + "/";
  const auto add_below = [&](const auto& paths) {
    for (auto at = paths.lower_bound(prefix); at != paths.end() && at->first.starts_with(prefix);
         ++at) {
      add(at->first);
    }
  };
  add_below(drive().files_);
  add_below(drive().directories_);
  return std::vector<std::string>(names.begin(), names.end());
}

Status SimDisk::rename(const std::string& from, const std::string& to) {
  const std::string old_name = normal(from);
  const std::string new_name = normal(to);
  RT_TRY(begin_change(SimDiskCall::kName, old_name));
  auto& files = drive().files_;
  const auto found = files.find(old_name);
  if (found == files.end() && drive().directories_.contains(old_name)) {
    return rename_directory(old_name, new_name);
  }
  if (found == files.end()) return Status(Code::kNotFound, from + ": no such file");
  if (old_name == new_name) return {};
  const std::shared_ptr<SimInode> inode = found->second;
  const auto replaced = files.find(new_name);
  drive().changes_.push_back({directory_of(new_name), new_name,
                              replaced == files.end() ? nullptr : replaced->second, old_name,
                              inode});
  drive().set_name(new_name, inode);
  drive().set_name(old_name, nullptr);
  return {};
}

// At once durable, as a directory's making is, with the files that are in it then.
Status SimDisk::rename_directory(const std::string& from, const std::string& to) {
  if (drive().directories_.contains(to)) return {Code::kExists, to + ": exists already"};
  const auto moved = [&](const std::string& path) { return to + path.substr(from.size()); };
  const auto is_below = [&](const std::string& path) {
    return path == from || path.starts_with(from + "/");
  };
  std::map<std::string, SimDrive::InodePtr> files;
  for (auto& [path, inode] : drive().files_)
    files.emplace(is_below(path) ? moved(path) : path, inode);
  drive().files_ = std::move(files);
  std::map<std::string, bool> directories;
  for (const auto& [path, exists] : drive().directories_) {
    directories.emplace(is_below(path) ? moved(path) : path, exists);
  }
  drive().directories_ = std::move(directories);
  for (SimDrive::NameChange& change : drive().changes_) {
    if (is_below(change.path)) change.path = moved(change.path);
    if (is_below(change.directory)) change.directory = moved(change.directory);
    if (is_below(change.from)) change.from = moved(change.from);
  }
  return {};
}

Status SimDisk::remove(const std::string& path) {
  const std::string name = normal(path);
  RT_TRY(begin_change(SimDiskCall::kName, name));
  const auto found = drive().files_.find(name);
  if (found != drive().files_.end()) {
    drive().changes_.push_back({directory_of(name), name, found->second, "", nullptr});
    drive().set_name(name, nullptr);
    return {};
  }
  if (!drive().directories_.contains(name)) {
    return Status(Code::kNotFound, path + ": no such file or directory");
  }
  Result<std::vector<std::string>> entries = list(path);
  RT_TRY(entries.status());
  if (!entries.value().empty()) return Status(Code::kBusy, path + ": directory not empty");
  drive().directories_.erase(name);
  return {};
}

Status SimDisk::remove_tree(const std::string& path) {
  const std::string name = normal(path);
  RT_TRY(begin_change(SimDiskCall::kName, name));
  const std::string parent = directory_of(name);
  const auto is_below = [&](const std::string& entry) {
    return entry == name || entry.starts_with(name + "/");
  };
  // Gone or not with the tree: the directory that has to be synced is the one above.
  for (SimDrive::NameChange& change : drive().changes_) {
    if (is_below(change.directory)) change.directory = parent;
  }
  std::vector<std::string> gone;
  for (const auto& [entry, inode] : drive().files_) {
    if (is_below(entry)) gone.push_back(entry);
  }
  for (const std::string& entry : gone) {
    drive().changes_.push_back({parent, entry, drive().files_[entry], "", nullptr});
    drive().set_name(entry, nullptr);
  }
  std::erase_if(drive().directories_, [&](const auto& entry) { return is_below(entry.first); });
  return {};
}

Status SimDisk::sync_directory(const std::string& path) {
  const std::string name = normal(path);
  RT_TRY(begin_change(SimDiskCall::kSync, name));
  std::erase_if(drive().changes_,
                [&](const SimDrive::NameChange& change) { return change.directory == name; });
  return {};
}

// What a real disk does in four steps (write, sync, rename, sync the directory) is one here: the
// steps before the rename leave nothing that anybody looks at. When the last one fails, the new
// content is there and may be gone after a crash.
Result<std::string> SimDisk::content(const std::string& path) {
  const std::string name = normal(path);
  RT_TRY(drive().begin_call(SimDiskCall::kName, name));
  const auto found = drive().files_.find(name);
  if (found == drive().files_.end()) return Status(Code::kNotFound, path + ": no such file");
  const std::vector<std::uint8_t>& bytes = found->second->content();
  if (bytes.size() > kSmallFileMax) return Status(Code::kInvalid, path + ": is too large");
  return std::string(bytes.begin(), bytes.end());
}

Result<bool> SimDisk::readable_by_others(const std::string& path) {
  const std::string name = normal(path);
  if (!drive().files_.contains(name)) return Status(Code::kNotFound, path + ": no such file");
  return false;
}

Status SimDisk::replace(const std::string& path, std::string_view content) {
  const std::string name = normal(path);
  Status status = begin_change(SimDiskCall::kName, name);
  if (status.code() == Code::kClosed) return status;
  const std::string directory = directory_of(name);
  if (directory != "." && directory != "/" && !drive().directories_.contains(directory)) {
    return Status(Code::kNotFound, path + ": no such directory");
  }
  if (drive().directories_.contains(name)) return Status(Code::kIo, path + ": is a directory");
  if (content.size() > drive().room()) {
    return Status(Code::kNoSpace, path + ": " + std::string(text_of(Code::kNoSpace)));
  }
  if (!status.ok() && env_.world().rng().chance(0.5)) return status;

  auto inode = std::make_shared<SimInode>(++drive().last_inode_);
  inode->write(0, {reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
  inode->synced_up_to(inode->write_count());
  const auto old = drive().files_.find(name);
  drive().changes_.push_back(
      {directory, name, old == drive().files_.end() ? nullptr : old->second, "", nullptr});
  drive().set_name(name, inode);
  if (!status.ok()) return status;
  std::erase_if(drive().changes_,
                [&](const SimDrive::NameChange& change) { return change.directory == directory; });
  return {};
}

// A lock goes with its process: one of an earlier generation holds nothing.
class SimLock final : public FileLock {
 public:
  SimLock(SimDrive& drive, std::string path, std::uint64_t number)
      : drive_(drive), path_(std::move(path)), number_(number) {}
  SimLock(const SimLock&) = delete;
  SimLock& operator=(const SimLock&) = delete;
  ~SimLock() override {
    const auto found = drive_.locks_.find(path_);
    if (found != drive_.locks_.end() && found->second.second == number_) drive_.locks_.erase(found);
  }

 private:
  SimDrive& drive_;
  const std::string path_;
  const std::uint64_t number_;
};

Result<std::unique_ptr<FileLock>> SimDisk::lock(const std::string& path) {
  const std::string name = normal(path);
  RT_TRY(drive().begin_call(SimDiskCall::kName, name));
  const auto found = drive().locks_.find(name);
  if (found != drive().locks_.end() && found->second.first == drive().generation_) {
    return Status(Code::kBusy, path + " is locked by another process");
  }
  const std::uint64_t number = ++drive().last_lock_;
  drive().locks_[name] = {drive().generation_, number};
  return std::unique_ptr<FileLock>(std::make_unique<SimLock>(drive(), name, number));
}

Result<std::uint64_t> SimDisk::free_bytes(const std::string& path) {
  RT_TRY(drive().begin_call(SimDiskCall::kName, path));
  return drive().room();
}

}  // namespace ringtail::runtime
