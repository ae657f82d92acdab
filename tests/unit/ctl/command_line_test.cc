#include "tools/ctl/command_line.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tools/ctl/api.h"

namespace ringtail::ctl::command_line_test {

namespace {

CommandLine parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "/opt/sbin/rabbitmqctl");
  auto line = parse_command_line(static_cast<int>(words.size()), words.data());
  REQUIRE_MESSAGE(line.ok(), line.status().text());
  return std::move(line).value();
}

std::string refusal(std::vector<const char*> words) {
  words.insert(words.begin(), "ringtailctl");
  const auto line = parse_command_line(static_cast<int>(words.size()), words.data());
  return line.ok() ? "accepted" : line.status().text();
}

std::string url_refusal(const std::string& text) {
  const auto url = parse_url(text);
  return url.ok() ? "accepted" : url.status().text();
}

}  // namespace

TEST_CASE("options stand before, between and behind the arguments") {
  for (const auto& line :
       {parsed({"-q", "-p", "v", "list_queues", "name"}), parsed({"list_queues", "-qpv", "name"}),
        parsed({"list_queues", "name", "--vhost=v", "--quiet"}),
        parsed({"list_queues", "--vhost", "v", "name", "-q"})}) {
    CHECK(line.program == "rabbitmqctl");
    CHECK(line.command == "list_queues");
    CHECK(line.arguments == std::vector<std::string>{"name"});
    CHECK(line.vhost() == "v");
    CHECK(line.quiet());
  }
  CHECK(parsed({"list_queues"}).vhost() == "/");
}

TEST_CASE("values that look like options are values") {
  const auto line = parsed({"set_policy", "--priority", "-3", "p", "--", "-a", "{}"});
  CHECK(line.value("priority", "") == "-3");
  CHECK(line.arguments == std::vector<std::string>{"p", "-a", "{}"});
  CHECK(parsed({"add_user", "u", ""}).arguments == std::vector<std::string>{"u", ""});
  CHECK(parsed({"add_user", "u", "-"}).arguments == std::vector<std::string>{"u", "-"});
  CHECK(parsed({"delete_queue", "q", "-u", "-e"}).has("if-unused"));
  CHECK(parsed({"-u", "http://h:1", "delete_queue", "q"}).value("url", "") == "http://h:1");
}

TEST_CASE("timeouts") {
  CHECK(parsed({"status"}).timeout_s() == std::nullopt);
  CHECK(parsed({"status", "-t", "2.5"}).timeout_s() == 2.5);
  CHECK(parsed({"status", "-t", "infinity"}).timeout_s() == 0.0);
  CHECK(refusal({"status", "-t", "soon"}) ==
        "the timeout 'soon' is no number of seconds and not infinity");
  CHECK(refusal({"status", "-t", "-1"}) != "accepted");
}

TEST_CASE("what is wrong with an option is said") {
  CHECK(refusal({"status", "--bogus"}) == "there is no option --bogus");
  CHECK(refusal({"status", "-x"}) == "there is no option -x");
  CHECK(refusal({"status", "-p"}) == "option --vhost lacks its value");
  CHECK(refusal({"status", "--quiet=yes"}) == "option --quiet takes no value");
  CHECK(refusal({"status", "--formatter", "xml"}) ==
        "there is no formatter 'xml': table, json, csv and pretty_table are");
}

TEST_CASE("URLs") {
  const Url full = parse_url("http://a%40b:p:w%2F@node.example:81/prefix/").value();
  CHECK(full.user == "a@b");
  CHECK(full.password == "p:w/");
  CHECK(full.host == "node.example");
  CHECK(full.port == 81);
  CHECK(full.prefix == "/prefix");
  const Url least = parse_url("http://h").value();
  CHECK(least.user == "guest");
  CHECK(least.port == 15672);
  CHECK(parse_url("http://[::1]:9").value().host == "::1");
  CHECK(parse_url("http://[::1]").value().port == 15672);
  CHECK(url_refusal("h:1") == "--url h:1: has to begin with http://");
  CHECK(url_refusal("http://h:0") ==
        "--url http://h:0: the port has to be a number from 1 to 65535");
  CHECK(url_refusal("http://h:x") != "accepted");
  CHECK(url_refusal("http://h:70000") != "accepted");
  CHECK(url_refusal("http://") == "--url http://: the host is missing");
}

TEST_CASE("paths are encoded segment by segment") {
  CHECK(path_of({"queues", "/", "a b/ü"}) == "queues/%2F/a%20b%2F%C3%BC");
}

}  // namespace ringtail::ctl::command_line_test
