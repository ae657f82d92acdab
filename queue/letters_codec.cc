#include "queue/letters_codec.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "broker/runtime/check.h"
#include "queue/letters.h"
#include "queue/letters.pb.h"
#include "queue/message_wire.h"
#include "queue/store/format_parts.h"

namespace ringtail::queue {

using runtime::EncodedLetter;
using runtime::Letter;
using runtime::LetterPtr;
using runtime::Result;
using store::ByteReader;
using store::write_varint;

namespace {

using Octets = std::span<const std::uint8_t>;
// Why a letter is none; null: it is one.
using Fault = const char*;

constexpr Fault kNoMessage = "a message that is cut off or breaks a rule";

enum : std::uint8_t { kRedelivered = 1, kHasCount = 2, kAllDeliveryFlags = 3 };
constexpr std::size_t kDeliveryHeadMax = 1 + 3 * store::ByteBuffer::kVarintMax + kMessageHeadMax;
constexpr std::size_t kDeliveryHeadMin = 3 + kMessageHeadMin;

runtime::Status corrupt(const char* why) {
  return {runtime::Code::kCorrupt, std::string("a letter of a queue: ") + why};
}

// --- fields that several letters have -----------------------------------------------------------

template <typename Header>
Fault take_answer(const Header& header, Answer& answer) {
  static_assert(wire::Answer_MAX == static_cast<int>(Answer::kUnavailable));
  if (!wire::Answer_IsValid(header.answer())) return "an unknown answer";
  answer = static_cast<Answer>(header.answer());
  return nullptr;
}
template <typename Header>
void put_answer(Answer answer, Header& header) {
  header.set_answer(static_cast<wire::Answer>(answer));
}

// Consume, Credit.
template <typename LetterType, typename Header>
void put_limits(const LetterType& letter, Header& header) {
  header.set_window_bytes(letter.window_bytes);
  if (letter.delivery_limit != kNoDeliveryLimit) header.set_delivery_limit(letter.delivery_limit);
  if (letter.channel_limit != kNoDeliveryLimit) header.set_channel_limit(letter.channel_limit);
}
template <typename LetterType, typename Header>
void take_limits(const Header& header, LetterType& letter) {
  letter.window_bytes = header.window_bytes();
  letter.delivery_limit = header.has_delivery_limit() ? header.delivery_limit() : kNoDeliveryLimit;
  letter.channel_limit = header.has_channel_limit() ? header.channel_limit() : kNoDeliveryLimit;
}

// --- put(): a letter into its header; take(): back ----------------------------------------------

void put(const Consume& letter, wire::Consume& header) {
  header.set_request(letter.request);
  header.set_consumer(letter.consumer);
  header.set_tag(letter.tag);
  header.set_no_ack(letter.no_ack);
  header.set_exclusive(letter.exclusive);
  header.set_priority(letter.priority);
  header.set_prefetch(letter.prefetch);
  put_limits(letter, header);
}
Fault take(const wire::Consume& header, Consume& letter) {
  if (header.tag().size() > runtime::kShortStringMax) return "a consumer tag that is too long";
  letter.request = header.request();
  letter.consumer = header.consumer();
  letter.tag = header.tag();
  letter.no_ack = header.no_ack();
  letter.exclusive = header.exclusive();
  letter.priority = header.priority();
  letter.prefetch = header.prefetch();
  take_limits(header, letter);
  return nullptr;
}

template <typename LetterType>
void put(const LetterType& letter, wire::OfConsumer& header) {
  if constexpr (requires { letter.request; }) header.set_request(letter.request);
  header.set_consumer(letter.consumer);
}
template <typename LetterType>
Fault take(const wire::OfConsumer& header, LetterType& letter) {
  if constexpr (requires { letter.request; }) letter.request = header.request();
  letter.consumer = header.consumer();
  return nullptr;
}

void put(const Get& letter, wire::Get& header) {
  header.set_request(letter.request);
  header.set_no_ack(letter.no_ack);
}
Fault take(const wire::Get& header, Get& letter) {
  letter.request = header.request();
  letter.no_ack = header.no_ack();
  return nullptr;
}

template <typename LetterType>
constexpr bool LetterType::*kFlag = nullptr;
template <>
constexpr bool Ack::*kFlag<Ack> = &Ack::rejected;
template <>
constexpr bool Requeue::*kFlag<Requeue> = &Requeue::redelivered;

template <typename LetterType>
void put(const LetterType& letter, wire::Tokens& header) {
  header.set_flag(letter.*kFlag<LetterType>);
  header.mutable_tokens()->Add(letter.tokens.begin(), letter.tokens.end());
}
template <typename LetterType>
Fault take(const wire::Tokens& header, LetterType& letter) {
  letter.*kFlag<LetterType> = header.flag();
  letter.tokens.assign(header.tokens().begin(), header.tokens().end());
  return nullptr;
}

void put(const Credit& letter, wire::Credit& header) {
  header.set_consumer(letter.consumer);
  header.set_written_messages(letter.written_messages);
  header.set_written_bytes(letter.written_bytes);
  put_limits(letter, header);
  header.set_paused(letter.paused);
}
Fault take(const wire::Credit& header, Credit& letter) {
  letter.consumer = header.consumer();
  letter.written_messages = header.written_messages();
  letter.written_bytes = header.written_bytes();
  take_limits(header, letter);
  letter.paused = header.paused();
  return nullptr;
}

template <typename LetterType>
void put(const LetterType& letter, wire::Request& header) {
  header.set_request(letter.request);
}
template <typename LetterType>
Fault take(const wire::Request& header, LetterType& letter) {
  letter.request = header.request();
  return nullptr;
}

void put(const Inspect& letter, wire::Inspect& header) {
  header.set_request(letter.request);
  header.set_counts_as_use(letter.counts_as_use);
}
Fault take(const wire::Inspect& header, Inspect& letter) {
  letter.request = header.request();
  letter.counts_as_use = header.counts_as_use();
  return nullptr;
}

void put(const Delete& letter, wire::Delete& header) {
  header.set_request(letter.request);
  header.set_if_unused(letter.if_unused);
  header.set_if_empty(letter.if_empty);
}
Fault take(const wire::Delete& header, Delete& letter) {
  letter.request = header.request();
  letter.if_unused = header.if_unused();
  letter.if_empty = header.if_empty();
  return nullptr;
}

void put(const ChannelGone& letter, wire::ChannelGone& header) {
  header.set_request(letter.request);
  if (!letter.wants_notice) return;
  header.mutable_notify()->set_node(letter.notify.node.value);
  header.mutable_notify()->set_shard(letter.notify.shard.value);
  header.mutable_notify()->set_actor(letter.notify.actor.value);
}
Fault take(const wire::ChannelGone& header, ChannelGone& letter) {
  letter.request = header.request();
  letter.wants_notice = header.has_notify();
  if (!letter.wants_notice) return nullptr;
  if (header.notify().shard() > std::numeric_limits<std::uint16_t>::max()) {
    return "a shard's number that is too large";
  }
  letter.notify = {runtime::NodeId{header.notify().node()},
                   runtime::ShardId{static_cast<std::uint16_t>(header.notify().shard())},
                   runtime::ActorId{header.notify().actor()}};
  return nullptr;
}

void put(const Settled& letter, wire::Settled& header) {
  header.set_up_to(letter.up_to);
  header.mutable_rejected()->Add(letter.rejected.begin(), letter.rejected.end());
}
Fault take(const wire::Settled& header, Settled& letter) {
  letter.up_to = header.up_to();
  letter.rejected.assign(header.rejected().begin(), header.rejected().end());
  return std::is_sorted(letter.rejected.begin(), letter.rejected.end())
             ? nullptr
             : "refused numbers out of their order";
}

void put(const ConsumeOk& letter, wire::ConsumeOk& header) {
  header.set_request(letter.request);
  header.set_consumer(letter.consumer);
  put_answer(letter.answer, header);
  header.set_consumer_timeout_ms(letter.consumer_timeout_ms);
}
Fault take(const wire::ConsumeOk& header, ConsumeOk& letter) {
  letter.request = header.request();
  letter.consumer = header.consumer();
  letter.consumer_timeout_ms = header.consumer_timeout_ms();
  return take_answer(header, letter.answer);
}

// Purged, DeleteResult.
template <typename LetterType>
void put(const LetterType& letter, wire::Counted& header) {
  header.set_request(letter.request);
  put_answer(letter.answer, header);
  header.set_messages(letter.messages);
}
template <typename LetterType>
Fault take(const wire::Counted& header, LetterType& letter) {
  letter.request = header.request();
  letter.messages = header.messages();
  return take_answer(header, letter.answer);
}

void put(const Inspected& letter, wire::Inspected& header) {
  header.set_request(letter.request);
  put_answer(letter.answer, header);
  header.set_messages_ready(letter.messages_ready);
  header.set_messages_unacknowledged(letter.messages_unacknowledged);
  header.set_message_bytes_ready(letter.message_bytes_ready);
  header.set_consumers(letter.consumers);
  header.set_published(letter.published);
  header.set_delivered(letter.delivered);
  header.set_acknowledged(letter.acknowledged);
  header.set_redelivered(letter.redelivered);
}
Fault take(const wire::Inspected& header, Inspected& letter) {
  letter.request = header.request();
  letter.messages_ready = header.messages_ready();
  letter.messages_unacknowledged = header.messages_unacknowledged();
  letter.message_bytes_ready = header.message_bytes_ready();
  letter.consumers = header.consumers();
  letter.published = header.published();
  letter.delivered = header.delivered();
  letter.acknowledged = header.acknowledged();
  letter.redelivered = header.redelivered();
  return take_answer(header, letter.answer);
}

// --- letters with messages: put_messages() and take_messages() ----------------------------------

void put_messages(const Publish& letter, wire::Publish& header, runtime::OutChain& octets) {
  header.set_first_number(letter.first_number);
  header.set_count(static_cast<std::uint32_t>(letter.messages.size()));
  std::string& heads = *header.mutable_heads();
  std::uint8_t head[kMessageHeadMax];
  for (const MessageRef& message : letter.messages) {
    const std::uint8_t* const end = write_message_head(head, *message);
    heads.append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(end - head));
    put_message_octets(*message, octets);
  }
}
Fault take_messages(const wire::Publish& header, ByteReader& octets, Publish& letter) {
  letter.first_number = header.first_number();
  if (letter.first_number == 0) return "a publish without a number";
  ByteReader heads(runtime::as_bytes(header.heads()));
  if (header.count() > heads.left() / kMessageHeadMin) return "more messages than heads";
  letter.messages.reserve(header.count());
  for (std::uint32_t i = 0; i < header.count(); ++i) {
    letter.messages.push_back(take_message(heads, octets));
    if (!letter.messages.back()) return kNoMessage;
  }
  return heads.at_end() ? nullptr : "more heads than messages";
}

void put_messages(const Deliver& letter, wire::Deliver& header, runtime::OutChain& octets) {
  header.set_count(static_cast<std::uint32_t>(letter.deliveries.size()));
  std::string& heads = *header.mutable_heads();
  std::uint8_t head[kDeliveryHeadMax];
  for (const Delivery& delivery : letter.deliveries) {
    std::uint8_t* at = head;
    *at++ = static_cast<std::uint8_t>((delivery.redelivered ? kRedelivered : 0) |
                                      (delivery.delivery_count != 0 ? kHasCount : 0));
    at = write_varint(at, delivery.consumer);
    at = write_varint(at, delivery.token);
    if (delivery.delivery_count != 0) at = write_varint(at, delivery.delivery_count);
    at = write_message_head(at, *delivery.message);
    heads.append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(at - head));
    put_message_octets(*delivery.message, octets);
  }
}
Fault take_delivery(ByteReader& heads, ByteReader& octets, Delivery& delivery) {
  const std::uint8_t flags = heads.get_octet();
  if ((flags & ~kAllDeliveryFlags) != 0) return "an unknown flag of a delivery";
  delivery.redelivered = (flags & kRedelivered) != 0;
  const std::uint64_t consumer = heads.get_varint();
  delivery.token = heads.get_varint();
  const std::uint64_t count = (flags & kHasCount) != 0 ? heads.get_varint() : 0;
  if (consumer > std::numeric_limits<ConsumerId>::max()) return "a consumer's id is too large";
  if (count > std::numeric_limits<std::uint16_t>::max()) return "a delivery count is too large";
  delivery.consumer = static_cast<ConsumerId>(consumer);
  delivery.delivery_count = static_cast<std::uint16_t>(count);
  delivery.message = take_message(heads, octets);
  return delivery.message ? nullptr : kNoMessage;
}
Fault take_messages(const wire::Deliver& header, ByteReader& octets, Deliver& letter) {
  ByteReader heads(runtime::as_bytes(header.heads()));
  if (header.count() > heads.left() / kDeliveryHeadMin) return "more deliveries than heads";
  letter.deliveries.resize(header.count());
  for (Delivery& delivery : letter.deliveries) {
    if (const Fault fault = take_delivery(heads, octets, delivery)) return fault;
  }
  return heads.at_end() ? nullptr : "more heads than deliveries";
}

void put_messages(const GetResult& letter, wire::GetResult& header, runtime::OutChain& octets) {
  header.set_request(letter.request);
  put_answer(letter.answer, header);
  header.set_redelivered(letter.redelivered);
  header.set_delivery_count(letter.delivery_count);
  header.set_token(letter.token);
  header.set_messages_ready(letter.messages_ready);
  header.set_consumer_timeout_ms(letter.consumer_timeout_ms);
  if (letter.message) encode_message(*letter.message, *header.mutable_head(), octets);
}
Fault take_messages(const wire::GetResult& header, ByteReader& octets, GetResult& letter) {
  letter.request = header.request();
  letter.redelivered = header.redelivered();
  if (header.delivery_count() > std::numeric_limits<std::uint16_t>::max()) {
    return "a delivery count is too large";
  }
  letter.delivery_count = static_cast<std::uint16_t>(header.delivery_count());
  letter.token = header.token();
  letter.messages_ready = header.messages_ready();
  letter.consumer_timeout_ms = header.consumer_timeout_ms();
  if (!header.head().empty()) {
    ByteReader head(runtime::as_bytes(header.head()));
    letter.message = take_message(head, octets);
    if (!letter.message || !head.at_end()) return kNoMessage;
  }
  return take_answer(header, letter.answer);
}

// --- codecs -------------------------------------------------------------------------------------

template <typename Header, typename LetterType>
concept HasMessages = requires(const LetterType& letter, Header& header, EncodedLetter& out) {
  put_messages(letter, header, out.body);
};

template <typename Header>
concept HasEpoch = requires(const Header& header) {
  header.epoch();
};

template <typename LetterType, typename Header>
void encode(const Letter& letter, EncodedLetter& out) {
  const auto& own = static_cast<const LetterType&>(letter);
  Header header;
  header.set_qid(own.qid.value);
  if constexpr (HasEpoch<Header>) header.set_epoch(own.epoch);
  if constexpr (HasMessages<Header, LetterType>) {
    put_messages(own, header, out.body);
  } else {
    put(own, header);
  }
  RT_CHECK(header.SerializeToString(&out.header), "a header of two gigabytes");
}

template <typename LetterType, typename Header>
Result<LetterPtr> decode(std::string_view bytes, Octets body) {
  Header header;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return corrupt("a header that is none");
  }
  if (header.qid() == 0 || (header.qid() & runtime::kInventedActorBit) != 0) {
    return corrupt("a number that no queue has");
  }
  auto letter = std::make_unique<LetterType>(Qid{header.qid()});
  if constexpr (HasEpoch<Header>) letter->epoch = header.epoch();
  ByteReader octets(body);
  Fault fault = nullptr;
  if constexpr (HasMessages<Header, LetterType>) {
    fault = take_messages(header, octets, *letter);
  } else {
    fault = take(header, *letter);
  }
  if (fault == nullptr && !octets.at_end()) fault = "more octets than its messages have";
  if (fault != nullptr) return corrupt(fault);
  return LetterPtr(std::move(letter));
}

template <typename LetterType, typename Header>
constexpr runtime::LetterCodec kCodec{&encode<LetterType, Header>, &decode<LetterType, Header>};

}  // namespace

void encode_message(const Message& message, std::string& head, runtime::OutChain& octets) {
  std::uint8_t buffer[kMessageHeadMax];
  const std::uint8_t* const end = write_message_head(buffer, message);
  head.assign(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(end - buffer));
  put_message_octets(message, octets);
}

Result<MessageRef> decode_message(std::string_view head, Octets octets) {
  ByteReader heads(runtime::as_bytes(head));
  ByteReader body(octets);
  MessageRef message = take_message(heads, body);
  if (!message || !heads.at_end() || !body.at_end()) return corrupt(kNoMessage);
  return message;
}

void add_codecs(runtime::LetterCodecs& codecs) {
  codecs.add(kPublish, kCodec<Publish, wire::Publish>);
  codecs.add(kConsume, kCodec<Consume, wire::Consume>);
  codecs.add(kCancel, kCodec<Cancel, wire::OfConsumer>);
  codecs.add(kGet, kCodec<Get, wire::Get>);
  codecs.add(kAck, kCodec<Ack, wire::Tokens>);
  codecs.add(kRequeue, kCodec<Requeue, wire::Tokens>);
  codecs.add(kCredit, kCodec<Credit, wire::Credit>);
  codecs.add(kPurge, kCodec<Purge, wire::Request>);
  codecs.add(kInspect, kCodec<Inspect, wire::Inspect>);
  codecs.add(kDelete, kCodec<Delete, wire::Delete>);
  codecs.add(kChannelGone, kCodec<ChannelGone, wire::ChannelGone>);
  codecs.add(kSettled, kCodec<Settled, wire::Settled>);
  codecs.add(kConsumeOk, kCodec<ConsumeOk, wire::ConsumeOk>);
  codecs.add(kCancelOk, kCodec<CancelOk, wire::OfConsumer>);
  codecs.add(kDeliver, kCodec<Deliver, wire::Deliver>);
  codecs.add(kGetResult, kCodec<GetResult, wire::GetResult>);
  codecs.add(kPurged, kCodec<Purged, wire::Counted>);
  codecs.add(kInspected, kCodec<Inspected, wire::Inspected>);
  codecs.add(kDeleteResult, kCodec<DeleteResult, wire::Counted>);
  codecs.add(kCancelled, kCodec<Cancelled, wire::OfConsumer>);
  codecs.add(kResumed, kCodec<Resumed, wire::OfConsumer>);
  codecs.add(kChannelForgotten, kCodec<ChannelForgotten, wire::Request>);
}

}  // namespace ringtail::queue
