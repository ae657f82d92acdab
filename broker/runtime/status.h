// How an operation that can fail for reasons outside the program says so (disk, peer, time-out,
// a bad configuration value). Protocol errors of a client are amqp::AmqpError; bugs are RT_CHECK.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::runtime {

enum class Code : unsigned char {
  kOk,
  kInvalid,      // an argument or a configuration value breaks a rule
  kNotFound,     // the thing named does not exist
  kExists,       // the thing named exists already
  kUnavailable,  // cannot be done now, may work later
  kRefused,      // the other machine says that nobody listens there
  kBusy,         // held by someone else (port in use, lock taken)
  kClosed,       // the peer or the owner closed it
  kTimeout,
  kCorrupt,  // stored or received bytes contradict their format
  kNoSpace,
  kIo,
};

// The result of an operation without a value. The text names the thing, the value and the rule.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : code_(code), text_(std::move(text)) {}

  bool ok() const { return code_ == Code::kOk; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& text() const { return text_; }

  // The same failure seen from one level higher: "while doing X: <text>".
  Status within(const std::string& context) const {
    return ok() ? *this : Status(code_, context + ": " + text_);
  }

 private:
  Code code_ = Code::kOk;
  std::string text_;
};

// A value or the reason why there is none. Asking a failed result for its value is a bug.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: a value is a result
  Result(Status status) : status_(std::move(status)) {  // NOLINT: so is a failure
    RT_CHECK(!status_.ok(), "a Result without a value needs a failure");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  T& value() & {
    RT_CHECK(ok(), "value() of a failed Result");
    return *value_;
  }
  const T& value() const& {
    RT_CHECK(ok(), "value() of a failed Result");
    return *value_;
  }
  T&& value() && {
    RT_CHECK(ok(), "value() of a failed Result");
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace ringtail::runtime

// Passes a failure up: RT_TRY(disk.sync(file));
#define RT_TRY(expression)                                  \
  do {                                                      \
    if (auto rt_status_ = (expression); !rt_status_.ok()) { \
      return rt_status_;                                    \
    }                                                       \
  } while (false)
