// A channel's first job: taking messages in, routing them, and confirming them.
#include <charconv>
#include <cstring>

#include "broker/amqp/frame_writer.h"
#include "broker/channel.h"

namespace ringtail::broker {

using cluster::metadata::QueueRecord;

namespace {

// RabbitMQ's longest time to live, one that an Erlang timer can hold.
constexpr std::uint64_t kExpirationMax = 4294967295;

}  // namespace

// --- method, header, body -----------------------------------------------------------------------

void Channel::handle_publish(const amqp::BasicPublish& method) {
  if (method.immediate) {
    fail(amqp::not_implemented("immediate=true"));
    return;
  }
  if (broker_shard_.memory_alarm()) connection_.publish_under_alarm();
  incoming_.mandatory = method.mandatory;
  incoming_.route_size = static_cast<std::uint16_t>(method.route.size());
  incoming_.exchange_size = static_cast<std::uint16_t>(method.exchange.size());
  std::memcpy(incoming_.route.data(), method.route.data(), method.route.size());
  expect_ = Expect::kHeader;
}

void Channel::handle_header(const amqp::Frame& frame) {
  if (expect_ != Expect::kHeader) {
    fail_hard(amqp::ReplyCode::kUnexpectedFrame,
              expect_ == Expect::kMethod
                  ? "expected method frame, got non method frame instead"
                  : "expected content body, got non content body frame instead");
    return;
  }
  amqp::ContentHeader header;
  if (!header.parse(frame.payload)) {
    fail_hard(amqp::ReplyCode::kFrameError, "malformed content header");
    return;
  }
  if (header.class_id != amqp::BasicPublish::kClassId) {
    fail_hard(amqp::ReplyCode::kUnexpectedFrame,
              fmt::format("expected content header for class 60, got one for class {} instead",
                          header.class_id));
    return;
  }
  amqp::PropertyTraits traits;
  if (!amqp::decode_traits(header.properties, traits)) {
    fail_hard(amqp::ReplyCode::kSyntaxError, "malformed content properties");
    return;
  }
  // Refused before a byte of it is kept.
  if (header.body_size > broker_shard_.config().max_message_size) {
    fail(amqp::message_too_large(header.body_size, broker_shard_.config().max_message_size));
    return;
  }
  queue::Message::Traits own{.persistent = traits.persistent,
                             .priority = traits.priority,
                             .has_priority = traits.has_priority};
  if (traits.has_expiration && !check_expiration(traits.expiration, own.expiration_ms)) return;
  incoming_.message = queue::MessageRef(queue::Message::create(
      incoming_.route_bytes(), header.properties, header.body_size, own));
  if (header.body_size == 0) {
    publish_complete();
  } else {
    expect_ = Expect::kBody;
  }
}

void Channel::handle_body(const amqp::Frame& frame) {
  if (expect_ != Expect::kBody) {
    fail_hard(amqp::ReplyCode::kUnexpectedFrame,
              expect_ == Expect::kMethod
                  ? "expected method frame, got non method frame instead"
                  : "expected content header for class 60, got non content header frame instead");
    return;
  }
  if (frame.payload.size() > incoming_.message->body_missing()) {
    fail_hard(amqp::ReplyCode::kFrameError,
              fmt::format("content body is longer than the {} bytes of its header",
                          incoming_.message->body_size()));
    return;
  }
  incoming_.message->append_body(frame.payload);
  if (incoming_.message->body_complete()) {
    publish_complete();
  } else if (broker_shard_.memory_alarm()) {
    connection_.publish_under_alarm();
  }
}

// The texts of rabbit_basic:parse_expiration and rabbit_misc:check_expiry.
bool Channel::check_expiration(std::string_view text, std::uint64_t& milliseconds) {
  std::int64_t value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  const auto [at, error] = std::from_chars(begin, end, value);
  std::string detail;
  if (at == begin) {
    detail = "no_integer";
  } else if (at != end) {
    detail = fmt::format("{{leftover_string,\"{}\"}}", std::string_view(at, static_cast<std::size_t>(end - at)));
  } else if (value < 0) {
    detail = fmt::format("{{value_negative,{}}}", value);
  } else if (error == std::errc::result_out_of_range ||
             static_cast<std::uint64_t>(value) > kExpirationMax) {
    detail = fmt::format("{{value_too_big,{}}}", text);
  } else {
    milliseconds = static_cast<std::uint64_t>(value);
    return true;
  }
  fail(amqp::invalid_expiration(text, detail));
  return false;
}

// --- routing ------------------------------------------------------------------------------------

void Channel::publish_complete() {
  expect_ = Expect::kMethod;
  const queue::MessageRef message = std::move(incoming_.message);
  if (!find_targets(*message, true)) return;
  if (mode_ == Mode::kTx) {
    tx_publishes_.push_back({message, incoming_.mandatory});
  } else {
    distribute(message, incoming_.mandatory);
  }
}

// Fills targets_. False: the channel has failed (`must_exist`) or the exchange is gone.
bool Channel::find_targets(const queue::Message& message, bool must_exist) {
  const std::uint64_t version = broker_shard_.view().version();
  const std::string_view route = runtime::as_text(message.route());
  if (version == cached_version_ && route == cached_route_) [[likely]] return true;
  cached_version_ = 0;
  if (links_.size() >= sweep_links_at_) sweep_links();
  targets_.clear();
  const Exchange* exchange = broker_shard_.routes().find(connection_.vhost(), message.exchange());
  if (exchange == nullptr) {
    if (must_exist) fail(amqp::not_found_exchange(connection_.vhost(), message.exchange()));
    return false;
  }
  if (RouteTable::record(*exchange).internal) {
    if (must_exist) fail(amqp::internal_exchange_refused(connection_.vhost(), message.exchange()));
    return false;
  }
  routed_.clear();
  broker_shard_.routes().route(*exchange, {message.routing_key(), message.properties()}, routed_);
  for (const QueueRecord* record : routed_) {
    const auto known = links_.find(record->qid);
    targets_.push_back(known != links_.end()
                           ? known->second.get()
                           : &link_to(broker_shard_.view().queue(record->vhost, record->name)));
  }
  // Through the default exchange the key alone decides; elsewhere headers may.
  if (message.exchange().empty()) {
    cached_route_.assign(route);
    cached_version_ = version;
  }
  return true;
}

void Channel::distribute(const queue::MessageRef& message, bool mandatory) {
  std::uint64_t sequence = 0;
  if (mode_ == Mode::kConfirm) {
    sequence = confirms_.open(static_cast<std::uint32_t>(targets_.size()));
    if (targets_.empty()) shard_.flush_batches_at_turn_end(batch_task_);
  }
  if (targets_.empty()) {
    if (mandatory) return_message(*message, amqp::ReplyCode::kNoRoute);
    return;
  }
  for (QueueLink* link : targets_) enqueue(*link, message, sequence);
}

void Channel::enqueue(QueueLink& link, queue::MessageRef message, std::uint64_t sequence) {
  if (!link.publishes) {
    link.publishes = std::make_unique<queue::Publish>(link.record->qid);
    link.publishes->first_number = link.next_number;
    link.publishes->messages.reserve(link.last_batch);
    touch(link);
  }
  link.messages.sent(1);
  link.bytes.sent(message->footprint());
  link.publishes->messages.push_back(std::move(message));
  if (sequence != 0) {
    if (link.confirm_from == 0) link.confirm_from = link.next_number;
    link.confirm_sequences.push_back(sequence);
  }
  ++link.next_number;
}

void Channel::return_message(const queue::Message& message, amqp::ReplyCode code) {
  amqp::write_return(
      connection_.out(),
      {.channel = number_,
       .reply_code = static_cast<std::uint16_t>(code),
       .frame_max = connection_.frame_max(),
       .reply_text = amqp::reply_code_name(code),
       .route = message.route(),
       .content = content_of(message)});
  connection_.output_added();
}

amqp::Content Channel::content_of(const queue::Message& message) {
  if (message.body_is_inline()) {
    return {.properties = message.properties(), .body = message.inline_body()};
  }
  return {.properties = message.properties(), .body = {}, .chain = &message.large_body()};
}

// --- settling and confirming --------------------------------------------------------------------

void Channel::confirm_select(const amqp::ConfirmSelect& method) {
  if (mode_ == Mode::kTx) {
    fail(amqp::cannot_switch_tx_to_confirm());
    return;
  }
  mode_ = Mode::kConfirm;
  if (!method.nowait) reply(amqp::ConfirmSelectOk{});
}

void Channel::settled(queue::Settled& letter) {
  const auto found = links_.find(letter.qid);
  if (found == links_.end()) return;
  QueueLink& link = *found->second;
  while (!link.marks.empty() && link.marks.front().number <= letter.up_to) {
    link.bytes.settled(link.marks.front().bytes);
    link.marks.pop_front();
  }
  link.messages.settled(letter.up_to);
  settle_confirms(link, letter);
  link.settled_number = letter.up_to;
  if (link.full && link.open()) {
    link.full = false;
    connection_.count_full_link(-1);
  }
  if (tx_committing_) tx_commit_if_settled();
}

void Channel::settle_confirms(QueueLink& link, const queue::Settled& letter) {
  if (link.confirm_sequences.empty()) return;
  auto rejected = letter.rejected.begin();
  for (; link.confirm_from <= letter.up_to && !link.confirm_sequences.empty();
       ++link.confirm_from) {
    const bool refused = rejected != letter.rejected.end() && *rejected == link.confirm_from;
    if (refused) ++rejected;
    confirms_.settle(link.confirm_sequences.front(), refused);
    link.confirm_sequences.pop_front();
  }
  shard_.flush_batches_at_turn_end(batch_task_);
}

void Channel::report_confirms() {
  confirms_.report(
      [this](std::uint64_t sequence, bool multiple) {
        reply(amqp::BasicAck{.delivery_tag = sequence, .multiple = multiple});
      },
      [this](std::uint64_t sequence) {
        reply(amqp::BasicNack{.delivery_tag = sequence, .multiple = false, .requeue = false});
      });
}

}  // namespace ringtail::broker
