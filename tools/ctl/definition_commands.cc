// Definitions: all that is declared, as one file.
#include <fmt/format.h>

#include <array>
#include <istream>
#include <iterator>
#include <ostream>

#include "tools/ctl/command.h"
#include "tools/ctl/files.h"

namespace ringtail::ctl {

namespace {

bool json_wanted(Context& context, int& code) {
  if (context.line.value("format", "json") == "json") return true;
  code = context.fail(kExitUsage, fmt::format("there is no format '{}': json is",
                                              context.line.value("format", "")));
  return false;
}

// Of the vhost that is named, otherwise of all.
std::string path_of_definitions(const CommandLine& line) {
  return line.has("vhost") ? path_of({"definitions", line.vhost()}) : "definitions";
}

int export_definitions(Context& context) {
  const std::string& path = context.argument(0);
  const bool to_output = path == "-";
  int code = kExitOk;
  if (!json_wanted(context, code)) return code;
  if (!to_output) {
    context.banner(fmt::format("Exporting definitions in JSON to a file at \"{}\" ...", path));
  }
  Reply reply;
  if (!context.send({"GET", path_of_definitions(context.line)}, reply, code)) return code;
  if (!reply.good()) return context.refused(reply);
  if (to_output) {
    context.out << reply.body << '\n';
    return kExitOk;
  }
  if (const auto status = write_file(path, reply.body); !status.ok()) {
    return context.fail(kExitUnavailable, status.text());
  }
  return context.done();
}

int import_definitions(Context& context) {
  const bool from_input = context.line.arguments.empty() || context.argument(0) == "-";
  const std::string path = from_input ? "" : context.argument(0);
  int code = kExitOk;
  if (!json_wanted(context, code)) return code;
  context.banner(
      from_input ? "Importing definitions in JSON from standard input ..."
                 : fmt::format("Importing definitions in JSON from a file at \"{}\" ...", path));
  std::string text;
  if (from_input) {
    text.assign(std::istreambuf_iterator<char>(context.in), {});
  } else {
    auto read = read_file(path);
    if (!read.ok()) return context.fail(kExitData, read.status().text());
    text = std::move(read).value();
  }
  if (!Json::accept(text)) {
    return context.fail(kExitData, fmt::format("{} is no JSON", from_input ? "the input" : path));
  }
  Reply reply;
  Request request{"POST", path_of_definitions(context.line), std::move(text)};
  if (!context.send(request, reply, code)) return code;
  if (reply.status == 404) return context.no_vhost(context.line.vhost());
  return reply.good() ? context.done() : context.refused(reply);
}

}  // namespace

std::span<const Command> definition_commands() {
  static constexpr std::string_view kGroup = "Definitions";
  static constexpr std::array kCommands = {
      Command{kGroup, "export_definitions", "[--vhost <vhost>] <file_path | \"-\"> [--format json]",
              "Writes all that is declared, of the broker or one virtual host, to a file", 1, 1,
              "vhost format", export_definitions},
      Command{kGroup, "import_definitions",
              "[--vhost <vhost>] <file_path | \"-\"> [--format json] [--skip-if-unchanged]",
              "Declares what a file of definitions holds; nothing is removed", 0, 1,
              "vhost format skip-if-unchanged", import_definitions},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
