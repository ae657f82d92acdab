// Letters that cross to another node come out as they went in, and no bytes make trouble.
#include "queue/letters_codec.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/memory_gauge.h"
#include "queue/letters.h"

namespace ringtail::queue::letters_codec_test {
namespace {

using runtime::EncodedLetter;
using runtime::LetterCodecs;
using runtime::LetterPtr;
using runtime::Result;

const LetterCodecs& codecs() {
  static const LetterCodecs all = [] {
    LetterCodecs made;
    add_codecs(made);
    return made;
  }();
  return all;
}

// One letter as bytes.
struct Wire {
  std::string header;
  std::string body;
  std::size_t slices = 0;  // pieces of the body
};

Wire to_wire(const runtime::Letter& letter) {
  const runtime::LetterCodec* codec = codecs().find(letter.kind);
  REQUIRE(codec != nullptr);
  EncodedLetter encoded;
  codec->encode(letter, encoded);
  Wire wire{encoded.header, {}, 0};
  while (!encoded.body.empty()) {
    runtime::OutChain::Piece piece{};
    REQUIRE(encoded.body.peek({&piece, 1}) == 1);
    wire.body.append(reinterpret_cast<const char*>(piece.data), piece.size);
    ++wire.slices;
    encoded.body.consume(piece.size);
  }
  return wire;
}

Result<LetterPtr> from_wire(runtime::LetterKind kind, std::string_view header,
                            std::string_view body) {
  // Exact copies, so that AddressSanitizer sees a read behind an end.
  const std::vector<char> header_bytes(header.begin(), header.end());
  const std::vector<std::uint8_t> body_bytes(body.begin(), body.end());
  return codecs().find(kind)->decode({header_bytes.data(), header_bytes.size()}, body_bytes);
}

template <typename LetterType>
std::unique_ptr<LetterType> crossed(const LetterType& letter) {
  const Wire wire = to_wire(letter);
  auto result = from_wire(letter.kind, wire.header, wire.body);
  REQUIRE_MESSAGE(result.ok(), result.status().text());
  LetterPtr got = std::move(result).value();
  REQUIRE(got->kind == letter.kind);
  return std::unique_ptr<LetterType>(static_cast<LetterType*>(got.release()));
}

// Chance for letters: numbers of every length, the extremes often.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : rng_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return rng_() % limit; }
  bool coin() { return below(2) == 0; }
  std::uint64_t number() {
    const std::uint64_t kind = below(8);
    if (kind == 0) return 0;
    if (kind == 1) return UINT64_MAX;
    return rng_() >> below(64);
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number()); }
  Qid qid() { return Qid{(number() & ~runtime::kInventedActorBit) | 1}; }
  Answer answer() { return static_cast<Answer>(below(6)); }
  std::string text(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng_());
    return bytes;
  }
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> all(below(40));
    for (std::uint64_t& one : all) one = number();
    return all;
  }
  MessageRef message() {
    Message::Traits traits;
    traits.persistent = coin();
    traits.has_priority = coin();
    if (traits.has_priority) traits.priority = static_cast<std::uint8_t>(below(256));
    if (coin()) traits.expiration_ms = number();
    std::string route;
    for (int i = 0; i < 2 && !no_route_; ++i) {
      const std::size_t size = below(8) == 0 ? 255 : below(20);
      route += static_cast<char>(size);
      route += text(size);
    }
    const std::string blind = coin() ? text(below(300)) : "";
    const std::string properties = coin() ? text(below(500)) : "";
    const std::string body = text(body_size());
    MessageRef made(Message::create(runtime::as_bytes(route), runtime::as_bytes(properties),
                                    body.size(), traits, runtime::as_bytes(blind)));
    made->append_body(runtime::as_bytes(body));
    no_route_ = below(10) == 0;
    return made;
  }

 private:
  std::size_t body_size() {
    switch (below(12)) {
      case 0:
        return runtime::kInlineBodyMax;
      case 1:
        return runtime::kInlineBodyMax + 1;
      case 2:
        return 30'000 + below(200'000);
      case 3:
        return 0;
      default:
        return below(600);
    }
  }

  std::mt19937_64 rng_;
  bool no_route_ = false;
};

std::string body_of(const Message& message) {
  if (message.body_is_inline()) return std::string(runtime::as_text(message.inline_body()));
  std::string body;
  for (const runtime::Bytes& piece : message.large_body().pieces()) {
    body += runtime::as_text(piece.span());
  }
  return body;
}

void check_same(const MessageRef& got, const MessageRef& sent) {
  REQUIRE(static_cast<bool>(got) == static_cast<bool>(sent));
  if (!sent) return;
  CHECK(got->body_complete());
  CHECK(got->traits().persistent == sent->traits().persistent);
  CHECK(got->traits().has_priority == sent->traits().has_priority);
  CHECK(got->traits().priority == sent->traits().priority);
  CHECK(got->traits().expiration_ms == sent->traits().expiration_ms);
  CHECK(runtime::as_text(got->route()) == runtime::as_text(sent->route()));
  CHECK(got->routing_key() == sent->routing_key());
  CHECK(runtime::as_text(got->properties()) == runtime::as_text(sent->properties()));
  CHECK(runtime::as_text(got->blind_keys()) == runtime::as_text(sent->blind_keys()));
  CHECK(got->footprint() == sent->footprint());
  CHECK((body_of(*got) == body_of(*sent)));
}

// --- one of each letter, with fields by chance --------------------------------------------------

template <typename LetterType>
void fill_limits(Chance& chance, LetterType& letter) {
  letter.window_bytes = chance.number();
  letter.delivery_limit = chance.coin() ? kNoDeliveryLimit : chance.number();
  letter.channel_limit = chance.coin() ? kNoDeliveryLimit : chance.number();
}
template <typename LetterType>
void check_limits(const LetterType& got, const LetterType& sent) {
  CHECK(got.window_bytes == sent.window_bytes);
  CHECK(got.delivery_limit == sent.delivery_limit);
  CHECK(got.channel_limit == sent.channel_limit);
}

void fill(Chance& chance, Publish& letter) {
  letter.first_number = chance.number() | 1;
  letter.messages.resize(chance.below(12));
  for (MessageRef& message : letter.messages) message = chance.message();
}
void check(const Publish& got, const Publish& sent) {
  CHECK(got.first_number == sent.first_number);
  REQUIRE(got.messages.size() == sent.messages.size());
  for (std::size_t i = 0; i < sent.messages.size(); ++i) {
    check_same(got.messages[i], sent.messages[i]);
  }
}

void fill(Chance& chance, Consume& letter) {
  letter.request = chance.number();
  letter.consumer = chance.number32();
  letter.tag = chance.text(chance.below(256));
  letter.no_ack = chance.coin();
  letter.exclusive = chance.coin();
  letter.priority = static_cast<std::int32_t>(chance.number32());
  letter.prefetch = chance.number32();
  fill_limits(chance, letter);
}
void check(const Consume& got, const Consume& sent) {
  CHECK(got.request == sent.request);
  CHECK(got.consumer == sent.consumer);
  CHECK(got.tag == sent.tag);
  CHECK(got.no_ack == sent.no_ack);
  CHECK(got.exclusive == sent.exclusive);
  CHECK(got.priority == sent.priority);
  CHECK(got.prefetch == sent.prefetch);
  check_limits(got, sent);
}

template <typename LetterType>
requires requires(LetterType letter) { letter.tokens; }
void fill(Chance& chance, LetterType& letter) {
  letter.tokens = chance.numbers();
  if constexpr (std::is_same_v<LetterType, Ack>) {
    letter.rejected = chance.coin();
  } else {
    letter.redelivered = chance.coin();
  }
}
void check(const Ack& got, const Ack& sent) {
  CHECK(got.rejected == sent.rejected);
  CHECK(got.tokens == sent.tokens);
}
void check(const Requeue& got, const Requeue& sent) {
  CHECK(got.redelivered == sent.redelivered);
  CHECK(got.tokens == sent.tokens);
}

void fill(Chance& chance, Credit& letter) {
  letter.consumer = chance.number32();
  letter.written_messages = chance.number();
  letter.written_bytes = chance.number();
  letter.paused = chance.coin();
  fill_limits(chance, letter);
}
void check(const Credit& got, const Credit& sent) {
  CHECK(got.consumer == sent.consumer);
  CHECK(got.written_messages == sent.written_messages);
  CHECK(got.written_bytes == sent.written_bytes);
  CHECK(got.paused == sent.paused);
  check_limits(got, sent);
}

void fill(Chance& chance, Get& letter) {
  letter.request = chance.number();
  letter.no_ack = chance.coin();
}
void check(const Get& got, const Get& sent) {
  CHECK(got.request == sent.request);
  CHECK(got.no_ack == sent.no_ack);
}

void fill(Chance& chance, Inspect& letter) {
  letter.request = chance.number();
  letter.counts_as_use = chance.coin();
}
void check(const Inspect& got, const Inspect& sent) {
  CHECK(got.request == sent.request);
  CHECK(got.counts_as_use == sent.counts_as_use);
}

void fill(Chance& chance, Delete& letter) {
  letter.request = chance.number();
  letter.if_unused = chance.coin();
  letter.if_empty = chance.coin();
}
void check(const Delete& got, const Delete& sent) {
  CHECK(got.request == sent.request);
  CHECK(got.if_unused == sent.if_unused);
  CHECK(got.if_empty == sent.if_empty);
}

void fill(Chance& chance, ChannelGone& letter) {
  letter.wants_notice = chance.coin();
  letter.request = chance.number();
  if (!letter.wants_notice) return;
  letter.notify = {runtime::NodeId{chance.number32()},
                   runtime::ShardId{static_cast<std::uint16_t>(chance.number())},
                   runtime::ActorId{chance.number()}};
}
void check(const ChannelGone& got, const ChannelGone& sent) {
  CHECK(got.wants_notice == sent.wants_notice);
  CHECK((got.notify == sent.notify));
  CHECK(got.request == sent.request);
}

void fill(Chance& chance, Settled& letter) {
  letter.up_to = chance.number();
  letter.rejected = chance.numbers();
  std::sort(letter.rejected.begin(), letter.rejected.end());
}
void check(const Settled& got, const Settled& sent) {
  CHECK(got.up_to == sent.up_to);
  CHECK(got.rejected == sent.rejected);
}

void fill(Chance& chance, ConsumeOk& letter) {
  letter.request = chance.number();
  letter.consumer = chance.number32();
  letter.answer = chance.answer();
  letter.consumer_timeout_ms = chance.number();
}
void check(const ConsumeOk& got, const ConsumeOk& sent) {
  CHECK(got.request == sent.request);
  CHECK(got.consumer == sent.consumer);
  CHECK(got.answer == sent.answer);
  CHECK(got.consumer_timeout_ms == sent.consumer_timeout_ms);
}

void fill(Chance& chance, Deliver& letter) {
  letter.deliveries.resize(chance.below(12));
  for (Delivery& delivery : letter.deliveries) {
    delivery.consumer = chance.number32();
    delivery.redelivered = chance.coin();
    delivery.delivery_count = static_cast<std::uint16_t>(chance.number());
    delivery.token = chance.number();
    delivery.message = chance.message();
  }
}
void check(const Deliver& got, const Deliver& sent) {
  REQUIRE(got.deliveries.size() == sent.deliveries.size());
  for (std::size_t i = 0; i < sent.deliveries.size(); ++i) {
    CHECK(got.deliveries[i].consumer == sent.deliveries[i].consumer);
    CHECK(got.deliveries[i].redelivered == sent.deliveries[i].redelivered);
    CHECK(got.deliveries[i].delivery_count == sent.deliveries[i].delivery_count);
    CHECK(got.deliveries[i].token == sent.deliveries[i].token);
    check_same(got.deliveries[i].message, sent.deliveries[i].message);
  }
}

void fill(Chance& chance, GetResult& letter) {
  letter.request = chance.number();
  letter.answer = chance.answer();
  letter.redelivered = chance.coin();
  letter.delivery_count = static_cast<std::uint16_t>(chance.number());
  letter.token = chance.number();
  if (chance.coin()) letter.message = chance.message();
  letter.messages_ready = chance.number();
  letter.consumer_timeout_ms = chance.number();
}
void check(const GetResult& got, const GetResult& sent) {
  CHECK(got.request == sent.request);
  CHECK(got.answer == sent.answer);
  CHECK(got.redelivered == sent.redelivered);
  CHECK(got.delivery_count == sent.delivery_count);
  CHECK(got.token == sent.token);
  check_same(got.message, sent.message);
  CHECK(got.messages_ready == sent.messages_ready);
  CHECK(got.consumer_timeout_ms == sent.consumer_timeout_ms);
}

void fill(Chance& chance, Inspected& letter) {
  letter.request = chance.number();
  letter.answer = chance.answer();
  letter.messages_ready = chance.number();
  letter.messages_unacknowledged = chance.number();
  letter.message_bytes_ready = chance.number();
  letter.consumers = chance.number32();
  letter.published = chance.number();
  letter.delivered = chance.number();
  letter.acknowledged = chance.number();
  letter.redelivered = chance.number();
}
void check(const Inspected& got, const Inspected& sent) {
  CHECK(got.request == sent.request);
  CHECK(got.answer == sent.answer);
  CHECK(got.messages_ready == sent.messages_ready);
  CHECK(got.messages_unacknowledged == sent.messages_unacknowledged);
  CHECK(got.message_bytes_ready == sent.message_bytes_ready);
  CHECK(got.consumers == sent.consumers);
  CHECK(got.published == sent.published);
  CHECK(got.delivered == sent.delivered);
  CHECK(got.acknowledged == sent.acknowledged);
  CHECK(got.redelivered == sent.redelivered);
}

// What is left: a request, a consumer, an answer, a count, each where the letter has it.
template <typename LetterType>
concept Plain = std::is_same_v<LetterType, Cancel> || std::is_same_v<LetterType, CancelOk> ||
    std::is_same_v<LetterType, Cancelled> || std::is_same_v<LetterType, Resumed> ||
    std::is_same_v<LetterType, Purge> || std::is_same_v<LetterType, ChannelForgotten> ||
    std::is_same_v<LetterType, Purged> || std::is_same_v<LetterType, DeleteResult>;
template <Plain LetterType>
void fill(Chance& chance, LetterType& letter) {
  if constexpr (requires { letter.request; }) letter.request = chance.number();
  if constexpr (requires { letter.consumer; }) letter.consumer = chance.number32();
  if constexpr (requires { letter.answer; }) letter.answer = chance.answer();
  if constexpr (requires { letter.messages; }) letter.messages = chance.number();
}
template <Plain LetterType>
void check(const LetterType& got, const LetterType& sent) {
  if constexpr (requires { sent.request; }) CHECK(got.request == sent.request);
  if constexpr (requires { sent.consumer; }) CHECK(got.consumer == sent.consumer);
  if constexpr (requires { sent.answer; }) CHECK(got.answer == sent.answer);
  if constexpr (requires { sent.messages; }) CHECK(got.messages == sent.messages);
}

// Calls `visit(chance, letter)` with one letter of each type, filled by chance.
template <typename Visit>
void each_letter(Chance& chance, Visit visit) {
  const auto one = [&]<typename LetterType>(LetterType*) {
    LetterType letter(chance.qid());
    fill(chance, letter);
    visit(letter);
  };
  const auto all = [&]<typename... Types>(Types*... types) { (one(types), ...); };
  all(static_cast<Publish*>(nullptr), static_cast<Consume*>(nullptr), static_cast<Cancel*>(nullptr),
      static_cast<Get*>(nullptr), static_cast<Ack*>(nullptr), static_cast<Requeue*>(nullptr),
      static_cast<Credit*>(nullptr), static_cast<Purge*>(nullptr), static_cast<Inspect*>(nullptr),
      static_cast<Delete*>(nullptr), static_cast<ChannelGone*>(nullptr),
      static_cast<Settled*>(nullptr), static_cast<ConsumeOk*>(nullptr),
      static_cast<CancelOk*>(nullptr), static_cast<Deliver*>(nullptr),
      static_cast<GetResult*>(nullptr), static_cast<Purged*>(nullptr),
      static_cast<Inspected*>(nullptr), static_cast<DeleteResult*>(nullptr),
      static_cast<Cancelled*>(nullptr), static_cast<Resumed*>(nullptr),
      static_cast<ChannelForgotten*>(nullptr));
}

}  // namespace

TEST_CASE("every letter comes out as it went in") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Chance chance(seed);
    int letters = 0;
    each_letter(chance, [&](const auto& letter) {
      ++letters;
      const auto got = crossed(letter);
      CHECK(got->qid == letter.qid);
      check(*got, letter);
    });
    CHECK(letters == kChannelForgotten - kPublish + 1);  // none was left out
  }
}

TEST_CASE("a letter to a mirrored queue names its epoch, and costs the others nothing") {
  Chance chance(31);
  int with_epoch = 0;
  each_letter(chance, [&](auto& letter) {
    const std::size_t without = to_wire(letter).header.size();
    CHECK(crossed(letter)->epoch == 0);
    letter.epoch = chance.number() | 1;
    if (letter.kind >= kSettled) return;
    CHECK(to_wire(letter).header.size() > without);
    CHECK(crossed(letter)->epoch == letter.epoch);
    ++with_epoch;
  });
  CHECK(with_epoch == kSettled - kPublish);
  Inspect plain(Qid{7});
  CHECK(to_wire(plain).header.size() == 4);  // the qid and counts_as_use
}

TEST_CASE("a large body leaves as slices, small messages side by side") {
  Publish letter(Qid{7});
  letter.first_number = 1;
  for (int i = 0; i < 20; ++i) {
    Message* message = Message::create(runtime::as_bytes("\x01x\x01y"), {}, 1000, {});
    message->append_body(runtime::as_bytes(std::string(1000, 'a')));
    letter.messages.emplace_back(message);
  }
  CHECK(to_wire(letter).slices == 1);
  Message* large = Message::create(runtime::as_bytes("\x01x\x01y"), {}, 300'000, {});
  large->append_body(runtime::as_bytes(std::string(300'000, 'b')));
  letter.messages.emplace_back(large);
  EncodedLetter encoded;
  const std::int64_t before = runtime::MemoryGauge::total();
  codecs().find(kPublish)->encode(letter, encoded);
  // The large body is not there twice. (Messages and blocks are counted.)
  CHECK(runtime::MemoryGauge::total() - before < 300'000);
  CHECK(encoded.body.size() > 300'000);
}

TEST_CASE("a letter that is cut off is refused, wherever the cut is") {
  Chance chance(4711);
  for (int round = 0; round < 6; ++round) {
    each_letter(chance, [&](const auto& letter) {
      const Wire wire = to_wire(letter);
      for (std::size_t step = 1, cut = 0; cut < wire.body.size(); cut += step) {
        step = cut < 600 ? 7 : 3001;
        const auto result = from_wire(letter.kind, wire.header, wire.body.substr(0, cut));
        REQUIRE(!result.ok());
        REQUIRE(result.status().code() == runtime::Code::kCorrupt);
      }
      // A header that ends early may still be one (fields that have their default are not written):
      // it must only not be taken for the whole where messages are missing.
      for (std::size_t cut = 0; cut < std::min<std::size_t>(wire.header.size(), 300); ++cut) {
        const auto result = from_wire(letter.kind, wire.header.substr(0, cut), wire.body);
        if (!wire.body.empty()) REQUIRE(!result.ok());
      }
      REQUIRE(!from_wire(letter.kind, wire.header, wire.body + "x").ok());
    });
  }
}

TEST_CASE("random and changed bytes make no trouble") {
  Chance chance(99);
  for (int round = 0; round < 300; ++round) {
    each_letter(chance, [&](const auto& letter) {
      Wire wire = to_wire(letter);
      if (wire.body.size() > 20'000) return;
      for (std::uint64_t change = chance.below(4); change > 0; --change) {
        std::string& part = !wire.body.empty() && chance.coin() ? wire.body : wire.header;
        if (part.empty()) continue;
        part[chance.below(part.size())] = static_cast<char>(chance.number());
      }
      auto result = from_wire(letter.kind, wire.header, wire.body);
      if (result.ok()) {
        // What is taken can be sent on.
        const Wire again = to_wire(*result.value());
        CHECK(from_wire(letter.kind, again.header, again.body).ok());
      }
      const std::string noise = chance.text(chance.below(80));
      const auto of_noise = from_wire(letter.kind, noise, chance.text(chance.below(80)));
      if (of_noise.ok()) CHECK(of_noise.value()->kind == letter.kind);
    });
  }
}

TEST_CASE("sizes are looked at before anything is allocated") {
  // A head that speaks of 2^62 octets of body, and one of a huge count.
  const std::string head = std::string("\x00\x00\x00", 3) + std::string(8, '\xFF') + "\x3F";
  CHECK(decode_message(head, {}).status().code() == runtime::Code::kCorrupt);
  const std::string many = "\x08\x01\x10\x01\x18\xFF\xFF\xFF\xFF\x0F";  // qid 1, first 1, count
  const auto result = from_wire(kPublish, many, "");
  REQUIRE(!result.ok());
  CHECK(result.status().text() == "a letter of a queue: more messages than heads");
}

TEST_CASE("a route that is none is refused") {
  const std::string head("\x00\x03\x00\x00", 4);
  CHECK(decode_message(head, runtime::as_bytes(std::string_view("\x01x\x00", 3))).ok());
  CHECK(!decode_message(head, runtime::as_bytes(std::string_view("\x01x\x05", 3))).ok());
  CHECK(!decode_message(head, runtime::as_bytes(std::string_view("\x09x\x00", 3))).ok());
}

}  // namespace ringtail::queue::letters_codec_test
