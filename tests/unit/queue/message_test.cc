#include "queue/message.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "broker/runtime/limits.h"
#include "broker/runtime/memory_gauge.h"

namespace ringtail::queue::message_test {
namespace {

std::string joined(const runtime::BytesChain& chain) {
  std::string all;
  for (const runtime::Bytes& piece : chain.pieces()) all += runtime::as_text(piece.span());
  return all;
}

std::string pattern(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 31 % 26);
  return text;
}

TEST_CASE("a message gives back what it was built from") {
  const std::int64_t before = runtime::MemoryGauge::total();
  const std::string route =
      "\x04logs\x07"
      "err.web";
  const std::string properties = "properties";
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, runtime::kInlineBodyMax}) {
    const std::string body = pattern(size);
    Message::Traits traits;
    traits.persistent = true;
    traits.expiration_ms = 60000;
    Message* message = Message::create(runtime::as_bytes(route), runtime::as_bytes(properties),
                                       body.size(), traits);
    MessageRef first(message);
    CHECK(message->body_complete() == (size == 0));
    message->append_body(runtime::as_bytes(std::string_view(body).substr(0, size / 2)));
    CHECK(message->body_missing() == size - size / 2);
    message->append_body(runtime::as_bytes(std::string_view(body).substr(size / 2)));
    CHECK(message->body_complete());
    CHECK(message->body_is_inline());
    CHECK(runtime::as_text(message->inline_body()) == body);
    CHECK(message->exchange() == "logs");
    CHECK(message->routing_key() == "err.web");
    CHECK(runtime::as_text(message->properties()) == properties);
    CHECK(message->traits().persistent);
    CHECK(message->traits().expiration_ms == 60000);
    const auto held = static_cast<std::int64_t>(message->footprint());
    CHECK(runtime::MemoryGauge::total() == before + held);
    MessageRef second = first;
    first = MessageRef();
    CHECK(runtime::MemoryGauge::total() == before + held);
    CHECK(second->routing_key() == "err.web");
  }
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE("empty names of exchange and key") {
  const std::string route("\x00\x00", 2);
  MessageRef message(Message::create(runtime::as_bytes(route), {}, 0, {}));
  CHECK(message->exchange().empty());
  CHECK(message->routing_key().empty());
}

TEST_CASE("a large body comes out whole, however it came in") {
  const std::int64_t before = runtime::MemoryGauge::total();
  for (const std::size_t part : {std::size_t{1000}, std::size_t{70'001}, std::size_t{1'000'000}}) {
    const std::string body = pattern(1'000'000);
    MessageRef message(Message::create({}, {}, body.size(), {}));
    CHECK(!message->body_is_inline());
    for (std::size_t at = 0; at < body.size(); at += part) {
      message->append_body(runtime::as_bytes(std::string_view(body).substr(at, part)));
    }
    REQUIRE(message->body_complete());
    CHECK(message->large_body().size() == body.size());
    CHECK(joined(message->large_body()) == body);
    // Blocks of a sensible size: not one for every part.
    CHECK(message->large_body().pieces().size() <= 16);
  }
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE("a body that arrives at once lies in one block of its size") {
  const std::int64_t before = runtime::MemoryGauge::total();
  const std::string body = pattern(runtime::kInlineBodyMax + 1);
  MessageRef message(Message::create({}, {}, body.size(), {}));
  message->append_body(runtime::as_bytes(body));
  CHECK(message->large_body().pieces().size() == 1);
  CHECK(runtime::MemoryGauge::total() - before ==
        static_cast<std::int64_t>(sizeof(Message) + sizeof(runtime::Block) + body.size()));
}

TEST_CASE("memory follows what has arrived, not what was announced") {
  const std::int64_t before = runtime::MemoryGauge::total();
  MessageRef message(Message::create({}, {}, 128ULL * 1024 * 1024, {}));
  CHECK(runtime::MemoryGauge::total() - before < 1024);
  message->append_body(runtime::as_bytes("x"));
  CHECK(runtime::MemoryGauge::total() - before < 32 * 1024);
  message->append_body(runtime::as_bytes(pattern(200'000)));
  CHECK(runtime::MemoryGauge::total() - before < 400 * 1024);
}

}  // namespace
}  // namespace ringtail::queue::message_test
