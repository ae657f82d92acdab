// What is done to a queue.
#include <fmt/format.h>

#include <array>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

constexpr std::string_view kGroup = "Queues";

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

constexpr std::array kCommands = {
    Command{kGroup, "delete_queue", "[--vhost <vhost>] <queue> [--if-empty|-e] [--if-unused|-u]",
            "Deletes a queue", 1, 1, "vhost if-empty if-unused", delete_queue},
    Command{kGroup, "purge_queue", "[--vhost <vhost>] <queue>",
            "Removes all ready messages of a queue", 1, 1, "vhost", purge_queue},
};

}  // namespace

std::span<const Command> queue_commands() { return kCommands; }

}  // namespace ringtail::ctl
