// Private to the configuration: the lines of a rabbitmq.conf-style file into a draft.
#pragma once

#include <string>
#include <string_view>

#include "broker/runtime/config_settings.h"

namespace ringtail::runtime {

// Applies every line and then file_done(). An error names `name`, the line, the key and the rule.
Status apply_config_lines(ConfigDraft& draft, std::string_view text, const std::string& name);

// The whole file; an error names it and the reason.
Result<std::string> read_config_file(const std::string& path);

}  // namespace ringtail::runtime
