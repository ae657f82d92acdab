// A channel's first job: taking messages in, routing them, and confirming them.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "broker/amqp/field_table.h"
#include "broker/amqp/frame_writer.h"
#include "broker/channel.h"
#include "broker/direct_reply.h"

namespace ringtail::broker {

using cluster::metadata::QueueRecord;

namespace {

// RabbitMQ's longest time to live, one that an Erlang timer can hold.
constexpr std::uint64_t kExpirationMax = 315'360'000'000;

constexpr std::string_view kCc = "CC";
constexpr std::string_view kBcc = "BCC";

// No receiver sees the blind copies.
std::string without_bcc(std::span<const std::uint8_t> properties) {
  auto decoded = amqp::BasicProperties::decode(properties);
  if (!decoded || !decoded->headers) return std::string(runtime::as_text(properties));
  decoded->headers->erase(kBcc);
  return decoded->encode();
}

}  // namespace

// --- method, header, body -----------------------------------------------------------------------

void Channel::handle_publish(const amqp::BasicPublish& method) {
  if (method.immediate) {
    fail(amqp::not_implemented("immediate=true"));
    return;
  }
  if (broker_shard_.alarm()) connection_.publish_under_alarm();
  incoming_.mandatory = method.mandatory;
  incoming_.route_size = static_cast<std::uint16_t>(method.route.size());
  incoming_.exchange_size = static_cast<std::uint16_t>(method.exchange.size());
  std::memcpy(incoming_.route.data(), method.route.data(), method.route.size());
  expect_ = Expect::kHeader;
}

void Channel::handle_header(const amqp::Frame& frame) {
  if (expect_ != Expect::kHeader) {
    unexpected_content_frame();
    return;
  }
  amqp::ContentHeader header;
  if (!header.parse(frame.payload)) {
    if (frame.payload.size() >= amqp::ContentHeader::kFixedSize + 2) {
      unexpected_content_frame();  // a weight: no content header of ours
    } else {
      method_class_ = 0;
      method_id_ = 0;
      fail_hard(amqp::ReplyCode::kFrameError, "content header is too short");
    }
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
  if (!may_publish()) return;
  queue::Message::Traits own;
  if (!check_properties(traits, own)) return;
  incoming_.further_keys.clear();
  std::string rewritten;
  std::span<const std::uint8_t> blind_keys;
  if (traits.has_headers) {
    if (!take_further_keys(traits.headers)) return;
    if (const auto blind = amqp::find_in_table(traits.headers, kBcc)) {
      blind_keys = blind->data;
      rewritten = without_bcc(header.properties);
      header.properties = runtime::as_bytes(rewritten);
    }
  }
  std::string with_reply_name;
  if (traits.has_reply_to && traits.reply_to == kReplyTo) {
    if (!fill_in_reply_to(header.properties, with_reply_name)) return;
    header.properties = runtime::as_bytes(with_reply_name);
  }
  incoming_.message = queue::MessageRef(queue::Message::create(
      incoming_.route_bytes(), header.properties, header.body_size, own, blind_keys));
  if (header.body_size == 0) {
    publish_complete();
  } else {
    expect_ = Expect::kBody;
  }
}

bool Channel::check_properties(const amqp::PropertyTraits& traits, queue::Message::Traits& own) {
  own.persistent = traits.persistent;
  own.priority = traits.priority;
  own.has_priority = traits.has_priority;
  if (traits.has_user_id && !impersonates(traits.user_id)) {
    fail_publish(amqp::wrong_user_id(traits.user_id, connection_.user()));
    return false;
  }
  return !traits.has_expiration || check_expiration(traits.expiration, own.expiration_ms);
}

// Sender-selected distribution: the headers CC and BCC are arrays of further routing keys.
bool Channel::take_further_keys(std::span<const std::uint8_t> headers) {
  for (const std::string_view name : {kCc, kBcc}) {
    const auto value = amqp::find_in_table(headers, name);
    if (!value) continue;
    const auto items = value->as_array();
    if (!items) {
      fail_publish(amqp::precondition_failed(
          fmt::format("invalid message: {{unacceptable_type_in_header,\"{}\",{}}}", name,
                      amqp::type_name(value->type))));
      return false;
    }
    amqp::ArrayWalk walk(*items);
    amqp::ValueView item;
    while (walk.next(item)) {
      if (const auto key = item.as_text()) incoming_.further_keys.emplace_back(*key);
    }
  }
  return true;
}

// What came is not what the publish in progress, or its absence, calls for.
void Channel::unexpected_content_frame() {
  switch (expect_) {
    case Expect::kMethod:
      method_class_ = 0;
      method_id_ = 0;
      return fail(amqp::unexpected_frame("expected method frame, got non method frame instead"));
    case Expect::kHeader:
      return fail(amqp::unexpected_frame(
          "expected content header for class 60, got non content header frame instead"));
    case Expect::kBody:
      return fail(
          amqp::unexpected_frame("expected content body, got non content body frame instead"));
  }
}

void Channel::handle_body(const amqp::Frame& frame) {
  if (expect_ != Expect::kBody) {
    unexpected_content_frame();
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
  } else if (broker_shard_.alarm()) {
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
    detail = fmt::format("{{leftover_string,\"{}\"}}",
                         std::string_view(at, static_cast<std::size_t>(end - at)));
  } else if (value < 0) {
    detail = fmt::format("{{value_negative,{}}}", value);
  } else if (error == std::errc::result_out_of_range ||
             static_cast<std::uint64_t>(value) > kExpirationMax) {
    detail = fmt::format("{{value_too_large,{}}}", text);
  } else {
    milliseconds = static_cast<std::uint64_t>(value);
    return true;
  }
  fail_publish(amqp::invalid_expiration(text, detail));
  return false;
}

// --- routing ------------------------------------------------------------------------------------

void Channel::publish_complete() {
  expect_ = Expect::kMethod;
  const queue::MessageRef message = std::move(incoming_.message);
  if (!find_targets(*message, incoming_.further_keys, true)) return;
  if (mode_ == Mode::kTx) {
    tx_publishes_.push_back({message, std::move(incoming_.further_keys), incoming_.mandatory});
  } else {
    distribute(message, incoming_.mandatory);
  }
}

// Fills targets_. False: the channel has failed (`must_exist`) or the exchange is gone.
bool Channel::find_targets(const queue::Message& message,
                           const std::vector<std::string>& further_keys, bool must_exist) {
  const std::uint64_t version = broker_shard_.view().version();
  const std::string_view route = runtime::as_text(message.route());
  if (version == cached_version_ && route == cached_route_ && further_keys.empty()) [[likely]] {
    return true;
  }
  cached_version_ = 0;
  targets_.clear();
  remembering_.clear();
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
  const std::vector<std::string_view> keys(further_keys.begin(), further_keys.end());
  broker_shard_.routes().route(
      *exchange, {message.routing_key(), message.properties(), keys, broker_shard_.chance()},
      routed_, &remembering_);
  for (const QueueRecord* record : routed_) {
    const auto known = links_.find(record->qid);
    targets_.push_back(known != links_.end()
                           ? known->second.get()
                           : &link_to(broker_shard_.view().queue(record->vhost, record->name)));
  }
  // Through the default exchange the key alone decides; elsewhere headers may.
  if (message.exchange().empty() && further_keys.empty()) {
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
  if (!remembering_.empty()) [[unlikely]] {
    broker_shard_.recent_history().remember(remembering_, message);
    remembering_.clear();
  }
  if (targets_.empty()) {
    if (message->exchange().empty() && names_reply_to(message->routing_key())) {
      publish_reply(message, mandatory);
      return;
    }
    if (mandatory) return_message(*message, amqp::ReplyCode::kNoRoute);
    return;
  }
  for (QueueLink* link : targets_) {
    if (link->down) [[unlikely]] {
      refuse_publish(sequence);
    } else {
      enqueue(*link, message, sequence);
    }
  }
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
  amqp::write_return(connection_.out(), {.channel = number_,
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

// There may be room again for what its clients publish.
void Channel::reopen(QueueLink& link) {
  if (!link.full || !link.open()) return;
  link.full = false;
  connection_.count_full_link(-1);
}

void Channel::settled(queue::Settled& letter) {
  const auto found = links_.find(letter.qid);
  if (found == links_.end()) return;
  QueueLink& link = *found->second;
  // Never beyond what was sent, whatever another node says.
  letter.up_to = std::min(letter.up_to, link.next_number - 1);
  link.settle(letter.up_to);
  settle_confirms(link, letter);
  reopen(link);
  if (tx_committing_) {
    tx_refused_ |= !letter.rejected.empty();
    tx_commit_if_settled();
  }
}

void Channel::settle_confirms(QueueLink& link, const queue::Settled& letter) {
  if (link.confirm_sequences.empty()) return;
  // A former master of a mirrored queue may speak of numbers that were settled meanwhile.
  auto rejected =
      std::lower_bound(letter.rejected.begin(), letter.rejected.end(), link.confirm_from);
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
