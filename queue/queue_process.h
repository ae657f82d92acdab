// A queue: the actor that decides the order of everything that happens to it. Its actor id is its
// qid. What it may be asked, and what it answers, stands in letters.h.
//
// Between two letters either nothing is ready or nobody can take it: every handler that makes a
// message or room for one ends with dispatch(). Answers to requests leave at once; deliveries and
// Settled are gathered for each channel and leave when the turn's letters have been handled, or
// before the next answer to that channel, so that a channel hears everything in its order.
//
// A queue without options and without messages that expire is plain: it has no Rules, and none of
// what they ask for costs it anything.
//
// A durable queue has a store from its first persistent message on (queue/store/), any other from
// when its backlog has to leave memory. What is persistent is settled when it is kept.
#pragma once

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/letter.h"
#include "broker/runtime/owned_by.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/records.h"
#include "queue/channel_link.h"
#include "queue/consumers.h"
#include "queue/dead_letters.h"
#include "queue/discard.h"
#include "queue/letters.h"
#include "queue/mirror/contents.h"
#include "queue/mirror/master_ring.h"
#include "queue/queue_state.h"
#include "queue/removals.h"
#include "queue/rules.h"
#include "queue/store/queue_store.h"
#include "queue/terms.h"
#include "queue/unacked.h"

namespace ringtail::queue {

// What a queue tells of itself, for listings; totals count from the queue's beginning.
struct QueueStats {
  std::uint64_t messages_ready = 0;
  std::uint64_t messages_unacknowledged = 0;
  std::uint64_t message_bytes_ready = 0;
  std::uint64_t published = 0;
  std::uint64_t delivered = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t redelivered = 0;
  std::uint32_t consumers = 0;
};
// One consumer, the same way.
struct ConsumerStats {
  runtime::Address channel;
  ConsumerId id = 0;
  std::string tag;
  bool ack_required = true;
  bool exclusive = false;
  bool active = true;  // false: waits behind the single active consumer
  std::int32_t priority = 0;
  std::uint32_t prefetch = 0;
};

// Made by its shard's registry when the queue is declared, destroyed by it when the queue was
// removed.
class QueueProcess final : public runtime::Actor,
                           private runtime::TurnTask,
                           private store::StoreOwner {
 public:
  // `stores`: null where nothing is kept on a disk (in tests). `ring`: of a mirrored queue, whose
  // letters come through its mirrors' actor; null: it is none, and an actor itself.
  QueueProcess(runtime::Shard& shard, std::shared_ptr<const cluster::metadata::QueueRecord> record,
               Removals& removals, Discard& discard, DeadLetterSink& dead_letters,
               store::StoreShard* stores = nullptr, MasterRing* ring = nullptr);
  ~QueueProcess() override;
  QueueProcess(const QueueProcess&) = delete;
  QueueProcess& operator=(const QueueProcess&) = delete;

  const cluster::metadata::QueueRecord& record() const { return *record_; }
  std::shared_ptr<const cluster::metadata::QueueRecord> shared_record() const { return record_; }
  // The metadata has another record of this queue: acts by its options from here on.
  void changed(std::shared_ptr<const cluster::metadata::QueueRecord> record);
  void receive(runtime::LetterPtr letter) noexcept override;
  QueueStats stats() const;
  std::vector<ConsumerStats> consumer_stats() const;
  // The metadata has forgotten the queue: tells the consumers and gives the messages away. To be
  // destroyed next.
  void removed();
  // What a restart found, before anything else happens to the queue; `done` when it is in place.
  // The queue is unusable if it is damaged; `done` says why.
  void restore(store::JournaledQueue journaled, std::function<void(const runtime::Status&)> done);
  // Every queue of the node has what it had: it may deliver, drop and expire, and handles what has
  // come meanwhile.
  void serve();
  // Nothing comes from that node's channels any more, nothing reaches them: they have ended.
  void peer_down(runtime::NodeId peer);
  // Whether the journals of former starts say anything of it.
  bool has_former_journals() const { return store_ != nullptr && store_->has_former(); }
  // `done` when the journals of former starts say nothing that is not kept elsewhere.
  void leave_former_journals(std::function<void()> done);
  // Why the queue takes no persistent messages; ok: it does.
  runtime::Status damage() const;

  // --- of a mirrored queue's master: queue_process_mirror.cc ---
  // The queue is mirrored from here on, or no longer (null).
  void set_ring(MasterRing* ring);
  // Takes over what a slave has, up to the number before `next`; messages up to `delivered` may
  // have been delivered before. Before anything else happens to it.
  void take_over(Contents& contents, std::uint64_t delivered);
  // The other way round; what is handed out counts as not delivered, the channels hear nothing.
  // False: some of it is not in memory, and nothing has happened.
  bool give_up(Contents& contents);
  // Whether a message would go above a limit and is to be refused, while `held` others are on
  // their way to the queue.
  bool would_refuse(const Message& message, std::uint64_t held, std::uint64_t held_bytes);
  // The channel's publish of that number is refused; the message may go to the dead letters.
  void refuse_publish(const runtime::Address& channel, std::uint64_t number, MessageRef message);
  // When the message expires if it comes now.
  Terms terms_now(const Message& message);
  // Something of the channel is on its way to the queue: it is to hear when it is settled.
  void expect_from(const runtime::Address& channel);
  // What was published has been committed; terms.size() == 0: nothing of it expires.
  void publish_committed(std::vector<MessageRef>& messages, std::span<const Terms> terms);
  // When what was published since the last call is on the disk; 0: nothing of it goes there.
  store::JournalPosition take_published();
  store::JournalPosition disk_position() const { return store_ == nullptr ? 0 : store_->kept(); }
  // The channel's publishes up to `up_to` are settled.
  void settle(const runtime::Address& channel, std::uint64_t up_to);
  // The ring's answer to MasterRing::may_deliver() is another one now.
  void may_go_on();
  // The number that its files have.
  Qid stored_qid() const;
  std::uint64_t next_number() const { return state_.next_number(); }
  bool has_consumers() const { return consumers_.count() > 0; }
  // Everything is in memory, and stays there while `keep`.
  bool keep_in_memory(bool keep);
  // Some of the messages above `above`, up to the number that is returned; all up to there.
  std::uint64_t visit_alive(std::uint64_t above, std::size_t octets,
                            const std::function<void(const Entry&, Terms)>& visit) const;

 private:
  // Totals since the queue began.
  struct Statistics {
    std::uint64_t published = 0;
    std::uint64_t delivered = 0;
    std::uint64_t acknowledged = 0;
    std::uint64_t redelivered = 0;
  };

  void turn_end() noexcept override;

  void on_publish(Publish& letter);
  void on_consume(const Consume& letter);
  void on_cancel(const Cancel& letter);
  void on_get(const Get& letter);
  void on_ack(const Ack& letter);
  void on_requeue(const Requeue& letter);
  void on_credit(const Credit& letter);
  void on_purge(const Purge& letter);
  void on_inspect(const Inspect& letter);
  void on_delete(const Delete& letter);
  void on_channel_gone(const ChannelGone& letter);

  // Publishes up to the first message that expires; how many that were.
  std::size_t publish_plain(std::vector<MessageRef>& messages);
  // Hands out what is ready while somebody can take it.
  void dispatch();
  // `kept`: the store may know the message.
  void deliver(Consumer& consumer, Entry entry, Terms terms, bool kept);
  // A Get that waits until the first message is here, or may be handed out: one at most of each
  // channel.
  struct WaitingGet {
    runtime::Address from;
    RequestId request;
    bool no_ack;
  };
  // Whether the next message is here and may be handed out; also when there is none.
  bool ready_to_hand_out();
  void serve_gets();
  // The queue is going: those that wait for a message hear that.
  void refuse_gets();
  // Answers a Get.
  void give(const WaitingGet& get);
  // Gives a delivery that has ended back to the queue, or drops it if it came back too often.
  void take_back(Unacked::Held& held);
  void count_delivery(const Entry& entry);
  // What the channel is told of it.
  std::uint16_t delivery_count(Terms terms) const;
  std::uint64_t consumer_timeout() const;
  // A delivery has ended: its consumer may take another one.
  void settle(Consumer* consumer);
  // Deliveries have ended, so that messages came back or consumers can take more.
  void settled();
  // Starts the removal if this is an auto-delete queue and its last consumer has just gone.
  void consumer_left();
  void remove_self();

  // --- queue_process_rules.cc ---
  std::uint64_t now_ms() const;
  Rules& rules();  // made now if there were none
  void apply_options();
  void publish_by_rules(Publish& letter, ChannelLink& link, std::size_t from);
  bool would_pass_limit(const Message& message) const;
  void refuse(MessageRef message, ChannelLink& link, std::uint64_t number);
  void enqueue(MessageRef message, Terms terms);
  Terms terms_of(const Message& message) const;
  bool over_limit() const;
  // Each drops what has to go from the head now. False: not all; the rest follows in later rounds,
  // and nothing may be handed out before.
  bool drop_by_rules();
  bool drop_over_limit();
  bool expire_head();  // the next look is set up, too
  // False: this round has dropped enough.
  bool drop_head(DeathReason reason);
  void continue_dropping();
  void watch_head(std::uint64_t time_ms, std::uint64_t now);
  // Gives the message away if there is a dead letter exchange.
  void dead_letter(DeathReason reason, MessageRef message);
  // Counts a return; false: it was one too many.
  bool may_return(Terms& terms) const;
  // The queue is used now; looks again when it may have been unused for too long.
  void watch_use();
  void look_at_use();

  // --- queue_process_store.cc ---
  // Publishes of a durable queue without rules.
  std::size_t publish_kept(std::vector<MessageRef>& messages);
  bool is_kept(const Message& message) const { return keeps_ && message.traits().persistent; }
  void keep(const Message& message, std::uint8_t priority, Terms terms, bool delivered);
  // The letter's publishes are settled, now or when they are kept.
  void settle_publishes(ChannelLink& link, std::uint64_t up_to);
  void settle_kept();
  void settle_all();
  void refuse_unkept();
  bool is_unreadable() const { return backing_ != nullptr && backing_->unreadable; }
  bool refuses_for_damage(const Publish& letter, ChannelLink& link);
  store::QueueStore& make_store();
  // A message has left the queue for good.
  void gone(const Entry& entry, Terms terms) {
    if (store_ != nullptr) [[unlikely]]
      gone_from_store(entry, terms);
    if (ring_ != nullptr) [[unlikely]]
      gone_from_ring(entry);
  }
  void gone_from_ring(const Entry& entry);
  void purge_ring();
  void gone_from_store(const Entry& entry, Terms terms);
  void purge_store();
  void look_at_backlog();
  void page_lane(std::uint8_t lane, std::size_t keep);
  std::size_t head_limit() const;
  void visit_above(std::uint64_t above, const Visit& visit) const override;
  std::uint64_t last_number() const override { return state_.next_number() - 1; }
  void store_kept() noexcept override;
  void store_moved() noexcept override;
  void store_loaded(std::uint8_t lane,
                    std::vector<store::StoredMessage>& messages) noexcept override;
  void store_failed(const runtime::Status& why) noexcept override;
  void take_restored(store::QueueStore::Restored& restored);
  void note_damage(const runtime::Status& why);
  void make_unreadable(const runtime::Status& why);
  void end_use();

  // What is kept of a channel: null when there is nothing, or made now.
  ChannelLink* find_link(const runtime::Address& channel);
  ChannelLink& link_of(const runtime::Address& channel);
  // The channels, none twice, have ended.
  void forget(std::span<ChannelLink* const> going);
  void mark_unflushed(ChannelLink& link);
  void flush(ChannelLink& link);
  // Posts an answer behind everything that was gathered for the channel.
  void answer(const runtime::Address& to, runtime::LetterPtr letter);
  // Takes out all messages, ready and handed out, and all consumers.
  std::vector<EntryFifo> empty_out();

  runtime::Shard& shard_;
  std::shared_ptr<const cluster::metadata::QueueRecord> record_;
  const Qid qid_;
  const runtime::Address address_;
  Removals& removals_;
  Discard& discard_;
  DeadLetterSink& dead_letters_;
  store::StoreShard* const stores_;
  MasterRing* ring_;
  bool keep_in_memory_ = false;  // for a mirror that joins
  runtime::OwnedBy owner_;

  // Who sees a line of deliveries in which order counts: the consumers of a channel that
  // acknowledge (what one of them sends back, all do), those that do not, and all that is got.
  using Receiver = std::uint64_t;
  static Receiver receiver(const Consumer& consumer) {
    return consumer.link().serial << 1 | (consumer.no_ack() ? 1U : 0U);
  }
  static constexpr Receiver kGetter = 0;
  // Whether another receiver was sent a message behind `position`.
  bool overtaken(const ChannelLink& link, Position position) const {
    return position < (furthest_receiver_ == link.serial << 1 ? furthest_of_others_ : furthest_);
  }
  void note_furthest(Receiver who, Position position) {
    if (position <= furthest_) {
      if (who != furthest_receiver_) {
        furthest_of_others_ = std::max(furthest_of_others_, position);
      }
      return;
    }
    if (who != furthest_receiver_) {
      furthest_of_others_ = furthest_;
      furthest_receiver_ = who;
    }
    furthest_ = position;
  }

  std::unique_ptr<Rules> rules_;  // none: a plain queue
  bool plain_ = true;   // messages need not be looked at when they come, unless they expire
  bool keeps_ = false;  // persistent messages are kept on the disk
  bool held_ = false;   // until serve()
  std::vector<runtime::LetterPtr> early_;  // that came until then
  QueueState state_;
  Unacked unacked_;
  Consumers consumers_;
  Statistics statistics_;

  // The last position ever delivered, to whom, and the last one delivered to anybody else.
  Position furthest_ = 0;
  Receiver furthest_receiver_ = kGetter;
  Position furthest_of_others_ = 0;

  std::uint64_t last_serial_ = 0;
  std::map<runtime::Address, ChannelLink> links_;
  ChannelLink* last_link_ = nullptr;  // the one used last: most letters come in runs
  boost::intrusive::list<ChannelLink, boost::intrusive::constant_time_size<false>> unflushed_;
  std::vector<WaitingGet> waiting_gets_;

  // What exists only together with a store.
  struct Backing {
    // Publishes that are settled when the journal has kept so much and so many are in segments.
    struct Unkept {
      store::JournalPosition position;
      std::uint64_t written;
      runtime::Address channel;
      std::uint64_t up_to;  // publishes of that channel
    };
    std::deque<Unkept> unkept;
    bool has_backlog = false;  // that is not in memory
    bool idle = false;         // a restart found nothing
    runtime::Status damage;
    bool unreadable = false;  // so that it is of no use
  };
  std::unique_ptr<Backing> backing_;
  std::unique_ptr<store::QueueStore> store_;  // after all that it looks at

  bool going_ = false;  // the removal has been asked for: nothing is delivered any more
};

}  // namespace ringtail::queue
