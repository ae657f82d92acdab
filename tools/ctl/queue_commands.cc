// What is done to a queue.
#include <fmt/format.h>

#include <array>

#include "queue/store/directory_name.h"
#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

int purge_queue(Context& context) {
  const std::string& queue = context.argument(0);
  const std::string vhost = context.line.vhost();
  context.banner(fmt::format("Purging queue '{}' in vhost '{}' ...", queue, vhost));
  int code = kExitOk;
  Reply reply;
  if (!context.send({"DELETE", path_of({"queues", vhost, queue, "contents"})}, reply, code)) {
    return code;
  }
  return reply.good() ? context.done() : context.refused(reply);
}

int delete_queue(Context& context) {
  const std::string& queue = context.argument(0);
  const std::string vhost = context.line.vhost();
  const bool if_empty = context.line.has("if-empty");
  const bool if_unused = context.line.has("if-unused");
  std::string when = if_empty ? "if queue is empty" : "";
  if (if_unused) when += when.empty() ? "if queue is unused" : " and if queue is unused";
  context.banner(fmt::format("Deleting queue '{}' on vhost '{}' {}...", queue, vhost,
                             when.empty() ? "" : when + " "));
  int code = kExitOk;
  Reply reply;
  const std::string path = path_of({"queues", vhost, queue});
  if (!context.send({"GET", path}, reply, code)) return code;
  if (reply.status == 404) return context.fail(kExitUsage, "Queue not found");
  if (!reply.good()) return context.refused(reply);
  const Json present = reply.json();
  std::string query;
  if (if_empty) query += "?if-empty=true";
  if (if_unused) query += query.empty() ? "?if-unused=true" : "&if-unused=true";
  if (!context.send({"DELETE", path + query}, reply, code)) return code;
  if (!reply.good()) return context.refused(reply);
  if (context.line.quiet() && !context.json()) return kExitOk;
  return context.done(fmt::format("Queue was successfully deleted with {} ready messages",
                                  present.value("messages_ready", 0)));
}

// --- directories ---------------------------------------------------------------------------------

std::string text_in(const Json& object, const char* member) {
  const Json& value = field(object, member);
  return value.is_string() ? value.get<std::string>() : "";
}

// Names go into directories one way only, so all queues of the node are tried.
int find_directory(Context& context, const std::string& directory) {
  context.banner(fmt::format("Looking for the queue of directory {} ...", directory));
  int code = kExitOk;
  Reply reply;
  if (!context.send({"GET", "queues?columns=vhost,name"}, reply, code)) return code;
  if (!reply.good()) return context.refused(reply);
  Table table{{"vhost", "name"}, {}};
  for (const Json& queue : reply.json()) {
    const std::string vhost = text_in(queue, "vhost");
    const std::string name = text_in(queue, "name");
    const auto made = queue::store::directory_name(vhost, name);
    if (made.ok() && made.value() == directory) table.add({vhost, name});
  }
  if (table.rows.empty()) {
    return context.fail(kExitData, fmt::format("no queue here has the directory {}", directory));
  }
  return context.print(table);
}

// Asks nobody unless a queue is to be found.
int queue_directory(Context& context) {
  const bool find = context.line.has("find");
  if (find != context.line.arguments.empty()) {
    return context.fail(kExitUsage, "either a queue or --find and a directory is needed");
  }
  if (find) return find_directory(context, context.line.value("find", ""));
  const auto directory = queue::store::directory_name(context.line.vhost(), context.argument(0));
  if (!directory.ok()) return context.fail(kExitData, directory.status().text());
  return context.done(directory.value());
}

}  // namespace

std::span<const Command> queue_commands() {
  static constexpr std::string_view kGroup = "Queues";
  static constexpr std::array kCommands = {
      Command{kGroup, "delete_queue", "[--vhost <vhost>] <queue> [--if-empty|-e] [--if-unused|-u]",
              "Deletes a queue", 1, 1, "vhost if-empty if-unused", delete_queue},
      Command{kGroup, "purge_queue", "[--vhost <vhost>] <queue>",
              "Removes all ready messages of a queue", 1, 1, "vhost", purge_queue},
      Command{kGroup, "queue_directory", "[--vhost <vhost>] <queue> | --find <directory>",
              "Says in which directory a queue lies, or which queue lies in one", 0, 1,
              "vhost find", queue_directory},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
