// A shard: one thread, one event loop, one Env, and the actors that live there. Nothing of a shard
// is touched by another thread except its mailboxes (mailbox.h).
//
// The loop's driver (uv/uv_shard.h, sim/sim_shard.h) calls run_turn() once per loop iteration,
// after the sockets and timers had their say. A turn repeats rounds of
//   1. letters: from the mailboxes and the run queue, in the order of their arrival,
//   2. batches: every actor that asked with flush_batches_at_turn_end() posts what it gathered,
//   3. output: every connection that asked with write_output_at_turn_end() writes,
// until nothing is left or kRoundsPerTurn is reached. Letters to other shards leave after each
// round, with one wake-up per receiving shard.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "broker/runtime/env.h"
#include "broker/runtime/ids.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/owned_by.h"

namespace ringtail::runtime {

class Mailboxes;

// Takes letters to actors of other nodes; keeps the order between two addresses, as a shard does.
// Letters to a node that is gone are dropped: whoever awaits an answer hears of the node's end.
class RemotePost {
 public:
  virtual ~RemotePost() = default;
  // `letter->from` is set.
  virtual void post(const Address& to, LetterPtr letter) noexcept = 0;
};

// Something that wants to be called once at the end of the turn. Leaves the list by itself when it
// is destroyed (auto_unlink: an actor may die in the middle of a turn).
class TurnTask : public boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual void turn_end() noexcept = 0;

 protected:
  ~TurnTask() = default;
};

class Shard {
 public:
  // `mailboxes` connects the shards of this node and outlives them.
  Shard(NodeId node, ShardId id, Env& env, Mailboxes& mailboxes);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  ShardId id() const { return id_; }
  NodeId node() const { return node_; }
  Env& env() { return env_; }

  // Gives an actor an address: an invented id, or a given one (a queue's qid) that is not in use.
  Address add(Actor& actor);
  Address add(ActorId id, Actor& actor);
  // No letter reaches the actor from here on; letters to it go to the fallback.
  void remove(ActorId id);
  // Who answers letters to actors that are not (or no longer) here. May be null: they are dropped.
  void set_fallback(Actor* actor) { fallback_ = actor; }
  // Who takes letters to other nodes; without one there are none.
  void set_remote(RemotePost* remote) { remote_ = remote; }

  // Sends a letter. Order is kept between any two addresses; the letter is received in a later
  // round, never inside this call. `from` is an actor of this shard, or of another node whose
  // letter arrives here.
  void post(const Address& from, const Address& to, LetterPtr letter);

  // Idempotent within a turn; the task is called once in the current or next round.
  void flush_batches_at_turn_end(TurnTask& task) {
    if (!task.is_linked()) batches_.push_back(task);
  }
  void write_output_at_turn_end(TurnTask& task) {
    if (!task.is_linked()) output_.push_back(task);
  }

  // True: there is more to do, call again without waiting.
  bool run_turn();

 private:
  using TurnList = boost::intrusive::list<TurnTask, boost::intrusive::constant_time_size<false>>;

  bool deliver_letters();
  bool deliver_mail();
  void deliver(ActorId to, LetterPtr letter);
  static bool run(TurnList& tasks);

  struct Posted {
    ActorId to;
    LetterPtr letter;
  };

  const NodeId node_;
  const ShardId id_;
  Env& env_;
  Mailboxes& mailboxes_;
  OwnedBy owner_;
  std::uint64_t next_actor_ = 1;
  std::unordered_map<ActorId, Actor*> actors_;
  Actor* fallback_ = nullptr;
  RemotePost* remote_ = nullptr;
  // Two vectors take turns, so that a busy shard allocates nothing for its run queue.
  std::vector<Posted> run_queue_;
  std::vector<Posted> running_;
  TurnList batches_;
  TurnList output_;
};

}  // namespace ringtail::runtime
