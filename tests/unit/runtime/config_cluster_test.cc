#include <doctest/doctest.h>

#include "broker/runtime/config.h"

namespace config_cluster_test {

using namespace ringtail::runtime;

namespace {

Config of(const std::string& text) {
  Config config;
  const Status status = apply_config_text(config, text, "test.conf");
  CHECK_MESSAGE(status.ok(), status.text());
  return config;
}

std::string error_of(const std::string& text) {
  Config config;
  return apply_config_text(config, text, "test.conf").text();
}

}  // namespace

TEST_CASE("cluster: whom to join, with ports and without") {
  const Config config = of("join = a:1, b , rabbit@c,[::1]:5,rabbit@d:7,[fe80::2]");
  const auto& join = config.cluster.join;
  REQUIRE(join.size() == 6);
  CHECK(join[0].host == "a");
  CHECK(join[0].port == 1);
  CHECK(join[1].host == "b");
  CHECK(join[1].port == 25672);
  CHECK(join[2].host == "c");
  CHECK(join[3].host == "::1");
  CHECK(join[3].port == 5);
  CHECK(join[4].host == "d");
  CHECK(join[4].port == 7);
  CHECK(join[5].host == "fe80::2");
  for (const char* wrong : {"", "a:", "a:0", "a:65536", "a:x", ":1", "a,,b", "[::1", "[::1]5",
                            "::1", "a b:1", "a/b", "rabbit@"}) {
    CAPTURE(wrong);
    CHECK(error_of("join = " + std::string(wrong)).find("is not a list of nodes") !=
          std::string::npos);
  }
}

TEST_CASE("cluster: RabbitMQ's keys of those that begin together") {
  const Config config =
      of("cluster_formation.peer_discovery_backend = classic_config\n"
         "cluster_formation.classic_config.nodes.1 = rabbit@a\n"
         "cluster_formation.classic_config.nodes.2 = rabbit@b\n"
         "cluster_formation.classic_config.nodes.x = rabbit@a\n"
         "cluster_partition_handling = autoheal\n"
         "queue_master_locator = min-masters\n");
  CHECK(config.cluster.peers == std::vector<std::string>{"rabbit@a", "rabbit@b"});
  CHECK(config.cluster.partition_handling == PartitionHandling::kAutoheal);
  CHECK(config.queue_master_locator == "min-masters");
  CHECK(config.warnings.empty());
  const std::string discovery =
      error_of("cluster_formation.peer_discovery_backend = rabbit_peer_discovery_k8s");
  for (const char* named : {"cluster_formation.peer_discovery_backend", "rabbit_peer_discovery_k8s",
                            "classic_config", "--join"}) {
    CHECK_MESSAGE(discovery.find(named) != std::string::npos, discovery);
  }
  CHECK(error_of("cluster_formation.classic_config.nodes.1 = a").find("is not a node name") !=
        std::string::npos);
  CHECK(error_of("cluster_partition_handling = pray").find("is not a way") != std::string::npos);
  CHECK(error_of("queue_master_locator = here").find("is not a locator") != std::string::npos);
}

TEST_CASE("cluster: times fit each other") {
  const Config config =
      of("heartbeat_interval_ms = 100\nlease_ms = 400\nnode_down_ms = 500\ncluster_port = 0\n"
         "cookie_file = /etc/cookie");
  CHECK(config.cluster.heartbeat_ms == 100);
  CHECK(config.cluster.lease_ms == 400);
  CHECK(config.cluster.node_down_ms == 500);
  CHECK(config.cluster.port == 0);
  CHECK(config.cluster.cookie_file == "/etc/cookie");
  const auto complain = [](std::vector<const char*> flags, const char* text) {
    flags.insert(flags.begin(), "ringtail");
    const auto parsed = parse_command_line(static_cast<int>(flags.size()), flags.data());
    REQUIRE_FALSE(parsed.ok());
    CHECK_MESSAGE(parsed.status().text().find(text) != std::string::npos, parsed.status().text());
  };
  complain({"--lease-ms=700"}, "less than three times heartbeat_interval_ms = 250");
  complain({"--node-down-ms=1600"}, "not a tenth more than lease_ms = 1500");
  complain({"--lease-ms=5"}, "is not a time");
  complain({"--heartbeat-interval-ms=fast"}, "is not a time");
}

TEST_CASE("cluster: certificates of the links come together or not at all") {
  CHECK(of("").cluster.tls.cert_file.empty());
  const std::string cert = "cluster_ssl_options.certfile = /c.pem\n";
  const std::string key = "cluster_ssl_options.keyfile = /k.pem\n";
  const std::string authority = "cluster_ssl_options.cacertfile = /a.pem\n";
  const TlsConfig tls = of(cert + key + authority +
                           "cluster_ssl_options.password = secret\n"
                           "cluster_ssl_options.depth = 3\n")
                            .cluster.tls;
  CHECK(tls.cert_file == "/c.pem");
  CHECK(tls.key_file == "/k.pem");
  CHECK(tls.ca_file == "/a.pem");
  CHECK(tls.key_password == "secret");
  CHECK(tls.depth == 3);
  CHECK(tls.verify_peer);
  CHECK(tls.fail_if_no_peer_cert);
  CHECK(error_of(cert).find("needs cluster_ssl_options.keyfile") != std::string::npos);
  CHECK(error_of(key).find("needs cluster_ssl_options.certfile") != std::string::npos);
  CHECK(error_of(cert + key).find("cluster_ssl_options.cacertfile") != std::string::npos);
  CHECK(error_of("cluster_ssl_options.depth = 256").find("(0 to 255)") != std::string::npos);
  CHECK(!error_of("cluster_ssl_options.verify = verify_none").empty());
}

}  // namespace config_cluster_test
