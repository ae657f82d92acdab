// Where the owner of the metadata keeps the changes that outlive a restart. Today a log on this
// node's disk (durable_log.h); with a cluster Raft's log takes this place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ringtail::cluster::metadata {

// On the owner's shard.
class Journal {
 public:
  virtual ~Journal() = default;
  // Takes the changes of one command (ChangeEncoder): after a crash all of them are there, or none.
  // They are numbered from 1.
  virtual void append(std::string changes) = 0;
  // What was appended may leave for the disk now: the end of a batch.
  virtual void flush() = 0;
  virtual std::uint64_t appended() const = 0;
  // Up to this number all is on stable storage; grows before the callback of its maker is told.
  virtual std::uint64_t kept() const = 0;
  // Keeps what was appended, then ends; `done` runs when it can be destroyed, perhaps at once.
  virtual void close(std::function<void()> done) = 0;
};

}  // namespace ringtail::cluster::metadata
