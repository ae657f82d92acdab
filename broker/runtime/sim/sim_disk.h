// Simulated files. A SimDrive is a host's disk: it outlives processes and knows, for every file,
// what is certainly on stable storage and what was only written; and the same for names. A crash
// decides by seed what becomes of the rest. A SimDisk is the door of one shard to its host's drive.
//
// What a crash may do (and what a program that survives it must therefore not rely on):
//  - each write since the file's last successful sync is kept, forgotten or torn, by itself: order
//    between writes is not kept, and the sectors of a torn one are new, old or rubbish each;
//  - of the name changes (create, rename, remove) in a directory since its last sync_directory() a
//    first part, in order, is kept and the rest undone. A rename is one change, of the directory
//    that receives the name. make_directory() is at once durable;
//    a replace() that succeeds is too, with all changes of its directory before.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/runtime/disk.h"
#include "broker/runtime/sim/sim_world.h"

namespace ringtail::runtime {

class SimEnv;

enum class SimDiskCall : unsigned char { kRead, kWrite, kSync, kName };

struct SimDiskOptions {
  std::uint64_t latency_min_ns = 20 * kMicrosecondNs;
  std::uint64_t latency_max_ns = 200 * kMicrosecondNs;
  std::uint64_t sync_min_ns = kMillisecondNs;
  std::uint64_t sync_max_ns = 8 * kMillisecondNs;
  std::uint64_t capacity_bytes = 1ULL << 40;
  // At a crash, for each write that was not synced; what is left of 1 is torn.
  double crash_keeps = 0.4;
  double crash_forgets = 0.3;
};

// One file's content, shared by its names and its open handles.
class SimInode {
 public:
  explicit SimInode(std::uint64_t sequence) : sequence_(sequence) {}

  std::uint64_t sequence() const { return sequence_; }
  const std::vector<std::uint8_t>& content() const { return content_; }
  void write(std::uint64_t offset, std::span<const std::uint8_t> bytes);
  // Makes it so long, with zeros; for a crash a write like others.
  void extend(std::uint64_t size);
  // How many writes there have been: a sync covers those before it began.
  std::uint64_t write_count() const { return write_count_; }
  void synced_up_to(std::uint64_t write_count);
  // A sync failed: what it was to cover will never become durable, whatever later syncs say.
  void sync_failed_at(std::uint64_t write_count);
  void crash(SimRng& rng, const SimDiskOptions& options);

 private:
  struct Write {
    std::uint64_t number;
    std::uint64_t offset;
    std::vector<std::uint8_t> bytes;
    bool extends = false;  // up to `offset`; no bytes
    bool lost = false;
  };
  static void apply(std::vector<std::uint8_t>& target, std::uint64_t offset,
                    std::span<const std::uint8_t> bytes);
  static void apply(std::vector<std::uint8_t>& target, const Write& write);
  static void tear(std::vector<std::uint8_t>& target, const Write& write, SimRng& rng);

  const std::uint64_t sequence_;  // order of creation; decides the order of crash's dice
  std::vector<std::uint8_t> content_;
  std::vector<std::uint8_t> durable_;
  std::deque<Write> unsynced_;
  std::uint64_t write_count_ = 0;
};

// One host's disk. Owned by its SimHost.
class SimDrive {
 public:
  explicit SimDrive(SimWorld& world) : world_(world) {}

  SimDiskOptions& options() { return options_; }

  // The n-th call of this kind from now on (1 is the next one) fails, and the `count` - 1 after it.
  void fail_call(SimDiskCall call, std::uint64_t n, Code code, std::uint64_t count = 1);
  // Failures that were ordered and have not come are not wanted any more.
  void forget_failures() { faults_.clear(); }
  // How many calls of this kind there have been: sweep n over a test and every error path runs.
  std::uint64_t calls(SimDiskCall call) const { return calls_[static_cast<std::size_t>(call)]; }

  // The processes on this host end; what they wrote stays. Requests in flight never finish.
  void kill_processes() { ++generation_; }
  // Power is lost: kill_processes(), and what was not synced is kept, forgotten or torn.
  void crash();

  // For checks: content as a process sees it now; kNotFound when there is no such file.
  Result<std::vector<std::uint8_t>> content(const std::string& path) const;
  std::uint64_t used_bytes() const;

 private:
  friend class SimDisk;
  friend class SimFile;
  friend class SimLock;
  using InodePtr = std::shared_ptr<SimInode>;

  // A change of names that sync_directory() has not covered yet, and how to undo it.
  struct NameChange {
    std::string directory;
    std::string path;
    InodePtr before;   // what the name meant before; null: nothing
    std::string from;  // a rename's other name; empty: none
    InodePtr from_before;
  };
  struct Fault {
    SimDiskCall call;
    std::uint64_t first;
    std::uint64_t last;
    Code code;
  };

  std::uint64_t room() const;
  // Counts a call; the failure that was ordered for it, if any.
  Status begin_call(SimDiskCall call, const std::string& path);
  void set_name(const std::string& path, const InodePtr& inode);
  void undo(const NameChange& change);
  void crash_names();

  SimWorld& world_;
  SimDiskOptions options_;
  std::map<std::string, InodePtr> files_;
  std::map<std::string, bool> directories_;  // path: exists (always true)
  std::vector<NameChange> changes_;
  // By path: the generation of processes that holds the lock, and the number of that lock.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> locks_;
  std::uint64_t last_lock_ = 0;
  std::vector<Fault> faults_;
  std::uint64_t calls_[4] = {};
  std::uint64_t generation_ = 0;
  std::uint64_t last_inode_ = 0;
};

// Requests of one open file run in the order in which they were made, one at a time.
class SimFile final : public File {
 public:
  SimFile(SimEnv& env, SimDrive& drive, std::string path, std::shared_ptr<SimInode> inode,
          bool writable);
  ~SimFile() override;

  void read_at(DiskRequest& request) override { submit(Kind::kRead, request); }
  void write_at(DiskRequest& request) override { submit(Kind::kWrite, request); }
  void append(DiskRequest& request) override { submit(Kind::kAppend, request); }
  void write_at_and_sync(DiskRequest& request) override { submit(Kind::kWriteAndSync, request); }
  void sync(DiskRequest& request) override { submit(Kind::kSync, request); }
  void preallocate(DiskRequest& request) override { submit(Kind::kPreallocate, request); }
  std::uint64_t size() const override { return inode_->content().size(); }

 private:
  enum class Kind : unsigned char { kRead, kWrite, kAppend, kWriteAndSync, kSync, kPreallocate };
  struct Pending {
    Kind kind;
    DiskRequest* request;
  };

  void submit(Kind kind, DiskRequest& request);
  void begin_next();
  // After a while, unless the process is dead by then: runs the first request, or the sync of one
  // that has written.
  void run_later(bool syncs);
  Status run(const Pending& pending);
  Status run_read(DiskRequest& request);
  Status run_write(DiskRequest& request, std::uint64_t offset);
  Status run_sync();
  Status run_preallocate(const DiskRequest& request);
  void finish(const Status& status);

  SimEnv& env_;
  SimDrive& drive_;
  const std::string path_;
  std::shared_ptr<SimInode> inode_;
  const bool writable_;
  const std::uint64_t generation_;
  std::deque<Pending> queue_;
  bool running_ = false;
  std::uint64_t sync_covers_ = 0;
  Status failed_;  // of a sync: refuses every later write
  SimEventId event_;
};

class SimDisk final : public Disk {
 public:
  explicit SimDisk(SimEnv& env);

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status make_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_tree(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status replace(const std::string& path, std::string_view content) override;
  Result<std::string> content(const std::string& path) override;
  Result<bool> readable_by_others(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;

 private:
  SimDrive& drive() const;
  Status begin_change(SimDiskCall call, const std::string& path);
  Status rename_directory(const std::string& from, const std::string& to);

  SimEnv& env_;
  const std::uint64_t generation_;  // of processes: its own
};

}  // namespace ringtail::runtime
