#include <doctest/doctest.h>

#include "broker/http/body.h"
#include "broker/http/message.h"
#include "broker/http/shapes.h"

namespace http_message_test {

namespace http = ringtail::broker::http;
using http::Body;
using http::percent_decode;
using http::percent_encode;
using http::Request;
using ringtail::broker::Json;

namespace {

Request request_of(std::string_view target) {
  Request request;
  REQUIRE(http::read_target(target, request));
  return request;
}

Request with_body(std::string body) {
  Request request;
  request.body = std::move(body);
  return request;
}

Json reason(const Body& body) {
  REQUIRE_FALSE(body.ok());
  CHECK(body.fault().status == 400);
  const Json json = Json::parse(body.fault().body);
  CHECK(json["error"] == "bad_request");
  return json["reason"];
}

}  // namespace

TEST_CASE("a path is split first and decoded then, empty segments do not count") {
  using Segments = std::vector<std::string>;
  CHECK(request_of("/api/queues/%2F/a%2Fb").segments == Segments{"api", "queues", "/", "a/b"});
  CHECK(request_of("/api/queues//").segments == Segments{"api", "queues"});
  CHECK(request_of("/api//queues//").segments == Segments{"api", "queues"});
  CHECK(request_of("/api/bindings/").segments == Segments{"api", "bindings"});
  CHECK(request_of("/").segments.empty());
  CHECK(request_of("").segments.empty());
  CHECK(request_of("/a+b%20c%2B").segments == Segments{"a+b c+"});
  CHECK(request_of("/%C3%BC#part").segments == Segments{"\xC3\xBC"});
  Request request;
  for (const char* wrong : {"/%", "/%2", "/%2G", "/%G2", "/%00", "/a?x=%", "/a?%2=x"}) {
    CAPTURE(wrong);
    CHECK_FALSE(http::read_target(wrong, request));
  }
}

TEST_CASE("a query") {
  const Request request = request_of("/q?page=1&name=a+b%26c&page=2&x&=y&flag=TRUE&&u=a=b?");
  CHECK(request.parameter("page") == "2");
  CHECK(request.parameter("name") == "a b&c");
  CHECK(request.parameter("x").empty());
  CHECK(request.parameter("u") == "a=b?");
  CHECK(request.flag("flag"));
  CHECK_FALSE(request.flag("page"));
  CHECK_FALSE(request.flag("absent"));
  CHECK(request.path == "/q");
}

TEST_CASE("percent encoding goes both ways") {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  CHECK(percent_decode(percent_encode(all)) == all);
  CHECK(percent_encode("a/b c~") == "a%2Fb%20c~");
}

TEST_CASE("a body: nothing and null are the empty object, no other value will do") {
  CHECK(Body(with_body("")).ok());
  CHECK(Body(with_body("null")).ok());
  CHECK(Body(with_body("{}")).json().empty());
  for (const char* wrong : {"{", "[]", "1", "\"x\"", "{}{}", "\xFF"}) {
    CAPTURE(wrong);
    CHECK(reason(Body(with_body(wrong))) == "not_json");
  }
  CHECK(reason(Body(with_body(std::string(100000, '[')))) == "not_json");
}

TEST_CASE("a body: true, false and numbers may be text") {
  Body body(with_body(R"({"a":true,"b":"false","c":"12","d":-3,"e":null,"f":"maybe","g":1})"));
  CHECK(body.boolean("a", false));
  CHECK_FALSE(body.boolean("b", true));
  CHECK(body.boolean("e", true));
  CHECK(body.boolean("absent", true));
  CHECK(body.integer("c", 0) == 12);
  CHECK(body.integer("d", 0) == -3);
  CHECK(body.integer("absent", 7) == 7);
  CHECK(body.ok());
  body.boolean("f", false);
  body.boolean("g", false);  // the first fault is the one that is told
  CHECK(reason(body) == Json::array({"not_boolean", "maybe"}));
  Body number(with_body(R"({"a":"1x"})"));
  number.integer("a", 0);
  CHECK(reason(number) == Json::array({"not_integer", "1x"}));
}

TEST_CASE("a body: what is missing is named") {
  Body body(with_body(R"({"write":"","read":null})"));
  body.require({"configure", "write", "read"});
  CHECK(reason(body) == "[{key_missing,configure},{key_missing,read}]");
}

TEST_CASE("a body: words and arguments") {
  using Words = std::vector<std::string>;
  Body body(with_body(R"({"a":"x, y,,z ","b":["x","y"],"c":[],"d":{"n":1},"e":[]})"));
  CHECK(body.words("a") == Words{"x", "y", "z"});
  CHECK(body.words("b") == Words{"x", "y"});
  CHECK(body.words("c").empty());
  CHECK(body.arguments("d") == std::string("\1nl\0\0\0\0\0\0\0\1", 11));
  CHECK(body.arguments("e").empty());
  CHECK(body.arguments("absent").empty());
  CHECK(body.ok());
  Body null_inside(with_body(R"({"arguments":{"a":[1,{"b":null}]}})"));
  null_inside.arguments("arguments");
  CHECK(reason(null_inside) == "null_not_allowed");
  Body no_object(with_body(R"({"arguments":"x"})"));
  no_object.arguments("arguments");
  CHECK_FALSE(no_object.ok());
}

TEST_CASE("a binding's properties key") {
  ringtail::cluster::metadata::BindingRecord binding;
  CHECK(http::properties_key(binding) == "~");
  binding.routing_key = "a b/~%";
  CHECK(http::properties_key(binding) == "a+b%2F%7E%25");
  binding.arguments = "x";
  const std::string with = http::properties_key(binding);
  CHECK(with.starts_with("a+b%2F%7E%25~"));
  CHECK(with.size() == std::string("a+b%2F%7E%25~").size() + 20);
  // It is stored by tools: it must never change.
  binding.routing_key.clear();
  CHECK(http::properties_key(binding) == "~LXEWQrcmsEQBYnyp-6wy");
}

TEST_CASE("what stands for a process id names shard and number") {
  CHECK(http::pid_text("n@h", 5000, (3ULL << 48) | 7, 0) == "<n@h.5.7.196608>");
  CHECK(http::pid_text("n@h", 5000, (3ULL << 48) | 7, 2) == "<n@h.5.7.196610>");
}

}  // namespace http_message_test
