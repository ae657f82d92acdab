// The files of one queue's directory. What is asked for runs in its order, one thing at a time;
// reads run beside it. Files that are not in use are closed.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/disk_calls.h"
#include "broker/runtime/env.h"
#include "broker/runtime/status.h"
#include "queue/store/byte_buffer.h"
#include "queue/store/index_format.h"

namespace ringtail::queue::store {

// Lives in its queue's store, on its shard. A full disk is waited for. After any other failure
// everything that is asked for fails with it. A callback may run inside the call, but not after the
// end of the object.
class QueueFiles {
 public:
  using Done = std::function<void(const runtime::Status&)>;
  using ReadDone = std::function<void(const runtime::Status&, std::vector<std::uint8_t>& bytes)>;

  // `durable`: sync() means it; else it does nothing.
  QueueFiles(runtime::Env& env, runtime::DiskCalls& calls, std::string directory,
             QueueIdentity identity, bool durable);
  ~QueueFiles();
  QueueFiles(const QueueFiles&) = delete;
  QueueFiles& operator=(const QueueFiles&) = delete;

  const std::string& directory() const { return directory_; }
  std::string segment_path(std::uint64_t number) const;
  std::string index_path() const { return directory_ + "/index"; }
  std::string identity_path() const { return directory_ + "/queue"; }

  // Writes at `offset` of a segment, which is made for offset 0.
  void write_segment(std::uint64_t number, std::uint64_t offset, ByteBuffer bytes, Done done);
  // All that was written is on stable storage, and so are the files' names.
  void sync(Done done);
  // Adds to the index, on stable storage. A `whole` one takes the place of the file.
  void write_index(ByteBuffer bytes, bool whole, Done done);
  std::uint64_t index_size() const { return index_size_; }
  void restore_index_size(std::uint64_t size) { index_size_ = size; }
  // Up to `size` bytes; short at the end of the file.
  void read_segment(std::uint64_t number, std::uint64_t offset, std::size_t size, ReadDone done);
  // No directory, or nothing in it but the queue's name: most queues of most nodes. Blocks.
  bool holds_nothing() const;
  // All of a small file of the directory ("queue", "index"); relied on: it is on stable storage
  // then.
  void read_small(const std::string& name, bool relied_on, ReadDone done);
  // Writes one anew, so that it is there as a whole or not at all; `done` when it is on stable
  // storage.
  void write_small(const std::string& name, ByteBuffer bytes, Done done);
  void remove_small(const std::string& name);
  // The names that are in the directory are on stable storage. Blocks.
  runtime::Status sync_directory() { return env_.disk().sync_directory(directory_); }
  // Behind everything asked for before.
  void remove_segment(std::uint64_t number);
  // It was found there with an index, and is this queue's.
  void directory_exists() { directory_made_ = parent_synced_ = true; }
  bool idle() const { return waiting_.empty() && !running_ && reads_ == 0; }
  // Closes what is open, when all is done.
  void close_when_idle() { close_wanted_ = true; }

 private:
  void enqueue(std::function<void()> start);
  void run_next();
  void finished();
  runtime::Status ready_directory();
  runtime::Result<runtime::File*> segment_file(std::uint64_t number, bool make);
  void start_write(std::uint64_t number, std::uint64_t offset, const runtime::Bytes& bytes,
                   const Done& done);
  void sync_next(std::vector<runtime::FileRef> files, const Done& done);
  void start_sync(const Done& done);
  void sync_failed(const runtime::Status& status, const Done& done);
  runtime::Status sync_names();
  void start_index(const runtime::Bytes& bytes, bool whole, const Done& done);
  void end_index(const runtime::Bytes& bytes, bool whole, const runtime::Status& status,
                 const Done& done);
  void retry(std::function<void()> start, const runtime::Status& why);

  runtime::Env& env_;
  runtime::DiskCalls& calls_;
  const std::string directory_;
  const QueueIdentity identity_;
  const bool durable_;
  bool directory_made_ = false;
  bool names_changed_ = false;
  bool parent_synced_ = false;
  runtime::FileRef identity_file_;  // until it is synced
  bool identity_whole_ = false;     // all of it was written,
  bool identity_written_ = false;   // but without its name
  std::map<std::uint64_t, runtime::FileRef> segments_;
  std::map<std::uint64_t, bool> unsynced_;
  runtime::FileRef index_;
  std::uint64_t index_size_ = 0;
  std::list<std::function<void()>> waiting_;
  bool running_ = false;
  int reads_ = 0;
  bool close_wanted_ = false;
  bool full_ = false;  // the disk: what is first is tried again, by the timer
  std::unique_ptr<runtime::Timer> retry_timer_;
  runtime::Status failure_;
  const runtime::Alive alive_;
};

}  // namespace ringtail::queue::store
