// What the process of a mirrored queue's master tells of what it does to the queue, so that the
// slaves do it too. It outlives the process.
#pragma once

#include <cstdint>
#include <vector>

namespace ringtail::queue {

class MasterRing {
 public:
  // The message of this number has left the queue, for whatever reason.
  virtual void removed(std::uint64_t number) = 0;
  // All messages up to `up_to` have left but these, in no order.
  virtual void purged(std::uint64_t up_to, std::vector<std::uint64_t> kept) = 0;
  // Whether all slaves know that messages up to this number may have been delivered. False:
  // QueueProcess::may_go_on() when they do.
  virtual bool may_deliver(std::uint64_t number) = 0;
  // More of it is on the disk.
  virtual void disk_kept() = 0;
  // Which of the node's copies of the queue this is (QueueMember::joined): its files' number.
  virtual std::uint64_t joined() const = 0;

 protected:
  ~MasterRing() = default;
};

}  // namespace ringtail::queue
