// A node's copy of a mirrored queue: a member of the queue's ring (gm/), and the actor that all
// letters to the queue come to. As the master it has the queue's process, as a slave the contents
// alone; which of the two it is, the record's view says (cluster/metadata/records.h).
//
//   README.md beside this file numbers the rules (MR1 ...).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "broker/runtime/shard.h"
#include "broker/runtime/timer.h"
#include "cluster/metadata/view.h"
#include "gm/letters.h"
#include "gm/member.h"
#include "queue/mirror/changes.h"
#include "queue/mirror/contents.h"
#include "queue/mirror/letters.h"
#include "queue/mirror/master_ring.h"
#include "queue/mirror/producers.h"
#include "queue/queue_process.h"

namespace ringtail::queue {

// Asks the metadata for another view of the queue. It may be lost; the views that follow tell.
using ProposeView =
    std::function<void(const cluster::metadata::QueueRecord&, const gm::ViewChange&)>;

// What the mirrored queues of a shard share; all of it outlives them.
struct MirrorServices {
  runtime::Shard& shard;
  const cluster::metadata::View& view;
  Removals& removals;
  Discard& discard;
  DeadLetterSink& dead_letters;
  store::StoreShard* stores;
  ProposeView propose;
};

// Owned by its shard's registry, on that shard.
class MirroredQueue final : public runtime::Actor,
                            private gm::MemberOwner,
                            private gm::Directory,
                            private ChangesReader,
                            private ContentsOwner,
                            private MasterRing,
                            private runtime::TurnTask {
 public:
  using RecordPtr = std::shared_ptr<const cluster::metadata::QueueRecord>;

  enum class Origin : std::uint8_t {
    kMember,   // of the record's view
    kDormant,  // in sync until its life ended: what a restart finds may be needed
  };
  // `self`: this node's membership. `process`: of a queue that is mirrored from here on; null: the
  // copy begins with nothing, or with what a restart finds.
  MirroredQueue(const MirrorServices& services, RecordPtr record, const gm::MemberId& self,
                std::unique_ptr<QueueProcess> process, Origin origin = Origin::kMember);
  ~MirroredQueue() override;
  MirroredQueue(const MirroredQueue&) = delete;
  MirroredQueue& operator=(const MirroredQueue&) = delete;

  // The membership that it has, or is about to have.
  const gm::MemberId& awaited() const { return awaited_ ? *awaited_ : self_; }
  // The master's; null: this is a slave, or nothing at present.
  QueueProcess* process() { return process_.get(); }
  // Another record of the queue, with the same membership in its view.
  void changed(RecordPtr record);
  // The membership has ended; what is here stays.
  void suspend(RecordPtr record);
  // Another membership: goes on with what is here if that one is in sync, else begins anew.
  void renew(RecordPtr record, const gm::MemberId& self);
  // The node is to have no copy any more.
  void leave();
  // The queue is mirrored no more: its process, if this is the master, to go on alone. To be
  // destroyed next.
  std::unique_ptr<QueueProcess> release();
  // The metadata has forgotten the queue.
  void removed();
  // Every queue of the node has what it had (QueueProcess::serve).
  void serve();
  void peer_down(runtime::NodeId peer);

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  // Of an entry of this master's that is under way.
  struct Pending {
    gm::Number entry = 0;  // 0: not in the log yet
    runtime::Address channel;
    Producer producer;
    std::uint64_t up_to = 0;
    std::vector<MessageRef> messages;
    std::vector<Terms> terms;  // empty: none expires
    std::uint64_t bytes = 0;
    bool persistent = false;
  };
  // A channel is to hear that its publishes are settled.
  struct Settling {
    gm::Number entry = 0;
    bool kept = false;  // on the disks, too
    runtime::Address channel;
    std::uint64_t up_to = 0;
  };
  struct Unstored {
    store::JournalPosition position = 0;
    gm::Number entry = 0;
  };
  struct Mark {
    gm::Number entry = 0;
    std::uint64_t number = 0;
  };
  // A copy that joins: how far it has come.
  struct Joining {
    bool asked = false;
    std::uint64_t asked_ms = 0;
    std::uint64_t above = 0;              // it has everything up to there
    bool fetched = false;                 // and all there was when the last portion left,
    std::uint64_t next = 0;               // when the next message got this number
    gm::Number entry = 0;                 // behind that entry
    bool synced = false;                  // all of it is in the store,
    store::JournalPosition position = 0;  // on the disk when the journal has kept so much
  };

  // --- mirrored_queue.cc ---
  std::uint64_t now_ms() const { return services_.shard.env().clock().monotonic_ms(); }
  void make_member();
  void make_contents();
  void make_process();
  void apply_view();
  void wake(bool anew);
  void ask_to_join_anew();
  void promote();
  void demote();
  void begin_to_serve();
  void receive_queue_letter(runtime::LetterPtr letter);
  void handle(runtime::LetterPtr letter);
  void pass_over(const runtime::Letter& letter);
  void ask_turn() { services_.shard.flush_batches_at_turn_end(*this); }
  void turn_end() noexcept override;
  void look_at_timer();
  void tick();
  bool is_master() const { return process_ != nullptr; }
  bool joins() const;

  // --- mirrored_queue_publish.cc ---
  Producer producer_of(const runtime::Address& channel) const;
  void take_publish(runtime::LetterPtr letter);
  std::size_t take_repeats(const Publish& letter, const Producers::State& known);
  void take_new(Publish& letter, const Producer& producer, std::size_t skip);
  bool is_alone() const;
  void flush_batch();
  void settle();
  void apply_own(gm::Number entry);
  void apply_entry(gm::Number entry);
  void note_stored();

  // --- mirrored_queue_join.cc ---
  void go_on_joining();
  void ask_for_older();
  void take_older(Older& letter);
  void give_older();
  void give_older(const Missing& question);

  // --- gm::MemberOwner ---
  void received(const gm::Entry&) override {}
  void committed(gm::Number up_to) override;
  void kept(gm::Number up_to) override;
  void cut(gm::Number above, std::vector<gm::Entry> entries) override;
  void restarted(const gm::Position& base) override;
  void diverged(const gm::Position& at) override;
  void send(const gm::MemberId& to, gm::HandOn frame) override;
  void send(const gm::MemberId& to, const gm::Report& frame) override;
  std::optional<runtime::Address> address_of(const gm::MemberId& member) const;
  // --- gm::Directory ---
  void propose(const gm::ViewChange& change) override;
  // --- ChangesReader, of a slave ---
  void begins(std::uint64_t next, std::uint64_t mark) override;
  void published(Published& published) override;
  void removed(NumberRange numbers) override;
  void purged(std::uint64_t up_to, const std::vector<std::uint64_t>& kept) override;
  void producer_gone(const Producer& producer) override;
  // --- ContentsOwner ---
  void contents_kept() noexcept override { ask_turn(); }
  // --- MasterRing ---
  void removed(std::uint64_t number) override;
  void purged(std::uint64_t up_to, std::vector<std::uint64_t> kept) override;
  bool may_deliver(std::uint64_t number) override;
  void disk_kept() override { ask_turn(); }
  std::uint64_t joined() const override { return self_.joined; }

  const MirrorServices& services_;
  RecordPtr record_;
  gm::MemberId self_;
  const runtime::Address address_;
  std::unique_ptr<gm::Member> member_;  // null: none at present
  Producers producers_;
  gm::Number applied_ = 0;
  gm::Number stored_ = 0;   // the ring was told
  std::uint64_t mark_ = 0;  // messages up to there may have been delivered, as all know
  std::deque<Unstored> unstored_;
  std::vector<runtime::LetterPtr> early_;
  std::unique_ptr<runtime::Timer> timer_;
  bool timer_runs_ = false;
  bool broken_ = false;
  bool held_ = false;      // until serve(): the node starts
  bool released_ = false;  // it is an actor no more
  // What a restart has found lies in the process, which serves nobody, until the view says what it
  // is good for.
  bool dormant_ = false;
  std::optional<gm::MemberId> awaited_;  // of renew(), until serve()

  // --- of a slave ---
  std::unique_ptr<Contents> contents_;
  Joining joining_;

  // --- of the master ---
  std::unique_ptr<QueueProcess> process_;
  bool serving_ = false;
  gm::Number epoch_begins_ = 0;  // the first entry of its epoch
  ChangesWriter writer_;
  std::deque<Pending> pending_;
  std::uint64_t pending_messages_ = 0;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t in_log_messages_ = 0;  // of the pending ones
  std::deque<Settling> settling_;
  gm::Number kept_ = 0;
  std::uint64_t wanted_mark_ = 0;
  std::deque<Mark> marks_;  // in the log, not yet committed
  bool mark_due_ = false;
  std::vector<std::unique_ptr<Missing>> questions_;
};

}  // namespace ringtail::queue
