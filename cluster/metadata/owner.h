// The node's owner of the metadata, on its control shard: numbers what the node proposes and gives
// it to the log until it has been agreed on, applies what the log agrees on to a replica of its
// own, sends that to the node's other shards, and answers proposers.
//
// What is given to the log may be lost, and is given again then: when the leader changes, and after
// kProposalAgainMs without progress. The numbers see to it that each counts once (Store::accept).
// By itself it proposes that its present life leads mirrored queues (LeadQueues), where that has to
// be said.
// What has waited for kProposalTimeoutMs, to be agreed on or to be in force everywhere, is answered
// with kUnavailable; it may happen yet.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/shard.h"
#include "broker/runtime/status.h"
#include "cluster/metadata/commands_codec.h"
#include "cluster/metadata/kept_state.h"
#include "cluster/metadata/service.h"

namespace ringtail::cluster::metadata {

// What agrees on proposals: Raft (cluster/control_plane.h); tests have their own.
class ProposalLog {
 public:
  virtual ~ProposalLog() = default;
  // For whoever leads. It may be lost on the way.
  virtual void submit(std::string proposal) = 0;
  // All shards of this node have applied the log up to here.
  virtual void applied_here(std::uint64_t index) = 0;
};

// What the control plane wants to know of its own node.
class LifeWatcher {
 public:
  virtual ~LifeWatcher() = default;
  // The log says that the node's present life has begun: asked for with begin_life().
  virtual void life_begun(const NodeRecord& record) = 0;
  // The log says that it has ended: the others think that this node is gone. Nothing is applied of
  // what it proposes until the next has begun; what waits is given to the log then.
  virtual void life_ended() = 0;
  // The log says that the cluster has forgotten this node: it has no life any more and gets none.
  // May be told more than once.
  virtual void own_node_forgotten() = 0;
};

class Owner final : public runtime::Actor, private runtime::TurnTask {
 public:
  // The log and the watcher outlive it.
  Owner(runtime::Shard& control, std::uint16_t data_shards, ProposalLog& log, LifeWatcher& watcher);
  ~Owner() override;

  Store& store() { return store_; }

  // Proposes that this node's next life begins, again and again until life_begun().
  void begin_life(NodeRecord record);
  Life life() const { return life_; }
  // Proposes that a node be forgotten, for one that has no life. It may be lost.
  void forget(NodeId id);
  // Of the last proposal in the log that this node has applied, if not on all shards.
  std::uint64_t index() const { return index_; }
  // From the control shard itself.
  void propose(Command command, std::function<void(const CommandResult&)> done,
               bool patient = false);

  // Sends all that is known to the data shards, and every change from here on; `done` runs when
  // they have it. Once; what was read at a start stays here until then.
  void publish(std::function<void()> done);

  // --- from the log, in its order ---
  // kCorrupt: it holds no proposal. Another version of the program wrote it; this one must not go
  // on.
  [[nodiscard]] runtime::Status commit(std::uint64_t index, std::uint64_t term,
                                       std::string_view proposal);
  [[nodiscard]] runtime::Status restore(std::string_view snapshot);
  runtime::BytesChain snapshot() { return kept_.snapshot(index_); }
  // Another leader, or one again: what waits is given to it.
  void leader_changed();
  // Every node that counts has applied the log up to here.
  void applied_everywhere(std::uint64_t index);

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  static constexpr std::uint64_t kNoDeadline = UINT64_MAX;
  // Who proposed: an actor, or the control shard itself.
  struct Proposer {
    runtime::Address from;
    std::uint64_t request = 0;
    std::function<void(const CommandResult&)> done;
  };
  struct Pending {
    std::uint64_t number = 0;  // of this node's life
    Proposer proposer;
    std::shared_ptr<const Command> command;
    std::uint64_t deadline_ms = kNoDeadline;
  };
  struct Answer {
    std::uint64_t index = 0;
    Proposer to;
    CommandResult result;
    std::uint64_t deadline_ms = kNoDeadline;
  };
  // Sent to the data shards; not yet applied by all.
  struct Batch {
    std::uint64_t number = 0;
    std::uint64_t index = 0;
  };

  // The queues that a state of the log knows are below this qid.
  struct Known {
    std::uint64_t index = 0;
    Qid below{};
  };

  void turn_end() noexcept override;
  std::uint64_t new_deadline_ms() const;
  void add(Proposer proposer, Command command, bool patient);
  void await_in_force(Proposer proposer);
  void submit_new();
  void submit_again();
  std::uint64_t submit(std::size_t from);
  void apply(std::uint64_t index, std::uint64_t term, const Proposal& proposal);
  void resolve(std::uint64_t index, std::uint64_t number, CommandResult result);
  void look_at_own_life();
  void lead_queues();
  void submit_life();
  void begin_batch();
  void send_batch();
  void applied_by(const Applied& letter);
  void answer_applied();
  void announce(std::uint64_t index);
  void tell_in_force();
  void answer(Answer& ready);
  void tick();
  void give_up(std::uint64_t now_ms);

  runtime::Shard& shard_;
  const std::uint16_t data_shards_;
  ProposalLog& log_;
  LifeWatcher& watcher_;
  Store store_;
  KeptState kept_{store_};
  std::unique_ptr<runtime::Timer> timer_;

  // This node's life as the log has it; 0: none.
  Life life_ = 0;
  std::uint64_t led_up_to_ = 0;  // the last mark up to which it has proposed LeadQueues
  NodeRecord wanted_;            // of begin_life(); boot 0: none is asked for

  // Proposals in order: those given to the log come first.
  std::deque<Pending> pending_;
  std::size_t submitted_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t progress_ms_ = 0;  // when the log last did something for this node

  // The replicas of the data shards.
  bool published_ = false;
  std::function<void()> published_done_;
  std::vector<Command> commands_;  // this turn's
  std::uint64_t index_ = 0;        // of the last entry that was applied
  std::uint64_t last_batch_ = 0;
  std::deque<Batch> batches_;
  std::vector<std::uint64_t> applied_;  // by shard: the last batch that it has reported
  std::uint64_t applied_here_ = 0;
  std::uint64_t applied_everywhere_ = 0;
  std::deque<Answer> answers_;  // by index
  std::deque<Known> known_;     // by index: what the data shards were sent, not yet in force
  Qid in_force_below_{};
  Qid told_in_force_{};
};

}  // namespace ringtail::cluster::metadata
