// The files that commands read and write.
#pragma once

#include <string>
#include <string_view>

#include "broker/runtime/status.h"

namespace ringtail::ctl {

// kNotFound: there is no such file.
runtime::Result<std::string> read_file(const std::string& path);
// Readable by its owner alone: it may hold password hashes.
runtime::Status write_file(const std::string& path, std::string_view text);

}  // namespace ringtail::ctl
