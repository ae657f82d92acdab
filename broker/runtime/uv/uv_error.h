// What libuv and the kernel report, as Status.
#pragma once

#include <string>

#include "broker/runtime/status.h"

namespace ringtail::runtime {

// `error` is a negative code of libuv (which is -errno on Linux); `what` names what was tried and
// on which thing: "cannot open /x: no such file or directory".
Status uv_status(int error, const std::string& what);
inline Status errno_status(int error, const std::string& what) { return uv_status(-error, what); }

}  // namespace ringtail::runtime
