// Ending connections of clients.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ostream>

#include "tools/ctl/columns.h"
#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

// False when the request itself failed; a connection that has gone meanwhile is closed too.
bool close_one(Context& context, const std::string& name, const std::string& reason, int& code) {
  Reply reply;
  Request request{"DELETE", path_of({"connections", name})};
  request.headers["X-Reason"] = reason;
  if (!context.send(request, reply, code)) return false;
  if (reply.good() || reply.status == 404) return true;
  code = context.refused(reply);
  return false;
}

// As list_connections prints it.
bool is_pid(const std::string& text) { return text.starts_with('<') && text.ends_with('>'); }

// Named by pid, as list_connections prints it, or by name. A pid that is not there is closed
// already, as with RabbitMQ; a name may be misspelt.
int close_connection(Context& context) {
  const std::string& wanted = context.argument(0);
  const std::string& reason = context.argument(1);
  context.banner(fmt::format("Closing connection {}, reason: {}...", wanted, reason));
  Json connections;
  int code = kExitOk;
  if (!context.get({"connections"}, connections, code)) return code;
  bool found = false;
  for (const Json& connection : connections) {
    const std::string name = connection.value("name", "");
    if (name != wanted && pid_of(connection.value("node", ""), name) != wanted) continue;
    if (!close_one(context, name, reason, code)) return code;
    found = true;
  }
  if (found) return context.done();
  if (!is_pid(wanted)) {
    return context.fail(kExitUnavailable,
                        fmt::format("the node at {} has no connection with the pid or name {}",
                                    context.api.where(), wanted));
  }
  if (!context.line.quiet()) {
    context.err << fmt::format("The node at {} has no such connection: it is closed already\n",
                               context.api.where());
  }
  return context.done();
}

int close_each(Context& context, const Json& connections, std::size_t limit,
               const std::string& reason) {
  std::size_t closed = 0;
  int code = kExitOk;
  for (const Json& connection : connections) {
    if (limit != 0 && closed == limit) break;
    if (!close_one(context, connection.value("name", ""), reason, code)) return code;
    ++closed;
  }
  if (context.line.quiet() && !context.json()) return kExitOk;
  return context.done(fmt::format("Closed {} connections", closed));
}

int close_all_connections(Context& context) {
  const std::string& reason = context.argument(0);
  const bool all = context.line.has("global");
  const std::string vhost = context.line.vhost();
  context.banner(
      all ? fmt::format("Closing all connections to node, reason: {}...", reason)
          : fmt::format("Closing all connections in vhost {}, reason: {}...", vhost, reason));
  std::size_t limit = 0;
  const std::string text = context.line.value("limit", "0");
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, limit);
  if (error != std::errc() || stopped != end) {
    return context.fail(kExitUsage, fmt::format("limit has to be a number, not '{}'", text));
  }
  Json connections;
  int code = kExitOk;
  if (!all && !context.vhost_exists(vhost, code)) return code;
  const std::vector<std::string> path =
      all ? std::vector<std::string>{"connections"}
          : std::vector<std::string>{"vhosts", vhost, "connections"};
  if (!context.get(path, connections, code)) return code;
  return close_each(context, connections, limit, reason);
}

int close_all_user_connections(Context& context) {
  const std::string& user = context.argument(0);
  const std::string& reason = context.argument(1);
  context.banner(fmt::format("Closing connections of user {}, reason: {}...", user, reason));
  Json connections;
  int code = kExitOk;
  if (!context.get({"connections", "username", user}, connections, code)) return code;
  return close_each(context, connections, 0, reason);
}

}  // namespace

std::span<const Command> connection_commands() {
  static constexpr std::string_view kGroup = "Operations";
  static constexpr std::array kCommands = {
      Command{kGroup, "close_all_connections",
              "[--vhost <vhost> --limit <limit>] [--global] <explanation>",
              "Closes all connections to a virtual host, or to the node", 1, 1,
              "vhost limit global per-connection-delay", close_all_connections},
      Command{kGroup, "close_all_user_connections", "<username> <explanation>",
              "Closes all connections of a user", 2, 2, "", close_all_user_connections},
      Command{kGroup, "close_connection", "<connection pid or name> <explanation>",
              "Closes one connection", 2, 2, "", close_connection},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
