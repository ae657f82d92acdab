// What a configuration and a data directory say of a node's place in its cluster.
#include "broker/control_options.h"

#include <doctest/doctest.h>

namespace control_options_test {

using namespace ringtail;
using broker::check_formation;

namespace {

runtime::Config listed(const std::string& own) {
  runtime::Config config;
  config.node_name = own;
  config.cluster.peers = {"rabbit@a", "rabbit@b", "rabbit@c"};
  return config;
}

}  // namespace

TEST_CASE("formation: a node that is to begin with a list has to stand in it") {
  cluster::DataDirectory empty;
  CHECK(check_formation(listed("rabbit@b"), empty).ok());
  const runtime::Status status = check_formation(listed("ringtail@b"), empty);
  CHECK(status.code() == runtime::Code::kInvalid);
  for (const char* named : {"ringtail@b", "rabbit@a, rabbit@b, rabbit@c", "--join"}) {
    CHECK_MESSAGE(status.text().find(named) != std::string::npos, status.text());
  }
  runtime::Config alone;
  alone.node_name = "ringtail@b";
  CHECK(check_formation(alone, empty).ok());
}

TEST_CASE("formation: the list is not looked at where there is a cluster, or one to join") {
  runtime::Config joins = listed("ringtail@d");
  joins.cluster.join = {{"a", 25672}};
  CHECK(check_formation(joins, cluster::DataDirectory{}).ok());
  cluster::DataDirectory told;  // by join_cluster
  told.join = "rabbit@a";
  CHECK(check_formation(listed("ringtail@d"), told).ok());
  cluster::DataDirectory member;
  member.identity.cluster[0] = 1;
  CHECK(check_formation(listed("ringtail@d"), member).ok());
}

}  // namespace control_options_test
