#include "broker/amqp/content_header.h"

#include "tests/unit/amqp/wire_tools.h"

namespace content_header_test {

using namespace ringtail::amqp;
namespace runtime = ringtail::runtime;

namespace {

BasicProperties all_properties() {
  BasicProperties all;
  all.content_type = "text/plain";
  all.content_encoding = "gzip";
  all.headers = FieldTable{}.set("x-one", std::int32_t{1}).set("s", "text");
  all.delivery_mode = 2;
  all.priority = 9;
  all.correlation_id = "corr";
  all.reply_to = "reply.queue";
  all.expiration = "60000";
  all.message_id = "id-1";
  all.timestamp = 1700000000;
  all.type = "order";
  all.user_id = "guest";
  all.app_id = "app";
  all.cluster_id = "";
  return all;
}

// One property alone, by the index of its flag.
BasicProperties only(int index) {
  const BasicProperties all = all_properties();
  BasicProperties one;
  switch (index) {
    case 0:
      one.content_type = all.content_type;
      break;
    case 1:
      one.content_encoding = all.content_encoding;
      break;
    case 2:
      one.headers = all.headers;
      break;
    case 3:
      one.delivery_mode = all.delivery_mode;
      break;
    case 4:
      one.priority = all.priority;
      break;
    case 5:
      one.correlation_id = all.correlation_id;
      break;
    case 6:
      one.reply_to = all.reply_to;
      break;
    case 7:
      one.expiration = all.expiration;
      break;
    case 8:
      one.message_id = all.message_id;
      break;
    case 9:
      one.timestamp = all.timestamp;
      break;
    case 10:
      one.type = all.type;
      break;
    case 11:
      one.user_id = all.user_id;
      break;
    case 12:
      one.app_id = all.app_id;
      break;
    default:
      one.cluster_id = all.cluster_id;
      break;
  }
  return one;
}

bool accepted(const Buffer& properties) {
  PropertyTraits traits;
  const bool valid = decode_traits(properties, traits);
  CHECK(PropertiesView(properties).valid() == valid);
  CHECK(BasicProperties::decode(properties).has_value() == valid);
  return valid;
}

}  // namespace

TEST_CASE("a header frame's payload") {
  ContentHeader header;
  const Buffer payload = wire("003C 0000 0000000100000002 1000 02");
  REQUIRE(header.parse(payload));
  CHECK(header.class_id == 60);
  CHECK(header.body_size == 0x100000002);
  CHECK(to_buffer(header.properties) == wire("1000 02"));
  CHECK_FALSE(header.parse(kept_wire("003C 0001 0000000000000000 0000")));  // weight
  for (std::size_t size = 0; size < 14; ++size) {
    CHECK_FALSE(header.parse(std::span(payload).first(size)));
  }
}

TEST_CASE("properties as they lie on the wire") {
  BasicProperties properties;
  CHECK(to_buffer(properties.encode()) == wire("0000"));
  properties.delivery_mode = 2;
  properties.priority = 5;
  properties.expiration = "100";
  CHECK(to_buffer(properties.encode()) == wire("1900 02 05 03 '100'"));
  BasicProperties ends;
  ends.content_type = "a";
  ends.cluster_id = "z";
  CHECK(to_buffer(ends.encode()) == wire("8004 01 'a' 01 'z'"));
  BasicProperties others;
  others.headers = FieldTable{}.set("k", true);
  others.timestamp = 258;
  CHECK(to_buffer(others.encode()) == wire("2040 00000004 01 'k' 't' 01 0000000000000102"));
}

TEST_CASE("each property alone and all together survive") {
  for (int index = 0; index < 14; ++index) {
    CAPTURE(index);
    const Buffer bytes = to_buffer(only(index).encode());
    CHECK(load_u16(bytes.data()) == 1 << (15 - index));
    REQUIRE(accepted(bytes));
    CHECK(*BasicProperties::decode(bytes) == only(index));
  }
  const Buffer bytes = to_buffer(all_properties().encode());
  CHECK(load_u16(bytes.data()) == 0xFFFC);
  REQUIRE(accepted(bytes));
  CHECK(*BasicProperties::decode(bytes) == all_properties());
}

TEST_CASE("the view finds each property") {
  const Buffer bytes = to_buffer(all_properties().encode());
  const PropertiesView view(bytes);
  CHECK(view.valid());
  CHECK(view.content_type() == "text/plain");
  CHECK(view.content_encoding() == "gzip");
  REQUIRE(view.headers());
  CHECK(find_in_table(*view.headers(), "x-one")->as_int() == 1);
  CHECK(view.delivery_mode() == std::uint8_t{2});
  CHECK(view.priority() == std::uint8_t{9});
  CHECK(view.correlation_id() == "corr");
  CHECK(view.reply_to() == "reply.queue");
  CHECK(view.expiration() == "60000");
  CHECK(view.message_id() == "id-1");
  CHECK(view.timestamp() == 1700000000u);
  CHECK(view.type() == "order");
  CHECK(view.user_id() == "guest");
  CHECK(view.app_id() == "app");
  CHECK(view.cluster_id() == "");
  CHECK(view.has(Property::kUserId));

  const Buffer none = wire("0000");
  const PropertiesView empty(none);
  CHECK(empty.valid());
  CHECK_FALSE(empty.content_type());
  CHECK_FALSE(empty.headers());
  CHECK_FALSE(empty.timestamp());
  CHECK_FALSE(empty.priority());
  CHECK_FALSE(empty.has(Property::kPriority));
}

TEST_CASE("traits") {
  PropertyTraits traits;
  CHECK(decode_traits(kept_wire("0000"), traits));
  CHECK_FALSE(traits.persistent);
  CHECK_FALSE(traits.has_priority);
  CHECK_FALSE(traits.has_headers);
  CHECK(decode_traits(kept_wire("1000 02"), traits));
  CHECK(traits.persistent);
  CHECK(decode_traits(kept_wire("1000 01"), traits));
  CHECK_FALSE(traits.persistent);

  PropertyTraits full;
  const Buffer bytes = to_buffer(all_properties().encode());
  REQUIRE(decode_traits(bytes, full));
  CHECK(full.persistent);
  CHECK(full.has_priority);
  CHECK(full.priority == 9);
  CHECK(full.has_expiration);
  CHECK(full.expiration == "60000");
  CHECK(full.has_user_id);
  CHECK(full.user_id == "guest");
  CHECK(full.has_reply_to);
  CHECK(full.reply_to == "reply.queue");
  CHECK(full.has_headers);
  CHECK(find_in_table(full.headers, "s")->as_text() == "text");

  PropertyTraits content_type_only;
  REQUIRE(decode_traits(kept_wire("8000 01 'a'"), content_type_only));
  CHECK_FALSE(content_type_only.persistent);
  CHECK_FALSE(content_type_only.has_expiration);
}

TEST_CASE("malformed properties are refused") {
  CHECK_FALSE(accepted({}));
  CHECK_FALSE(accepted(wire("00")));
  CHECK_FALSE(accepted(wire("0000 00")));  // followed by more
  CHECK_FALSE(accepted(wire("1000")));     // no value
  CHECK_FALSE(accepted(wire("1000 02 00")));
  CHECK_FALSE(accepted(wire("8000 05 'abcd'")));
  CHECK_FALSE(accepted(wire("2000 00000001")));
  CHECK_FALSE(accepted(wire("2000 FFFFFFFF 'abcd'")));
  CHECK_FALSE(accepted(wire("2000 00000003 01 'a' '?'")));
  CHECK(accepted(wire("2000 00000003 01 'a' 'V'")));
  CHECK_FALSE(accepted(wire("0040 00000000000000")));
}

TEST_CASE("cutting valid properties anywhere makes them malformed") {
  const Buffer bytes = to_buffer(all_properties().encode());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Buffer part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(accepted(part));
    PropertiesView(part).cluster_id();
    PropertiesView(part).headers();
  }
}

TEST_CASE("flag words that continue") {
  // Nothing more in the second word: fine (4.2.6.1).
  CHECK(accepted(wire("0001 0000")));
  CHECK(accepted(wire("1001 0001 0000 02")));
  const Buffer continued = wire("1001 0000 02");
  CHECK(PropertiesView(continued).delivery_mode() == std::uint8_t{2});
  // Properties that the basic class does not have.
  CHECK_FALSE(accepted(wire("0002")));
  CHECK_FALSE(accepted(wire("0001 8000 01 'a'")));
  CHECK_FALSE(accepted(wire("0001 0002")));
  CHECK_FALSE(accepted(wire("0001")));
  CHECK_FALSE(accepted(wire("0001 0001")));
}

}  // namespace content_header_test
