// The letters between channels and queues: the whole contract of a queue with its users. The same
// letters serve a queue on this shard, on another shard and (enveloped) on another node. Plain
// structs; each carries the queue's qid, which is also its actor id.
//
// Order: letters from one channel to one queue are handled in the order posted, and answers come
// back in that order. A letter to a queue that is gone is answered by the shard's QueueRegistry in
// the queue's stead (Settled for Publish, kNotFound answers for requests, nothing for the rest).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "broker/runtime/ids.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/limits.h"
#include "queue/message.h"

namespace ringtail::queue {

using runtime::Qid;

enum QueueLetterKind : runtime::LetterKind {
  // channel -> queue
  kPublish = runtime::kQueueLetters,
  kConsume,
  kCancel,
  kGet,
  kAck,
  kRequeue,
  kCredit,
  kPurge,
  kInspect,
  kDelete,
  kChannelGone,
  // queue -> channel
  kSettled,
  kConsumeOk,
  kCancelOk,
  kDeliver,
  kGetResult,
  kPurged,
  kInspected,
  kDeleteResult,
  kCancelled,
  kResumed,
  kChannelForgotten,
};

// A consumer, for its queue: unique on its channel for the channel's life (the channel's counter,
// so that a tag that is used again is another consumer).
using ConsumerId = std::uint32_t;
// A delivery, for its queue: names one attempt to deliver one message; an unknown or old one is
// harmless. Opaque to the channel.
using DeliveryToken = std::uint64_t;
// For Consume and Credit: the channel has no global prefetch.
inline constexpr std::uint64_t kNoDeliveryLimit = std::numeric_limits<std::uint64_t>::max();
// Echoed in answers so that a channel finds what it asked.
using RequestId = std::uint64_t;

struct QueueLetter : runtime::Letter {
  QueueLetter(QueueLetterKind letter_kind, Qid queue) : Letter(letter_kind), qid(queue) {}
  // What was asked of one master is asked again of the next one.
  QueueLetter(const QueueLetter& other) : Letter(other.kind), qid(other.qid), epoch(other.epoch) {}
  Qid qid;
  // To a mirrored queue: the epoch of its master as the sender knows it. One of a former epoch is
  // passed over, because its sender hears of the new one and asks again; one of an epoch to come
  // waits for it. 0: the queue is not mirrored. Answers carry none.
  std::uint64_t epoch = 0;
};

// --- channel -> queue -------------------------------------------------------------------------

// Messages in order. They are numbered first_number, first_number + 1, ...; a channel numbers what
// it publishes to one queue from 1 without a gap. Answered by Settled.
struct Publish : QueueLetter {
  explicit Publish(Qid queue) : QueueLetter(kPublish, queue) {}
  std::uint64_t first_number = 0;
  std::vector<MessageRef> messages;
};

// A new consumer. Answered by ConsumeOk before its first Deliver.
struct Consume : QueueLetter {
  explicit Consume(Qid queue) : QueueLetter(kConsume, queue) {}
  RequestId request = 0;
  ConsumerId consumer = 0;
  std::string tag;  // for statistics
  bool no_ack = false;
  bool exclusive = false;
  std::int32_t priority = 0;   // argument x-priority; higher first
  std::uint32_t prefetch = 0;  // unacknowledged deliveries this consumer may have; 0: any
  // As in Credit.
  std::uint64_t window_bytes = runtime::kDeliverWindowBytes;
  std::uint64_t delivery_limit = kNoDeliveryLimit;
  std::uint64_t channel_limit = kNoDeliveryLimit;
};

// No Deliver for this consumer follows the CancelOk. Its unacknowledged messages stay with the
// channel.
struct Cancel : QueueLetter {
  explicit Cancel(Qid queue) : QueueLetter(kCancel, queue) {}
  RequestId request = 0;
  ConsumerId consumer = 0;
};

struct Get : QueueLetter {
  explicit Get(Qid queue) : QueueLetter(kGet, queue) {}
  RequestId request = 0;
  bool no_ack = false;
};

// These deliveries are done with: acknowledged, or rejected without requeue (then dead-lettered,
// where the queue has an exchange for that).
struct Ack : QueueLetter {
  explicit Ack(Qid queue) : QueueLetter(kAck, queue) {}
  bool rejected = false;
  std::vector<DeliveryToken> tokens;
};

// These deliveries go back to their original places in the queue, unless that is once more than the
// queue's delivery limit allows. `redelivered` false: they never reached the client (the channel
// was over its global prefetch), so they are not counted as returned, nor marked, unless another
// channel was meanwhile sent a later message: first deliveries come in order.
struct Requeue : QueueLetter {
  explicit Requeue(Qid queue) : QueueLetter(kRequeue, queue) {}
  bool redelivered = true;
  std::vector<DeliveryToken> tokens;
};

// How far the channel's connection has written this consumer's deliveries: totals since Consume.
// What the channel drops or sends back counts as written.
//
// `window_bytes`: how much the consumer may be sent ahead of what is written; the more consumers a
// connection has, the less each. `delivery_limit`: the total number of deliveries since Consume
// that this consumer may be sent. Both replace what was said before.
//
// A channel with a global prefetch (basic.qos) shares it out itself: `channel_limit` is the total
// number of deliveries to be acknowledged that this queue may ever have sent to this channel, those
// in flight and those sent back included. Queues that share one prefetch may together send more
// than it; the channel then sends the surplus back (Requeue with redelivered = false) and sets
// `paused`: send this consumer nothing until a Credit without it. The Credit that ends a pause is
// answered by Resumed.
struct Credit : QueueLetter {
  explicit Credit(Qid queue) : QueueLetter(kCredit, queue) {}
  ConsumerId consumer = 0;
  std::uint64_t written_messages = 0;
  std::uint64_t written_bytes = 0;  // of Message::footprint()
  std::uint64_t window_bytes = runtime::kDeliverWindowBytes;
  std::uint64_t delivery_limit = kNoDeliveryLimit;
  std::uint64_t channel_limit = kNoDeliveryLimit;
  bool paused = false;
};

struct Purge : QueueLetter {
  explicit Purge(Qid queue) : QueueLetter(kPurge, queue) {}
  RequestId request = 0;
};

// What a declare of an existing queue asks: the queue counts as used, unless it is a mere look.
struct Inspect : QueueLetter {
  explicit Inspect(Qid queue) : QueueLetter(kInspect, queue) {}
  RequestId request = 0;
  bool counts_as_use = true;
};

// Deletes the queue if the conditions hold. Answered by DeleteResult once every shard has forgotten
// the queue.
struct Delete : QueueLetter {
  explicit Delete(Qid queue) : QueueLetter(kDelete, queue) {}
  RequestId request = 0;
  bool if_unused = false;
  bool if_empty = false;
};

// The sending channel has ended: its consumers go, what it had unacknowledged from this queue is
// requeued (marked redelivered), its publish numbers are forgotten.
struct ChannelGone : QueueLetter {
  explicit ChannelGone(Qid queue) : QueueLetter(kChannelGone, queue) {}
  // Answered by ChannelForgotten to `notify` (the channel itself hears nothing any more).
  bool wants_notice = false;
  runtime::Address notify;
  RequestId request = 0;
};

// --- queue -> channel -------------------------------------------------------------------------

// Every publish up to `up_to` is the queue's responsibility, or was refused: the refused numbers
// among them are listed (overflow reject-publish, a failing store).
struct Settled : QueueLetter {
  explicit Settled(Qid queue) : QueueLetter(kSettled, queue) {}
  std::uint64_t up_to = 0;
  std::vector<std::uint64_t> rejected;  // ascending
};

enum class Answer : std::uint8_t {
  kOk,
  kNotFound,  // the queue is gone or going
  // Exclusive consume refused (somebody consumes, or the queue has a single active consumer), or
  // another consumer is exclusive.
  kExclusiveUse,
  kInUse,     // delete if-unused
  kNotEmpty,  // delete if-empty
  kDamaged,   // what it has on the disk cannot be read
  // delete: a majority of the nodes has not agreed in time; it may happen yet.
  kUnavailable,
};

struct ConsumeOk : QueueLetter {
  explicit ConsumeOk(Qid queue) : QueueLetter(kConsumeOk, queue) {}
  RequestId request = 0;
  ConsumerId consumer = 0;
  Answer answer = Answer::kOk;
  // How long a delivery may be unacknowledged, as the queue has it; 0: it has no such rule.
  std::uint64_t consumer_timeout_ms = 0;
};

struct CancelOk : QueueLetter {
  explicit CancelOk(Qid queue) : QueueLetter(kCancelOk, queue) {}
  RequestId request = 0;
  ConsumerId consumer = 0;
};

struct Delivery {
  ConsumerId consumer = 0;
  bool redelivered = false;
  // How often it came back before; always 0 where the queue has no delivery limit.
  std::uint16_t delivery_count = 0;
  DeliveryToken token = 0;  // 0 for no-ack consumers
  MessageRef message;
};

struct Deliver : QueueLetter {
  explicit Deliver(Qid queue) : QueueLetter(kDeliver, queue) {}
  std::vector<Delivery> deliveries;
};

struct GetResult : QueueLetter {
  explicit GetResult(Qid queue) : QueueLetter(kGetResult, queue) {}
  RequestId request = 0;
  Answer answer = Answer::kOk;
  bool redelivered = false;
  std::uint16_t delivery_count = 0;  // as in Delivery
  DeliveryToken token = 0;
  MessageRef message;                     // none: the queue is empty
  std::uint64_t messages_ready = 0;       // left in the queue
  std::uint64_t consumer_timeout_ms = 0;  // as in ConsumeOk
};

struct Purged : QueueLetter {
  explicit Purged(Qid queue) : QueueLetter(kPurged, queue) {}
  RequestId request = 0;
  Answer answer = Answer::kOk;
  std::uint64_t messages = 0;
};

struct Inspected : QueueLetter {
  explicit Inspected(Qid queue) : QueueLetter(kInspected, queue) {}
  RequestId request = 0;
  Answer answer = Answer::kOk;
  std::uint64_t messages_ready = 0;
  std::uint64_t messages_unacknowledged = 0;
  std::uint64_t message_bytes_ready = 0;
  std::uint32_t consumers = 0;
  // Totals since the queue began.
  std::uint64_t published = 0;
  std::uint64_t delivered = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t redelivered = 0;
};

struct DeleteResult : QueueLetter {
  explicit DeleteResult(Qid queue) : QueueLetter(kDeleteResult, queue) {}
  RequestId request = 0;
  Answer answer = Answer::kOk;
  std::uint64_t messages = 0;  // ready ones that went with it
};

// The queue has ended this consumer (it was deleted). Sent to the channel of every consumer left.
struct Cancelled : QueueLetter {
  explicit Cancelled(Qid queue) : QueueLetter(kCancelled, queue) {}
  ConsumerId consumer = 0;
};

// Answer to the Credit that ended a pause: deliveries for this consumer from here on were chosen
// after it. The channel sends back whatever arrives between its pause and this, so that no message
// overtakes one that was sent back.
struct Resumed : QueueLetter {
  explicit Resumed(Qid queue) : QueueLetter(kResumed, queue) {}
  ConsumerId consumer = 0;
};

// Everything that the channel had from this queue has gone back: whoever looks now finds it there.
// Also from a queue that is gone. From a mirrored one: that the channel has gone is committed, and
// so is all that it published before.
struct ChannelForgotten : QueueLetter {
  explicit ChannelForgotten(Qid queue) : QueueLetter(kChannelForgotten, queue) {}
  RequestId request = 0;
};

}  // namespace ringtail::queue
