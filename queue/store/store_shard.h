// What the stores of one shard's queues share: the journal, the directory, the requests under way,
// and how much of a backlog stays in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "broker/runtime/disk_calls.h"
#include "broker/runtime/shard.h"
#include "queue/store/index_format.h"
#include "queue/store/journal.h"

namespace ringtail::queue::store {

// Sizes; a test makes them small.
struct StoreOptions {
  JournalOptions journal = {};
  // What stays in memory before a backlog: of all queues of a shard together, of one of them.
  std::size_t heads_bytes = 64 * 1024 * 1024;
  std::size_t head_bytes_max = 8 * 1024 * 1024;
  std::size_t head_messages_min = 256;
  std::size_t head_messages_max = 16 * 1024;
  // What one turn takes out of memory, writes to segments and reads from them, about.
  std::size_t paged_out_messages = 8 * 1024;
  std::size_t write_messages = 2 * 1024;
  std::size_t write_bytes = 1024 * 1024;
  std::size_t load_bytes = 512 * 1024;
  // Publishes wait when so much of a backlog is not written yet.
  std::uint64_t unwritten_messages = 128 * 1024;
  std::uint64_t unwritten_bytes = 32 * 1024 * 1024;
  // A segment is not added to when it has so much.
  std::uint64_t segment_bytes = 16 * 1024 * 1024;
  // A segment that is shorter is left as it is, however little of it is alive.
  std::uint64_t compact_bytes = 1024 * 1024;
  // What a queue has in a journal file that is given up is written to the journal once more if it
  // is not more than this: a queue with little in it needs no segment.
  std::size_t light_messages = 64;
  std::size_t light_bytes = 64 * 1024;
  // How far ahead deliveries are noted: after a restart so many messages at most are called
  // redelivered that were not. Grows with use from the one to the other.
  std::uint64_t mark_step_min = 256;
  std::uint64_t mark_step_max = 16 * 1024;
};

// One per shard, on its thread; outlives the queues.
class StoreShard {
 public:
  StoreShard(runtime::Shard& shard, std::string data_dir, StoreOptions options = {});

  runtime::Shard& shard() { return shard_; }
  const StoreOptions& options() const { return options_; }
  Journal& journal() { return journal_; }
  runtime::DiskCalls& calls() { return calls_; }
  // Where a queue's files lie. A queue that is not durable has its under paged/, which a start
  // empties.
  std::string directory_of(std::string_view vhost, std::string_view name, bool durable) const;
  std::string set_aside() const { return data_dir_ + "/set_aside"; }
  std::string queues() const { return data_dir_ + "/queues"; }
  std::string journals() const { return data_dir_ + "/journal"; }
  std::string paged() const { return data_dir_ + "/paged"; }

  // Milliseconds since 1970 for a time of the shard's clock, and back.
  std::uint64_t wall_of(std::uint64_t monotonic_ms) const;
  std::uint64_t monotonic_of(std::uint64_t wall_ms) const;

  // Memory is so full that messages which need not be there leave it.
  bool memory_is_short() const { return memory_is_short_; }
  void set_memory_is_short(bool yes) { memory_is_short_ = yes; }

  // What queues with little in them have written to the journal again, instead of to segments: a
  // part of the journal, or it would be full of that alone. False: no room for `octets` in place of
  // `before`.
  bool take_light(std::size_t before, std::size_t octets);
  void give_light(std::size_t octets) { light_ -= octets; }

  // One queue of a shard at a time puts its segments together.
  bool begin_compaction() { return !std::exchange(compacting_, true); }
  void end_compaction() { compacting_ = false; }

  // A start: not every queue of the node has yet what it had, so that none delivers or drops
  // anything (a dead letter could reach a queue before its own messages do).
  bool starting() const { return starting_; }
  void set_starting(bool yes) { starting_ = yes; }

  // A queue has a backlog that is not in memory, or has it no more.
  void backlog_began() { ++backlogs_; }
  void backlog_ended() { --backlogs_; }
  // What such a queue keeps in memory before it, in octets.
  std::size_t head_budget() const;

  // Makes a queue's directory, for who looks into the data directory: the queue's store does not
  // rely on it. Blocks for some ten microseconds.
  void make_directory(const QueueIdentity& identity);
  // The node stops: nobody begins anything any more.
  bool closing() const { return closing_; }
  // Writes what is under way and waits for it; nothing may be appended any more.
  void close(std::function<void()> done);
  // Removes a directory that a queue has left, a file at a time.
  void remove_directory(const std::string& directory);
  // The same for those that a former start of the node had no time for.
  runtime::Status remove_gone();

 private:
  void remove_some();

  runtime::Shard& shard_;
  const std::string data_dir_;
  const StoreOptions options_;
  runtime::DiskCalls calls_;
  Journal journal_;
  bool memory_is_short_ = false;
  bool starting_ = false;
  std::size_t backlogs_ = 0;
  std::size_t light_ = 0;
  bool compacting_ = false;
  bool closing_ = false;
  const runtime::Alive alive_;
  std::function<void()> closed_;
  std::uint64_t last_trash_ = 0;
  std::list<std::string> trash_;
  std::unique_ptr<runtime::Timer> trash_timer_;
};

}  // namespace ringtail::queue::store
