#include "broker/amqp/methods.h"

#include <deque>
#include <type_traits>

#include "broker/amqp/field_table.h"
#include "tests/unit/amqp/wire_tools.h"

namespace methods_test {

using namespace ringtail::amqp;

namespace {

constexpr std::uint16_t kClasses[] = {10, 20, 30, 40, 50, 60, 85, 90};

template <typename Visitor>
int for_each_method(Visitor&& visit) {
  int count = 0;
  for (const std::uint16_t class_id : kClasses) {
    for (std::uint16_t method_id = 0; method_id < 256; ++method_id) {
      count += visit_method(class_id, method_id, visit);
    }
  }
  return count;
}

// Random values for any field; keeps what the views point into.
class Filler {
 public:
  explicit Filler(unsigned seed) : random_(seed) {}

  void operator()(const char*, bool& value) { value = random_() % 2 == 1; }
  void operator()(const char*, std::string_view& value) {
    std::string text(random_() % 3 == 0 ? random_() % 256 : random_() % 8, ' ');
    for (char& c : text) c = static_cast<char>('!' + random_() % 90);
    texts_.push_back(std::move(text));
    value = texts_.back();
  }
  void operator()(const char*, std::span<const std::uint8_t>& value) {
    FieldTable table;
    const auto size = random_() % 4;
    for (unsigned i = 0; i < size; ++i) {
      table.set("key" + std::to_string(i), static_cast<std::int32_t>(random_()));
    }
    texts_.push_back(table.encode());
    value = ringtail::runtime::as_bytes(texts_.back());
  }
  template <typename Number>
  void operator()(const char*, Number& value) {
    value = static_cast<Number>(static_cast<std::uint64_t>(random_()) << 32 | random_());
  }

 private:
  std::mt19937 random_;
  std::deque<std::string> texts_;
};

// The fields as one text, to compare structs by.
template <typename Method>
std::string fields_text(const Method& method) {
  std::string out;
  Method::visit_fields(method, [&out](const char* name, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    out += name;
    out += '=';
    if constexpr (std::is_integral_v<Value>) {
      out += std::to_string(value);
    } else if constexpr (std::is_same_v<Value, std::string_view>) {
      out += value;
    } else {
      out += to_string(value);
    }
    out += ';';
  });
  return out;
}

template <typename Method>
Buffer encoded(const Method& method) {
  Buffer out(method.encoded_size());
  CHECK(method.encode(out.data()) == out.data() + out.size());
  return out;
}

}  // namespace

TEST_CASE("every method survives encode and decode") {
  Filler filler(7);
  const int count = for_each_method([&filler](auto method) {
    using Method = decltype(method);
    const char* name = method_name(Method::kClassId, Method::kMethodId);
    CAPTURE(name);
    for (int round = 0; round < 20; ++round) {
      Method::visit_fields(method, filler);
      const Buffer bytes = encoded(method);
      Method again;
      REQUIRE(again.decode(bytes));
      CHECK(fields_text(again) == fields_text(method));
      CHECK(encoded(again) == bytes);
    }
  });
  CHECK(count == 66);
}

TEST_CASE("arguments cut short or followed by more are refused") {
  Filler filler(8);
  for_each_method([&filler](auto method) {
    using Method = decltype(method);
    const char* name = method_name(Method::kClassId, Method::kMethodId);
    CAPTURE(name);
    Method::visit_fields(method, filler);
    const Buffer bytes = encoded(method);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // A copy of that size, so that ASan sees a read behind it.
      const Buffer part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      Method again;
      CHECK_FALSE(again.decode(part));
    }
    Buffer longer = bytes;
    longer.push_back(0);
    Method again;
    CHECK_FALSE(again.decode(longer));
  });
}

TEST_CASE("methods as they lie on the wire") {
  QueueDeclare declare;
  REQUIRE(declare.decode(kept_wire("0000 05 'tasks' 16 00000010 06 'x-mode' 'S' 00000004 'lazy'")));
  CHECK(declare.queue == "tasks");
  CHECK_FALSE(declare.passive);
  CHECK(declare.durable);
  CHECK(declare.exclusive);
  CHECK_FALSE(declare.auto_delete);
  CHECK(declare.nowait);
  CHECK(declare.arguments.size() == 16);

  ConnectionTune tune;
  tune.channel_max = 2047;
  tune.frame_max = 131072;
  tune.heartbeat = 60;
  CHECK(encoded(tune) == wire("07FF 00020000 003C"));

  BasicNack nack;
  REQUIRE(nack.decode(kept_wire("0000000000000102 02")));
  CHECK(nack.delivery_tag == 258);
  CHECK_FALSE(nack.multiple);
  CHECK(nack.requeue);

  BasicGetOk get_ok;
  get_ok.delivery_tag = 1;
  get_ok.redelivered = true;
  get_ok.exchange = "e";
  get_ok.routing_key = "rk";
  get_ok.message_count = 9;
  CHECK(encoded(get_ok) == wire("0000000000000001 01 01 'e' 02 'rk' 00000009"));

  ConnectionStartOk start_ok;
  REQUIRE(start_ok.decode(kept_wire("00000000 05 'PLAIN' 00000004 00 'a' 00 'b' 05 'en_US'")));
  CHECK(start_ok.mechanism == "PLAIN");
  CHECK(start_ok.response == std::string_view("\0a\0b", 4));
  CHECK(start_ok.locale == "en_US");

  CHECK(encoded(ChannelOpenOk{}) == wire("00000000"));
  CHECK(encoded(ConnectionOpenOk{}) == wire("00"));
  CHECK(encoded(BasicGetEmpty{}) == wire("00"));
}

TEST_CASE("basic.publish keeps the bytes of its route") {
  const Buffer bytes = wire("1234 03 'exc' 04 'rkey' 01");
  BasicPublish publish;
  REQUIRE(publish.decode(bytes));
  CHECK(publish.exchange == "exc");
  CHECK(publish.routing_key == "rkey");
  CHECK(publish.mandatory);
  CHECK_FALSE(publish.immediate);
  CHECK(to_buffer(publish.route) == wire("03 'exc' 04 'rkey'"));
  CHECK(publish.route.data() == bytes.data() + 2);

  REQUIRE(publish.decode(kept_wire("0000 00 00 02")));
  CHECK(to_buffer(publish.route) == wire("00 00"));
  CHECK(publish.immediate);
  CHECK_FALSE(publish.decode(kept_wire("0000 FF 00 02")));
  CHECK_FALSE(publish.decode(kept_wire("0000 00 02 'a' 02")));
}

TEST_CASE("reserved fields are read over and written empty") {
  ConnectionOpen open;
  REQUIRE(open.decode(kept_wire("01 '/' 03 'cap' 01")));
  CHECK(open.virtual_host == "/");
  CHECK(encoded(open) == wire("01 '/' 00 00"));
  // Bits that nobody has given a meaning are no error.
  BasicAck ack;
  REQUIRE(ack.decode(kept_wire("0000000000000001 FF")));
  CHECK(ack.multiple);
}

TEST_CASE("a malformed table or text in the arguments is refused") {
  QueueDeclare declare;
  CHECK(declare.decode(kept_wire("0000 01 'q' 00 00000003 01 'a' 'V'")));
  CHECK_FALSE(declare.decode(kept_wire("0000 01 'q' 00 00000003 01 'a' '?'")));
  CHECK_FALSE(declare.decode(kept_wire("0000 01 'q' 00 00000003 05 'a' 'V'")));
  CHECK_FALSE(declare.decode(kept_wire("0000 01 'q' 00 FFFFFFFF 01 'a' 'V'")));
  CHECK_FALSE(declare.decode(kept_wire("0000 01 FF 00 00000000")));
  CHECK(declare.decode(kept_wire("0000 02 C3A9 00 00000000")));
  // The exception, as in RabbitMQ.
  CHECK(BasicPublish{}.decode(kept_wire("0000 01 FF 00 00")));
}

TEST_CASE("short strings over 255 bytes are cut") {
  ConnectionBlocked blocked;
  const std::string reason(300, 'r');
  blocked.reason = reason;
  const Buffer bytes = encoded(blocked);
  CHECK(bytes.size() == 256);
  CHECK(bytes[0] == 255);
}

TEST_CASE("lookup by number") {
  const MethodInfo* publish = find_method(60, 40);
  REQUIRE(publish != nullptr);
  CHECK(std::string_view(publish->name) == "basic.publish");
  CHECK(publish->has_content);
  CHECK(publish->client_sends);
  CHECK_FALSE(publish->server_sends);
  CHECK(std::string_view(method_name(10, 70)) == "connection.update-secret");
  CHECK_FALSE(find_method(60, 60)->client_sends);
  CHECK(find_method(20, 40)->client_sends);
  CHECK(find_method(20, 40)->server_sends);
  for (const auto& [class_id, method_id] :
       {std::pair{0, 0}, {60, 41}, {40, 41}, {70, 10}, {90, 255}, {65535, 65535}}) {
    CHECK(find_method(static_cast<std::uint16_t>(class_id),
                      static_cast<std::uint16_t>(method_id)) == nullptr);
    CHECK(method_name(static_cast<std::uint16_t>(class_id),
                      static_cast<std::uint16_t>(method_id)) == nullptr);
  }
  CHECK(kMethodKey<BasicAck> == method_key(60, 80));
}

TEST_CASE("the lookup agrees with the structs") {
  const int count = for_each_method([](auto method) {
    using Method = decltype(method);
    const MethodInfo* info = find_method(Method::kClassId, Method::kMethodId);
    REQUIRE(info != nullptr);
    CHECK(info->has_content == Method::kHasContent);
    CHECK((info->client_sends || info->server_sends));
  });
  int known = 0;
  for (int class_id = 0; class_id < 256; ++class_id) {
    for (int method_id = 0; method_id < 256; ++method_id) {
      known += find_method(static_cast<std::uint16_t>(class_id),
                           static_cast<std::uint16_t>(method_id)) != nullptr;
    }
  }
  CHECK(known == count);
}

}  // namespace methods_test
