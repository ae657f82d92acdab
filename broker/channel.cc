#include "broker/channel.h"

#include <cstring>

#include "broker/amqp/utf8.h"
#include "broker/amqp/wire.h"
#include "broker/connection_registry.h"
#include "broker/direct_reply.h"

namespace ringtail::broker {

using amqp::kMethodKey;
using cluster::metadata::CommandResult;
using cluster::metadata::QueueRecord;

namespace {

// A kept frame: type, whether it is the last part, payload size, payload.
constexpr std::size_t kKeptHeader = 6;

}  // namespace

Channel::Channel(Connection& connection, std::uint16_t number)
    : connection_(connection),
      broker_shard_(connection.broker_shard()),
      shard_(connection.shard()),
      number_(number),
      address_(shard_.add(*this)) {}

Channel::~Channel() { end(); }

Channel::Notices Channel::end_with(const runtime::Address* notify, queue::RequestId request) {
  if (ended_) return {};
  changed_.clear();  // who goes on for it looks for itself
  flush_batches();
  stop_replies();
  ack_timer_.reset();
  ended_ = true;
  Notices notices;
  std::vector<QueueLink*> leaving;
  for (auto& [qid, link] : links_) {
    broker_shard_.line_ended(qid, address_.actor);
    if (link->full) connection_.count_full_link(-1);
    if (link->down) continue;
    if (link->mirrored()) {
      if (notify != nullptr && !link->idle()) ++notices.awaited;
      leaving.push_back(link.get());
      continue;
    }
    auto gone = std::make_unique<queue::ChannelGone>(qid);
    if (notify != nullptr && !link->idle()) {
      gone->wants_notice = true;
      gone->notify = *notify;
      gone->request = request;
      ++notices.awaited;
      const runtime::NodeId home = link->address.node;
      if (home != shard_.node()) notices.remote.push_back(home);
    }
    shard_.post(address_, link->address, std::move(gone));
  }
  connection_.count_pending(-static_cast<std::ptrdiff_t>(kept_frames_.size() - kept_at_));
  connection_.count_consumers(-static_cast<int>(consumers_.size()));
  kept_frames_.clear();
  awaited_.clear();
  shard_.remove(address_.actor);
  if (!leaving.empty()) broker_shard_.departures().take(address_, leaving, notify, request);
  return notices;
}

void Channel::open(bool ask, std::uint32_t channels) {
  if (!ask) {
    reply(amqp::ChannelOpenOk{});
    return;
  }
  auto letter = std::make_unique<AdmitChannel>();
  letter->request = next_request_++;
  letter->connection = connection_.id();
  letter->channels = channels;
  awaited_.add(letter->request, shard_.node(), [this](runtime::Letter& answer) {
    const auto& verdict = runtime::letter_cast<ChannelAdmitted>(answer);
    if (verdict.admission == Admission::kYes) {
      reply(amqp::ChannelOpenOk{});
    } else if (verdict.admission == Admission::kUserFull) {
      connection_.fail(amqp::user_channel_limit(connection_.user(), verdict.limit));
    }
  });
  shard_.post(address_, ConnectionRegistry::address(shard_.node()), std::move(letter));
}

// --- frames -------------------------------------------------------------------------------------

void Channel::handle_frame(const amqp::Frame& frame) {
  if (!awaits() && kept_frames_.empty() && !connection_.output_overflows()) [[likely]] {
    handle_now(frame);
  } else if (kept_frames_.empty() && may_handle(frame)) {
    handle_behind(frame);
  } else {
    if (connection_.output_overflows()) connection_.frames_kept_by_overflow();
    keep(frame);
  }
}

void Channel::handle_now(const amqp::Frame& frame) {
  switch (frame.type) {
    case amqp::FrameType::kMethod:
      if (expect_ == Expect::kMethod) [[likely]] {
        handle_method(frame.payload);
      } else {
        unexpected_content_frame();
      }
      break;
    case amqp::FrameType::kHeader:
      handle_header(frame);
      break;
    case amqp::FrameType::kBody:
      handle_body(frame);
      break;
    case amqp::FrameType::kHeartbeat:
      break;
  }
}

void Channel::keep(const amqp::Frame& frame) {
  std::uint8_t header[kKeptHeader];
  header[0] = static_cast<std::uint8_t>(frame.type);
  header[1] = frame.last_part ? 1 : 0;
  amqp::store_u32(header + 2, static_cast<std::uint32_t>(frame.payload.size()));
  if (kept_at_ > kept_frames_.size() / 2) {
    kept_frames_.erase(kept_frames_.begin(),
                       kept_frames_.begin() + static_cast<std::ptrdiff_t>(kept_at_));
    kept_at_ = 0;
  }
  kept_frames_.insert(kept_frames_.end(), header, header + kKeptHeader);
  kept_frames_.insert(kept_frames_.end(), frame.payload.begin(), frame.payload.end());
  connection_.count_pending(static_cast<std::ptrdiff_t>(kKeptHeader + frame.payload.size()));
}

void Channel::handle_kept() {
  // Nothing is kept while this runs: frames come from the socket, between turns. The buffer is set
  // aside so that a channel which ends below does not free what is being read.
  std::vector<std::uint8_t> kept = std::exchange(kept_frames_, {});
  const std::size_t begin = std::exchange(kept_at_, 0);
  std::size_t at = begin;
  while (at < kept.size() && !ended_) {
    const std::uint8_t* header = kept.data() + at;
    const std::uint32_t size = amqp::load_u32(header + 2);
    amqp::Frame frame{static_cast<amqp::FrameType>(header[0]),
                      number_,
                      {header + kKeptHeader, size},
                      size,
                      header[1] != 0};
    if (!may_handle(frame)) break;
    at += kKeptHeader + size;
    handle_behind(frame);
  }
  if (ended_) {
    at = kept.size();
  } else if (at < kept.size()) {
    kept_frames_ = std::move(kept);
    kept_at_ = at;
    if (connection_.output_overflows()) connection_.frames_kept_by_overflow();
  }
  connection_.count_pending(-static_cast<std::ptrdiff_t>(at - begin));
}

void Channel::handle_method(std::span<const std::uint8_t> payload) {
  if (payload.size() < 4) {
    fail_hard(amqp::ReplyCode::kFrameError, "method frame without class and method");
    return;
  }
  const std::uint32_t key = amqp::load_u32(payload.data());
  method_class_ = static_cast<std::uint16_t>(key >> 16);
  method_id_ = static_cast<std::uint16_t>(key);
  dispatch(key, payload.subspan(4));
}

template <typename Method>
void Channel::decode(std::span<const std::uint8_t> arguments,
                     void (Channel::*handler)(const Method&)) {
  Method method;
  if (method.decode(arguments)) [[likely]] {
    (this->*handler)(method);
  } else {
    bool utf8 = true;
    Method::visit_fields(method, [&utf8](const char*, const auto& field) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, std::string_view>) {
        utf8 = utf8 && amqp::valid_utf8(field);
      }
    });
    malformed(amqp::method_name(Method::kClassId, Method::kMethodId), utf8);
  }
}

void Channel::dispatch(std::uint32_t key, std::span<const std::uint8_t> arguments) {
  switch (key) {
    case kMethodKey<amqp::BasicPublish>:
      return decode<amqp::BasicPublish>(arguments, &Channel::handle_publish);
    case kMethodKey<amqp::BasicAck>:
      return decode<amqp::BasicAck>(arguments, &Channel::ack);
    case kMethodKey<amqp::ChannelOpen>:
      return fail(amqp::second_channel_open());
    case kMethodKey<amqp::ChannelFlow>:
      return decode<amqp::ChannelFlow>(arguments, &Channel::flow);
    case kMethodKey<amqp::ChannelClose>:
      return decode<amqp::ChannelClose>(arguments, &Channel::close);
    case kMethodKey<amqp::AccessRequest>:
      return reply(amqp::AccessRequestOk{.ticket = 1});
    case kMethodKey<amqp::ConfirmSelect>:
      return decode<amqp::ConfirmSelect>(arguments, &Channel::confirm_select);
    case kMethodKey<amqp::TxSelect>:
      return decode<amqp::TxSelect>(arguments, &Channel::tx_select);
    case kMethodKey<amqp::TxCommit>:
      return decode<amqp::TxCommit>(arguments, &Channel::tx_commit);
    case kMethodKey<amqp::TxRollback>:
      return decode<amqp::TxRollback>(arguments, &Channel::tx_rollback);
    default:
      break;
  }
  if (dispatch_basic(key, arguments) || dispatch_exchange_or_queue(key, arguments)) return;
  fail(amqp::unimplemented_method());
}

void Channel::malformed(const char* method, bool utf8) {
  if (!utf8) {
    method_class_ = 0;
    method_id_ = 0;
    fail(amqp::frame_error("Malformed UTF-8 in shortstr"));
    return;
  }
  fail_hard(amqp::ReplyCode::kFrameError, fmt::format("malformed arguments of {}", method));
}

bool Channel::dispatch_basic(std::uint32_t key, std::span<const std::uint8_t> arguments) {
  switch (key) {
    case kMethodKey<amqp::BasicQos>:
      decode<amqp::BasicQos>(arguments, &Channel::qos);
      return true;
    case kMethodKey<amqp::BasicConsume>:
      decode<amqp::BasicConsume>(arguments, &Channel::consume);
      return true;
    case kMethodKey<amqp::BasicCancel>:
      decode<amqp::BasicCancel>(arguments, &Channel::cancel);
      return true;
    case kMethodKey<amqp::BasicGet>:
      decode<amqp::BasicGet>(arguments, &Channel::get);
      return true;
    case kMethodKey<amqp::BasicNack>:
      decode<amqp::BasicNack>(arguments, &Channel::nack);
      return true;
    case kMethodKey<amqp::BasicReject>:
      decode<amqp::BasicReject>(arguments, &Channel::reject);
      return true;
    case kMethodKey<amqp::BasicRecover>:
      decode<amqp::BasicRecover>(arguments, &Channel::recover);
      return true;
    case kMethodKey<amqp::BasicRecoverAsync>:
      decode<amqp::BasicRecoverAsync>(arguments, &Channel::recover_async);
      return true;
    default:
      return false;
  }
}

bool Channel::dispatch_exchange_or_queue(std::uint32_t key,
                                         std::span<const std::uint8_t> arguments) {
  switch (key) {
    case kMethodKey<amqp::ExchangeDeclare>:
      decode<amqp::ExchangeDeclare>(arguments, &Channel::exchange_declare);
      return true;
    case kMethodKey<amqp::ExchangeDelete>:
      decode<amqp::ExchangeDelete>(arguments, &Channel::exchange_delete);
      return true;
    case kMethodKey<amqp::ExchangeBind>:
      decode<amqp::ExchangeBind>(arguments, &Channel::exchange_bind);
      return true;
    case kMethodKey<amqp::ExchangeUnbind>:
      decode<amqp::ExchangeUnbind>(arguments, &Channel::exchange_unbind);
      return true;
    case kMethodKey<amqp::QueueDeclare>:
      decode<amqp::QueueDeclare>(arguments, &Channel::queue_declare);
      return true;
    case kMethodKey<amqp::QueueBind>:
      decode<amqp::QueueBind>(arguments, &Channel::queue_bind);
      return true;
    case kMethodKey<amqp::QueueUnbind>:
      decode<amqp::QueueUnbind>(arguments, &Channel::queue_unbind);
      return true;
    case kMethodKey<amqp::QueuePurge>:
      decode<amqp::QueuePurge>(arguments, &Channel::queue_purge);
      return true;
    case kMethodKey<amqp::QueueDelete>:
      decode<amqp::QueueDelete>(arguments, &Channel::queue_delete);
      return true;
    default:
      return false;
  }
}

// --- errors and the channel's own methods -------------------------------------------------------

void Channel::fail(amqp::AmqpError error) {
  if (ended_) return;
  if (std::exchange(behind_, false)) {
    broken_ = true;
    awaited_.add_turn([this, error = std::move(error)] { fail(error); });
    return;
  }
  error.class_id = method_class_;
  error.method_id = method_id_;
  connection_.channel_failed(*this, error);
}

void Channel::fail_hard(amqp::ReplyCode code, std::string text) { fail({code, std::move(text)}); }

void Channel::flow(const amqp::ChannelFlow& method) {
  if (!method.active) {
    fail(amqp::not_implemented("active=false"));
    return;
  }
  reply(amqp::ChannelFlowOk{.active = true});
}

void Channel::close(const amqp::ChannelClose&) { connection_.channel_closed(*this); }

// --- letters ------------------------------------------------------------------------------------

void Channel::receive(runtime::LetterPtr letter) noexcept {
  if (ended_) return;
  using runtime::letter_cast;
  if (!left_.empty() && of_left_line(*letter)) [[unlikely]]
    return;
  switch (letter->kind) {
    case queue::kDeliver:
      return deliver(letter_cast<queue::Deliver>(*letter));
    case queue::kSettled:
      return settled(letter_cast<queue::Settled>(*letter));
    case queue::kCancelled:
      return cancelled(letter_cast<queue::Cancelled>(*letter));
    case queue::kResumed:
      return resumed(letter_cast<queue::Resumed>(*letter));
    case kDirectReply:
      return deliver_reply(*letter_cast<DirectReply>(*letter).message);
    case kReplyProbed:
      return answered<ReplyProbed>(std::move(letter));
    case queue::kConsumeOk:
      return consume_ok(std::move(letter));
    case queue::kCancelOk:
      return answered<queue::CancelOk>(std::move(letter));
    case queue::kGetResult:
      return answered<queue::GetResult>(std::move(letter));
    case queue::kPurged:
      return answered<queue::Purged>(std::move(letter));
    case queue::kInspected:
      return answered<queue::Inspected>(std::move(letter));
    case queue::kDeleteResult:
      return answered<queue::DeleteResult>(std::move(letter));
    case kChannelAdmitted:
      return answered<ChannelAdmitted>(std::move(letter));
    case kHistoryDelivered:
      return answered<HistoryDelivered>(std::move(letter));
    case cluster::metadata::kProposed:
      return answered<cluster::metadata::Proposed>(std::move(letter));
    default:
      RT_CHECK(false, "a letter that a channel does not know");
  }
}

// --- lines to queues ----------------------------------------------------------------------------

QueueLink& Channel::link_to(const std::shared_ptr<const QueueRecord>& record) {
  const auto found = links_.find(record->qid);
  if (found != links_.end()) return *found->second;
  return new_link(record);
}

QueueLink& Channel::new_link(const std::shared_ptr<const QueueRecord>& record) {
  if (links_.size() >= sweep_links_at_) shard_.flush_batches_at_turn_end(batch_task_);
  auto& link = links_[record->qid];
  // What is known of a queue may have changed while something was awaited.
  const auto current = current_record(*record);
  link = std::make_unique<QueueLink>(current != nullptr ? current : record);
  place(*link);
  broker_shard_.line_made(record->qid, address_.actor, *this);
  return *link;
}

// A channel that answers requests publishes to a new queue for each client: lines to queues that
// are gone would pile up.
void Channel::sweep_links() {
  targets_.clear();
  cached_version_ = 0;
  std::erase_if(links_, [this](const auto& entry) {
    const QueueLink& link = *entry.second;
    if (!link.idle() || current_record(*link.record) != nullptr) return false;
    broker_shard_.line_ended(entry.first, address_.actor);
    return true;
  });
  sweep_links_at_ = 2 * links_.size() + 64;
}

void Channel::touch(QueueLink& link) {
  if (link.dirty) return;
  link.dirty = true;
  dirty_links_.push_back(&link);
  shard_.flush_batches_at_turn_end(batch_task_);
}

void Channel::flush_batches() {
  if (ended_) return;
  if (!changed_.empty()) [[unlikely]] {
    follow_masters();
    if (ended_) return;
  }
  for (QueueLink* link : dirty_links_) {
    flush(*link);
    link->dirty = false;
  }
  dirty_links_.clear();
  if (confirms_.has_news()) report_confirms();
  if (prefetch_changed_) share_global_prefetch();
  if (links_.size() >= sweep_links_at_) sweep_links();
}

// What was gathered goes in an order that cannot be told from the order in which it came: acks and
// what goes back free places, publishes take new ones at the end.
void Channel::flush(QueueLink& link) {
  if (link.waiting()) [[unlikely]]
    return hold(link);
  const auto post = [&](auto& batch) {
    if (!batch) return;
    batch->epoch = link.epoch;
    shard_.post(address_, link.address, std::move(batch));
  };
  post(link.bounces);
  post(link.acks);
  post(link.rejects);
  post(link.requeues);
  if (!link.publishes) return;
  link.mark_batch();
  if (link.mirrored()) link.keep_batch();
  post(link.publishes);
  if (!link.full && !link.open()) {
    link.full = true;
    connection_.count_full_link(1);
  }
}

// Nothing can be sent: publishes are kept, and what was said of deliveries concerns nobody.
void Channel::hold(QueueLink& link) {
  link.bounces.reset();
  link.acks.reset();
  link.rejects.reset();
  link.requeues.reset();
  if (!link.publishes) return;
  link.mark_batch();
  link.keep_batch();
  link.publishes.reset();
  if (!link.full && !link.open()) {
    link.full = true;
    connection_.count_full_link(1);
  }
}

}  // namespace ringtail::broker
