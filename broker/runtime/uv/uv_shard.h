// A shard on the real world: one thread, one libuv loop, one Env, one Shard.
#pragma once

#include <functional>
#include <memory>

#include "broker/runtime/ids.h"
#include "broker/runtime/mailbox.h"
#include "broker/runtime/shard.h"
#include "broker/runtime/status.h"

namespace ringtail::runtime {

// Made, stopped and destroyed by the node (on its main thread); everything of the Shard happens on
// the shard's own thread. Order of life for a node of several: make all, start() all, stop() all,
// join() all, destroy all: shards wake each other until the last one has been joined.
//
// The thread runs with all signals blocked (uv_signals.h has the one that takes them).
class UvShard {
 public:
  using Call = std::function<void(Shard&)>;

  // `mailboxes` outlives it. `started` runs on the shard's thread before anything else happens
  // there: the place to build what lives on the shard. `stopping` runs there as the last thing: the
  // place to destroy all of it, streams, listeners, timers and files included. Streams destroyed
  // or closed there still deliver what they have written. Neither may throw.
  UvShard(NodeId node, ShardId id, Mailboxes& mailboxes, Call started, Call stopping);
  UvShard(UvShard&&) noexcept;
  UvShard& operator=(UvShard&&) noexcept;
  ~UvShard();

  ShardId id() const;
  // Starts the thread; returns when `started` has returned.
  Status start();
  // From any thread: runs `call` on the shard's thread, soon, in the order of the calls. Dropped
  // when the shard stops first.
  void call(Call call);
  // The same, and waits until it has run. Not from the shard's own thread.
  void call_and_wait(const Call& call);
  // The same for what ends later: `call` is given a function that ends the wait when it runs, once,
  // on that shard's thread.
  void call_and_await(const std::function<void(Shard&, std::function<void()> done)>& call);
  // From any thread: ends the shard in the order described above. Returns at once. Idempotent.
  void stop();
  // Waits until the thread has ended, which follows on stop().
  void join();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringtail::runtime
