// Files; one of the five doors to the outside (env.h).
//
// All calls return at once. A request object belongs to the caller, who keeps it (and the bytes it
// points to) alive until `done` has run; `done` runs on the calling shard, never inside the call.
// On one file, one write or sync is in flight at a time: requests run in the order they were made.
// After a failed sync the file refuses every further write with that error (nobody knows what
// reached the disk).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/status.h"

namespace ringtail::runtime {

struct DiskRequest {
  std::function<void(const Status&)> done;
  // Written or read bytes; set by the caller.
  std::span<std::uint8_t> buffer;         // read_at
  std::span<const std::uint8_t> content;  // append, write_at
  std::uint64_t offset = 0;               // read_at, write_at
  std::uint64_t transferred = 0;  // out: bytes read (short at the end of the file) or written
};

class File {
 public:
  virtual ~File() = default;  // closes it; waits for nothing: requests must be done
  virtual void read_at(DiskRequest& request) = 0;
  virtual void write_at(DiskRequest& request) = 0;
  virtual void append(DiskRequest& request) = 0;
  // A write_at() and a sync() in one, without a way through the loop between them. When it failed,
  // `transferred` says which: less than the content, it was the write.
  virtual void write_at_and_sync(DiskRequest& request) = 0;
  // Everything written before is on stable storage when `done` says ok (fdatasync).
  virtual void sync(DiskRequest& request) = 0;
  // Makes the file at least so long, with zeros for which the disk has room (kNoSpace: it has not),
  // so that a later write within it changes no more than its content.
  virtual void preallocate(DiskRequest& request) = 0;  // `offset` is the size
  virtual std::uint64_t size() const = 0;
};

// Holds a lock while it lives; the end of the process ends it too.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// What replace() and content() are for.
inline constexpr std::uint64_t kSmallFileMax = 64 * 1024;

enum class OpenMode : unsigned char { kRead, kReadWrite, kCreateNew };

// Directory and name operations are rare and short: they block, and report directly.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Status make_directory(const std::string& path) = 0;  // with its parents; existing is ok
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;  // sorted names
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;
  // A directory and all in it; one that is not there is ok.
  virtual Status remove_tree(const std::string& path) = 0;
  virtual Status sync_directory(const std::string& path) = 0;
  // The file holds exactly this content on stable storage when it returns ok; after a crash, or
  // when it failed, it holds the old or the new. Blocks; for small files that change rarely. The
  // directory must exist.
  virtual Status replace(const std::string& path, std::string_view content) = 0;
  // All of a small file; kInvalid: it is larger than kSmallFileMax. Blocks.
  virtual Result<std::string> content(const std::string& path) = 0;
  // Whether others than its owner may read it: what a secret must not allow.
  virtual Result<bool> readable_by_others(const std::string& path) = 0;
  // Makes the file if need be and locks it for this process alone. kBusy: another holds it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
  virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
};

}  // namespace ringtail::runtime
