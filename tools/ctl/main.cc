// ringtailctl: the operator's tool. It answers to the names of RabbitMQ's tools too.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "tools/ctl/command.h"
#include "tools/ctl/http_api.h"

namespace {

using ringtail::ctl::CommandLine;
using ringtail::ctl::Context;
using ringtail::ctl::kExitSoftware;
using ringtail::ctl::kExitUsage;

constexpr const char* kDefaultUrl = "http://guest:guest@127.0.0.1:15672";
// As long as RabbitMQ's tools wait for most commands.
constexpr double kTimeoutS = 60;

}  // namespace

int main(int argc, char** argv) {
  const auto line = ringtail::ctl::parse_command_line(argc, argv);
  if (!line.ok()) {
    fmt::print(stderr, "Error (argument validation): {}\n", line.status().text());
    return kExitUsage;
  }
  const auto url = ringtail::ctl::parse_url(line.value().value("url", kDefaultUrl));
  if (!url.ok()) {
    fmt::print(stderr, "Error (argument validation): {}\n", url.status().text());
    return kExitUsage;
  }
  const auto api =
      ringtail::ctl::make_http_api(url.value(), line.value().timeout_s().value_or(kTimeoutS));
  Context context(line.value(), *api, std::cin, std::cout, std::cerr);
  const int code = ringtail::ctl::run_command(context);
  std::cout.flush();
  if (code == 0 && !std::cout) {
    fmt::print(stderr, "Error:\nthe output could not be written\n");
    return kExitSoftware;
  }
  return code;
}
