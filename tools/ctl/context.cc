#include <fmt/format.h>

#include <istream>
#include <ostream>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

std::string without_line_ends(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

Context::Context(const CommandLine& command_line, Api& broker, std::istream& input,
                 std::ostream& output, std::ostream& errors)
    : line(command_line), api(broker), in(input), out(output), err(errors) {}

void Context::banner(std::string_view text) {
  const auto formatter = line.formatter();
  if (line.quiet() || formatter == Formatter::kJson || formatter == Formatter::kCsv) return;
  out << text << '\n' << std::flush;
}

int Context::done() {
  if (json()) out << json_line(Json{{"result", "ok"}}) << '\n';
  return kExitOk;
}

int Context::done(std::string_view message) {
  if (json()) {
    out << json_line(Json{{"message", message}, {"result", "ok"}}) << '\n';
  } else {
    out << message << '\n';
  }
  return kExitOk;
}

int Context::fail(int code, std::string_view text) {
  if (json()) {
    err << json_line(Json{{"message", without_line_ends(text)}, {"result", "error"}}) << '\n';
  } else {
    err << "Error:\n" << text << '\n';
  }
  return code;
}

int Context::fail(const runtime::Status& status) {
  if (status.code() == runtime::Code::kTimeout) {
    return fail(kExitTimeout,
                fmt::format("operation {} timed out: {}", line.command, status.text()));
  }
  return fail(kExitUnavailable, status.text());
}

int Context::refused(const Reply& reply) {
  if (reply.status == 401) {
    return fail(kExitUnavailable,
                fmt::format("{} refuses the user: {}", api.where(), reply.reason()));
  }
  if (reply.status == 404) return fail(kExitUnavailable, "not_found");
  return fail(kExitUnavailable, reply.reason());
}

int Context::print(const Table& table) {
  print_table(table, {*line.formatter(), line.headers()}, out);
  return kExitOk;
}

bool Context::send(const Request& request, Reply& reply, int& code) {
  auto answered = api.call(request);
  if (!answered.ok()) {
    code = fail(answered.status());
    return false;
  }
  reply = std::move(answered).value();
  return true;
}

bool Context::get(const std::vector<std::string>& path, Json& answer, int& code) {
  Reply reply;
  if (!send({"GET", path_of(path)}, reply, code)) return false;
  if (!reply.good()) {
    code = refused(reply);
    return false;
  }
  answer = reply.json();
  if (answer.is_structured()) return true;
  code = fail(kExitSoftware, fmt::format("{} answers with something that is not JSON: is its HTTP "
                                         "interface there?",
                                         api.where()));
  return false;
}

int Context::no_vhost(std::string_view vhost) {
  return fail(kExitData, fmt::format("Virtual host '{}' does not exist", vhost));
}

int Context::no_user(std::string_view user) {
  return fail(kExitNoUser, fmt::format("User \"{}\" does not exist", user));
}

bool Context::vhost_exists(const std::string& vhost, int& code) {
  Reply reply;
  if (!send({"GET", path_of({"vhosts", vhost})}, reply, code)) return false;
  if (reply.good()) return true;
  code = reply.status == 404 ? no_vhost(vhost) : refused(reply);
  return false;
}

bool Context::user_exists(const std::string& user, int& code) {
  Reply reply;
  if (!send({"GET", path_of({"users", user})}, reply, code)) return false;
  if (reply.good()) return true;
  code = reply.status == 404 ? no_user(user) : refused(reply);
  return false;
}

void note_failure(const runtime::Result<Reply>& reply, std::string& last) {
  if (reply.ok()) {
    last = reply.value().reason();
  } else if (last.empty() || reply.status().code() != runtime::Code::kTimeout) {
    // That time is up says less than what was seen before.
    last = reply.status().text();
  }
}

std::string Context::node() {
  const auto reply = api.call({"GET", "overview"});
  if (!reply.ok()) return {};
  const Json overview = reply.value().json();
  return overview.is_object() ? overview.value("node", "") : "";
}

}  // namespace ringtail::ctl
