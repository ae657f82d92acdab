// The node program: reads the configuration, runs a Node until SIGTERM or SIGINT; SIGHUP makes it
// look at its certificate files.
#include <cstdio>

#include "broker/channel.h"
#include "broker/node.h"
#include "broker/runtime/log.h"
#include "broker/runtime/uv/uv_signals.h"
#include "broker/runtime/version.h"

namespace {

using ringtail::runtime::CommandLine;
using ringtail::runtime::log;
using ringtail::runtime::LogLevel;

// Of the node's end, as sysexits.h and RabbitMQ's tools have them.
constexpr int kExitConfig = 78;

int run(const ringtail::runtime::Config& config) {
  ringtail::runtime::set_log_level(config.log_level);
  log(LogLevel::kInfo, "node", "{} is {}, {} shards", config.node_name,
      ringtail::runtime::kVersionLine, config.shards);
  for (const std::string& warning : config.warnings)
    log(LogLevel::kWarning, "config", "{}", warning);

  ringtail::broker::Node node(config);
  bool stopping = false;
  ringtail::runtime::UvSignals* signals_in_use = nullptr;
  ringtail::runtime::UvSignals signals([&](int number) {
    if (number == ringtail::runtime::kReloadSignal) {
      if (!stopping) node.reload_certificate();
      return;
    }
    if (stopping) return;
    stopping = true;
    log(LogLevel::kInfo, "node", "stopping on signal {}", number);
    node.shut_down([&] { signals_in_use->stop(); });
  });
  signals_in_use = &signals;
  if (const auto status = node.start(); !status.ok()) {
    log(LogLevel::kError, "node", "cannot start: {}", status.text());
    return 1;
  }
  log(LogLevel::kInfo, "node", "ready");
  signals.run();
  node.stop();
  log(LogLevel::kInfo, "node", "stopped");
  return 0;
}

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
  return run(command_line.config);
}
