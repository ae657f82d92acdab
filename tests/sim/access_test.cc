// Who gets in, what they may do, and what happens to them when that changes: whole nodes.
#include <doctest/doctest.h>

#include <string>

#include "broker/amqp/field_table.h"
#include "broker/channel.h"
#include "broker/connection.h"
#include "broker/passwords.h"
#include "tests/sim/sim_broker.h"

namespace access_test {

using namespace ringtail;
using namespace ringtail::sim;
using namespace ringtail::cluster::metadata;
using runtime::kMillisecondNs;
using runtime::kSecondNs;
using runtime::SimHost;
using runtime::SimWorld;

namespace {

struct Scenario {
  explicit Scenario(std::uint16_t shards = 2, runtime::Config config = {})
      : world(1), host(world), node(host, shards, std::move(config)) {}

  // A change of the metadata that is in force everywhere afterwards.
  void change(Command command) {
    bool done = false;
    node.run_on_shard(0, [&] {
      node.shard(0).propose(std::move(command), [&done](const CommandResult&) { done = true; });
    });
    REQUIRE(world.run_until([&] { return done; }));
  }
  void user(const std::string& name, const std::string& password,
            std::vector<std::string> tags = {}) {
    change(
        PutUser{{.name = name,
                 .password_hash = broker::hash_password(PasswordHashing::kSha256, password, "salt"),
                 .tags = std::move(tags)}});
  }
  void permit(const std::string& name, const std::string& configure, const std::string& write,
              const std::string& read, const std::string& vhost = "/") {
    change(PutPermission{
        {.vhost = vhost, .user = name, .configure = configure, .write = write, .read = read}});
  }
  bool opened(AmqpClient& client, const std::string& vhost = "/") {
    client.connect(vhost);
    return client.await_open();
  }
  // The text of the channel.close that comes; the channel is open again afterwards.
  std::string refused(AmqpClient& client, std::uint16_t channel = 1) {
    ServerFrame frame;
    if (!client.await<amqp::ChannelClose>(channel, frame)) return "nothing came";
    const std::string text(frame.as<amqp::ChannelClose>().reply_text);
    REQUIRE(client.open_channel(channel));
    return text;
  }
  std::size_t registered() { return node.shard(0).registry()->connections(); }
  // Until nothing happens any more but what timers will do.
  bool none_registered() {
    return world.run_until([&] { return registered() == 0; });
  }

  SimWorld world;
  SimHost host;
  BrokerNode node;
};

struct Client : AmqpClient {
  Client(Scenario& sim, const std::string& user, const std::string& password)
      : AmqpClient(sim.host) {
    set_user(user, password);
  }
};

std::string table(const std::string& name, amqp::FieldValue value) {
  return amqp::FieldTable().set(name, std::move(value)).encode();
}

}  // namespace

TEST_CASE("logging in") {
  Scenario sim;
  sim.user("app", "secret");
  sim.permit("app", ".*", ".*", ".*");
  Client right(sim, "app", "secret");
  CHECK(sim.opened(right));
  for (const auto& [user, password] : {std::pair{"app", "wrong"}, {"nobody", "secret"}}) {
    Client wrong(sim, user, password);
    const std::uint64_t began = sim.world.now_ns();
    CHECK_FALSE(sim.opened(wrong));
    CHECK(wrong.close_code() == 403);
    CHECK(wrong.close_text() ==
          "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details "
          "see the broker logfile.");
    // It cost the client a pause, the same one whatever was wrong.
    CHECK(sim.world.now_ns() - began >= runtime::kLoginPauseMs * kMillisecondNs);
    CHECK(sim.world.now_ns() - began < 2 * runtime::kLoginPauseMs * kMillisecondNs);
  }
  // Meanwhile others work.
  CHECK(right.open_channel(1));
}

TEST_CASE("a flood of failed logins is held in bounds") {
  Scenario sim(1);
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < runtime::kRefusalsHeldMax + 10; ++i) {
    clients.push_back(std::make_unique<Client>(sim, "nobody", "x"));
    clients.back()->connect();
  }
  const std::uint64_t began = sim.world.now_ns();
  const auto told = [&] {
    std::size_t count = 0;
    for (auto& client : clients) {
      client->poll();
      if (client->close_code() == 403) ++count;
    }
    return count;
  };
  REQUIRE(sim.world.run_until([&] { return told() >= 10; }));
  CHECK(sim.world.now_ns() - began < runtime::kLoginPauseMs * kMillisecondNs);
  REQUIRE(sim.world.run_until([&] { return told() == clients.size(); }));
  Client right(sim, "guest", "guest");
  CHECK(sim.opened(right));
}

TEST_CASE("entering a vhost") {
  Scenario sim;
  sim.user("app", "secret");
  sim.change(PutVhost{{.name = "größe/ß"}});
  const auto text = [&](const std::string& vhost) {
    Client client(sim, "app", "secret");
    if (sim.opened(client, vhost)) return std::string();
    CHECK(client.close_code() == 530);
    return client.close_text();
  };
  CHECK(text("nowhere") == "NOT_ALLOWED - vhost nowhere not found");
  CHECK(text("größe/ß") == "NOT_ALLOWED - access to vhost 'größe/ß' refused for user 'app'");
  sim.permit("app", "", "", "", "größe/ß");
  CHECK(text("größe/ß").empty());
  CHECK(sim.none_registered());
}

TEST_CASE("permissions are checked where RabbitMQ checks them, in its order") {
  Scenario sim;
  sim.user("app", "secret");
  sim.permit("app", "^c", "^w", "^r");
  Client client(sim, "app", "secret");
  REQUIRE(sim.opened(client));
  REQUIRE(client.open_channel(1));
  const auto no = [](const std::string& resource) {
    return "ACCESS_REFUSED - access to " + resource + " in vhost '/' refused for user 'app'";
  };
  const auto gets = [&](const auto& method, const std::string& text) {
    client.send(1, method);
    CHECK(sim.refused(client) == text);
  };
  gets(amqp::QueueDeclare{.queue = "q", .arguments = {}}, no("queue 'q'"));
  gets(amqp::QueueDeclare{.queue = "amq.q", .arguments = {}},
       "ACCESS_REFUSED - queue name 'amq.q' contains reserved prefix 'amq.*'");
  gets(amqp::QueueDeclare{.queue = "zz", .passive = true, .arguments = {}},
       "NOT_FOUND - no queue 'zz' in vhost '/'");
  gets(amqp::QueueDelete{.queue = "zz"}, no("queue 'zz'"));
  gets(amqp::QueuePurge{.queue = "zz"}, no("queue 'zz'"));
  gets(amqp::BasicGet{.queue = "zz"}, no("queue 'zz'"));
  gets(amqp::BasicGet{.queue = "rzz"}, "NOT_FOUND - no queue 'rzz' in vhost '/'");
  gets(amqp::BasicConsume{.queue = "zz", .consumer_tag = "", .arguments = {}}, no("queue 'zz'"));
  gets(amqp::QueueBind{.queue = "q", .exchange = "", .routing_key = "", .arguments = {}},
       no("queue 'q'"));
  gets(amqp::QueueBind{.queue = "wq", .exchange = "", .routing_key = "", .arguments = {}},
       "ACCESS_REFUSED - operation not permitted on the default exchange");
  gets(amqp::QueueBind{.queue = "wq", .exchange = "zx", .routing_key = "", .arguments = {}},
       no("exchange 'zx'"));
  gets(amqp::QueueBind{.queue = "wq", .exchange = "rx", .routing_key = "", .arguments = {}},
       "NOT_FOUND - no exchange 'rx' in vhost '/'");
  gets(amqp::QueueUnbind{.queue = "wq", .exchange = "zx", .routing_key = "", .arguments = {}},
       no("exchange 'zx'"));
  gets(amqp::ExchangeDeclare{.exchange = "x", .type = "direct", .arguments = {}},
       no("exchange 'x'"));
  gets(amqp::ExchangeDeclare{.exchange = "amq.x", .type = "direct", .arguments = {}},
       no("exchange 'amq.x'"));
  gets(amqp::ExchangeDelete{.exchange = "zx"}, no("exchange 'zx'"));
  gets(amqp::ExchangeDelete{.exchange = "amq.direct"},
       "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed");
  gets(amqp::ExchangeBind{.destination = "", .source = "t", .routing_key = "", .arguments = {}},
       no("exchange 'amq.default'"));
  gets(amqp::ExchangeBind{.destination = "wx", .source = "t", .routing_key = "", .arguments = {}},
       no("exchange 't'"));
  gets(amqp::ExchangeUnbind{.destination = "x", .source = "rt", .routing_key = "", .arguments = {}},
       no("exchange 'x'"));
  client.publish(1, "", "q", "m");
  CHECK(sim.refused(client) == no("exchange 'amq.default'"));
  client.publish(1, "zx", "q", "m");
  CHECK(sim.refused(client) == no("exchange 'zx'"));
  client.publish(1, "wzx", "q", "m");
  CHECK(sim.refused(client) == "NOT_FOUND - no exchange 'wzx' in vhost '/'");
  // What is allowed works.
  CHECK(client.declare(1, "cq"));
}

TEST_CASE("dead letter and alternate exchanges need read on what names them and write on them") {
  Scenario sim;
  sim.user("app", "secret");
  sim.permit("app", "^c", "^w", "^$");
  Client client(sim, "app", "secret");
  REQUIRE(sim.opened(client));
  REQUIRE(client.open_channel(1));
  const std::string dlx = table("x-dead-letter-exchange", "x");
  const std::string ae = table("alternate-exchange", "x");
  const auto declare = [&](const std::string& arguments) {
    client.send(1, amqp::QueueDeclare{.queue = "cq", .arguments = runtime::as_bytes(arguments)});
    return sim.refused(client);
  };
  const auto declare_exchange = [&] {
    client.send(1, amqp::ExchangeDeclare{
                       .exchange = "cx", .type = "direct", .arguments = runtime::as_bytes(ae)});
    return sim.refused(client);
  };
  CHECK(declare(dlx) ==
        "ACCESS_REFUSED - access to queue 'cq' in vhost '/' refused for user 'app'");
  CHECK(declare_exchange() ==
        "ACCESS_REFUSED - access to exchange 'cx' in vhost '/' refused for user 'app'");
  sim.permit("app", "^c", "^w", "^c");
  CHECK(declare(dlx) ==
        "ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused for user 'app'");
  CHECK(declare(table("x-dead-letter-exchange", "")) ==
        "ACCESS_REFUSED - access to exchange 'amq.default' in vhost '/' refused for user 'app'");
  CHECK(declare(table("x-dead-letter-exchange", std::int32_t{1})) ==
        "PRECONDITION_FAILED - invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue "
        "'cq' in vhost '/'");
  CHECK(declare(table("x-expires", std::int32_t{-1})) ==
        "PRECONDITION_FAILED - invalid arg 'x-expires' for queue 'cq' in vhost '/': "
        "{value_negative,-1}");
  CHECK(declare_exchange() ==
        "ACCESS_REFUSED - access to exchange 'x' in vhost '/' refused for user 'app'");
  // Of a queue that is there only equivalence is asked.
  REQUIRE(client.declare(1, "cq"));
  CHECK(declare(dlx) ==
        "PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for queue 'cq' in vhost "
        "'/': received the value 'x' of type 'longstr' but current is none");
}

TEST_CASE("a change of permissions acts on the next publish of an open connection") {
  Scenario sim;
  sim.user("app", "secret");
  sim.permit("app", ".*", ".*", ".*");
  Client client(sim, "app", "secret");
  REQUIRE(sim.opened(client));
  REQUIRE(client.open_channel(1));
  REQUIRE(client.declare(1, "q"));
  client.send(1, amqp::ConfirmSelect{});
  REQUIRE(client.await<amqp::ConfirmSelectOk>(1));
  for (int i = 0; i < 3; ++i) {
    client.publish(1, "", "q", "m");
    REQUIRE(client.await<amqp::BasicAck>(1));
  }
  sim.permit("app", ".*", "^other$", ".*");
  client.publish(1, "", "q", "m");
  CHECK(sim.refused(client) ==
        "ACCESS_REFUSED - access to exchange 'amq.default' in vhost '/' refused for user 'app'");
  sim.permit("app", ".*", ".*", ".*");
  client.publish(1, "", "q", "m");
  client.send(1, amqp::BasicGet{.queue = "q", .no_ack = true});
  CHECK(client.await<amqp::BasicGetOk>(1));
  // A new password changes nothing for who is in, and everything for who comes.
  sim.user("app", "new");
  CHECK(client.declare(1, "q"));
  Client late(sim, "app", "secret");
  CHECK_FALSE(sim.opened(late));
}

TEST_CASE("topic permissions, on publish and on bind") {
  Scenario sim;
  sim.user("app", "secret");
  sim.permit("app", ".*", ".*", ".*");
  sim.change(PutTopicPermission{{.vhost = "/",
                                 .user = "app",
                                 .exchange = "amq.topic",
                                 .write = "^{username}\\.",
                                 .read = "^r"}});
  Client client(sim, "app", "secret");
  REQUIRE(sim.opened(client));
  REQUIRE(client.open_channel(1));
  REQUIRE(client.declare(1, "q"));
  const auto no = [](const std::string& key) {
    return "ACCESS_REFUSED - access to topic '" + key +
           "' in exchange 'amq.topic' in vhost '/' refused for user 'app'";
  };
  client.send(1, amqp::QueueBind{
                     .queue = "q", .exchange = "amq.topic", .routing_key = "k", .arguments = {}});
  CHECK(sim.refused(client) == no("k"));
  client.send(1, amqp::QueueBind{
                     .queue = "q", .exchange = "amq.topic", .routing_key = "r.#", .arguments = {}});
  CHECK(client.await<amqp::QueueBindOk>(1));
  client.publish(1, "amq.topic", "app.x", "m");
  client.publish(1, "amq.topic", "other.x", "m");
  CHECK(sim.refused(client) == no("other.x"));
  client.publish(1, "amq.topic", "app.x", "m");
  client.publish(1, "amq.direct", "other.x", "m");  // other types have no topics
  client.send(1, amqp::QueueDelete{.queue = "q"});
  CHECK(client.await<amqp::QueueDeleteOk>(1));
}

TEST_CASE("the user-id of another needs the tag impersonator") {
  Scenario sim;
  sim.user("app", "secret");
  sim.permit("app", ".*", ".*", ".*");
  Client client(sim, "app", "secret");
  REQUIRE(sim.opened(client));
  REQUIRE(client.open_channel(1));
  amqp::BasicProperties properties;
  properties.user_id = "somebody";
  const std::string encoded = properties.encode();
  const auto publish = [&] {
    runtime::OutChain out;
    amqp::write_method(out, 1, amqp::BasicPublish{.exchange = "", .routing_key = "q", .route = {}});
    amqp::write_content(out, 1, {.properties = runtime::as_bytes(encoded), .body = {}}, 131072);
    client.send(out);
  };
  publish();
  CHECK(sim.refused(client) ==
        "PRECONDITION_FAILED - user_id property set to 'somebody' but authenticated user was "
        "'app'");
  sim.user("app", "secret", {"impersonator"});
  publish();
  CHECK(client.declare(1, "q"));
}

TEST_CASE("limits of connections") {
  Scenario sim(3);
  sim.user("app", "secret");
  sim.permit("app", ".*", ".*", ".*");
  const auto text = [&] {
    Client client(sim, "app", "secret");
    if (sim.opened(client)) return std::string();
    CHECK(client.close_code() == 530);
    return client.close_text();
  };
  sim.change(SetVhostLimits{"/", {.max_connections = 0}});
  CHECK(text() ==
        "NOT_ALLOWED - access to vhost '/' refused for user 'app': connection limit (0) is "
        "reached");
  sim.change(SetVhostLimits{"/", {}});
  sim.change(SetUserLimits{"app", {.max_connections = 1}});
  {
    Client first(sim, "app", "secret");
    REQUIRE(sim.opened(first));
    CHECK(text() ==
          "NOT_ALLOWED - connection refused for user 'app': user connection limit (1) is reached");
    CHECK(first.close());
  }
  // Its place is free as soon as it has been told so, and after every other end.
  CHECK(text().empty());
  CHECK(sim.none_registered());
  Client dying(sim, "app", "secret");
  REQUIRE(sim.opened(dying));
  dying.abort();
  CHECK(sim.none_registered());
  CHECK(text().empty());
}

TEST_CASE("connection_max of the node") {
  runtime::Config config;
  config.connection_max = 1;
  Scenario sim(2, config);
  Client first(sim, "guest", "guest");
  REQUIRE(sim.opened(first));
  Client second(sim, "guest", "guest");
  CHECK_FALSE(sim.opened(second));
  CHECK(second.close_text() ==
        "NOT_ALLOWED - connection refused: node connection limit (1) is reached");
}

TEST_CASE("no place leaks, wherever in its opening a connection dies") {
  Scenario sim(3);
  for (int steps = 0; steps < 60; ++steps) {
    Client client(sim, "guest", "guest");
    client.connect();
    int left = steps;
    sim.world.run_until([&] {
      client.poll();
      return left-- == 0 || client.opened();
    });
    client.abort();
    REQUIRE(sim.none_registered());
  }
  CHECK(sim.node.shard(0).registry()->connections_of_vhost("/") == 0);
  CHECK(sim.node.shard(0).registry()->connections_of_user("guest") == 0);
}

TEST_CASE("methods sent right behind connection.open are answered") {
  Scenario sim(2);
  AmqpClient first(sim.host);  // so that the second connection lives on another shard than 0
  REQUIRE(sim.opened(first));
  for (int i = 0; i < 2; ++i) {
    AmqpClient client(sim.host);
    client.connect();
    client.send_behind_open(1, amqp::ChannelOpen{});
    REQUIRE(client.await_open());
    CHECK(client.await<amqp::ChannelOpenOk>(1));
    CHECK(client.declare(1, "q"));
  }
}

TEST_CASE("limits of channels of a user, over connections") {
  Scenario sim(3);
  sim.user("app", "secret");
  sim.permit("app", ".*", ".*", ".*");
  Client first(sim, "app", "secret");
  REQUIRE(sim.opened(first));
  REQUIRE(first.open_channel(1));
  sim.change(SetUserLimits{"app", {.max_channels = 2}});
  Client second(sim, "app", "secret");
  REQUIRE(sim.opened(second));
  REQUIRE(second.open_channel(1));
  REQUIRE(second.declare(1, "q"));
  Client third(sim, "app", "secret");
  REQUIRE(sim.opened(third));
  third.send(1, amqp::ChannelOpen{});
  REQUIRE(sim.world.run_until([&] {
    third.poll();
    return third.close_code() != 0;
  }));
  CHECK(third.close_code() == 530);
  CHECK(third.close_text() ==
        "NOT_ALLOWED - number of channels opened for user 'app' has reached the maximum allowed "
        "user limit of (2)");
  first.send(1, amqp::ChannelClose{.reply_code = 200, .reply_text = "bye"});
  REQUIRE(first.await<amqp::ChannelCloseOk>(1));
  CHECK(second.open_channel(2));
  CHECK(sim.node.shard(0).registry()->channels_of_user("app") == 2);
  second.abort();
  REQUIRE(sim.world.run_until(
      [&] { return sim.node.shard(0).registry()->channels_of_user("app") == 0; }));
  CHECK(first.open_channel(1));
}

TEST_CASE("limits of consumers and of queues") {
  runtime::Config config;
  config.consumer_max_per_channel = 1;
  config.cluster_queue_limit = 2;
  Scenario sim(2, config);
  AmqpClient client(sim.host);
  REQUIRE(sim.opened(client));
  REQUIRE(client.open_channel(1));
  REQUIRE(client.declare(1, "a"));
  REQUIRE(client.declare(1, "b"));
  CHECK(client.declare(1, "a"));  // it is there
  client.send(1, amqp::QueueDeclare{.queue = "c", .arguments = {}});
  CHECK(sim.refused(client) ==
        "PRECONDITION_FAILED - cannot declare queue 'c': queue limit in cluster (2) is reached");
  sim.change(SetVhostLimits{"/", {.max_queues = 1}});
  client.send(1, amqp::QueueDeclare{.queue = "c", .arguments = {}});
  CHECK(sim.refused(client) ==
        "PRECONDITION_FAILED - cannot declare queue 'c': queue limit in vhost '/' (1) is reached");
  client.send(1, amqp::BasicConsume{.queue = "a", .consumer_tag = "", .arguments = {}});
  REQUIRE(client.await<amqp::BasicConsumeOk>(1));
  client.send(1, amqp::BasicConsume{.queue = "a", .consumer_tag = "", .arguments = {}});
  REQUIRE(sim.world.run_until([&] {
    client.poll();
    return client.close_code() != 0;
  }));
  CHECK(client.close_text() == "NOT_ALLOWED - reached maximum (1) of consumers per channel");
}

TEST_CASE("an operator ends a connection, others go on") {
  Scenario sim(1);
  AmqpClient one(sim.host);
  AmqpClient other(sim.host);
  REQUIRE(sim.opened(one));
  REQUIRE(one.open_channel(7));
  REQUIRE(sim.opened(other));
  std::uint64_t first = 0;
  sim.node.run_on_shard(0, [&] {
    sim.node.shard(0).for_each_connection([&](broker::Connection& connection) {
      if (first == 0) first = connection.id();
    });
    const broker::ConnectionInfo info = sim.node.shard(0).connection(first)->info();
    CHECK(info.user == "guest");
    CHECK(info.vhost == "/");
    CHECK(std::string(info.state) == "running");
    CHECK(info.channels == 1);
    CHECK(info.auth_mechanism == "PLAIN");
    CHECK(info.recv_octets > 0);
    CHECK(info.send_octets > 0);
    CHECK(info.name.find(" -> 127.0.0.1:5672") != std::string::npos);
    const auto channels = sim.node.shard(0).connection(first)->channel_infos();
    REQUIRE(channels.size() == 1);
    CHECK(channels[0].number == 7);
    sim.node.shard(0).connection(first)->close_forced("Closed via management plugin");
  });
  REQUIRE(sim.world.run_until([&] {
    one.poll();
    return one.closed();
  }));
  CHECK(one.close_code() == 320);
  CHECK(one.close_text() == "CONNECTION_FORCED - Closed via management plugin");
  CHECK(other.open_channel(1));
}

TEST_CASE("a deleted user's connections are closed, on every shard") {
  Scenario sim(3);
  sim.user("app", "secret");
  sim.permit("app", ".*", ".*", ".*");
  Client clients[] = {{sim, "app", "secret"}, {sim, "app", "secret"}, {sim, "app", "secret"}};
  AmqpClient guest(sim.host);
  for (Client& client : clients) REQUIRE(sim.opened(client));
  REQUIRE(sim.opened(guest));
  sim.change(DeleteUser{"app"});
  for (Client& client : clients) {
    REQUIRE(sim.world.run_until([&] {
      client.poll();
      return client.closed();
    }));
    CHECK(client.close_text() == "CONNECTION_FORCED - user 'app' is deleted");
  }
  CHECK(guest.open_channel(1));
  CHECK(sim.registered() == 1);
}

TEST_CASE("quorum queues, single active consumers") {
  Scenario sim;
  AmqpClient client(sim.host);
  REQUIRE(sim.opened(client));
  REQUIRE(client.open_channel(1));
  const std::string quorum = table("x-queue-type", "quorum");
  const auto declare = [&](std::string_view queue, bool durable, const std::string& arguments) {
    client.send(1,
                amqp::QueueDeclare{
                    .queue = queue, .durable = durable, .arguments = runtime::as_bytes(arguments)});
  };
  declare("q", false, quorum);
  REQUIRE(client.await<amqp::QueueDeclareOk>(1));
  CHECK(sim.node.shard(1).view().queue("/", "q")->durable);
  CHECK(sim.node.shard(1).view().queue("/", "q")->options.type == QueueType::kQuorum);
  declare("q", false, quorum);
  CHECK(client.await<amqp::QueueDeclareOk>(1));
  declare("q", true, "");
  CHECK(
      sim.refused(client) ==
      "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received "
      "none but current is the value 'quorum' of type 'longstr'");
  declare("s", true, table("x-single-active-consumer", true));
  REQUIRE(client.await<amqp::QueueDeclareOk>(1));
  client.send(
      1, amqp::BasicConsume{.queue = "s", .consumer_tag = "", .exclusive = true, .arguments = {}});
  CHECK(sim.refused(client) == "ACCESS_REFUSED - queue 's' in vhost '/' in exclusive use");
}

}  // namespace access_test
