#include <doctest/doctest.h>

#include "broker/base64.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"

namespace http_router_test {

namespace http = ringtail::broker::http;
using http::Access;
using http::Call;
using http::Request;
using http::Response;
using ringtail::broker::BrokerShard;
using ringtail::broker::Json;
using ringtail::runtime::Code;
using ringtail::runtime::Status;

namespace {

// A node that is stopping: every way to a shard is closed.
struct ClosedGateway : ringtail::broker::Gateway {
  std::uint16_t shards() const override { return 1; }
  Status on_shard(ringtail::runtime::ShardId, const std::function<void(BrokerShard&)>&) override {
    ++calls;
    return {Code::kClosed, "the node is stopping"};
  }
  Status on_shard_later(ringtail::runtime::ShardId,
                        const std::function<void(BrokerShard&, std::function<void()>)>&) override {
    ++calls;
    return {Code::kClosed, "the node is stopping"};
  }
  int calls = 0;
};

struct Fixture {
  Fixture() {
    facts.config = &config;
    http::add_routes(router);
  }
  Response ask(const std::string& method, const std::string& target,
               const std::string& credentials = "") {
    Request request;
    request.method = method;
    REQUIRE(http::read_target(target, request));
    request.peer = "127.0.0.1";
    request.peer_is_loopback = true;
    if (!credentials.empty()) {
      request.headers["authorization"] = "Basic " + ringtail::broker::base64_encode(credentials);
    }
    return router.answer(request, 1000);
  }
  ringtail::runtime::Config config;
  http::NodeFacts facts;
  ClosedGateway gateway;
  http::Router router{gateway, facts};
};

std::string header(const Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return {};
}

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "an unknown path is 404, an unknown method 405 with those that are known") {
  CHECK(ask("GET", "/api/nope").status == 404);
  CHECK(ask("GET", "/").status == 404);
  CHECK(ask("GET", "/api/nope").body == R"({"error":"Object Not Found","reason":"Not Found"})");
  const Response post = ask("POST", "/api/whoami");
  CHECK(post.status == 405);
  CHECK(post.body.empty());
  CHECK(header(post, "Allow") == "HEAD, GET, OPTIONS");
  CHECK(header(ask("PATCH", "/api/queues/%2F/q"), "Allow") == "HEAD, GET, PUT, DELETE, OPTIONS");
  const Response options = ask("OPTIONS", "/api/queues/%2F/q");
  CHECK(options.status == 200);
  CHECK(header(options, "Allow") == "HEAD, GET, PUT, DELETE, OPTIONS");
  CHECK(gateway.calls == 0);
}

TEST_CASE_FIXTURE(Fixture, "who says nothing of himself is asked, without a word to a shard") {
  const Response response = ask("GET", "/api/queues");
  CHECK(response.status == 401);
  CHECK(response.body.empty());
  CHECK(header(response, "WWW-Authenticate") == "Basic realm=\"RabbitMQ Management\"");
  CHECK(gateway.calls == 0);
}

TEST_CASE_FIXTURE(Fixture, "a node that is stopping is 503") {
  const Response response = ask("GET", "/api/queues", "guest:guest");
  CHECK(response.status == 503);
  CHECK(Json::parse(response.body)["reason"] == "the node is stopping");
  CHECK(header(response, "Retry-After") == "1");
}

TEST_CASE_FIXTURE(Fixture, "of two routes that fit, the one that names more answers") {
  // /api/users/* has DELETE, /api/users/without-permissions has not.
  CHECK(header(ask("POST", "/api/users/without-permissions"), "Allow") ==
        "HEAD, GET, PUT, DELETE, OPTIONS");
  CHECK(ask("POST", "/api/users/bulk-delete").status == 401);
  CHECK(ask("HEAD", "/api/users/bulk-delete").status == 401);  // a user of that name
}

}  // namespace http_router_test
