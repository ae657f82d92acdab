// Reply codes (AMQP 0-9-1, 1.2 constants) and the error that a client's mistake becomes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace ringtail::amqp {

enum class ReplyCode : std::uint16_t {
  kSuccess = 200,
  kContentTooLarge = 311,
  kNoRoute = 312,
  kNoConsumers = 313,
  kConnectionForced = 320,
  kInvalidPath = 402,
  kAccessRefused = 403,
  kNotFound = 404,
  kResourceLocked = 405,
  kPreconditionFailed = 406,
  kFrameError = 501,
  kSyntaxError = 502,
  kCommandInvalid = 503,
  kChannelError = 504,
  kUnexpectedFrame = 505,
  kResourceError = 506,
  kNotAllowed = 530,
  kNotImplemented = 540,
  kInternalError = 541,
};

// "NOT_FOUND"; "UNKNOWN" for a number that is none of them.
const char* reply_code_name(ReplyCode code);

// Soft errors close the channel, hard ones the connection.
bool is_hard(ReplyCode code);

// A client broke a rule. `text` is what follows "NAME - " in the reply text.
struct AmqpError {
  ReplyCode code = ReplyCode::kInternalError;
  std::string text;
  std::uint16_t class_id = 0;  // the method that failed; 0, 0 when there is none
  std::uint16_t method_id = 0;
};

// "NOT_FOUND - no queue 'q' in vhost '/'", cut to 255 bytes ending in "..." as RabbitMQ does.
std::string reply_text(const AmqpError& error);

}  // namespace ringtail::amqp
