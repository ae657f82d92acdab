// What a command is, and what it works with.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ctl/api.h"
#include "tools/ctl/command_line.h"
#include "tools/ctl/table.h"

namespace ringtail::ctl {

// sysexits.h, as RabbitMQ's tools use them.
enum Exit : int {
  kExitOk = 0,
  kExitUsage = 64,
  kExitData = 65,  // bad data, a wrong password, no such vhost
  kExitNoUser = 67,
  kExitUnavailable = 69,  // nobody answers; a check failed; the broker refused
  kExitSoftware = 70,
  kExitTimeout = 75,
};

// For one run of a command. Files are read and written through it, for the sake of tests.
class Context {
 public:
  Context(const CommandLine& line, Api& api, std::istream& in, std::ostream& out,
          std::ostream& err);

  const CommandLine& line;
  Api& api;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;

  const std::string& argument(std::size_t index) const { return line.arguments[index]; }
  bool json() const { return line.formatter() == Formatter::kJson; }

  // What is about to be done, "Listing queues ...", unless quiet or not for people.
  void banner(std::string_view text);
  // The result of a command that has no table: nothing in text, an object in JSON.
  int done();
  // The same with a text that is printed even when quiet.
  int done(std::string_view message);
  // To the standard error; gives the code back.
  int fail(int code, std::string_view text);
  int fail(const runtime::Status& status);
  // For an answer that is no success: what the broker says.
  int refused(const Reply& reply);
  // Prints and gives kExitOk.
  int print(const Table& table);

  // A request below /api/. False: `code` holds the exit code, and the error is printed.
  bool get(const std::vector<std::string>& path, Json& answer, int& code);
  // The reply whatever its status; false when nobody answered.
  bool send(const Request& request, Reply& reply, int& code);

  // Exit codes of things that are not there, with their texts.
  int no_vhost(std::string_view vhost);
  int no_user(std::string_view user);
  // Whether there is such a vhost (a user). On false the error is printed.
  bool vhost_exists(const std::string& vhost, int& code);
  bool user_exists(const std::string& user, int& code);

  // The name of the node that answers; empty when it does not say.
  std::string node();
};

// For one who waits, and asks again: why the last answer was none, or no good one.
void note_failure(const runtime::Result<Reply>& reply, std::string& last);

struct Command {
  std::string_view group;
  std::string_view name;
  std::string_view synopsis;  // behind the name
  std::string_view help;
  std::size_t arguments_min;
  std::size_t arguments_max;
  std::string_view options;  // long names, spaces between; besides the common ones
  int (*run)(Context& context);
};

inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

// Each file of commands has one of these.
std::span<const Command> user_commands();
std::span<const Command> access_commands();
std::span<const Command> vhost_commands();
std::span<const Command> policy_commands();
std::span<const Command> parameter_commands();
std::span<const Command> list_commands();
std::span<const Command> queue_commands();
std::span<const Command> connection_commands();
std::span<const Command> node_commands();
std::span<const Command> cluster_commands();
std::span<const Command> check_commands();
std::span<const Command> definition_commands();
std::span<const Command> data_commands();

// All of them, in the order of `help`.
std::vector<const Command*> all_commands();
// Null when there is none.
const Command* find_command(std::string_view name);

// Of a command of RabbitMQ's tools that is not in this version: what does instead. Otherwise empty.
std::string_view instead_of(std::string_view name);

// The names nearest to one that is not known, nearest first; at most three, none if none is near.
std::vector<std::string> nearest_commands(std::string_view name);

// Runs what the line says: help, version, or a command, after a look at its arguments. Nothing is
// asked of the broker when the line is wrong.
int run_command(Context& context);

// How the tool is used, and one command of it.
std::string usage_text(std::string_view program);
std::string usage_of(std::string_view program, const Command& command);

}  // namespace ringtail::ctl
