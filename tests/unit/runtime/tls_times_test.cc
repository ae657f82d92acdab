#include <doctest/doctest.h>

#include <ctime>
#include <string>

#include "broker/runtime/tls/tls_context.h"
#include "tests/unit/runtime/tls_certificates.h"

namespace ringtail::runtime::tls_times_test {

TEST_CASE("certificates say from when to when they are valid") {
  const std::int64_t now = std::time(nullptr);
  const TestCertificate young({.from_s = 100, .to_s = 86400 * 400});
  const TestCertificate old({.from_s = -86400 * 30, .to_s = -5000});
  const auto times = certificate_times(young.certificate() + old.certificate());
  REQUIRE(times.ok());
  REQUIRE(times.value().size() == 2);
  const auto near = [&](std::int64_t time, std::int64_t wanted) {
    return time >= now + wanted && time <= now + wanted + 60;
  };
  CHECK(near(times.value()[0].begin_s, 100));
  CHECK(near(times.value()[0].end_s, 86400 * 400));
  CHECK(near(times.value()[1].begin_s, -86400 * 30));
  CHECK(near(times.value()[1].end_s, -5000));
  for (const std::string& none : {std::string(), std::string("text"), young.key()}) {
    CHECK(certificate_times(none).status().code() == Code::kInvalid);
  }
}

}  // namespace ringtail::runtime::tls_times_test
