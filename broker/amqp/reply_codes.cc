#include "broker/amqp/reply_codes.h"

#include <cstddef>

#include "broker/runtime/limits.h"

namespace ringtail::amqp {

const char* reply_code_name(ReplyCode code) {
  switch (code) {
    case ReplyCode::kSuccess:
      return "REPLY_SUCCESS";
    case ReplyCode::kContentTooLarge:
      return "CONTENT_TOO_LARGE";
    case ReplyCode::kNoRoute:
      return "NO_ROUTE";
    case ReplyCode::kNoConsumers:
      return "NO_CONSUMERS";
    case ReplyCode::kConnectionForced:
      return "CONNECTION_FORCED";
    case ReplyCode::kInvalidPath:
      return "INVALID_PATH";
    case ReplyCode::kAccessRefused:
      return "ACCESS_REFUSED";
    case ReplyCode::kNotFound:
      return "NOT_FOUND";
    case ReplyCode::kResourceLocked:
      return "RESOURCE_LOCKED";
    case ReplyCode::kPreconditionFailed:
      return "PRECONDITION_FAILED";
    case ReplyCode::kFrameError:
      return "FRAME_ERROR";
    case ReplyCode::kSyntaxError:
      return "SYNTAX_ERROR";
    case ReplyCode::kCommandInvalid:
      return "COMMAND_INVALID";
    case ReplyCode::kChannelError:
      return "CHANNEL_ERROR";
    case ReplyCode::kUnexpectedFrame:
      return "UNEXPECTED_FRAME";
    case ReplyCode::kResourceError:
      return "RESOURCE_ERROR";
    case ReplyCode::kNotAllowed:
      return "NOT_ALLOWED";
    case ReplyCode::kNotImplemented:
      return "NOT_IMPLEMENTED";
    case ReplyCode::kInternalError:
      return "INTERNAL_ERROR";
  }
  return "UNKNOWN";
}

bool is_hard(ReplyCode code) {
  switch (code) {
    case ReplyCode::kConnectionForced:
    case ReplyCode::kInvalidPath:
    case ReplyCode::kFrameError:
    case ReplyCode::kSyntaxError:
    case ReplyCode::kCommandInvalid:
    case ReplyCode::kChannelError:
    case ReplyCode::kUnexpectedFrame:
    case ReplyCode::kResourceError:
    case ReplyCode::kNotAllowed:
    case ReplyCode::kNotImplemented:
    case ReplyCode::kInternalError:
      return true;
    case ReplyCode::kSuccess:
    case ReplyCode::kContentTooLarge:
    case ReplyCode::kNoRoute:
    case ReplyCode::kNoConsumers:
    case ReplyCode::kAccessRefused:
    case ReplyCode::kNotFound:
    case ReplyCode::kResourceLocked:
    case ReplyCode::kPreconditionFailed:
      return false;
  }
  return true;
}

std::string reply_text(const AmqpError& error) {
  std::string text = std::string(reply_code_name(error.code)) + " - " + error.text;
  if (text.size() <= runtime::kShortStringMax) return text;
  std::size_t end = runtime::kShortStringMax - 3;
  // Octets 10xxxxxx continue a character of UTF-8 (at most three of them do). Text that is no UTF-8
  // is cut where it is.
  std::size_t start = end;
  while (end - start < 3 && start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) {
    --start;
  }
  if ((static_cast<unsigned char>(text[start]) & 0xC0) != 0x80) end = start;
  text.resize(end);
  text += "...";
  return text;
}

}  // namespace ringtail::amqp
