// One AMQP channel. Dispatches its methods to its jobs, a file each: channel_publish.cc,
// channel_consume.cc, channel_declare.cc, channel_bind.cc, channel_tx.cc, and channel_access.cc for
// what its user may do.
//
// channel_peers.cc is for the ends of other nodes, channel_mirrors.cc for new masters of mirrored
// queues.
//
// Owned by its connection, on its shard. An actor: queues and the metadata owner answer it by
// letter. While it awaits an answer that its client's next method may depend on, later frames of
// this channel are kept and handled afterwards, in order; other channels go on. A declaration
// behind declarations (a binding behind bindings, a deletion behind deletions) does not depend on
// them and is handled at once, so that a client that pipelines them waits once; what is answered
// stays in order (awaited_answers.h). When one of them fails, those behind it that were under way
// may have happened, although their client does not hear it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "broker/access_control.h"
#include "broker/amqp/content_header.h"
#include "broker/amqp/errors.h"
#include "broker/amqp/frame_reader.h"
#include "broker/amqp/methods.h"
#include "broker/awaited_answers.h"
#include "broker/confirms.h"
#include "broker/connection.h"
#include "broker/queue_link.h"
#include "broker/runtime/shard.h"
#include "broker/unacked.h"
#include "queue/letters.h"
#include "queue/message.h"

namespace ringtail::broker {

struct Declarer;
struct ReplyPlace;

class Channel final : public runtime::Actor {
 public:
  Channel(Connection& connection, std::uint16_t number);
  ~Channel() override;

  std::uint16_t number() const { return number_; }
  ChannelInfo info() const;

  // A frame for this channel. May end the channel (through Connection::channel_failed).
  void handle_frame(const amqp::Frame& frame);

  // The channel is over: tells every queue it used. No letter reaches it afterwards.
  void end() { end_with(nullptr, 0); }
  // The same; each queue that had something of it answers ChannelForgotten with this request to
  // `notify`.
  struct Notices {
    std::size_t awaited = 0;
    std::vector<runtime::NodeId> remote;  // of these, a node for each that comes from another one
  };
  Notices end_and_notify(const runtime::Address& notify, queue::RequestId request) {
    return end_with(&notify, request);
  }

  // A node is not reached any more: its queues, as far as this channel goes, have ended. Or it is
  // reached again. May end the channel.
  void peer_changed(runtime::NodeId node, bool up);
  // More waits for a node than is good, or no longer.
  void peer_congested(runtime::NodeId node, bool congested);
  // What waits for it is refused, as if it was down.
  void peer_reached(runtime::NodeId node, bool reached);
  // The record of a queue that the channel has a line to has changed, or is gone.
  void queue_changed(runtime::Qid qid);
  void queue_removed(runtime::Qid qid);

  // Answers channel.open. `ask`: the user's channels are limited, and the connection registry is
  // asked first; `channels` is how many its connection has with this one.
  void open(bool ask, std::uint32_t channels);

  // Handles frames that were kept while an answer was awaited, or too much output was waiting.
  void handle_kept();

  // Output was written: gives consumers credit for it.
  void output_written();

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  enum class Mode : std::uint8_t { kPlain, kConfirm, kTx };
  enum class Expect : std::uint8_t { kMethod, kHeader, kBody };

  struct Consumer {
    queue::ConsumerId id = 0;
    std::string tag;
    QueueLink* link = nullptr;
    bool no_ack = false;
    bool exclusive = false;
    std::uint32_t prefetch = 0;
    std::int32_t priority = 0;
    std::string arguments;  // as the client gave them, for listings
    std::uint64_t written_messages = 0;
    std::uint64_t written_bytes = 0;  // of Message::footprint()
    std::uint64_t reported_messages = 0;
    std::uint64_t reported_bytes = 0;
    bool credit_due = false;
    bool held_back = false;  // began while the connection's output had no room
    bool asked = true;       // the client awaits the answer to its basic.consume
    // At the new master of a mirrored queue: the request to subscribe again is to be sent, or has
    // been sent under this number.
    bool subscribe_due = false;
    queue::RequestId subscribing = 0;
  };

  // A publish whose content is still coming.
  struct Incoming {
    bool mandatory = false;
    std::uint16_t route_size = 0;
    std::uint16_t exchange_size = 0;
    std::array<std::uint8_t, 2 * (runtime::kShortStringMax + 1)> route;
    queue::MessageRef message;
    std::vector<std::string> further_keys;  // of the headers CC and BCC

    std::span<const std::uint8_t> route_bytes() const { return {route.data(), route_size}; }
    std::string_view exchange() const {
      return {reinterpret_cast<const char*>(route.data()) + 1, exchange_size};
    }
    std::string_view routing_key() const {
      return {reinterpret_cast<const char*>(route.data()) + exchange_size + 2,
              static_cast<std::size_t>(route_size - exchange_size - 2)};
    }
  };

  // An exchange that the user may publish to.
  struct PublishGrant {
    std::string exchange;
    const NamePattern* topic = nullptr;  // if it is a topic exchange its routing keys must match
  };

  // What a publish in a transaction, or an ack in one, leaves to be done at tx.commit.
  struct TxPublish {
    queue::MessageRef message;
    std::vector<std::string> further_keys;
    bool mandatory = false;
  };
  struct TxAck {
    Unacked::Entry entry;
    enum class What : std::uint8_t { kAck, kReject, kRequeue } what = What::kAck;
  };

  using OnAnswer = AwaitedAnswers::OnAnswer;

  // --- channel.cc ---
  Notices end_with(const runtime::Address* notify, queue::RequestId request);
  void handle_method(std::span<const std::uint8_t> payload);
  void dispatch(std::uint32_t key, std::span<const std::uint8_t> arguments);
  bool dispatch_exchange_or_queue(std::uint32_t key, std::span<const std::uint8_t> arguments);
  bool dispatch_basic(std::uint32_t key, std::span<const std::uint8_t> arguments);
  template <typename Method>
  void decode(std::span<const std::uint8_t> arguments, void (Channel::*handler)(const Method&));
  void handle_now(const amqp::Frame& frame);
  void keep(const amqp::Frame& frame);
  void fail(amqp::AmqpError error);
  void fail_hard(amqp::ReplyCode code, std::string text);
  void malformed(const char* method, bool utf8);
  template <typename Method>
  void reply(const Method& method) {
    connection_.send(number_, method);
  }
  void flow(const amqp::ChannelFlow& method);
  void close(const amqp::ChannelClose& method);
  QueueLink& link_to(const std::shared_ptr<const cluster::metadata::QueueRecord>& record);
  QueueLink& new_link(const std::shared_ptr<const cluster::metadata::QueueRecord>& record);
  void sweep_links();
  void flush_batches();
  void flush(QueueLink& link);
  void hold(QueueLink& link);
  void touch(QueueLink& link);

  // --- channel_answers.cc ---
  // Sends a request to a queue; later frames wait until its answer was handled by `done`.
  template <typename Request>
  void ask(QueueLink& link, std::unique_ptr<Request> request, OnAnswer done);
  void propose(cluster::metadata::Command command,
               std::function<void(const cluster::metadata::CommandResult&)> done);
  // `done` when all that this node knows now is known to every node that counts.
  void await_in_force(std::function<void()> done);
  // Of the metadata.
  void ask_owner(std::uint64_t request, runtime::LetterPtr letter,
                 std::function<void(const cluster::metadata::CommandResult&)> done);
  template <typename Answer>
  void answered(runtime::LetterPtr letter) {
    const std::uint64_t request = runtime::letter_cast<Answer>(*letter).request;
    answered(request, std::move(letter));
  }
  void answered(std::uint64_t request, runtime::LetterPtr letter);
  bool awaits() const { return tx_committing_ || !awaited_.empty(); }
  bool may_handle(const amqp::Frame& frame) const;
  void handle_behind(const amqp::Frame& frame);
  // Now, or when what is awaited before the method being handled has been answered.
  void in_turn(std::function<void()> what);

  // --- channel_publish.cc ---
  void handle_publish(const amqp::BasicPublish& method);
  void handle_header(const amqp::Frame& frame);
  void handle_body(const amqp::Frame& frame);
  void unexpected_content_frame();
  void publish_complete();
  bool check_properties(const amqp::PropertyTraits& traits, queue::Message::Traits& own);
  bool take_further_keys(std::span<const std::uint8_t> headers);
  void fail_publish(amqp::AmqpError error);
  bool find_targets(const queue::Message& message, const std::vector<std::string>& further_keys,
                    bool must_exist);
  void distribute(const queue::MessageRef& message, bool mandatory);
  void enqueue(QueueLink& link, queue::MessageRef message, std::uint64_t sequence);
  void return_message(const queue::Message& message, amqp::ReplyCode code);
  static amqp::Content content_of(const queue::Message& message);
  void reopen(QueueLink& link);
  void settled(queue::Settled& letter);
  void settle_confirms(QueueLink& link, const queue::Settled& letter);
  void report_confirms();
  void confirm_select(const amqp::ConfirmSelect& method);
  bool check_expiration(std::string_view text, std::uint64_t& milliseconds);

  // --- channel_consume.cc ---
  void qos(const amqp::BasicQos& method);
  void consume(const amqp::BasicConsume& method);
  void consume_from(const std::shared_ptr<const cluster::metadata::QueueRecord>& record,
                    const amqp::BasicConsume& method, const std::string& tag,
                    std::int32_t priority);
  bool check_consumer(const amqp::BasicConsume& method,
                      const cluster::metadata::QueueRecord& record, std::int32_t& priority);
  void consume_ok(runtime::LetterPtr letter);
  void consume_answered(const queue::ConsumeOk& answer, const std::string& queue_name,
                        bool no_wait);
  void cancel(const amqp::BasicCancel& method);
  void get(const amqp::BasicGet& method);
  void got(QueueLink& link, bool no_ack, queue::GetResult& result);
  void ack(const amqp::BasicAck& method);
  void nack(const amqp::BasicNack& method);
  void reject(const amqp::BasicReject& method);
  void recover(const amqp::BasicRecover& method);
  void recover_async(const amqp::BasicRecoverAsync& method);
  bool requeue_all(bool requeue);
  void give_back(std::uint64_t tag, bool multiple, TxAck::What what);
  void finish(const Unacked::Entry& entry, TxAck::What what);
  // Deliveries that count against the global prefetch: those of lost lines do not.
  std::size_t held() const { return unacked_.count() + tx_acks_.size() - lost_unacked_; }
  void deliver(queue::Deliver& letter);
  void write_delivery(const Consumer& consumer, const queue::Delivery& delivery, std::uint64_t tag,
                      const amqp::Content& content);
  void write_counted_delivery(const Consumer& consumer, const queue::Delivery& delivery,
                              std::uint64_t tag);
  void deliver_one(QueueLink& link, queue::Delivery& delivery, std::uint32_t stamp);
  bool over_global_prefetch() const { return global_prefetch_ != 0 && held() >= global_prefetch_; }
  void bounce(QueueLink& link, queue::DeliveryToken token);
  void pause(Consumer& consumer);
  // The total that the queue may send to this channel, as the global prefetch leaves room.
  std::uint64_t channel_limit(const QueueLink& link) const;
  void share_global_prefetch();
  void cancelled(const queue::Cancelled& letter);
  void resumed(const queue::Resumed& letter);
  void want_credit(Consumer& consumer);
  void send_credit(Consumer& consumer);
  Consumer* consumer_of(queue::ConsumerId id);
  void forget_consumer(Consumer& consumer);

  // --- channel_peers.cc ---
  void refuse_for_down(const QueueLink& link);
  void refuse_publish(std::uint64_t sequence);
  void peer_down(runtime::NodeId node);
  // `asked`: what was asked that these lines do not answer any more.
  void end_lines(const std::vector<QueueLink*>& lines,
                 const std::function<bool(const AwaitedAnswers::Entry&)>& asked);
  void leave(const QueueLink& link);
  bool of_left_line(const runtime::Letter& letter);
  std::vector<QueueLink*> links_to(runtime::NodeId node);
  std::shared_ptr<const cluster::metadata::QueueRecord> end_consumers(
      const std::vector<QueueLink*>& links, bool tell);
  void lose(QueueLink& link);
  void retire(std::unique_ptr<QueueLink> link);
  void finish_lost(QueueLink& link);
  void answer_for_peer();

  // --- channel_mirrors.cc ---
  // Lines whose queues have other masters, as one look at them finds them.
  struct Moves {
    std::vector<QueueLink*> fresh;
    std::vector<std::unique_ptr<QueueLink>> former;
    std::vector<QueueLink*> ended;         // there is no master
    std::vector<runtime::Qid> unanswered;  // were asked what cannot be asked again
  };
  std::shared_ptr<const cluster::metadata::QueueRecord> current_record(
      const cluster::metadata::QueueRecord& queue) const;
  void follow_masters();
  void follow_master(QueueLink& link, Moves& moves);
  bool is_unreached(const cluster::metadata::QueueRecord& queue) const;
  void place(QueueLink& link);
  bool awaits_master(QueueLink& link);
  void move_line(QueueLink& link, std::shared_ptr<const cluster::metadata::QueueRecord> current,
                 Moves& moves);
  void refuse_unkept(QueueLink& link);
  void move_consumers();
  void move_consumer(Consumer& consumer);
  bool cancels_at_failover(const Consumer& consumer) const;
  void attach(const std::vector<QueueLink*>& lines);
  void send_kept(QueueLink& link);
  std::unique_ptr<queue::Consume> subscription(Consumer& consumer);
  void subscribe_again();
  void subscribed_again(Consumer& consumer, const queue::ConsumeOk& answer);
  void ask_again();
  void end_moved(const Moves& moves);
  void answer_deletes(const std::vector<QueueLink*>& lines);

  // --- channel_timeout.cc ---
  // The queue's own timeout for acknowledgements (0: none), or the configured one, is in force.
  void set_ack_timeout(QueueLink& link, std::uint64_t queue_timeout_ms);
  std::uint32_t ack_stamp() const;
  void watch_acks();
  void look_at_acks();

  // --- channel_declare.cc ---
  Declarer declarer() const;
  // What a check of declarations.h found is told to the client. True: there was something.
  bool refused(std::optional<amqp::AmqpError> refusal);
  void exchange_declare(const amqp::ExchangeDeclare& method);
  void exchange_declare_passive(const std::string& name, bool no_wait);
  void exchange_declared(const cluster::metadata::CommandResult& result,
                         const cluster::metadata::ExchangeRecord& wanted, bool no_wait);
  void exchange_delete(const amqp::ExchangeDelete& method);
  void queue_declare(const amqp::QueueDeclare& method);
  void queue_declare_passive(const std::string& name, bool no_wait);
  void propose_queue(std::shared_ptr<const cluster::metadata::QueueRecord> wanted, bool no_wait);
  void queue_exists(const std::shared_ptr<const cluster::metadata::QueueRecord>& record,
                    std::shared_ptr<const cluster::metadata::QueueRecord> wanted, bool no_wait);
  void inspect_queue(const std::shared_ptr<const cluster::metadata::QueueRecord>& record,
                     std::shared_ptr<const cluster::metadata::QueueRecord> wanted, bool no_wait);
  void queue_declared(const std::string& name, std::uint64_t messages, std::uint64_t consumers,
                      bool no_wait);
  bool check_exclusive(const cluster::metadata::QueueRecord& record);
  void queue_purge(const amqp::QueuePurge& method);
  void queue_delete(const amqp::QueueDelete& method);

  // --- channel_bind.cc ---
  void exchange_bind(const amqp::ExchangeBind& method);
  void exchange_unbind(const amqp::ExchangeUnbind& method);
  void queue_bind(const amqp::QueueBind& method);
  void queue_unbind(const amqp::QueueUnbind& method);
  std::string binding_key(std::string_view queue, std::string_view key) const;
  void bind(cluster::metadata::BindingRecord record, bool unbind, std::function<void()> done);
  void await_history(const cluster::metadata::BindingRecord& record, std::function<void()> done);

  // --- channel_access.cc: false (or null) means that the channel has failed ---
  bool may(amqp::Permission permission, std::string_view kind, std::string_view name);
  bool may_use_topic(amqp::Permission permission, const Exchange& exchange,
                     std::string_view routing_key);
  // Whether the publish that begins may go to its exchange. Asked for every message: the answer
  // for the exchange of the last one is kept with the version of what it was concluded from.
  bool may_publish() {
    if (last_grant_ != nullptr && grants_version_ == broker_shard_.view().access_version() &&
        last_grant_->exchange == incoming_.exchange() && last_grant_->topic == nullptr) [[likely]] {
      return true;
    }
    return check_publish();
  }
  bool check_publish();
  bool exchange_takes_publishes();
  bool impersonates(std::string_view user_id) const;
  // The record of an existing queue that this connection may use, if its user has the permission
  // (for the name: a queue that is not there is refused, too, to a user who may not use it); empty
  // name: the last declared one.
  std::shared_ptr<const cluster::metadata::QueueRecord> usable_queue(std::string_view name,
                                                                     amqp::Permission permission);
  bool resolve_name(std::string_view name, std::string& resolved);

  // --- channel_reply.cc ---
  void consume_replies(const amqp::BasicConsume& method, const std::string& tag);
  void stop_replies();
  bool fill_in_reply_to(std::span<const std::uint8_t> properties, std::string& rewritten);
  void publish_reply(const queue::MessageRef& message, bool mandatory);
  bool is_reached(const ReplyPlace& place) const;
  void deliver_reply(const queue::Message& message);
  void probe_reply(const std::string& name, bool no_wait);

  // --- channel_tx.cc ---
  void tx_select(const amqp::TxSelect& method);
  void tx_commit(const amqp::TxCommit& method);
  void tx_rollback(const amqp::TxRollback& method);
  void tx_commit_if_settled();

  struct BatchTask : runtime::TurnTask {
    explicit BatchTask(Channel& channel) : owner(channel) {}
    void turn_end() noexcept override { owner.flush_batches(); }
    Channel& owner;
  };

  Connection& connection_;
  BrokerShard& broker_shard_;
  runtime::Shard& shard_;
  const std::uint16_t number_;
  runtime::Address address_;
  bool ended_ = false;
  Mode mode_ = Mode::kPlain;

  // Awaiting an answer.
  std::uint64_t next_request_ = 1;
  AwaitedAnswers awaited_;
  bool behind_ = false;  // the method being handled stands behind what is awaited
  bool broken_ = false;  // one of those failed: nothing may follow it
  std::vector<std::uint8_t> kept_frames_;
  std::size_t kept_at_ = 0;  // of the first frame not yet handled

  std::unordered_map<runtime::Qid, std::unique_ptr<QueueLink>> links_;
  std::vector<std::unique_ptr<QueueLink>> lost_links_;  // with deliveries not acknowledged
  // Queues that do not know yet that their line to this channel has ended, and their nodes.
  std::map<runtime::Qid, runtime::NodeId> left_;
  std::size_t lost_unacked_ = 0;  // those, in all
  std::size_t sweep_links_at_ = 64;
  std::vector<QueueLink*> dirty_links_;
  std::vector<runtime::Qid> changed_;  // queues whose records have changed in this turn
  BatchTask batch_task_{*this};
  std::uint16_t method_class_ = 0;  // of the method being handled, for error replies
  std::uint16_t method_id_ = 0;

  // Publishing.
  Expect expect_ = Expect::kMethod;
  Incoming incoming_;
  std::vector<QueueLink*> targets_;  // of the publish being routed
  std::vector<const cluster::metadata::QueueRecord*> routed_;
  std::vector<const Exchange*> remembering_;  // exchanges on its way that keep it
  std::string cached_route_;                  // targets_ are those of this route ...
  std::uint64_t cached_version_ = 0;          // ... at this version of the view; 0: no cache
  std::vector<PublishGrant> grants_;          // at this version of the access rules ...
  std::uint64_t grants_version_ = 0;
  const PublishGrant* last_grant_ = nullptr;  // of the last publish
  Confirms confirms_;

  // Consuming.
  std::unordered_map<std::string, std::unique_ptr<Consumer>> consumers_by_tag_;
  std::unordered_map<queue::ConsumerId, Consumer*> consumers_;
  Consumer* last_consumer_ = nullptr;
  queue::ConsumerId next_consumer_ = 1;
  std::vector<Consumer*> credit_due_;
  Unacked unacked_;
  std::uint64_t next_tag_ = 1;
  std::uint32_t prefetch_ = 0;         // for consumers started from now on
  std::uint32_t global_prefetch_ = 0;  // for the channel as a whole
  bool prefetch_changed_ = false;      // consumers are to be told at the turn's end

  // The shortest timeout of its deliveries; 0: there is none, and nothing is stamped.
  std::uint64_t shortest_ack_timeout_ms_ = 0;
  std::unique_ptr<runtime::Timer> ack_timer_;
  bool ack_timer_running_ = false;

  std::string reply_name_;  // direct reply-to; empty: no consumer
  std::string reply_tag_;

  std::string last_queue_;  // the name an empty queue name stands for

  // Transaction.
  std::vector<TxPublish> tx_publishes_;
  std::vector<TxAck> tx_acks_;
  bool tx_committing_ = false;
  bool tx_refused_ = false;  // a queue has refused a publish of this commit
};

}  // namespace ringtail::broker
