#include "broker/access_control.h"

#include <doctest/doctest.h>

#include <string>

#include "cluster/metadata/store.h"

namespace access_control_test {

using ringtail::amqp::Permission;
using ringtail::broker::AccessControl;
using ringtail::broker::NamePattern;
using ringtail::broker::with_variables;
using namespace ringtail::cluster::metadata;

namespace {

struct Fixture {
  Store store{1};
  AccessControl access{store};
  Fixture() {
    user("u");
    permit("u", "^c", "^w", "^r");
  }
  void user(const std::string& name) { store.apply(PutUser{{.name = name}}); }
  void permit(const std::string& name, const std::string& configure, const std::string& write,
              const std::string& read) {
    store.apply(PutPermission{
        {.vhost = "/", .user = name, .configure = configure, .write = write, .read = read}});
  }
  void topic(const std::string& name, const std::string& exchange, const std::string& write,
             const std::string& read) {
    store.apply(PutTopicPermission{
        {.vhost = "/", .user = name, .exchange = exchange, .write = write, .read = read}});
  }
  bool may(Permission permission, const std::string& name, const std::string& who = "u") {
    return access.allows(who, "/", permission, name);
  }
};

}  // namespace

TEST_CASE("patterns: not anchored; empty is the empty name; a broken one allows nothing") {
  CHECK(NamePattern(".*").matches(""));
  CHECK(NamePattern(".*").matches("any"));
  CHECK(NamePattern("").matches(""));
  CHECK_FALSE(NamePattern("").matches("any"));
  CHECK(NamePattern("n").matches("any"));
  CHECK_FALSE(NamePattern("^n$").matches("any"));
  CHECK_FALSE(NamePattern("(").matches(""));
  CHECK_FALSE(NamePattern("(").matches("("));
}

TEST_CASE_FIXTURE(Fixture, "each permission has its own pattern") {
  CHECK(may(Permission::kConfigure, "cq"));
  CHECK_FALSE(may(Permission::kConfigure, "wq"));
  CHECK(may(Permission::kWrite, "wq"));
  CHECK_FALSE(may(Permission::kWrite, "rq"));
  CHECK(may(Permission::kRead, "rq"));
  CHECK_FALSE(may(Permission::kRead, "cq"));
}

TEST_CASE_FIXTURE(Fixture, "the default exchange goes by amq.default") {
  CHECK(AccessControl::shown_exchange("") == "amq.default");
  CHECK(AccessControl::shown_exchange("x") == "x");
  permit("u", "", "", "");
  CHECK_FALSE(may(Permission::kWrite, "amq.default"));
  permit("u", "", "^amq\\.default$", "");
  CHECK(may(Permission::kWrite, "amq.default"));
}

TEST_CASE_FIXTURE(Fixture, "who has no permission record may neither enter nor do anything") {
  user("stranger");
  CHECK(access.may_enter("u", "/"));
  CHECK_FALSE(access.may_enter("stranger", "/"));
  CHECK_FALSE(access.may_enter("nobody", "/"));
  CHECK_FALSE(access.may_enter("u", "other"));
  CHECK_FALSE(may(Permission::kRead, "rq", "stranger"));
  CHECK_FALSE(may(Permission::kRead, "rq", "nobody"));
}

TEST_CASE_FIXTURE(Fixture, "a change acts at once") {
  CHECK(may(Permission::kConfigure, "cq"));
  const auto before = access.version();
  permit("u", "^x", "^w", "^r");
  CHECK(access.version() != before);
  CHECK_FALSE(may(Permission::kConfigure, "cq"));
  CHECK(may(Permission::kConfigure, "xq"));
  store.apply(DeletePermission{"/", "u"});
  CHECK_FALSE(may(Permission::kConfigure, "xq"));
  CHECK_FALSE(access.may_enter("u", "/"));
}

TEST_CASE_FIXTURE(Fixture, "topic permissions") {
  CHECK(access.topic_pattern("u", "/", "t", Permission::kWrite) == nullptr);
  topic("u", "t", "^w\\.{username}$", "^r");
  const NamePattern* write = access.topic_pattern("u", "/", "t", Permission::kWrite);
  REQUIRE(write != nullptr);
  CHECK(write->matches("w.u"));
  CHECK_FALSE(write->matches("w.v"));
  const NamePattern* read = access.topic_pattern("u", "/", "t", Permission::kRead);
  REQUIRE(read != nullptr);
  CHECK(read->matches("r.1"));
  CHECK_FALSE(read->matches("w.u"));
  CHECK(access.topic_pattern("u", "/", "other", Permission::kWrite) == nullptr);
  store.apply(DeleteTopicPermission{"/", "u", std::nullopt});
  CHECK(access.topic_pattern("u", "/", "t", Permission::kWrite) == nullptr);
}

TEST_CASE("variables stand for themselves, whatever characters a name holds") {
  CHECK(with_variables("^{username}-{vhost}-{username}$", "u", "v") == "^u-v-u$");
  CHECK(with_variables("{client_id}{user}", "u", "v") == "{client_id}{user}");
  const NamePattern dots(with_variables("^{username}$", "a.b", "/"));
  CHECK(dots.matches("a.b"));
  CHECK_FALSE(dots.matches("axb"));
  const NamePattern everything(with_variables("^{username}$", ".*", "/"));
  CHECK(everything.matches(".*"));
  CHECK_FALSE(everything.matches("anything"));
  const NamePattern vhost(with_variables("^{vhost}\\.", "u", "/"));
  CHECK(vhost.matches("/.k"));
  const NamePattern utf8(with_variables("^{username}$", "jürgen", "/"));
  CHECK(utf8.matches("jürgen"));
}

}  // namespace access_control_test
