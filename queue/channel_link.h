// What a queue keeps of one channel that uses it: its consumers, what it holds unacknowledged, and
// the answers that are gathered for it until the turn ends.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "broker/runtime/ids.h"
#include "queue/consumers.h"
#include "queue/letters.h"
#include "queue/unacked.h"

namespace ringtail::queue {

// Owned by its queue, on the queue's shard; from the channel's first use of the queue until its
// ChannelGone. On the queue's list of unflushed links while something is gathered.
struct ChannelLink : boost::intrusive::list_base_hook<> {
  ChannelLink(const runtime::Address& channel, std::uint64_t link_serial)
      : address(channel), serial(link_serial) {}

  const runtime::Address address;
  const std::uint64_t serial;  // never used again in this queue
  // Ordered, so that whatever happens to all of them happens in the same order in every run.
  std::map<ConsumerId, std::unique_ptr<Consumer>> consumers;
  UnackedList held;

  std::unique_ptr<Deliver> deliver;  // gathered deliveries
  std::size_t last_batch = 0;        // how many the last letter had: the next one's expected size
  // Deliveries to be acknowledged that it was sent, and may have been sent (Credit::channel_limit).
  std::uint64_t deliveries = 0;
  std::uint64_t delivery_limit = kNoDeliveryLimit;
  std::uint64_t settled = 0;            // publishes settled up to here
  bool settled_due = false;             // and not yet reported
  std::vector<std::uint64_t> rejected;  // of those, the refused ones; ascending
};

}  // namespace ringtail::queue
