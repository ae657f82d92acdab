#include "tools/ctl/command.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/unit/ctl/fake_api.h"
#include "tools/ctl/columns.h"
#include "tools/ctl/password.h"

namespace ringtail::ctl::command_test {

namespace {

constexpr const char* kRefused401 = R"({"error":"not_authorised","reason":"Login failed"})";

}  // namespace

TEST_CASE("every command has a name of its own, a help and a group") {
  std::set<std::string_view> names;
  for (const Command* command : all_commands()) {
    CHECK_MESSAGE(names.insert(command->name).second, command->name);
    CHECK(!command->help.empty());
    CHECK(!command->group.empty());
    CHECK(command->arguments_min <= command->arguments_max);
  }
  CHECK(find_command("list_queues") != nullptr);
  CHECK(find_command("list_queue") == nullptr);
}

TEST_CASE("an unknown command names the nearest") {
  FakeApi api;
  const Ran ran = run(api, {"list_queue"});
  CHECK(ran.code == kExitUsage);
  CHECK(ran.err == "\nCommand 'list_queue' not found. \nDid you mean 'list_queues'? \n\n");
  CHECK(run(api, {"xyzzy"}).err.find("Available commands:") != std::string::npos);
  CHECK(nearest_commands("stauts") == std::vector<std::string>{"status"});
  CHECK(nearest_commands(std::string(100000, 'x')).empty());
  CHECK(api.requests.empty());
}

TEST_CASE("a command of RabbitMQ's that is not here is told apart, with what does instead") {
  FakeApi api;
  const Ran ran = run(api, {"sync_queue", "q", "-p", "v"});
  CHECK(ran.code == kExitUnavailable);
  CHECK(ran.out.empty());
  CHECK(ran.err == "Error:\nsync_queue is not in this version: queues have no mirrors yet\n");
  CHECK(run(api, {"stop", "/var/run/pid"}).code == kExitUnavailable);
  CHECK(run(api, {"help", "rotate_logs"}).code == kExitUnavailable);
  CHECK(api.requests.empty());
  for (const Command* command : all_commands()) {
    CHECK_MESSAGE(instead_of(command->name).empty(), command->name);
  }
}

TEST_CASE("wrong arguments are told before anything is asked") {
  FakeApi api;
  CHECK(run(api, {"add_vhost"})
            .err.starts_with("Error (argument validation): not enough arguments.\nArguments "
                             "given:\n\tadd_vhost\n\n"
                             "Usage\n\nringtailctl [--url <url>] [--quiet] add_vhost <vhost> "));
  CHECK(run(api, {"add_vhost", "a", "b"})
            .err.starts_with("Error (argument validation): too many arguments.\nArguments "
                             "given:\n\tadd_vhost a b\n"));
  CHECK(
      run(api, {"list_users", "--priority", "1"})
          .err.starts_with(
              "Error (argument validation): Invalid options for this command:\n--priority : 1\n"));
  CHECK(run(api, {"list_queues", "bogus", "name", "other"})
            .err.starts_with(
                "Error (argument validation): Info key(s) bogus,other are not supported\n"));
  CHECK(run(api, {}).code == kExitUsage);
  CHECK(api.requests.empty());
}

TEST_CASE("help and version ask nobody") {
  FakeApi api;
  CHECK(run(api, {"help"}).out.find("   list_queues ") != std::string::npos);
  CHECK(run(api, {"list_queues", "--help"}).out.find("Lists queues") != std::string::npos);
  CHECK(run(api, {"help", "bogus"}).code == kExitUsage);
  CHECK(run(api, {"version"}).code == kExitOk);
  CHECK(api.requests.empty());
}

TEST_CASE("limits of the running node") {
  FakeApi api;
  api.answer("GET overview", R"({"node":"n@h"})");
  api.answer("PUT nodes/n%40h/disk-free-limit", "", 204);
  api.answer("PUT nodes/n%40h/vm-memory-high-watermark", "", 204);
  const auto sent = [&](std::vector<const char*> words) {
    const Ran ran = run(api, std::move(words));
    CHECK_MESSAGE(ran.code == kExitOk, ran.err);
    return api.changes.back();
  };
  CHECK(sent({"set_disk_free_limit", "2GB"}) ==
        R"(PUT nodes/n%40h/disk-free-limit {"absolute":"2GB"})");
  CHECK(sent({"set_disk_free_limit", "1000"}) ==
        R"(PUT nodes/n%40h/disk-free-limit {"absolute":1000})");
  CHECK(sent({"set_disk_free_limit", "mem_relative", "1.5"}) ==
        R"(PUT nodes/n%40h/disk-free-limit {"mem_relative":1.5})");
  CHECK(sent({"set_vm_memory_high_watermark", "0.6"}) ==
        R"(PUT nodes/n%40h/vm-memory-high-watermark {"relative":0.6})");
  CHECK(sent({"set_vm_memory_high_watermark", "absolute", "2GB"}) ==
        R"(PUT nodes/n%40h/vm-memory-high-watermark {"absolute":"2GB"})");
  CHECK(run(api, {"set_disk_free_limit", "absolute", "2GB"}).code == kExitUsage);
  CHECK(run(api, {"set_vm_memory_high_watermark", "mem_relative", "1"}).code == kExitUsage);
}

TEST_CASE("the directory of a queue, and the queue of a directory") {
  FakeApi api;
  const Ran ran = run(api, {"queue_directory", "-p", "myvhost_rhu", "archive"});
  CHECK(ran.code == kExitOk);
  CHECK(ran.out == "EUVCFMQ3KCK9L8KMFN5Q0WBQR\n");
  CHECK(run(api, {"queue_directory"}).code == kExitUsage);
  CHECK(run(api, {"queue_directory", "q", "--find", "X"}).code == kExitUsage);
  CHECK(run(api, {"queue_directory", std::string(256, 'q').c_str()}).code == kExitData);
  CHECK(api.requests.empty());

  api.answer("GET queues?columns=vhost,name",
             R"([{"vhost":"/","name":"archive"},{"vhost":"myvhost_rhu","name":"archive"}])");
  CHECK(run(api, {"-q", "queue_directory", "--find", "EUVCFMQ3KCK9L8KMFN5Q0WBQR"}).out ==
        "vhost\tname\nmyvhost_rhu\tarchive\n");
  const Ran none = run(api, {"queue_directory", "--find", "EUVCFMQ3KCK9L8KMFN5Q0WBQ"});
  CHECK(none.code == kExitData);
  CHECK(none.err == "Error:\nno queue here has the directory EUVCFMQ3KCK9L8KMFN5Q0WBQ\n");
}

TEST_CASE("lists of queues") {
  FakeApi api;
  api.answer("GET vhosts/a%2Fb", "{}");
  api.answer("GET queues/a%2Fb",
             R"([{"name":"q","vhost":"a/b","node":"n@h","messages":3,"arguments":{"x-k":1},)"
             R"("state":"running","policy":null},)"
             R"({"name":"r","node":"n@h","messages":0,"arguments":{},"state":"down"}])");
  CHECK(
      run(api, {"list_queues", "-p", "a/b"}).out ==
      "Timeout: 60.0 seconds ...\nListing queues for vhost a/b ...\nname\tmessages\nq\t3\nr\t0\n");
  CHECK(run(api, {"-q", "list_queues", "-p", "a/b", "name,policy", "arguments"}).out ==
        "name\tpolicy\targuments\nq\t\t[{\"x-k\",1}]\nr\t\t[]\n");
  CHECK(run(api, {"-s", "list_queues", "-p", "a/b", "--offline"}).out == "r\t0\n");
  CHECK(run(api, {"list_queues", "-p", "a/b", "--formatter", "json", "name", "arguments"}).out ==
        "[\n{\"name\":\"q\",\"arguments\":{\"x-k\":1}}\n,{\"name\":\"r\",\"arguments\":{}}\n]\n");
  CHECK(run(api, {"list_queues", "-p", "a/b", "-t", "0", "name"}).out.starts_with("Listing"));
  const Ran none = run(api, {"list_queues", "-p", "nosuch"});
  CHECK(none.code == kExitData);
  CHECK(none.err == "Error:\nVirtual host 'nosuch' does not exist\n");
}

TEST_CASE("a process's name holds its node and stays") {
  CHECK(pid_of("n@h.example", "q") == pid_of("n@h.example", "q"));
  CHECK(pid_of("n@h", "q") != pid_of("n@h", "r"));
  CHECK(pid_of("n@h", "q").starts_with("<n@h."));
  CHECK(pid_of("n@h", "q").ends_with(">"));
}

TEST_CASE("users") {
  FakeApi api;
  api.answer("GET users/known",
             R"({"name":"known","tags":["a"],"password_hash":"HASH","hashing_algorithm":"ALG"})");
  api.answer("PUT users/new", "", 201);
  api.answer("PUT users/known", "", 204);
  const Ran exists = run(api, {"add_user", "known", "x"});
  CHECK(exists.code == kExitSoftware);
  CHECK(exists.err == "Error:\nUser \"known\" already exists\n");
  CHECK(run(api, {"add_user", "known", "x", "--formatter", "json"}).err ==
        "{\"message\":\"User \\\"known\\\" already exists\",\"result\":\"error\"}\n");
  CHECK(api.changes.empty());

  CHECK(run(api, {"-q", "add_user", "new"}, "from input\n").out == "");
  CHECK(api.changes.back() == R"(PUT users/new {"password":"from input","tags":""})");
  CHECK(run(api, {"add_user", "new", "h", "--pre-hashed-password"}).code == kExitOk);
  CHECK(api.changes.back() == R"(PUT users/new {"password_hash":"h","tags":""})");
  CHECK(run(api, {"-q", "add_user", "new"}).code == kExitData);

  CHECK(run(api, {"change_password", "known", "p"}).out ==
        "Changing password for user \"known\" ...\n");
  CHECK(api.changes.back() == R"(PUT users/known {"tags":["a"],"password":"p"})");
  CHECK(run(api, {"clear_password", "known"}).code == kExitOk);
  CHECK(api.changes.back() ==
        R"(PUT users/known {"tags":["a"],"password_hash":"","hashing_algorithm":"ALG"})");
  CHECK(run(api, {"set_user_tags", "known", "x", "y"}).out ==
        "Setting tags for user \"known\" to [x, y] ...\n");
  CHECK(api.changes.back() ==
        R"(PUT users/known {"tags":["x","y"],"password_hash":"HASH","hashing_algorithm":"ALG"})");
  for (const auto& words : {std::vector<const char*>{"delete_user", "nosuch"},
                            {"change_password", "nosuch", "p"},
                            {"set_user_tags", "nosuch"},
                            {"list_user_permissions", "nosuch"}}) {
    const Ran ran = run(api, words);
    CHECK(ran.code == kExitNoUser);
    CHECK(ran.err == "Error:\nUser \"nosuch\" does not exist\n");
  }
}

TEST_CASE("authentication") {
  FakeApi api;
  api.answer("GET whoami", "{}");
  CHECK(run(api, {"-q", "authenticate_user", "u", "p"}).out == "Success\n");
  CHECK(api.requests.back().login == std::pair<std::string, std::string>("u", "p"));
  // A right password of a user that may not manage.
  api.answer("GET whoami", R"({"error":"not_authorised","reason":"Not management user"})", 401);
  CHECK(run(api, {"-q", "authenticate_user", "u", "p"}).code == kExitOk);
  api.answer("GET whoami", kRefused401, 401);
  const Ran wrong = run(api, {"-q", "authenticate_user", "u", "p"});
  CHECK(wrong.code == kExitData);
  CHECK(wrong.err ==
        "Error:\nError: failed to authenticate user \"u\"\n"
        "user 'u' - invalid credentials\n");
}

TEST_CASE("a vhost that is added belongs to nobody") {
  FakeApi api;
  api.answer("GET whoami", R"({"name":"me"})");
  api.answer("PUT vhosts/v", "", 201);
  api.answer("DELETE permissions/v/me", "", 204);
  CHECK(run(api, {"add_vhost", "v", "--description", "d", "--tags", "a,b"}).code == kExitOk);
  REQUIRE(api.changes.size() == 2);
  CHECK(api.changes[0] == R"(PUT vhosts/v {"description":"d","tags":"a,b"})");
  CHECK(api.changes[1] == "DELETE permissions/v/me");
  // What its user could do before stays.
  api.changes.clear();
  api.answer("GET permissions/v/me", "{}");
  CHECK(run(api, {"add_vhost", "v"}).code == kExitOk);
  CHECK(api.changes.size() == 1);
}

TEST_CASE("policies") {
  FakeApi api;
  api.answer("PUT policies/%2F/p", "", 201);
  CHECK(run(api, {"set_policy", "p", "^a", R"({"max-length":5})", "--priority", "3", "--apply-to",
                  "queues"})
            .out ==
        "Setting policy \"p\" for pattern \"^a\" to \"{\"max-length\":5}\" with priority \"3\" for "
        "vhost \"/\" ...\n");
  CHECK(api.changes.back() ==
        R"(PUT policies/%2F/p {"pattern":"^a","definition":{"max-length":5},"priority":3,)"
        R"("apply-to":"queues"})");
  CHECK(run(api, {"set_policy", "p", "^a", "nojson"}).code == kExitUnavailable);
  CHECK(run(api, {"set_policy", "p", "^a", "{}", "--priority", "x"}).code == kExitUnavailable);
  api.answer(
      "PUT policies/%2F/p",
      R"({"error":"bad_request","reason":"Validation failed\n\n&lt;&lt;\"x\"&gt;&gt; bad\n"})",
      400);
  CHECK(run(api, {"-q", "set_policy", "p", "a", R"({"max-length":"x"})"}).err ==
        "Error:\nValidation failed\n\n<<\"x\">> bad\n\n");
  CHECK(run(api, {"-p", "nosuch", "set_policy", "p", "a", "{}"}).code == kExitData);
  api.answer("GET vhosts/%2F", "{}");
  CHECK(run(api, {"-q", "clear_policy", "gone"}).err == "Error:\nParameter does not exist\n");
}

TEST_CASE("limits are set one by one") {
  FakeApi api;
  api.answer("GET vhosts/%2F", "{}");
  api.answer("PUT vhost-limits/%2F/max-queues", "", 204);
  api.answer("PUT vhost-limits/%2F/max-connections", "", 204);
  CHECK(run(api, {"set_vhost_limits", R"({"max-queues":5,"max-connections":6})"}).code == kExitOk);
  REQUIRE(api.changes.size() == 2);
  CHECK(api.changes[0] == R"(PUT vhost-limits/%2F/max-queues {"value":5})");
  CHECK(run(api, {"set_vhost_limits", "5"}).code == kExitUnavailable);
}

TEST_CASE("connections are closed by name and by pid") {
  FakeApi api;
  const std::string name = "127.0.0.1:1 -> 127.0.0.1:2";
  api.answer("GET connections", R"([{"name":")" + name + R"(","node":"n@h"},{"name":"other"}])");
  const std::string path = "DELETE connections/127.0.0.1%3A1%20-%3E%20127.0.0.1%3A2";
  api.answer(path, "", 204);
  const std::string pid = pid_of("n@h", name);
  CHECK(run(api, {"close_connection", pid.c_str(), "bye"}).out ==
        "Closing connection " + pid + ", reason: bye...\n");
  REQUIRE(api.changes.size() == 1);
  CHECK(api.changes[0] == path);
  CHECK(api.requests.back().headers.at("X-Reason") == "bye");
  CHECK(run(api, {"close_connection", name.c_str(), "bye"}).code == kExitOk);
  CHECK(api.changes.size() == 2);
  const Ran gone = run(api, {"close_connection", "<n@h.1.2.3>", "bye"});
  CHECK(gone.code == kExitOk);
  CHECK(gone.err.find("closed already") != std::string::npos);
  CHECK(run(api, {"-q", "close_connection", "<n@h.1.2.3>", "bye"}).err.empty());
  const Ran misspelt = run(api, {"close_connection", "foo", "bye"});
  CHECK(misspelt.code == kExitUnavailable);
  CHECK(misspelt.err.find("no connection with the pid or name foo") != std::string::npos);
  CHECK(api.changes.size() == 2);
  CHECK(run(api, {"-q", "close_all_connections", "--global", "--limit", "1", "bye"}).code ==
        kExitOk);
  CHECK(api.changes.size() == 3);
}

TEST_CASE("a node that is down, a refusal, a time-out, an answer that is none") {
  FakeApi api;
  api.answer("GET users", kRefused401, 401);
  CHECK(run(api, {"-q", "list_users"}).code == kExitUnavailable);
  CHECK(run(api, {"-q", "list_users"}).err ==
        "Error:\nhttp://there:15672 refuses the user: Login failed\n");
  api.answer("GET users", "<html>");
  CHECK(run(api, {"-q", "list_users"}).code == kExitSoftware);
  api.answer("GET users", "[1]");
  CHECK(run(api, {"-q", "list_users"}).code == kExitSoftware);
  api.answer("GET users", R"([{"name":3}])");
  CHECK(run(api, {"-q", "list_users"}).code == kExitSoftware);
  api.down = {runtime::Code::kUnavailable, "nobody answers"};
  CHECK(run(api, {"-q", "list_users"}).code == kExitUnavailable);
  CHECK(run(api, {"-q", "list_users"}).err == "Error:\nnobody answers\n");
  api.down = {runtime::Code::kTimeout, "too late"};
  CHECK(run(api, {"-q", "list_users"}).code == kExitTimeout);
}

TEST_CASE("waiting for the start") {
  FakeApi api;
  api.pauses_left = 3;
  CHECK(run(api, {"-q", "await_startup"}).code == kExitTimeout);
  CHECK(api.requests.size() == 4);
  // The last answer counts, not that time was up at last.
  std::string last;
  note_failure(runtime::Status(runtime::Code::kTimeout, "too late"), last);
  CHECK(last == "too late");
  note_failure(Reply{503, R"({"reason":"the app is stopped"})"}, last);
  CHECK(last == "the app is stopped");
  note_failure(runtime::Status(runtime::Code::kTimeout, "too late"), last);
  CHECK(last == "the app is stopped");
  api.answer("GET overview", "{}");
  CHECK(run(api, {"-q", "await_startup"}).code == kExitOk);
  CHECK(run(api, {"-q", "wait", "/var/run/pid"}).code == kExitOk);
  CHECK(run(api, {"-q", "wait", "--pid", "12"}).code == kExitOk);
}

TEST_CASE("health checks") {
  FakeApi api;
  api.answer("GET overview",
             R"({"node":"n@h","listeners":[)"
             R"({"node":"n@h","protocol":"amqp","ip_address":"::","port":5},)"
             R"({"node":"n@h","protocol":"http","ip_address":"1.2.3.4","port":6}]})");
  api.answer("GET nodes", R"([{"name":"n@h","running":true}])");
  api.answer("GET vhosts", "[]");
  api.answer("GET whoami", "{}");
  CHECK(run(api, {"-q", "ping"}).out == "Ping succeeded\n");
  CHECK(run(api, {"-q", "check_running"}).out ==
        "RabbitMQ on node n@h is fully booted and running\n");
  CHECK(run(api, {"-q", "check_port_connectivity"}).out ==
        "Successfully connected to ports 5, 6 on node n@h.\n");
  api.answer("GET health/checks/local-alarms", R"({"status":"failed","reason":"memory"})", 503);
  CHECK(run(api, {"-q", "check_local_alarms"}).code == kExitUnavailable);
  CHECK(run(api, {"-q", "check_local_alarms"}).err == "Error:\nmemory\n");
  CHECK(run(api, {"-q", "status"})
            .out.find("Interface: [::], port: 5, protocol: amqp, purpose: AMQP 0-9-1\n") !=
        std::string::npos);
  CHECK(run(api, {"-q", "cluster_status"}).out.find("Running Nodes\n\nn@h\n") != std::string::npos);
}

TEST_CASE("a password's hash") {
  // RabbitMQ's documentation has this one: salt 908D C60A, password test12.
  CHECK(hashed_password("test12", "\x90\x8D\xC6\x0A") ==
        "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR");
  CHECK(random_salt().size() == 4);
  FakeApi api;
  CHECK(run(api, {"hash_password", "x"}).out.size() == 49);
}

}  // namespace ringtail::ctl::command_test
