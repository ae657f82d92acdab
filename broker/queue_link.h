// A channel's line to one queue: where it is, what is gathered for it in this turn, and how much of
// what was published to it is not yet settled. Lives in its channel; made on first use. When the
// queue's node goes the line is lost: nothing travels on it any more, and it stays only as long as
// the client has deliveries that came on it. What follows has a new line.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "broker/runtime/credit.h"
#include "broker/runtime/ids.h"
#include "broker/runtime/limits.h"
#include "cluster/metadata/records.h"
#include "queue/letters.h"

namespace ringtail::broker {

struct QueueLink {
  explicit QueueLink(std::shared_ptr<const cluster::metadata::QueueRecord> queue_record)
      : record(std::move(queue_record)), address(record->address()) {}

  const std::shared_ptr<const cluster::metadata::QueueRecord> record;
  const runtime::Address address;

  // --- publishing: numbers from 1 without a gap ---
  std::uint64_t next_number = 1;
  std::unique_ptr<queue::Publish> publishes;  // this turn's
  std::size_t last_batch = 16;                // size of the batch before, to reserve by
  std::uint64_t batch_bytes = 0;
  runtime::Window messages{runtime::kPublishWindowMessages};
  runtime::Window bytes{runtime::kPublishWindowBytes};
  // Up to which number each posted batch reaches, and the byte position there.
  struct Mark {
    std::uint64_t number;
    std::uint64_t bytes;
  };
  std::deque<Mark> marks;
  // Confirm sequence of each unsettled publish from number `confirm_from` on: a channel that
  // confirms once confirms for ever, so there is no gap.
  std::deque<std::uint64_t> confirm_sequences;
  std::uint64_t confirm_from = 0;
  bool full = false;  // counted as full at the connection
  bool down = false;  // the queue's node is not reached: what is published to it is refused

  // --- deliveries given back, this turn's ---
  std::unique_ptr<queue::Ack> acks;
  std::unique_ptr<queue::Ack> rejects;
  std::unique_ptr<queue::Requeue> requeues;
  std::unique_ptr<queue::Requeue> bounces;

  std::uint32_t consumers = 0;  // of this channel on this queue
  std::uint64_t received = 0;   // deliveries to be acknowledged that came, those sent back too
  std::uint64_t unacked = 0;    // entries of Unacked that name this link
  // How long one of them may stay; 0: for ever.
  std::uint64_t ack_timeout_ms = 0;
  // Over the global prefetch: deliveries go back until the queue has answered Resumed to the
  // consumer that was paused. 0: not paused.
  queue::ConsumerId paused_consumer = 0;
  bool resuming = false;  // the end of the pause was asked for
  bool dirty = false;     // has something gathered
  bool lost = false;
  bool congested = false;  // the way to its node is: no more than must be

  bool open() const { return messages.open() && bytes.open() && !congested; }
  bool idle() const {
    return consumers == 0 && unacked == 0 && messages.outstanding() == 0 && !dirty;
  }
};

}  // namespace ringtail::broker
