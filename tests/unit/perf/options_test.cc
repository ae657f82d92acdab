#include "tools/perf/options.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace options_test {

using namespace ringtail::perf;

namespace {

ringtail::runtime::Result<Options> parse(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv = {"ringtail-perf"};
  argv.insert(argv.end(), arguments);
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

bool refused(std::initializer_list<const char*> arguments, const std::string& because) {
  const auto result = parse(arguments);
  if (result.ok()) return false;
  INFO(result.status().text());
  const bool named = result.status().text().find(because) != std::string::npos;
  CHECK(named);
  return named;
}

}  // namespace

TEST_CASE("URIs in full and in part") {
  const auto full = parse_target("amqp://us%3aer:p%40ss@broker.example:5673/my%2Fhost");
  REQUIRE(full.ok());
  CHECK(full.value().user == "us:er");
  CHECK(full.value().password == "p@ss");
  CHECK(full.value().host == "broker.example");
  CHECK(full.value().port == 5673);
  CHECK(full.value().vhost == "my/host");

  const auto bare = parse_target("10.0.0.1:5681");
  REQUIRE(bare.ok());
  CHECK(bare.value().host == "10.0.0.1");
  CHECK(bare.value().port == 5681);
  CHECK(bare.value().user == "guest");
  CHECK(bare.value().vhost == "/");

  const auto v6 = parse_target("amqp://[::1]:5680");
  REQUIRE(v6.ok());
  CHECK(v6.value().host == "::1");
  CHECK(v6.value().port == 5680);
  CHECK(v6.value().name() == "[::1]:5680");

  const auto root = parse_target("amqp://a:b@h/");
  REQUIRE(root.ok());
  CHECK(root.value().vhost == "/");
  CHECK(root.value().port == 5672);
}

TEST_CASE("bad URIs are refused") {
  for (const char* text :
       {"http://h", "h:", "h:x", "h:0", "h:65536", "h:99999999999", "u%4@h", "u%zz@h"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target(text).ok());
  }
}

TEST_CASE("defaults and short options") {
  const auto plain = parse({});
  REQUIRE(plain.ok());
  CHECK(plain.value().command == Command::kLoad);
  CHECK(plain.value().duration_s == 10);
  CHECK(plain.value().control.port == 5672);
  CHECK(plain.value().queue_at(0) == "perf");

  const auto some = parse({"-x", "2", "-y3", "--queues=4", "-a", "-n", "100", "-c", "7"});
  REQUIRE(some.ok());
  CHECK(some.value().producers == 2);
  CHECK(some.value().consumers == 3);
  CHECK(some.value().auto_ack);
  CHECK(some.value().count == 100);
  CHECK(some.value().duration_s == 0);
  CHECK(some.value().confirm_window == 7);
  CHECK(some.value().queue_at(3) == "perf-3");
}

TEST_CASE("latency has defaults of its own, which options replace") {
  const auto result = parse({"latency", "--rate", "500", "--warmup", "0"});
  REQUIRE(result.ok());
  CHECK(result.value().rate == 500);
  CHECK(result.value().body_size == 1024);
  CHECK(result.value().duration_s == 30);
  CHECK(result.value().warmup_s == 0);
}

TEST_CASE("several brokers, taken in turn") {
  const auto result = parse({"--uri", "a:1,b:2", "--consumer-uri", "c:3"});
  REQUIRE(result.ok());
  CHECK(result.value().control.host == "a");
  CHECK(result.value().producer_targets.size() == 2);
  CHECK(result.value().consumer_targets.size() == 1);
  CHECK(result.value().consumer_targets[0].port == 3);
}

TEST_CASE("arguments keep their commas") {
  const auto result = parse({"--queue-arg", "x-list=[a,b]", "--queue-arg", "x-max=5"});
  REQUIRE(result.ok());
  REQUIRE(result.value().queue_arguments.size() == 2);
  CHECK(result.value().queue_arguments[0].second == "[a,b]");
}

TEST_CASE("how messages spread over queues") {
  CHECK(parse({}).value().spread == Spread::kOneKnown);
  CHECK(parse({"--exchange", "e"}).value().spread == Spread::kOneKnown);
  CHECK(parse({"--exchange", "e", "--exchange-type", "fanout"}).value().spread == Spread::kAll);
  CHECK(parse({"--exchange", "e", "--routing-key", "k"}).value().spread == Spread::kAll);
  CHECK(parse({"--exchange", "e", "--exchange-type", "x-consistent-hash"}).value().spread ==
        Spread::kOneOfAll);
  CHECK(parse({"--exchange", "e", "--existing"}).value().spread == Spread::kOneOfAll);
}

TEST_CASE("mistakes are named") {
  CHECK(refused({"--size", "15"}, "--size"));
  CHECK(refused({"--queues", "0"}, "--queues"));
  CHECK(refused({"--producers", "0", "--consumers", "0"}, "nobody"));
  CHECK(refused({"--ack-batch", "0"}, "--ack-batch"));
  CHECK(refused({"queues", "--pipeline", "0"}, "--pipeline"));
  CHECK(refused({"--routing-key", "k"}, "--exchange"));
  CHECK(refused({"--duration", "5", "--warmup", "5"}, "--warmup"));
  CHECK(refused({"--rate", "-1"}, "rates"));
  CHECK(refused({"--bogus"}, "bogus"));
  CHECK(refused({"nonsense"}, "nonsense"));
  CHECK(refused({"throughput", "more"}, "more"));
  CHECK(refused({"--queue-arg", "=v"}, "--queue-arg"));
  CHECK(refused({"--allow", "all"}, "--allow"));
  CHECK(refused({"--uri", "amqp://h:x"}, "--uri"));
  CHECK(refused({"connections"}, "--count"));
}

TEST_CASE("help and version") {
  const auto help = parse({"--help"});
  REQUIRE(help.ok());
  CHECK(help.value().command == Command::kHelp);
  CHECK(help.value().text.find("Examples:") != std::string::npos);
  CHECK(help.value().text.find("--prefetch") != std::string::npos);
  CHECK(parse({"--version"}).value().command == Command::kVersion);
}

TEST_CASE("TLS by scheme or for all") {
  const auto secure = parse_target("amqps://h.example/");
  REQUIRE(secure.ok());
  CHECK(secure.value().tls);
  CHECK(secure.value().port == 5671);
  CHECK(secure.value().server_name == "h.example");
  CHECK(parse_target("amqps://h:1/").value().port == 1);
  CHECK_FALSE(parse_target("amqp://h/").value().tls);
  CHECK(parse_target("h", true).value().port == 5671);
  CHECK_FALSE(parse_target("amqpx://h/").ok());
  const auto all = parse({"--tls", "--ca-file", "x.pem"});
  REQUIRE(all.ok());
  CHECK(all.value().control.tls);
  CHECK(all.value().control.port == 5671);
  CHECK(all.value().ca_file == "x.pem");
  CHECK(refused({"--ca-file", "x.pem"}, "--ca-file needs"));
}

}  // namespace options_test
