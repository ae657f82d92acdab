// Private to the configuration: the lines of a rabbitmq.conf-style file into a draft.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/config_settings.h"

namespace ringtail::runtime {

// Applies every line; after the last file comes file_done(). An error names `name`, the line, the
// key and the rule.
Status apply_config_lines(ConfigDraft& draft, std::string_view text, const std::string& name);

// That file, then conf.d/*.conf of its directory in the order of their names.
Result<std::vector<std::string>> config_files(const std::string& path);

// The whole file; an error names it and the reason.
Result<std::string> read_config_file(const std::string& path);

}  // namespace ringtail::runtime
