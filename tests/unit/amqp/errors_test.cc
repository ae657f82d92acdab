#include "broker/amqp/errors.h"

#include "broker/amqp/utf8.h"
#include "tests/unit/amqp/wire_tools.h"

namespace errors_test {

using namespace ringtail::amqp;

TEST_CASE("names and kinds of the reply codes") {
  struct Case {
    std::uint16_t code;
    const char* name;
    bool hard;
  };
  // As rabbit_framing_amqp_0_9_1:lookup_amqp_exception/1 of RabbitMQ 3.10.8.
  const Case cases[] = {
      {311, "CONTENT_TOO_LARGE", false},   {312, "NO_ROUTE", false},
      {313, "NO_CONSUMERS", false},        {320, "CONNECTION_FORCED", true},
      {402, "INVALID_PATH", true},         {403, "ACCESS_REFUSED", false},
      {404, "NOT_FOUND", false},           {405, "RESOURCE_LOCKED", false},
      {406, "PRECONDITION_FAILED", false}, {501, "FRAME_ERROR", true},
      {502, "SYNTAX_ERROR", true},         {503, "COMMAND_INVALID", true},
      {504, "CHANNEL_ERROR", true},        {505, "UNEXPECTED_FRAME", true},
      {506, "RESOURCE_ERROR", true},       {530, "NOT_ALLOWED", true},
      {540, "NOT_IMPLEMENTED", true},      {541, "INTERNAL_ERROR", true},
  };
  for (const Case& a_case : cases) {
    const auto code = static_cast<ReplyCode>(a_case.code);
    CHECK(std::string_view(reply_code_name(code)) == a_case.name);
    CHECK(is_hard(code) == a_case.hard);
  }
  CHECK(std::string_view(reply_code_name(static_cast<ReplyCode>(999))) == "UNKNOWN");
}

TEST_CASE("reply texts are cut to 255 bytes") {
  AmqpError error{ReplyCode::kNotFound, "no queue 'q' in vhost '/'", 50, 10};
  CHECK(reply_text(error) == "NOT_FOUND - no queue 'q' in vhost '/'");

  const std::string head = "NOT_FOUND - ";
  error.text = std::string(255 - head.size(), 'x');
  CHECK(reply_text(error) == head + error.text);
  error.text += 'y';
  CHECK(reply_text(error) == head + std::string(252 - head.size(), 'x') + "...");

  // A character is never cut in two: characters of 2, 3 and 4 bytes, at every shift.
  for (const char* character : {"\u00e9", "\u20ac", "\U0001F430"}) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      error.text = std::string(shift, 'x');
      while (error.text.size() < 300) error.text += character;
      const std::string text = reply_text(error);
      CHECK(text.size() <= 255);
      CHECK(text.size() > 255 - std::string_view(character).size());
      CHECK(text.substr(text.size() - 3) == "...");
      CHECK(valid_utf8(text));
    }
  }
  // What is no UTF-8 is cut all the same.
  error.text = std::string(300, '\x80');
  CHECK(reply_text(error).size() == 255);
}

namespace {

struct Text {
  AmqpError error;
  const char* text;
};

void check_texts(std::span<const Text> cases) {
  for (const Text& a_case : cases) {
    CHECK(std::string(reply_code_name(a_case.error.code)) + " - " + a_case.error.text ==
          a_case.text);
    CHECK(a_case.error.class_id == 0);
  }
}

}  // namespace

TEST_CASE("texts: 404, 405 and 403") {
  const Text cases[] = {
      {not_found_queue("/", "q"), "NOT_FOUND - no queue 'q' in vhost '/'"},
      {not_found_exchange("v", "x"), "NOT_FOUND - no exchange 'x' in vhost 'v'"},
      {not_found_no_previous_queue(), "NOT_FOUND - no previously declared queue"},
      {not_found_home_node_down("/", "q", "n@h"),
       "NOT_FOUND - home node 'n@h' of durable queue 'q' in vhost '/' is down or inaccessible"},
      {not_found_queue_timeout("/", "q"),
       "NOT_FOUND - failed to perform operation on queue 'q' in vhost '/' due to timeout"},
      {resource_locked("/", "q"),
       "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It "
       "could be originally declared on another connection or the exclusive property value does "
       "not match that of the original declaration."},
      {access_refused("queue", "/", "q", "u"),
       "ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'u'"},
      {access_refused("exchange", "/", "", "u"),
       "ACCESS_REFUSED - access to exchange 'amq.default' in vhost '/' refused for user "
       "'u'"},
      {topic_access_refused("a.b", "/", "x", "u"),
       "ACCESS_REFUSED - access to topic 'a.b' in exchange 'x' in vhost '/' refused for user "
       "'u'"},
      {reserved_name("exchange", "amq.foo"),
       "ACCESS_REFUSED - exchange name 'amq.foo' contains reserved prefix 'amq.*'"},
      {default_exchange_refused(),
       "ACCESS_REFUSED - operation not permitted on the default exchange"},
      {system_exchange_refused("/", "amq.direct"),
       "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed"},
      {internal_exchange_refused("/", "x"),
       "ACCESS_REFUSED - cannot publish to internal exchange 'x' in vhost '/'"},
      {queue_in_exclusive_use("/", "q"),
       "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"},
      {login_refused("PLAIN"),
       "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see "
       "the broker logfile."},
  };
  check_texts(cases);
}

TEST_CASE("texts: 406") {
  const Text cases[] = {
      {precondition_failed("text"), "PRECONDITION_FAILED - text"},
      {invalid_argument("x-max-priority", queue_text("/", "q"), "{max_value_exceeded,256}"),
       "PRECONDITION_FAILED - invalid arg 'x-max-priority' for queue 'q' in vhost '/': "
       "{max_value_exceeded,256}"},
      {queue_in_use("/", "q"), "PRECONDITION_FAILED - queue 'q' in vhost '/' in use"},
      {queue_not_empty("/", "q"), "PRECONDITION_FAILED - queue 'q' in vhost '/' not empty"},
      {exchange_in_use("/", "x"), "PRECONDITION_FAILED - exchange 'x' in vhost '/' in use"},
      {unknown_delivery_tag(42), "PRECONDITION_FAILED - unknown delivery tag 42"},
      {wrong_user_id("a", "b"),
       "PRECONDITION_FAILED - user_id property set to 'a' but authenticated user was 'b'"},
      {invalid_expiration("10x", "{leftover_string,\"x\"}"),
       "PRECONDITION_FAILED - invalid expiration '10x': {leftover_string,\"x\"}"},
      {message_too_large(9, 8),
       "PRECONDITION_FAILED - message size 9 is larger than configured max size 8"},
      {cannot_switch_confirm_to_tx(),
       "PRECONDITION_FAILED - cannot switch from confirm to tx mode"},
      {cannot_switch_tx_to_confirm(),
       "PRECONDITION_FAILED - cannot switch from tx to confirm mode"},
      {channel_not_transactional(), "PRECONDITION_FAILED - channel is not transactional"},
      {acknowledgement_timed_out(1, 1800000),
       "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: "
       "1800000 ms. This timeout value can be configured, see consumers doc guide to learn more"},
      {queue_limit_reached("v", "q", 5),
       "PRECONDITION_FAILED - cannot declare queue 'q': queue limit in vhost 'v' (5) is reached"},
      {invalid_argument_type("long", "alternate-exchange", exchange_text("/", "x")),
       "PRECONDITION_FAILED - invalid type 'long' for arg 'alternate-exchange' in exchange 'x' in "
       "vhost '/'"},
  };
  check_texts(cases);
}

TEST_CASE("texts: of the connection") {
  const Text cases[] = {
      {vhost_not_found("v"), "NOT_ALLOWED - vhost v not found"},
      {vhost_access_refused("v", "u"), "NOT_ALLOWED - access to vhost 'v' refused for user 'u'"},
      {vhost_connection_limit("v", "u", 3),
       "NOT_ALLOWED - access to vhost 'v' refused for user 'u': connection limit (3) is reached"},
      {user_connection_limit("u", 3),
       "NOT_ALLOWED - connection refused for user 'u': user connection limit (3) is reached"},
      {node_connection_limit(3),
       "NOT_ALLOWED - connection refused: node connection limit (3) is reached"},
      {vhost_down("v", "u"),
       "INTERNAL_ERROR - access to vhost 'v' refused for user 'u': vhost 'v' is down"},
      {consumer_tag_in_use("t"), "NOT_ALLOWED - attempt to reuse consumer tag 't'"},
      {too_many_consumers(4), "NOT_ALLOWED - reached maximum (4) of consumers per channel"},
      {too_many_channels(10, 10),
       "NOT_ALLOWED - number of channels opened (10) has reached the negotiated channel_max (10)"},
      {tuned_too_high("frame_max", 200000, 131072),
       "NOT_ALLOWED - negotiated frame_max = 200000 is higher than the maximum allowed value "
       "(131072)"},
      {tuned_too_low("frame_max", 1000, 4096),
       "NOT_ALLOWED - negotiated frame_max = 1000 is lower than the minimum allowed value (4096)"},
      {not_implemented("immediate=true"), "NOT_IMPLEMENTED - immediate=true"},
      {prefetch_size_not_implemented(7), "NOT_IMPLEMENTED - prefetch_size!=0 (7)"},
      {second_channel_open(), "CHANNEL_ERROR - second 'channel.open' seen"},
      {expected_channel_open(), "CHANNEL_ERROR - expected 'channel.open'"},
      {connection_forced("broker forced connection closure with reason 'shutdown'"),
       "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'"},
      {unexpected_method("tuning"), "CHANNEL_ERROR - unexpected method in connection state tuning"},
      {unknown_exchange_type("x"), "COMMAND_INVALID - unknown exchange type 'x'"},
      {unknown_exchange_type(""), "COMMAND_INVALID - invalid exchange type ''"},
      {unimplemented_method(), "COMMAND_INVALID - unimplemented method"},
      {unknown_auth_mechanism("X"), "COMMAND_INVALID - unknown authentication mechanism 'X'"},
      {frame_error("x"), "FRAME_ERROR - x"},
      {syntax_error("x"), "SYNTAX_ERROR - x"},
      {unexpected_frame("x"), "UNEXPECTED_FRAME - x"},
      {internal_error("x"), "INTERNAL_ERROR - x"},
  };
  check_texts(cases);
}

TEST_CASE("UTF-8") {
  for (const char* good :
       {"", "plain", "long enough for a word of eight", "\u00e9", "\u20ac", "\U0001F430",
        "\U0010FFFF", "\ud7ff", "12345678\u00e9", "1234567\u00e9"}) {
    CHECK(valid_utf8(good));
  }
  for (const char* bad :
       {"\x80", "\xC3", "\xC3(", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xE2\x82",
        "\xE2(\xA1", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
        "12345678\xFF", "1234567\xFF", "\xF0\x9F\x90"}) {
    CHECK_FALSE(valid_utf8(bad));
  }
}

}  // namespace errors_test
