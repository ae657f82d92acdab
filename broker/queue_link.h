// A channel's line to one queue: where it is, what is gathered for it in this turn, and how much of
// what was published to it is not yet settled. Lives in its channel; made on first use. When the
// queue's node goes the line is lost: nothing travels on it any more, and it stays only as long as
// the client has deliveries that came on it. What follows has a new line.
//
// The line to a mirrored queue goes to its present master. Another master (a new epoch) is another
// line, which takes over what was published and not settled; the former one is lost. Between the
// end of a master's node and the news of the next one the line waits: what is published to it is
// kept, and nothing is sent.
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
      : record(std::move(queue_record)), address(record->address()), epoch(record->epoch()) {}

  // What it waits for.
  enum class Wait : std::uint8_t {
    kNothing,
    kNode,   // that letters reach the master's node
    kEpoch,  // its node is gone: for the next master
  };

  // The record that `address` and `epoch` are of, or a later one of the same epoch.
  std::shared_ptr<const cluster::metadata::QueueRecord> record;
  const runtime::Address address;
  std::uint64_t epoch;  // 0: the queue is not mirrored
  Wait waits = Wait::kNothing;

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
  // To a mirrored queue: the posted publishes that are not settled, from number `kept_from` on.
  std::deque<queue::MessageRef> kept;
  std::uint64_t kept_from = 0;
  bool full = false;  // counted as full at the connection
  // Nobody is reached who could answer for the queue: what is published to it is refused.
  bool down = false;

  // --- deliveries given back, this turn's ---
  std::unique_ptr<queue::Ack> acks;
  std::unique_ptr<queue::Ack> rejects;
  std::unique_ptr<queue::Requeue> requeues;
  std::unique_ptr<queue::Requeue> bounces;

  std::uint32_t consumers = 0;  // of this channel on this queue
  // Those of a lower id were of a former line: what is delivered to them is of no interest.
  queue::ConsumerId first_consumer = 0;
  std::uint64_t received = 0;  // deliveries to be acknowledged that came, those sent back too
  std::uint64_t unacked = 0;   // entries of Unacked that name this link
  // How long one of them may stay; 0: for ever.
  std::uint64_t ack_timeout_ms = 0;
  // Over the global prefetch: deliveries go back until the queue has answered Resumed to the
  // consumer that was paused. 0: not paused.
  queue::ConsumerId paused_consumer = 0;
  bool resuming = false;  // the end of the pause was asked for
  bool dirty = false;     // has something gathered
  bool lost = false;
  bool congested = false;  // the way to its node is: no more than must be

  bool mirrored() const { return epoch != 0; }
  bool waiting() const { return waits != Wait::kNothing; }
  bool open() const { return messages.open() && bytes.open() && !congested; }
  bool idle() const {
    return consumers == 0 && unacked == 0 && messages.outstanding() == 0 && !dirty;
  }

  // The batch of this turn has gone, or would have, but for waiting.
  void mark_batch() {
    last_batch = publishes->messages.size();
    marks.push_back({next_number - 1, bytes.position()});
  }
  // So that the messages of the batch can be sent again.
  void keep_batch() {
    if (kept.empty()) kept_from = publishes->first_number;
    kept.insert(kept.end(), publishes->messages.begin(), publishes->messages.end());
  }
  // All up to this number is settled; the confirms are somebody else's.
  void settle(std::uint64_t up_to) {
    while (!marks.empty() && marks.front().number <= up_to) {
      bytes.settled(marks.front().bytes);
      marks.pop_front();
    }
    messages.settled(up_to);
    for (; !kept.empty() && kept_from <= up_to; ++kept_from) kept.pop_front();
  }
  // What was published on `former` and is not settled is this line's. Numbers go on.
  void take_publishes(QueueLink& former) {
    next_number = former.next_number;
    last_batch = former.last_batch;
    messages = former.messages;
    bytes = former.bytes;
    marks = std::move(former.marks);
    confirm_sequences = std::move(former.confirm_sequences);
    confirm_from = former.confirm_from;
    kept = std::move(former.kept);
    kept_from = former.kept_from;
    full = std::exchange(former.full, false);
  }
};

}  // namespace ringtail::broker
