#include "broker/runtime/uv/uv_error.h"

#include <uv.h>

#include <cerrno>

namespace ringtail::runtime {

namespace {

Code code_of(int error) {
  switch (error) {
    case UV_ENOENT:
      return Code::kNotFound;
    case UV_EEXIST:
      return Code::kExists;
    case UV_ENOSPC:
    case -EDQUOT:
      return Code::kNoSpace;
    case UV_EINVAL:
    case UV_EADDRNOTAVAIL:
    case UV_EAFNOSUPPORT:
      return Code::kInvalid;
    case UV_EADDRINUSE:
    case UV_EBUSY:
    case UV_ETXTBSY:
      return Code::kBusy;
    case UV_EOF:
    case UV_ECONNRESET:
    case UV_EPIPE:
    case UV_ECANCELED:
    case UV_ENOTCONN:
      return Code::kClosed;
    case UV_ETIMEDOUT:
      return Code::kTimeout;
    case UV_ECONNREFUSED:
      return Code::kRefused;
    case UV_EHOSTUNREACH:
    case UV_ENETUNREACH:
    case UV_EMFILE:
    case UV_ENFILE:
    case UV_ENOMEM:
    case UV_ENOBUFS:
    case UV_EACCES:
    case UV_EPERM:
    case UV_EROFS:
      return Code::kUnavailable;
    default:
      return Code::kIo;
  }
}

}  // namespace

Status uv_status(int error, const std::string& what) {
  return {code_of(error), what + ": " + uv_strerror(error)};
}

}  // namespace ringtail::runtime
