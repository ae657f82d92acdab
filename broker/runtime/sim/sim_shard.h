// Drives shards in a simulation: SimShardDriver is to a Shard what uv/uv_shard.h is in a real node,
// SimNode holds all shards of one node.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "broker/runtime/mailbox.h"
#include "broker/runtime/shard.h"
#include "broker/runtime/sim/sim_env.h"

namespace ringtail::runtime {

// One shard's loop. A turn runs after each of its callbacks (socket, timer, disk), when another
// shard wakes it, and again while run_turn() returns true; a turn takes virtual time, so that a
// shard which never rests does not stop the clock.
class SimShardDriver final : public Waker {
 public:
  SimShardDriver(SimHost& host, NodeId node, ShardId id, Mailboxes& mailboxes);
  ~SimShardDriver() override;

  Shard& shard() { return shard_; }
  SimEnv& env() { return env_; }
  // From another shard: a turn follows after a short random while.
  void wake() noexcept override;
  // Runs a test's code on this shard, as a callback of its loop would run: now; a turn follows.
  void run(const std::function<void()>& code) { env_.enter(code); }

 private:
  void turn_after(std::uint64_t delay_ns);
  void turn();

  SimEnv env_;
  Shard shard_;
  SimEventId turn_event_;   // the next turn, if one is due
  bool turn_held_ = false;  // one was due while the loop stood
};

// A process on a host: its shards and their mailboxes. Actors are gone when it is destroyed: a
// process that ends in order ends them first, one that is killed was told so by kill() before.
class SimNode {
 public:
  SimNode(SimHost& host, NodeId node, std::size_t shards);

  // See SimHost; of this process alone (but the host's drive forgets every process).
  void pause();
  void resume();
  void kill();

  std::size_t size() const { return drivers_.size(); }
  SimShardDriver& driver(std::size_t shard) { return *drivers_[shard]; }
  Shard& shard(std::size_t shard) { return drivers_[shard]->shard(); }
  Mailboxes& mailboxes() { return mailboxes_; }

 private:
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<SimShardDriver>> drivers_;
};

}  // namespace ringtail::runtime
