// TLS on the links: what arrives is whole, and who has no certificate of the authority gets
// nothing.
#include "cluster/link_tls.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/sim/link_cluster.h"
#include "tests/sim/seeds.h"
#include "tests/unit/runtime/tls_certificates.h"

namespace link_tls_test {

using namespace ringtail;
using namespace ringtail::sim;
using cluster::LinkEnd;
using cluster::LinkTls;
using runtime::kMillisecondNs;
using runtime::kSecondNs;
using runtime::NodeId;
using runtime::TestCertificate;

namespace {

const runtime::TlsConfig& config() {
  static const runtime::TlsConfig made = [] {
    runtime::TlsConfig config = runtime::ClusterConfig{}.tls;
    config.cert_file = "node.pem";
    config.key_file = "node.key";
    config.ca_file = "authority.pem";
    return config;
  }();
  return made;
}

// Shows a certificate of `issuer`, and trusts `trusted`.
runtime::TlsFiles files(const TestCertificate& issuer, const TestCertificate& trusted) {
  const TestCertificate own({.subject = {{"CN", "node"}}}, issuer);
  return {own.certificate(), own.key(), trusted.certificate()};
}

struct Authorities {
  TestCertificate ours{{.subject = {{"CN", "ours"}}, .authority = true}};
  TestCertificate foreign{{.subject = {{"CN", "foreign"}}, .authority = true}};
};

// Its certificates are of its own making.
struct Secured {
  Authorities authorities;
  LinkTls tls{config()};

  Secured() { REQUIRE(tls.use(files(authorities.ours, authorities.ours)).ok()); }
};

}  // namespace

TEST_CASE("links over TLS: letters of every size arrive once and in order, whatever happens") {
  const Secured secured;
  const std::uint64_t last = first_seed() + seeds(4);
  for (std::uint64_t seed = first_seed(); seed < last; ++seed) {
    CAPTURE(seed);
    LinkCluster cluster(seed, random_layout(seed), &secured.tls);
    make_trouble(cluster.world);
    cluster.all_up();
    for (int i = 0; i < 200; ++i) {
      cluster.talk(i % 20 == 0 ? 100'000 : 2000);
      cluster.world.run_for(cluster.world.rng().below(5 * kMillisecondNs));
    }
    REQUIRE(cluster.world.run_until([&] { return cluster.all_arrived(); }, 120 * kSecondNs));
    CHECK(cluster.counts.received > 200);
    cluster.check();
  }
}

TEST_CASE("control over TLS: messages, and questions before membership") {
  const Secured secured;
  TwoNodes two(1, "cookie", &secured.tls, &secured.tls);
  two.link();
  REQUIRE(two.connected());
  CHECK(two.send(7, "header", std::string(100'000, 'b')));
  REQUIRE(two.world.run_until([&] { return two.b->messages.size() == 1; }));
  CHECK(two.b->messages.front().header == "header");
  CHECK(two.b->messages.front().body == std::string(100'000, 'b'));
  const auto answer = two.ask("10.0.0.2", "may I join?");
  REQUIRE(answer->ok());
  CHECK(answer->value().text == "?nioj I yam");
  two.world.run_for(60 * kSecondNs);
  CHECK(two.a->connected[NodeId{2}] == 1);
  CHECK(two.a->disconnected.empty());
}

TEST_CASE("links over TLS: one side without it is refused, and told why") {
  const Secured secured;
  bool first = true;
  SUBCASE("the dialer has it") {}
  SUBCASE("the acceptor has it") { first = false; }
  TwoNodes two(1, "cookie", first ? &secured.tls : nullptr, first ? nullptr : &secured.tls);
  two.link();
  two.world.run_for(2 * kSecondNs);
  CHECK(two.a->connected.empty());
  REQUIRE(!two.a->disconnected[NodeId{2}].empty());
  for (const LinkEnd end : two.a->disconnected[NodeId{2}]) CHECK(end == LinkEnd::kRejected);
  const auto answer = two.ask("10.0.0.2", "may I join?");
  REQUIRE(!answer->ok());
  CHECK(answer->status().text().find("has cluster_ssl_options") != std::string::npos);
  CHECK(two.b->questions.empty());
}

TEST_CASE("links over TLS: a certificate of another authority opens none") {
  const Authorities authorities;
  LinkTls ours(config());
  LinkTls other(config());
  REQUIRE(ours.use(files(authorities.ours, authorities.ours)).ok());
  SUBCASE("neither trusts the other") {
    REQUIRE(other.use(files(authorities.foreign, authorities.foreign)).ok());
  }
  SUBCASE("the foreign one trusts the other") {
    REQUIRE(other.use(files(authorities.foreign, authorities.ours)).ok());
  }
  for (const bool foreign_dials : {true, false}) {
    CAPTURE(foreign_dials);
    TwoNodes two(1, "cookie", foreign_dials ? &other : &ours, foreign_dials ? &ours : &other);
    two.link();
    two.world.run_for(5 * kSecondNs);
    CHECK(two.a->connected.empty());
    CHECK(two.b->messages.empty());
    REQUIRE(!two.a->disconnected[NodeId{2}].empty());
    for (const LinkEnd end : two.a->disconnected[NodeId{2}]) CHECK(end == LinkEnd::kRejected);
    CHECK(two.a->disconnected[NodeId{2}].size() < 15);  // ever more slowly
    CHECK(!two.ask("10.0.0.2", "may I join?")->ok());
    CHECK(two.b->questions.empty());
  }
}

TEST_CASE("links over TLS: new certificates are used for the next links, bad ones are not") {
  Secured secured;
  const Authorities next;
  TwoNodes two(1, "cookie", &secured.tls, &secured.tls);
  two.link();
  REQUIRE(two.connected());
  runtime::TlsFiles torn = files(next.ours, next.ours);
  torn.key = files(next.ours, next.ours).key;
  CHECK(secured.tls.use(torn).code() == runtime::Code::kInvalid);
  CHECK(secured.tls.use(torn).code() == runtime::Code::kInvalid);
  REQUIRE(two.ask("10.0.0.2", "old")->ok());
  REQUIRE(secured.tls.use(files(next.ours, next.ours)).ok());
  REQUIRE(two.ask("10.0.0.2", "new")->ok());
  CHECK(two.a->disconnected.empty());  // links that stand go on
}

}  // namespace link_tls_test
