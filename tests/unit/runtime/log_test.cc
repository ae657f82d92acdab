// The log's levels and the form of its lines.
#include "broker/runtime/log.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <regex>
#include <string>

namespace log_test {

using namespace ringtail::runtime;

namespace {

// What stderr gets while it lives.
class Captured {
 public:
  Captured() : file_(std::tmpfile()), saved_(dup(STDERR_FILENO)) {
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~Captured() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    std::fclose(file_);
  }
  std::string text() {
    std::string result;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
      result += static_cast<char>(c);
    }
    return result;
  }

 private:
  std::FILE* file_;
  int saved_;
};

}  // namespace

TEST_CASE("log: levels by name") {
  CHECK(parse_log_level("debug").value() == LogLevel::kDebug);
  CHECK(parse_log_level("info").value() == LogLevel::kInfo);
  CHECK(parse_log_level("warning").value() == LogLevel::kWarning);
  CHECK(parse_log_level("error").value() == LogLevel::kError);
  CHECK(parse_log_level("critical").value() == LogLevel::kError);
  CHECK(parse_log_level("none").value() == LogLevel::kNone);
  CHECK(parse_log_level("loud").status().code() == Code::kInvalid);
  CHECK(parse_log_level("loud").status().text().find("'loud'") != std::string::npos);
}

TEST_CASE("log: a line has time, level, component and text") {
  set_log_level(LogLevel::kInfo);
  Captured captured;
  log(LogLevel::kInfo, "listener", "AMQP on {}:{}", "127.0.0.1", 5672);
  log(LogLevel::kDebug, "listener", "not seen");
  log(LogLevel::kWarning, "net", "100 % {{}}");
  const std::regex lines(
      R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[info\] \[listener\] AMQP on 127\.0\.0\.1:5672\n)"
      R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[warning\] \[net\] 100 % \{\}\n)");
  const std::string text = captured.text();
  CHECK_MESSAGE(std::regex_match(text, lines), text);
}

TEST_CASE("log: nothing is said at level none") {
  set_log_level(LogLevel::kNone);
  Captured captured;
  log(LogLevel::kError, "node", "lost");
  CHECK(captured.text().empty());
  CHECK_FALSE(log_enabled(LogLevel::kError));
  CHECK_FALSE(log_enabled(LogLevel::kNone));
  set_log_level(LogLevel::kInfo);
  CHECK(log_enabled(LogLevel::kError));
  CHECK_FALSE(log_enabled(LogLevel::kDebug));
}

}  // namespace log_test
