// One open file of a UvDisk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "broker/runtime/disk.h"
#include "broker/runtime/uv/uv_loop.h"

namespace ringtail::runtime {

// The pool runs requests in any order, so this file starts them in theirs: a write waits for all
// that was asked before it, a sync for the writes, a read for the writes too, but not for a sync
// (which may take long and changes nothing that can be read).
//
// A failed append leaves size() as it was: the next one writes over what the failed one left.
// write_at_and_sync() and preallocate() are one job of the pool each, and take their turn as
// writes.
class UvFile final : public File {
 public:
  UvFile(UvLoop& loop, int fd, std::uint64_t size, std::string path);
  ~UvFile() override;

  void read_at(DiskRequest& request) override;
  void write_at(DiskRequest& request) override;
  void append(DiskRequest& request) override;
  void write_at_and_sync(DiskRequest& request) override;
  void sync(DiskRequest& request) override;
  void preallocate(DiskRequest& request) override;
  std::uint64_t size() const override { return size_; }

 private:
  enum class Kind : unsigned char { kRead, kWrite, kAppend, kWriteAndSync, kSync, kPreallocate };
  struct Operation {
    uv_fs_t call{};
    uv_work_t work{};  // of one that libuv has no call for
    UvFile* file = nullptr;
    DiskRequest* request = nullptr;
    Kind kind = Kind::kRead;
    std::uint64_t offset = 0;
    Status status{};  // of one that was refused
    // What the pool's thread found: an errno, and whether it was the sync that failed.
    int error = 0;
    bool sync_failed = false;
  };

  void enqueue(Kind kind, DiskRequest& request);
  bool may_start(Kind kind) const;
  void start_waiting();
  void start(Operation* operation);
  int submit(Operation* operation);
  static void on_call_done(uv_fs_t* call) noexcept;
  int submit_work(Operation* operation);
  // On a thread of the pool: they touch the operation and the descriptor alone.
  static void write_and_sync(Operation& operation) noexcept;
  static void allocate(Operation& operation) noexcept;
  static void on_work_done(Operation* operation) noexcept;
  void finish(Operation* operation, Status status);
  std::string describe(Kind kind) const;

  UvLoop& loop_;
  const int fd_;
  std::uint64_t size_;
  const std::string path_;
  std::deque<Operation*> waiting_;
  std::size_t reads_running_ = 0;
  bool write_running_ = false;
  bool sync_running_ = false;
  Status poison_{};  // of the sync that failed
};

}  // namespace ringtail::runtime
