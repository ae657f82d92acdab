#include "broker/definitions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "broker/base64.h"
#include "broker/definitions_checks.h"
#include "cluster/metadata/store.h"

namespace ringtail::broker::definitions_test {

using namespace cluster::metadata;  // NOLINT: most of its commands

namespace {

std::string file_text(const std::string& name) {
  std::ifstream file(RINGTAIL_SOURCE_DIR "/tests/unit/broker/data/" + name);
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE_MESSAGE(!text.str().empty(), name);
  return text.str();
}

ImportedDefinitions import_text(const std::string& text, const ImportOptions& options = {}) {
  auto imported = import_definitions_text(text, options);
  REQUIRE_MESSAGE(imported.ok(), imported.status().text());
  return std::move(imported).value();
}

std::string error_of(const std::string& text) {
  const auto imported = import_definitions_text(text, {});
  return imported.ok() ? "accepted" : imported.status().text();
}

// The only problem there is; "" when there is none.
std::string problem_with(const std::string& text, const ImportOptions& options = {}) {
  const auto problems = import_text(text, options).problems;
  REQUIRE(problems.size() <= 1);
  return problems.empty() ? "" : problems.front();
}

template <typename Wanted>
const Wanted& only(const ImportedDefinitions& imported) {
  const Wanted* found = nullptr;
  for (const Command& command : imported.commands) {
    if (const auto* held = std::get_if<Wanted>(&command)) {
      REQUIRE(found == nullptr);
      found = held;
    }
  }
  REQUIRE(found != nullptr);
  return *found;
}

template <typename Wanted>
std::size_t count(const ImportedDefinitions& imported) {
  std::size_t found = 0;
  for (const Command& command : imported.commands) {
    found += std::holds_alternative<Wanted>(command) ? 1U : 0U;
  }
  return found;
}

// The problems of applying, one a line.
std::string apply_all(Store& store, const ImportedDefinitions& imported) {
  std::string problems;
  for (const Command& command : imported.commands) {
    const std::string problem = problem_of(store.apply(command).outcome);
    if (!problem.empty()) problems += subject_of(command) + ": " + problem + "\n";
  }
  return problems;
}

DeclareQueue queue_named(const std::string& name, ConnectionId owner) {
  QueueRecord record;
  record.vhost = "/";
  record.name = name;
  record.exclusive_owner = owner;
  return {std::move(record), {}};
}

const ExportNames kNames{"3.10.8", "RabbitMQ", "3.10.8"};

// The lists sorted: RabbitMQ's have no order.
Json sorted(Json definitions) {
  for (auto& member : definitions.items()) {
    if (!member.value().is_array()) continue;
    auto& list = member.value().get_ref<Json::array_t&>();
    std::sort(list.begin(), list.end(),
              [](const Json& a, const Json& b) { return json_text(a) < json_text(b); });
  }
  return definitions;
}

// As the HTTP interface gathers them, in one go.
Definitions read_all(const Store& store, const std::string& vhost) {
  Definitions definitions;
  definitions.read_heads(store, vhost);
  for (const auto& one : definitions.vhosts) {
    store.for_each_queue_of(one->name, [&](const auto& queue) { definitions.add_queue(queue); });
    store.for_each_binding(one->name, [&](const auto& it) { definitions.bindings.push_back(it); });
  }
  return definitions;
}

OrderedJson exported_all(const Store& store) {
  return export_definitions(read_all(store, ""), kNames);
}

OrderedJson exported_vhost(const Store& store, const std::string& vhost) {
  return export_definitions_of_vhost(read_all(store, vhost), kNames);
}

// What the exports of 3.10.8 ask for that does not act yet.
const std::vector<std::string> kIdlePolicies = {
    "policy 'mirror' in vhost 'shop front': kept, but nothing here acts on ha-mode, ha-params, "
    "ha-promote-on-failure, ha-sync-mode",
    "policy 'nodes' in vhost 'shop front': kept, but nothing here acts on ha-mode, ha-params"};

}  // namespace

TEST_CASE("a real export of RabbitMQ 3.10.8 loads whole and comes out as it was") {
  const std::string text = file_text("definitions-3.10.json");
  const ImportedDefinitions imported = import_text(text);
  CHECK(imported.problems == kIdlePolicies);
  CHECK(count<PutUser>(imported) == 7);
  CHECK(count<DeclareQueue>(imported) == 12);
  CHECK(count<Bind>(imported) == 10);
  Store store(2);
  CHECK(apply_all(store, imported) == "");

  const auto user = store.user("order-service");
  REQUIRE(user != nullptr);
  CHECK(user->password_hash.size() == 36);
  CHECK(user->tags == std::vector<std::string>{"monitoring"});
  CHECK(user->limits.max_channels == 200U);
  CHECK(store.user("sturdy")->hashing == PasswordHashing::kSha512);
  CHECK(store.user("ancient")->hashing == PasswordHashing::kMd5);
  CHECK(store.user("cert-only")->password_hash.empty());
  CHECK(store.vhost("shop front")->limits.max_queues == 500U);
  CHECK(store.permission("shop front", "order-service")->configure == "^order");
  CHECK(store.topic_permission("shop front", "clerk", "events")->read == "^{username}\\.");
  REQUIRE(store.exchange("shop front", "spread") != nullptr);
  CHECK(store.queue("shop front", "orders.sac")->options.single_active_consumer);
  CHECK(store.queue("shop front", "pay.quorum")->options.type == QueueType::kQuorum);

  Json exported = Json(exported_all(store));
  CHECK(json_text(sorted(exported)) == json_text(sorted(Json::parse(text))));
  // And that again: nothing is replaced by anything else.
  CHECK(apply_all(store, import_text(exported.dump())) == "");
  CHECK(Json(exported_all(store)) == exported);
}

// It writes some objects as lists of pairs, which it cannot read itself, and leaves internal
// exchanges out, but not their bindings.
TEST_CASE("an export made by RabbitMQ's command line loads whole") {
  const auto imported = import_text(file_text("definitions-3.10-ctl.json"));
  CHECK(imported.problems == kIdlePolicies);
  Store store(1);
  CHECK(apply_all(store, imported) ==
        "binding of queue 'orders.limited' to exchange 'hdrs' with key '' in vhost 'shop front': "
        "there is no such exchange\n");
  CHECK(store.vhost("shop front")->limits.max_queues == 500U);
  CHECK(store.vhost("shop front")->description == "The shop");
  const std::string text = json_text(exported_all(store));
  CHECK(text.find(
            R"({"value":{"pattern":".*","definition":{"expires":3600000,"max-length":5000},)") !=
        std::string::npos);
}

TEST_CASE("members are written in RabbitMQ's order") {
  Store store(1);
  apply_all(store, import_text(file_text("definitions-3.10.json")));
  const std::string text = json_text(exported_all(store));
  CHECK(text.starts_with(R"({"rabbit_version":"3.10.8","rabbitmq_version":"3.10.8",)"
                         R"("product_name":"RabbitMQ","product_version":"3.10.8","users":[)"));
  CHECK(text.find(R"({"name":"log","vhost":"audit","type":"fanout","durable":true,)"
                  R"("auto_delete":false,"internal":false,"arguments":{}})") != std::string::npos);
  CHECK(text.find(R"("name":"cert-only","password_hash":"",)") != std::string::npos);
}

TEST_CASE("the export of one vhost goes into another") {
  Store store(1);
  apply_all(store, import_text(file_text("definitions-3.10.json")));
  const OrderedJson exported = exported_vhost(store, "shop front");
  CHECK(exported["queues"].size() == 12);
  CHECK(!exported["queues"][0].contains("vhost"));
  CHECK(!exported.contains("users"));
  CHECK(json_text(exported).starts_with(R"({"rabbit_version":"3.10.8","parameters":[)"));

  CHECK(error_of(json_text(exported)) ==
        "the definitions are those of a single vhost and do not say of which: they have to be "
        "imported into a vhost");
  store.apply(PutVhost{{.name = "copy"}});
  const auto imported = import_text(json_text(exported), {.vhost = "copy"});
  CHECK(imported.problems.size() == kIdlePolicies.size());
  CHECK(apply_all(store, imported) == "");
  CHECK(exported_vhost(store, "copy")["bindings"] == exported["bindings"]);
  CHECK(store.vhost("copy")->limits.max_queues == 500U);
}

TEST_CASE("what is exclusive or predeclared is not exported") {
  Store store(1);
  store.apply(queue_named("mine", 7));
  store.apply(queue_named("q", 0));
  store.apply(Bind{{.vhost = "/", .source = "amq.topic", .destination = "mine"}});
  store.apply(Bind{{.vhost = "/", .source = "amq.topic", .destination = "q"}});
  const OrderedJson exported = exported_all(store);
  CHECK(exported["queues"].size() == 1);
  CHECK(exported["exchanges"].empty());
  REQUIRE(exported["bindings"].size() == 1);
  CHECK(exported["bindings"][0]["destination"] == "q");
}

// The parts are read one after the other.
TEST_CASE("a binding whose end came or went meanwhile is not exported") {
  Store store(1);
  store.apply(queue_named("late", 0));
  store.apply(Bind{{.vhost = "/", .source = "amq.topic", .destination = "late"}});
  Definitions definitions = read_all(store, "");
  CHECK(export_definitions(definitions, kNames)["bindings"].size() == 1);
  definitions.queues.clear();
  CHECK(export_definitions(definitions, kNames)["bindings"].empty());
}

TEST_CASE("a file of RabbitMQ 3.6") {
  const auto imported = import_text(file_text("definitions-3.6.json"));
  CHECK(imported.problems ==
        std::vector<std::string>{
            "parameter 'to-far' of component 'shovel' in vhost 'legacy': kept, but nothing here "
            "acts on it",
            "parameter 'other' of component 'federation-upstream' in vhost 'legacy': kept, but "
            "nothing here acts on it",
            "policy 'ha-all' in vhost 'legacy': kept, but nothing here acts on ha-mode",
            "exchange 'later' in vhost 'legacy': there is no exchange type 'x-delayed-message'"});
  Store store(1);
  CHECK(apply_all(store, imported) == "");
  CHECK(store.user("app")->hashing == PasswordHashing::kMd5);
  CHECK(store.user("app")->tags == std::vector<std::string>{"administrator", "monitoring"});
  CHECK(store.user("hashed")->hashing == PasswordHashing::kSha256);
  CHECK(store.vhost("legacy")->limits == VhostLimits{.max_connections = 5, .max_queues = {}});
  CHECK(store.queue("legacy", "ha.one") != nullptr);
}

TEST_CASE("a file of RabbitMQ 4.1") {
  const auto imported = import_text(file_text("definitions-4.1.json"));
  REQUIRE(imported.problems.size() == 4);
  CHECK(imported.problems[0] ==
        "vhost 'logs': created without its default_queue_type 'stream', which is not known");
  CHECK(imported.problems[1] ==
        "vhost 'logs': created, but it can be deleted: protected_from_deletion is not known");
  CHECK(imported.problems[2] ==
        "policy 'retention' in vhost 'logs': apply-to is 'streams': all, queues, exchanges, "
        "classic_queues and quorum_queues are known");
  CHECK(imported.problems[3].starts_with("queue 'audit' in vhost 'logs': "));
  Store store(1);
  CHECK(apply_all(store, imported) == "");
  CHECK(store.vhost("safe")->description == "All quorum");
  CHECK(store.vhost("safe")->tags == std::vector<std::string>{"a", "b"});
  CHECK(store.vhost("safe")->default_queue_type == "quorum");
  CHECK(store.queue("safe", "implied")->options.type == QueueType::kQuorum);
  CHECK(store.queue("safe", "plain")->options.type == QueueType::kClassic);
  CHECK(store.queue("logs", "audit") == nullptr);
}

TEST_CASE("commands come in an order in which each finds what it needs") {
  const auto imported = import_text(
      R"({"bindings":[{"source":"x","vhost":"v","destination":"q","destination_type":"queue",)"
      R"("routing_key":"","arguments":{}}],"queues":[{"name":"q","vhost":"v","durable":true}],)"
      R"("parameters":[{"component":"vhost-limits","vhost":"v","name":"limits",)"
      R"("value":{"max-queues":1}}],"policies":[{"vhost":"v","name":"p","pattern":"",)"
      R"("definition":{"expires":5}}],"exchanges":[{"name":"x","vhost":"v","type":"direct",)"
      R"("durable":true}],"topic_permissions":[{"user":"u","vhost":"v","exchange":"x",)"
      R"("write":"","read":""}],"permissions":[{"user":"u","vhost":"v","configure":"",)"
      R"("write":"","read":""}],"vhosts":[{"name":"v"}],"global_parameters":[{"name":"g",)"
      R"("value":1}],"users":[{"name":"u","tags":"","limits":{"max-channels":1}}]})");
  CHECK(json_text(Json(imported.problems)) == "[]");
  std::vector<std::string> subjects;
  for (const Command& command : imported.commands) subjects.push_back(subject_of(command));
  CHECK(subjects == std::vector<std::string>{
                        "user 'u'", "vhost 'v'", "limits of user 'u'", "limits of vhost 'v'",
                        "permissions of user 'u' in vhost 'v'",
                        "topic permissions of user 'u' in vhost 'v'", "exchange 'x' in vhost 'v'",
                        "global parameter 'g'", "policy 'p' in vhost 'v'", "queue 'q' in vhost 'v'",
                        "binding of queue 'q' to exchange 'x' with key '' in vhost 'v'"});
  Store store(1);
  CHECK(apply_all(store, imported) == "");
}

TEST_CASE("passwords") {
  const auto user = [](const std::string& fields) {
    return "{\"users\":[{\"name\":\"u\"," + fields + "}]}";
  };
  const std::string sha256 = base64_encode(std::string(36, 'x'));
  const std::string sha512 = base64_encode(std::string(68, 'x'));
  // The size tells the algorithm where the file does not.
  for (const auto& [hash, hashing] :
       {std::pair{base64_encode(std::string(20, 'x')), PasswordHashing::kMd5},
        std::pair{sha256, PasswordHashing::kSha256}, std::pair{sha512, PasswordHashing::kSha512}}) {
    const auto imported = import_text(user("\"password_hash\":\"" + hash + "\""));
    CHECK(only<PutUser>(imported).record.hashing == hashing);
  }
  CHECK(problem_with(user(R"("password_hash":"%%")")) == "user 'u': password_hash is not Base64");
  CHECK(problem_with(user("\"password_hash\":\"" + sha256 +
                          R"(","hashing_algorithm":"rabbit_password_hashing_sha512")")) ==
        "user 'u': password_hash has 36 bytes: salt and digest have 68");
  CHECK(problem_with(user("\"password_hash\":\"" + sha256 + R"(","hashing_algorithm":"bcrypt")")) ==
        "user 'u': there is no hashing_algorithm 'bcrypt'");
  CHECK(problem_with(user(R"("password":"secret")")) ==
        "user 'u': a password in clear cannot be taken here");
  ImportOptions options;
  options.hash_password = [](std::string_view password) { return "#" + std::string(password); };
  const auto imported = import_text(user(R"("password":"secret")"), options);
  CHECK(only<PutUser>(imported).record.password_hash == "#secret");
  // None: no login by password.
  CHECK(only<PutUser>(import_text(user(R"("tags":"")"))).record.password_hash.empty());
}

TEST_CASE("one bad object is named and the others are imported") {
  const auto queue = [](const std::string& object) {
    return R"({"queues":[)" + object + R"(,{"name":"good","vhost":"/","durable":true}]})";
  };
  const auto problem = [&](const std::string& object) {
    const auto imported = import_text(queue(object));
    CHECK(only<DeclareQueue>(imported).record.name == "good");
    REQUIRE(imported.problems.size() == 1);
    return imported.problems.front();
  };
  CHECK(problem("3") == "queues[0]: has to be an object");
  CHECK(problem(R"({"vhost":"/","durable":true})") == "queues[0]: name is missing");
  CHECK(problem(R"({"name":"q","durable":true})") == "queue 'q': vhost is missing");
  CHECK(problem(R"({"name":"q","vhost":"/"})") == "queue 'q' in vhost '/': durable is missing");
  CHECK(problem(R"({"name":"q","vhost":"/","durable":1})") ==
        "queue 'q' in vhost '/': durable has to be true or false, not 1");
  CHECK(problem(R"({"name":"q","vhost":"/","durable":true,"arguments":{"a":null}})") ==
        "queue 'q' in vhost '/': argument a is null: arguments have values");
  CHECK(problem(R"({"name":"q","vhost":"/","durable":true,"arguments":3})") ==
        "queue 'q' in vhost '/': arguments have to be an object, not 3");
  CHECK(problem(R"({"name":"a\nb","vhost":"/"})") ==
        "queue 'a b' in vhost '/': durable is missing");
  CHECK(problem(R"({"name":")" + std::string(256, 'n') + R"(","vhost":"/","durable":true})")
            .ends_with(": name has 256 bytes: names have at most 255"));
}

TEST_CASE("problems of other objects") {
  CHECK(problem_with(R"({"vhosts":{}})") == "vhosts: have to be a list, left out");
  CHECK(problem_with(R"({"shovels":[]})") == "key 'shovels': not known, left out");
  CHECK(problem_with(R"({"permissions":[{"user":"u","vhost":"/","configure":"(","write":"",)"
                     R"("read":""}]})")
            .starts_with("permissions of user 'u' in vhost '/': configure: "));
  CHECK(problem_with(R"({"policies":[{"name":"p","vhost":"/","pattern":"a","definition":{},)"
                     R"("priority":"x"}]})") ==
        "policy 'p' in vhost '/': priority has to be a whole number, not \"x\"");
  CHECK(problem_with(R"({"users":[{"name":"u","limits":{"max-cats":1}}]})") ==
        "user 'u': there is no limit 'max-cats'");
  CHECK(problem_with(R"({"bindings":[{"vhost":"/","source":"x","destination":"q",)"
                     R"("destination_type":"drain","routing_key":"k"}]})") ==
        "binding of drain 'q' to exchange 'x' with key 'k' in vhost '/': destination_type has to "
        "be queue or exchange, not 'drain'");
  CHECK(problem_with(R"({"parameters":[{"component":"operator_policy","vhost":"/","name":"p",)"
                     R"("value":{"pattern":"(","definition":{"expires":1}}}]})")
            .starts_with("parameter 'p' of component 'operator_policy' in vhost '/': "
                         "pattern should be regular expression but is invalid: "));
}

TEST_CASE("what is no definitions file at all is one error") {
  CHECK(error_of("[]").starts_with("no definitions: "));
  CHECK(error_of("3").starts_with("no definitions: "));
  CHECK(error_of("{\"users\": [").starts_with("not JSON at line 1, column 11: "));
  CHECK(error_of("").starts_with("not JSON at line 1"));
  CHECK(error_of("{}") == "accepted");
  CHECK(error_of("\xEF\xBB\xBF{}") == "accepted");
}

}  // namespace ringtail::broker::definitions_test
