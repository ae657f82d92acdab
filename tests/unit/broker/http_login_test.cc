#include <doctest/doctest.h>

#include "broker/base64.h"
#include "broker/http/login.h"

namespace http_login_test {

namespace http = ringtail::broker::http;
using http::Credentials;
using http::LoginThrottle;

namespace {

std::string header(const std::string& text) {
  return "Basic " + ringtail::broker::base64_encode(text);
}

const Credentials kRight{"admin", "right"};
const Credentials kWrong{"admin", "wrong"};

}  // namespace

TEST_CASE("HTTP Basic") {
  const auto plain = http::basic_credentials(header("user:pass:word"));
  REQUIRE(plain);
  CHECK(plain->user == "user");
  CHECK(plain->password == "pass:word");  // the first colon parts them
  const auto empty = http::basic_credentials(header(":"));
  REQUIRE(empty);
  CHECK(empty->user.empty());
  CHECK(http::basic_credentials("bAsIc   " + ringtail::broker::base64_encode("a:b")));
  for (const std::string& wrong :
       {std::string(), std::string("Basic"), std::string("Basic "), std::string("Basic !!!"),
        std::string("Bearer abc"), header("no colon"), std::string("Basicabcd")}) {
    CAPTURE(wrong);
    CHECK_FALSE(http::basic_credentials(wrong));
  }
}

TEST_CASE("an address that failed too often waits, and others do not") {
  LoginThrottle throttle;
  for (int i = 0; i < LoginThrottle::kBurst; ++i) {
    CHECK(throttle.may_try("1.1.1.1", kWrong, 1000));
    throttle.failed("1.1.1.1", "admin", 1000);
  }
  CHECK_FALSE(throttle.may_try("1.1.1.1", kWrong, 1000));
  // The right ones, too: who guesses would learn them otherwise.
  CHECK_FALSE(throttle.may_try("1.1.1.1", kRight, 1000));
  CHECK(throttle.may_try("2.2.2.2", kWrong, 1000));
  // Time gives one try back, then all of them and no more.
  CHECK_FALSE(throttle.may_try("1.1.1.1", kWrong, 1000 + LoginThrottle::kMsPerFailure - 1));
  CHECK(throttle.may_try("1.1.1.1", kWrong, 1000 + LoginThrottle::kMsPerFailure));
  throttle.failed("1.1.1.1", "admin", 1000 + LoginThrottle::kMsPerFailure);
  CHECK_FALSE(throttle.may_try("1.1.1.1", kWrong, 1000 + LoginThrottle::kMsPerFailure));
  for (int i = 0; i < LoginThrottle::kBurst; ++i) {
    CHECK(throttle.may_try("1.1.1.1", kWrong, 1000000));
    throttle.failed("1.1.1.1", "admin", 1000000);
  }
  CHECK_FALSE(throttle.may_try("1.1.1.1", kWrong, 1000000));
}

TEST_CASE("guesses at one user do not lock out another at the same address") {
  LoginThrottle throttle;
  for (int i = 0; i < LoginThrottle::kBurst; ++i) throttle.failed("1.1.1.1", "admin", 1000);
  CHECK_FALSE(throttle.may_try("1.1.1.1", kRight, 1000));
  CHECK(throttle.may_try("1.1.1.1", {"other", "x"}, 1000));
}

TEST_CASE("an address that guesses at many users waits, and is not forgotten for their number") {
  LoginThrottle throttle;
  const int most = LoginThrottle::kBurst * LoginThrottle::kUsers;
  for (int i = 0; i < most; ++i) {
    CHECK(throttle.may_try("1.1.1.1", {"user" + std::to_string(i), "x"}, 1000));
    throttle.failed("1.1.1.1", "user" + std::to_string(i), 1000);
  }
  CHECK_FALSE(throttle.may_try("1.1.1.1", {"fresh", "x"}, 1000));
  CHECK(throttle.may_try("2.2.2.2", {"fresh", "x"}, 1000));
  const std::uint64_t one_back = LoginThrottle::kMsPerFailure / LoginThrottle::kUsers;
  CHECK(throttle.may_try("1.1.1.1", {"fresh", "x"}, 1000 + one_back));
  for (std::size_t i = 0; i < 2 * LoginThrottle::kCountsKept; ++i) {
    throttle.failed("1.1.1.1", "user" + std::to_string(i), 1000 + one_back);
  }
  CHECK_FALSE(throttle.may_try("1.1.1.1", {"fresh", "x"}, 1000 + one_back));
}

TEST_CASE("who was right from an address stays welcome beside one who guesses there") {
  LoginThrottle throttle;
  throttle.succeeded("1.1.1.1", kRight);
  for (int i = 0; i < 1000; ++i) throttle.failed("1.1.1.1", "admin", 1000);
  CHECK_FALSE(throttle.may_try("1.1.1.1", kWrong, 1000));
  CHECK(throttle.may_try("1.1.1.1", kRight, 1000));
  for (int i = 0; i < 1000; ++i) throttle.failed("2.2.2.2", "admin", 1000);
  CHECK_FALSE(throttle.may_try("2.2.2.2", kRight, 1000));
}

TEST_CASE("guesses of one network count together") {
  CHECK(http::guessing_source("10.1.2.3") == "10.1.2.3");
  CHECK(http::guessing_source("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::");
  CHECK(http::guessing_source("2001:db8:1:2::7") == "2001:db8:1:2::");
  CHECK(http::guessing_source("2001:db8:1:3::7") == "2001:db8:1:3::");
  CHECK(http::guessing_source("::ffff:10.1.2.3") == "::ffff:10.1.2.3");
}

TEST_CASE("addresses and credentials that are remembered are bounded") {
  LoginThrottle throttle;
  throttle.succeeded("1.1.1.1", kRight);
  for (std::size_t i = 0; i < LoginThrottle::kCredentialsKept; ++i) {
    throttle.succeeded("1.1.1.1", {"user" + std::to_string(i), "x"});
  }
  for (int i = 0; i < 100; ++i) throttle.failed("1.1.1.1", "admin", 1000);
  CHECK_FALSE(throttle.may_try("1.1.1.1", kRight, 1000));
  CHECK(throttle.may_try("1.1.1.1", {"user1", "x"}, 1000));
  for (std::size_t i = 0; i < LoginThrottle::kCountsKept; ++i) {
    throttle.failed("10." + std::to_string(i), "admin", 1000);
  }
  CHECK(throttle.may_try("1.1.1.1", kWrong, 1000));  // forgotten
}

}  // namespace http_login_test
