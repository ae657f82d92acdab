// From a command line to its command.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "broker/runtime/version.h"
#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

// Names further away than this are no help.
constexpr std::size_t kNear = 3;
constexpr std::size_t kNearestMax = 3;

// Insertions, deletions, replacements and swaps of neighbours that make one of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

bool names(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t space = std::min(list.find(' '), list.size());
    if (list.substr(0, space) == word) return true;
    list.remove_prefix(std::min(space + 1, list.size()));
  }
  return false;
}

int wrong_arguments(Context& context, const Command& command, std::string_view why) {
  context.err << fmt::format("Error (argument validation): {}\nArguments given:\n\t{}\n\n{}", why,
                             context.line.given, usage_of(context.line.program, command));
  return kExitUsage;
}

// Of RabbitMQ's tools, but not here.
int absent_command(Context& context, const std::string& name) {
  return context.fail(kExitUnavailable,
                      fmt::format("{} is not in this version: {}", name, instead_of(name)));
}

int unknown_command(Context& context) {
  const CommandLine& line = context.line;
  if (!instead_of(line.command).empty()) return absent_command(context, line.command);
  context.err << fmt::format("\nCommand '{}' not found. \n", line.command);
  const auto near = nearest_commands(line.command);
  if (near.empty()) {
    context.err << usage_text(line.program);
  } else {
    context.err << fmt::format("Did you mean '{}'? \n\n", fmt::join(near, "', '"));
  }
  return kExitUsage;
}

int help(Context& context) {
  const CommandLine& line = context.line;
  const std::string wanted = line.command == "help"
                                 ? (line.arguments.empty() ? "" : line.arguments.front())
                                 : line.command;
  if (wanted.empty()) {
    context.out << usage_text(line.program);
    return kExitOk;
  }
  const Command* command = find_command(wanted);
  if (command == nullptr) {
    if (!instead_of(wanted).empty()) return absent_command(context, wanted);
    context.err << fmt::format("\nCommand '{}' not found. \n", wanted);
    return kExitUsage;
  }
  context.out << usage_of(line.program, *command) << '\n' << command->help << ".\n";
  return kExitOk;
}

}  // namespace

std::vector<const Command*> all_commands() {
  std::vector<const Command*> all;
  for (const auto commands :
       {user_commands(), access_commands(), vhost_commands(), policy_commands(),
        parameter_commands(), list_commands(), queue_commands(), connection_commands(),
        node_commands(), cluster_commands(), check_commands(), definition_commands(),
        data_commands()}) {
    for (const Command& command : commands) all.push_back(&command);
  }
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : all_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

std::vector<std::string> nearest_commands(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  if (name.size() > 64) return {};  // no name, and the work grows with it
  for (const Command* command : all_commands()) {
    const std::size_t far = distance(name, command->name);
    if (far <= kNear && far < command->name.size() / 2) ranked.emplace_back(far, command->name);
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > kNearestMax) ranked.resize(kNearestMax);
  std::vector<std::string> nearest;
  for (auto& [far, found] : ranked) nearest.push_back(std::move(found));
  return nearest;
}

std::string usage_of(std::string_view program, const Command& command) {
  return fmt::format("Usage\n\n{} [--url <url>] [--quiet] {}{}{}\n", program, command.name,
                     command.synopsis.empty() ? "" : " ", command.synopsis);
}

std::string usage_text(std::string_view program) {
  std::string text = fmt::format(R"(
Usage

{} [--url http://user:password@host:port] [--quiet] <command> [<command options>]

Available commands:
)",
                                 program);
  std::string_view group;
  for (const Command* command : all_commands()) {
    if (command->group != group) {
      group = command->group;
      text += fmt::format("\n{}:\n\n", group);
    }
    text += fmt::format("   {:<28}  {}\n", command->name, command->help);
  }
  return text + fmt::format(R"(
Options of all commands:

   -u, --url <url>         the node's management port; http://guest:guest@127.0.0.1:15672
   -q, --quiet             only results
   -s, --silent            only results, no table header
       --no-table-headers  no table header
   -t, --timeout <s>       seconds to wait for an answer; 0 or infinity: no limit
       --formatter <name>  table, json, csv or pretty_table
   -p, --vhost <vhost>     of commands that work in a virtual host; /

Use '{} help <command>' to learn more about a specific command
)",
                            program);
}

int run_command(Context& context) {
  const CommandLine& line = context.line;
  if (line.has("version") || line.command == "version") {
    return context.done(runtime::kVersion);
  }
  if (line.has("help") || line.command == "help") return help(context);
  if (line.command.empty()) {
    context.err << usage_text(line.program);
    return kExitUsage;
  }
  const Command* command = find_command(line.command);
  if (command == nullptr) return unknown_command(context);
  if (line.arguments.size() < command->arguments_min) {
    return wrong_arguments(context, *command, "not enough arguments.");
  }
  if (line.arguments.size() > command->arguments_max) {
    return wrong_arguments(context, *command, "too many arguments.");
  }
  for (const auto& [option, value] : line.options) {
    if (is_common_option(option) || names(command->options, option)) continue;
    // Like RabbitMQ's, commands that work in no vhost take one.
    if (option == "vhost") continue;
    return wrong_arguments(
        context, *command,
        fmt::format("Invalid options for this command:\n--{} : {}", option, value));
  }
  // An answer that is JSON, and not what was asked for.
  try {
    return command->run(context);
  } catch (const Json::exception& error) {
    return context.fail(kExitSoftware, fmt::format("{} answers with something unexpected: {}",
                                                   context.api.where(), error.what()));
  }
}

}  // namespace ringtail::ctl
