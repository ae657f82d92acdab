#include "cluster/identity.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_env.h"
#include "cluster/data_directory.h"

namespace identity_test {

using namespace ringtail;
using namespace ringtail::cluster;
using runtime::Code;

namespace {

struct Machine {
  runtime::SimWorld world{1};
  runtime::SimHost host{world};
  runtime::SimEnv env{host};
  runtime::Disk& disk = env.disk();
  runtime::Rng& rng = env.rng();
};

}  // namespace

TEST_CASE("a new node draws a number, and keeps it through a loss of power") {
  Machine machine;
  CHECK(read_identity(machine.disk, "/d").status().code() == Code::kNotFound);
  const auto first = load_identity(machine.disk, "/d", machine.rng);
  REQUIRE(first.ok());
  CHECK(first.value().node.value != 0);
  CHECK_FALSE(first.value().has_cluster());
  machine.host.drive().crash();
  runtime::SimEnv next(machine.host);
  const auto again = load_identity(next.disk(), "/d", next.rng());
  REQUIRE(again.ok());
  CHECK(again.value().node == first.value().node);
}

TEST_CASE("what is said of the cluster comes back; a damaged file is named and never guessed") {
  Machine machine;
  REQUIRE(machine.disk.make_directory("/d").ok());
  Identity identity{runtime::NodeId{0xffffffff}, {}, 3};
  for (std::size_t i = 0; i < identity.cluster.size(); ++i) {
    identity.cluster[i] = static_cast<std::uint8_t>(17 * i);
  }
  REQUIRE(save_identity(machine.disk, "/d", identity).ok());
  const auto back = read_identity(machine.disk, "/d");
  REQUIRE(back.ok());
  CHECK(back.value().node == identity.node);
  CHECK(back.value().cluster == identity.cluster);
  CHECK(back.value().force_generation == 3);
  CHECK(to_text(identity.cluster) == "00112233445566778899aabbccddeeff");
  const std::string text = encode(identity);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string wrong = text;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    REQUIRE(machine.disk.replace("/d/node", wrong).ok());
    const auto status = load_identity(machine.disk, "/d", machine.rng).status();
    CHECK(status.code() == Code::kCorrupt);
    CHECK(status.text().find("/d/node") != std::string::npos);
    REQUIRE(machine.disk.replace("/d/node", text.substr(0, at)).ok());
    CHECK(load_identity(machine.disk, "/d", machine.rng).status().code() == Code::kCorrupt);
  }
}

TEST_CASE("a cookie is made once; an empty one is refused") {
  Machine machine;
  REQUIRE(machine.disk.make_directory("/d").ok());
  const auto made = load_cookie(machine.disk, "/d/cookie", machine.rng);
  REQUIRE(made.ok());
  CHECK(made.value().size() == 64);
  CHECK(load_cookie(machine.disk, "/d/cookie", machine.rng).value() == made.value());
  REQUIRE(machine.disk.replace("/d/cookie", " \t secret \r\n").ok());
  CHECK(load_cookie(machine.disk, "/d/cookie", machine.rng).value() == "secret");
  REQUIRE(machine.disk.replace("/d/cookie", " \n").ok());
  CHECK(load_cookie(machine.disk, "/d/cookie", machine.rng).status().code() == Code::kInvalid);
}

TEST_CASE("a data directory has one node, and is of this kind") {
  Machine machine;
  const auto first = open_data_directory(machine.env, "/d", "");
  REQUIRE(first.ok());
  const auto second = open_data_directory(machine.env, "/d", "");
  CHECK(second.status().code() == Code::kBusy);
  CHECK(second.status().text().find("/d is in use by another node") != std::string::npos);
  REQUIRE(machine.disk.make_directory("/old/metadata").ok());
  CHECK(open_data_directory(machine.env, "/old", "").status().code() == Code::kInvalid);
}

TEST_CASE("a directory that is wiped never has a log without the number that it belongs to") {
  bool failed = true;
  for (std::uint64_t n = 1; failed; ++n) {
    CAPTURE(n);
    REQUIRE(n < 50);
    Machine machine;
    REQUIRE(machine.disk.make_directory("/d/raft").ok());
    REQUIRE(machine.disk.make_directory("/d/queues").ok());
    for (const char* name : {"cookie", "lock", "node", "join", "raft/log-1", "queues/q"}) {
      REQUIRE(machine.disk.replace(std::string("/d/") + name, "x").ok());
    }
    for (const char* directory : {"/", "/d", "/d/raft", "/d/queues"}) {
      REQUIRE(machine.disk.sync_directory(directory).ok());
    }
    machine.host.drive().fail_call(runtime::SimDiskCall::kName, n, Code::kIo);
    failed = !wipe_data_directory(machine.disk, "/d").ok();
    if (!failed) (void)machine.disk.list("/d");  // the failure that was left over
    machine.host.drive().crash();
    const std::vector<std::string> names = machine.disk.list("/d").value();
    const auto has = [&names](const char* name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    CHECK((has("node") || !has("raft")));
    CHECK(has("cookie"));
    CHECK(has("lock"));
    if (!failed) CHECK(names.size() == 2);
  }
}

}  // namespace identity_test
