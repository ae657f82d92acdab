// ringtail-dump: what the files of queues hold, for people and for programs.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tools/dump/dump.h"

namespace {

constexpr int kExitDamaged = 1;
constexpr int kExitUsage = 2;
constexpr std::string_view kUsage =
    "usage: ringtail-dump [--json] FILE...\n"
    "Prints what journals, segments, queue indexes and identities hold: a line for each record "
    "and\n"
    "each damage; with --json each line is an object. Exit code 1: a file is damaged; 2: it "
    "cannot\n"
    "be read.\n";

bool read_file(const std::string& path, std::vector<std::uint8_t>& bytes) {
  std::ifstream file(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return file.good() || file.eof();
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      fmt::print("{}", kUsage);
      return 0;
    }
    if (argument == "--json") {
      json = true;
    } else if (argument.substr(0, 2) == "--") {
      fmt::print(stderr, "unknown option {}\n{}", argument, kUsage);
      return kExitUsage;
    } else {
      files.emplace_back(argument);
    }
  }
  if (files.empty()) {
    fmt::print(stderr, "{}", kUsage);
    return kExitUsage;
  }
  int code = 0;
  for (const std::string& file : files) {
    std::vector<std::uint8_t> bytes;
    if (!read_file(file, bytes)) {
      fmt::print(stderr, "cannot read {}\n", file);
      return kExitUsage;
    }
    const bool good =
        ringtail::dump::dump_file(bytes, file, [json](const ringtail::dump::Line& line) {
          using Handler = ringtail::dump::Line::error_handler_t;
          fmt::print("{}\n", json ? line.dump(-1, ' ', false, Handler::replace)
                                  : ringtail::dump::text_of(line));
        });
    if (!good) code = kExitDamaged;
  }
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "the output could not be written\n");
    return kExitUsage;
  }
  return code;
}
