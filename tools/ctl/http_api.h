// The broker over HTTP, one connection for the whole run.
#pragma once

#include <memory>

#include "tools/ctl/api.h"
#include "tools/ctl/command_line.h"

namespace ringtail::ctl {

// `timeout_s` 0: no limit. Of all that the program waits for together.
std::unique_ptr<Api> make_http_api(const Url& url, double timeout_s);

}  // namespace ringtail::ctl
