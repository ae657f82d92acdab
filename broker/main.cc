// The node program: reads the configuration, then is an App until SIGTERM or SIGINT; SIGHUP makes
// it look at its certificate files.
#include <cstdio>

#include "broker/app.h"
#include "broker/runtime/config.h"
#include "broker/runtime/log.h"

namespace {

using ringtail::broker::kExitConfig;
using ringtail::runtime::CommandLine;

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = ringtail::runtime::parse_command_line(argc, argv);
  if (!parsed.ok()) {
    std::fprintf(stderr, "ringtail: %s\n", parsed.status().text().c_str());
    return kExitConfig;
  }
  const CommandLine& command_line = parsed.value();
  if (command_line.action != CommandLine::Action::kRun) {
    std::fputs(command_line.text.c_str(), stdout);
    return 0;
  }
  ringtail::runtime::set_log_level(command_line.config.log_level);
  return ringtail::broker::App(command_line.config).run();
}
