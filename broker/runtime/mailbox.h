// How letters get from one shard to another: a bounded single-producer, single-consumer ring for
// every pair of shards, filled and drained in batches, with one wake-up per batch. What does not
// fit waits, in order, in the sender's outbox; credit (limits.h) bounds how much that can be.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "broker/runtime/ids.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/limits.h"

namespace ringtail::runtime {

// Makes a shard's loop run a turn soon, which sees all that the caller stored before. Callable from
// any thread; calls may coalesce.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() noexcept = 0;
};

struct PostedLetter {
  ActorId to;
  Letter* letter = nullptr;  // owned by the ring while it lies there
};

// All mailboxes of one node. Built before the shards' threads start, destroyed after they ended.
class Mailboxes {
 public:
  explicit Mailboxes(std::size_t shards);
  ~Mailboxes();

  std::size_t shards() const { return shards_; }
  // Before the threads start: how to wake shard `id`. The waker outlives every sender.
  void set_waker(ShardId id, Waker* waker);

  // --- on the sending shard's thread ---
  void put(ShardId from, ShardId to, ActorId actor, LetterPtr letter);
  // Moves outboxes into rings and wakes the receivers. True: something still waits for room (its
  // receiver wakes this shard when it has drained).
  bool flush(ShardId from);

  // --- on the receiving shard's thread ---
  // Takes the next letter sent to shard `to` by shard `from`; false when there is none now.
  bool take(ShardId to, ShardId from, PostedLetter& out);
  // To be called after draining: wakes senders that wait for room.
  void drained(ShardId to);

 private:
  struct Pair;  // from one shard to one other
  // Of one sending shard: the receivers whose outbox holds something. Alone in its cache line.
  struct alignas(64) Unflushed {
    std::vector<ShardId> receivers;
  };

  Pair& pair(ShardId from, ShardId to);
  // Moves letters from the outbox into the ring; true if any could be moved.
  static bool push(Pair& pair);

  std::size_t shards_;
  std::vector<std::unique_ptr<Pair>> pairs_;  // [from * shards_ + to]; none from a shard to itself
  std::vector<Unflushed> unflushed_;          // [from]
  std::vector<Waker*> wakers_;
};

}  // namespace ringtail::runtime
