#include <doctest/doctest.h>

#include <string>

#include "tests/unit/ctl/fake_api.h"
#include "tools/ctl/command.h"

namespace ringtail::ctl::cluster_test {

namespace {

// a@h is asked, b@h runs, c@h does not.
void three_nodes(FakeApi& api) {
  api.answer("GET overview", R"({"node":"a@h","cluster_name":"many","rabbitmq_version":"3.10.8",)"
                             R"("erlang_version":"25","listeners":[)"
                             R"({"node":"a@h","protocol":"amqp","ip_address":"::","port":5}]})");
  api.answer("GET nodes", R"([{"name":"a@h","running":true,"mem_alarm":true,"being_drained":false,)"
                          R"("applications":[{"name":"rabbit","version":"3.10.8"}]},)"
                          R"({"name":"b@h","running":true,"being_drained":false,"partitions":[]},)"
                          R"({"name":"c@h","running":false}])");
  api.answer("GET vhosts", "[]");
}

}  // namespace

TEST_CASE("the status of a cluster lists all nodes, and of each what it says itself") {
  FakeApi api;
  three_nodes(api);
  const Ran text = run(api, {"cluster_status"});
  CHECK(text.code == kExitOk);
  CHECK(text.out ==
        "Cluster status of node a@h ...\n"
        "Basics\n\nCluster name: many\n"
        "\nDisk Nodes\n\na@h\nb@h\nc@h\n"
        "\nRunning Nodes\n\na@h\nb@h\n"
        "\nVersions\n\na@h: RabbitMQ 3.10.8 on Erlang 25\n"
        "\nMaintenance status\n\n"
        "Node: a@h, status: not under maintenance\nNode: b@h, status: not under maintenance\n"
        "\nAlarms\n\nmemory on a@h\n"
        "\nNetwork Partitions\n\n(none)\n"
        "\nListeners\n\n"
        "Node: a@h, interface: [::], port: 5, protocol: amqp, purpose: AMQP 0-9-1\n");
  const Json json = Json::parse(run(api, {"cluster_status", "--formatter", "json"}).out);
  CHECK(json["cluster_name"] == "many");
  CHECK(json["disk_nodes"] == Json::array({"a@h", "b@h", "c@h"}));
  CHECK(json["ram_nodes"] == Json::array());
  CHECK(json["running_nodes"] == Json::array({"a@h", "b@h"}));
  CHECK(json["versions"].size() == 1);
  CHECK(json["partitions"] == Json::object());
}

TEST_CASE("a node is forgotten through another one") {
  FakeApi api;
  api.answer("DELETE nodes/c%40h", "", 204);
  api.answer("DELETE nodes/b%40h",
             R"({"error":"bad_request","reason":"node b@h is running: stop it first"})", 400);
  const Ran done = run(api, {"forget_cluster_node", "c@h"});
  CHECK(done.code == kExitOk);
  CHECK(done.out == "Removing node c@h from the cluster\n");
  CHECK(api.changes == std::vector<std::string>{"DELETE nodes/c%40h"});
  const Ran runs = run(api, {"-q", "forget_cluster_node", "b@h"});
  CHECK(runs.code == kExitUnavailable);
  CHECK(runs.err == "Error:\nnode b@h is running: stop it first\n");
  const Ran unknown = run(api, {"-q", "forget_cluster_node", "d@h"});
  CHECK(unknown.code == kExitUnavailable);
  CHECK(unknown.err == "Error:\nThe node selected is not in the cluster.\n");
  api.changes.clear();
  CHECK(run(api, {"forget_cluster_node", "--offline", "c@h"}).code == kExitUnavailable);
  CHECK(run(api, {"forget_cluster_node"}).code == kExitUsage);
  CHECK(api.changes.empty());
}

TEST_CASE("waiting for nodes") {
  FakeApi api;
  api.pauses_left = 2;
  CHECK(run(api, {"-q", "await_online_nodes", "1"}).code == kExitTimeout);
  CHECK(api.requests.size() == 3);  // what is no answer yet is asked again
  three_nodes(api);
  CHECK(run(api, {"-q", "await_online_nodes", "2"}).code == kExitOk);
  CHECK(run(api, {"await_online_nodes", "1"}).out ==
        "Will wait for at least 1 nodes to join the cluster of the node at http://there:15672.\n");
  const Ran late = run(api, {"-q", "await_online_nodes", "3"});
  CHECK(late.code == kExitTimeout);
  CHECK(late.err == "Error:\ntimed out while waiting: 2 of 3 nodes run\n");
  api.answer("GET nodes", R"({"error":"not_authorised","reason":"Not monitor user"})", 401);
  api.pauses_left = 2;
  CHECK(run(api, {"-q", "await_online_nodes", "3"}).code == kExitUnavailable);
  CHECK(api.pauses_left == 2);
  for (const char* count : {"0", "-1", "two", "1x", ""}) {
    CHECK(run(api, {"await_online_nodes", count}).code == kExitUsage);
  }
}

TEST_CASE("force_boot asks a node whose app is stopped, or marks a directory, and then nobody") {
  FakeApi api;
  const Ran ran = run(api, {"force_boot", "/nowhere/at/all"});
  CHECK(ran.code == kExitUnavailable);
  CHECK(ran.err.find("/nowhere/at/all") != std::string::npos);
  CHECK(api.requests.empty());
  api.answer("POST app/force-boot", R"({"reason":"the app has to be stopped first"})", 400);
  CHECK(run(api, {"force_boot"}).code == kExitSoftware);
  api.answer("POST app/force-boot", "", 204);
  CHECK(run(api, {"-q", "force_boot"}).code == kExitOk);
}

TEST_CASE("the app is stopped and started, and waited for") {
  FakeApi api;
  api.answer("GET app", R"({"state":"stopped","last_error":""})");
  // It is so already: nothing is asked for.
  CHECK(run(api, {"-q", "stop_app"}).code == kExitOk);
  CHECK(api.requests.size() == 1);
  api.answer("POST app/start", R"({"state":"starting"})", 202);
  api.pauses_left = 2;
  const Ran late = run(api, {"-q", "start_app"});
  CHECK(late.code == kExitTimeout);
  CHECK(late.err.find("the app is stopped") != std::string::npos);
  api.answer("GET app", R"({"state":"stopped","last_error":"the port is in use"})");
  const Ran failed = run(api, {"-q", "start_app"});
  CHECK(failed.code == kExitSoftware);
  CHECK(failed.err.find("the port is in use") != std::string::npos);
  api.answer("GET app", R"({"state":"running","last_error":""})");
  CHECK(run(api, {"-q", "start_app"}).code == kExitOk);
}

TEST_CASE("a node is reset, and joins a cluster, while its app is stopped") {
  FakeApi api;
  const std::string running = R"({"reason":"the app has to be stopped first, stop_app"})";
  for (const char* path : {"POST app/reset", "POST app/force-reset", "POST app/join"}) {
    api.answer(path, running, 400);
  }
  for (const std::vector<const char*>& line :
       {std::vector<const char*>{"reset"}, {"force_reset"}, {"join_cluster", "a@h"}}) {
    const Ran refused = run(api, line);
    CHECK(refused.code == kExitSoftware);
    CHECK(refused.err == "Error:\nthe app has to be stopped first, stop_app\n");
  }
  api.answer("POST app/reset", "", 204);
  CHECK(run(api, {"-q", "reset"}).code == kExitOk);
  api.answer("POST app/join", R"({"already_member":false})");
  CHECK(run(api, {"join_cluster", "--ram", "a@h"}).code == kExitOk);
  CHECK(api.requests.back().body == R"({"member":"a@h"})");
  api.answer("POST app/join", R"({"already_member":true})");
  const Ran already = run(api, {"join_cluster", "a@h"});
  CHECK(already.code == kExitOk);
  CHECK(already.out.find("already a member") != std::string::npos);
}

TEST_CASE("queues of a node, and of nodes that are down") {
  FakeApi api;
  api.answer("GET overview", R"({"node":"a@h"})");
  api.answer("GET vhosts/%2F", "{}");
  api.answer("GET queues/%2F", R"([{"name":"here","node":"a@h","state":"running","messages":1},)"
                               R"({"name":"there","node":"b@h","state":"running","messages":2},)"
                               R"({"name":"gone","node":"c@h","state":"down"}])");
  CHECK(run(api, {"-s", "list_queues", "name", "messages", "node", "state"}).out ==
        "here\t1\ta@h\trunning\nthere\t2\tb@h\trunning\ngone\t\tc@h\tdown\n");
  CHECK(run(api, {"-s", "list_queues", "--local", "name"}).out == "here\n");
  CHECK(run(api, {"-s", "list_queues", "--offline", "name"}).out == "gone\n");
  CHECK(run(api, {"-s", "list_queues", "--online", "name"}).out == "here\nthere\n");
  CHECK(run(api, {"-s", "list_queues", "pid"}).out.find("<c@h.") != std::string::npos);
}

TEST_CASE("the cluster is given a name") {
  FakeApi api;
  api.answer("PUT cluster-name", "", 204);
  const Ran ran = run(api, {"set_cluster_name", "many"});
  CHECK(ran.code == kExitOk);
  CHECK(ran.out == "Setting cluster name to many ...\n");
  CHECK(api.changes == std::vector<std::string>{R"(PUT cluster-name {"name":"many"})"});
  api.answer("PUT cluster-name", R"({"reason":"not a majority"})", 503);
  CHECK(run(api, {"set_cluster_name", "many"}).code == kExitUnavailable);
}

TEST_CASE("what a node listens on is listed") {
  FakeApi api;
  api.answer("GET overview", R"({"node":"a@h","listeners":[{"node":"a@h","protocol":"clustering",)"
                             R"("ip_address":"::1","port":25672}]})");
  api.answer("GET nodes", R"([{"name":"a@h"}])");
  api.answer("GET vhosts", "[]");
  CHECK(run(api, {"-q", "listeners"}).out ==
        "Interface: [::1], port: 25672, protocol: clustering, purpose: inter-node and CLI tool "
        "communication\n");
}

}  // namespace ringtail::ctl::cluster_test
