// What routing costs with 100,000 bindings: adding, looking up, removing.
//   cmake --build <dir> --target routing_bench && <dir>/routing_bench
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/routing/route_table.h"
#include "broker/runtime/bytes.h"
#include "cluster/metadata/store.h"

namespace {

using namespace ringtail;
using namespace ringtail::cluster::metadata;
using broker::Routable;
using broker::RouteTable;

constexpr int kBindings = 100000;
constexpr int kQueues = 1000;

// Processor time, so that a busy machine disturbs less.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::string number(int value) { return std::to_string(value); }

struct Bench {
  Bench() {
    for (int i = 0; i < kQueues; ++i) declare("q" + number(i));
  }
  void declare(const std::string& name) {
    DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = name;
    store.apply(command);
  }

  using Key = std::function<std::string(int)>;
  void add(const char* what, const char* exchange, const Key& key, const Key& arguments = nullptr) {
    const double seconds = seconds_of([&] {
      for (int i = 0; i < kBindings; ++i) {
        store.apply(Bind{record(exchange, i, key, arguments)});
      }
    });
    std::printf("%-34s add    %7.3f s\n", what, seconds);
  }
  void remove(const char* what, const char* exchange, const Key& key,
              const Key& arguments = nullptr) {
    const double seconds = seconds_of([&] {
      for (int i = 0; i < kBindings; ++i) {
        store.apply(Unbind{record(exchange, i, key, arguments)});
      }
    });
    std::printf("%-34s remove %7.3f s\n", what, seconds);
  }
  static BindingRecord record(const char* exchange, int i, const Key& key, const Key& arguments) {
    return {"/",
            exchange,
            DestinationKind::kQueue,
            "q" + number(i % kQueues),
            key(i),
            arguments ? arguments(i) : std::string()};
  }

  void look_up(const char* what, const char* exchange, const Key& key,
               const Key& properties = nullptr, int calls = 2000000) {
    std::vector<std::string> keys;
    std::vector<std::string> contents;
    for (int i = 0; i < 4096; ++i) {
      keys.push_back(key(i * 23 % kBindings));
      contents.push_back(properties ? properties(i * 23 % kBindings) : std::string());
    }
    const broker::Exchange* found = table.find("/", exchange);
    std::vector<const QueueRecord*> out;
    std::size_t reached = 0;
    const double seconds = seconds_of([&] {
      for (int i = 0; i < calls; ++i) {
        out.clear();
        const auto at = static_cast<std::size_t>(i) % keys.size();
        table.route(*found, Routable{keys[at], runtime::as_bytes(contents[at])}, out);
        reached += out.size();
      }
    });
    std::printf("%-34s route  %7.0f ns, %.2f queues\n", what, seconds * 1e9 / calls,
                static_cast<double>(reached) / calls);
  }

  Store store{1};
  RouteTable table{store};
};

std::string device_key(int i) {
  return "site" + number(i % 50) + ".device" + number(i / 50 % 500) + ".sensor" + number(i % 7) +
         ".reading";
}

// Literal, `*` and `#` at all places.
std::string pattern(int i) {
  const std::string site = "site" + number(i % 50);
  const std::string device = "device" + number(i % 2000);
  const std::string sensor = "s" + number(i);
  switch (i % 5) {
    case 0:
      return site + "." + device + "." + sensor + ".#";
    case 1:
      return "*." + device + ".*." + sensor;
    case 2:
      return "#." + sensor;
    case 3:
      return site + ".#." + sensor + ".#.end";
    default:
      return site + "." + device + ".*." + sensor;
  }
}

void topic_hostile(Bench& bench) {
  // Every prefix of "#.a.#.a ...": as many nodes are reached as a routing key can reach.
  std::string deep = "#";
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back(deep += ".a.#");
  for (const std::string& key : keys) {
    bench.store.apply(Bind{{"/", "amq.topic", DestinationKind::kQueue, "q0", key, ""}});
  }
  bench.look_up(
      "topic, 60 deep #, 100 words", "amq.topic",
      [](int) {
        std::string key = "a";
        for (int i = 0; i < 99; ++i) key += ".a";
        return key;
      },
      nullptr, 20000);
}

std::string header_pattern(int i) {
  return amqp::FieldTable()
      .set("x-match", i % 2 == 0 ? "all" : "any")
      .set("type", i % 2 == 0 ? "report" : "report" + number(i))
      .set("id", i)
      .encode();
}

std::string header_properties(int i) {
  amqp::BasicProperties properties;
  properties.headers = amqp::FieldTable().set("type", "report").set("id", i).set("other", "x");
  return properties.encode();
}

}  // namespace

int main() {
  {
    Bench bench;
    bench.look_up("default", "", [](int i) { return "q" + number(i % kQueues); });
    bench.look_up("default, one key", "", [](int) { return std::string("q7"); });
    const auto key = [](int i) { return "key." + number(i); };
    bench.add("direct", "amq.direct", key);
    bench.look_up("direct", "amq.direct", key);
    bench.look_up("direct, one key", "amq.direct", [](int) { return std::string("key.77"); });
    bench.remove("direct", "amq.direct", key);
    bench.store.apply(Bind{{"/", "amq.fanout", DestinationKind::kQueue, "q0", "", ""}});
    bench.look_up("fanout, one queue", "amq.fanout", key);
  }
  {
    Bench bench;
    bench.add("topic, literal keys", "amq.topic", device_key);
    bench.look_up("topic, literal keys", "amq.topic", device_key);
    bench.remove("topic, literal keys", "amq.topic", device_key);
    bench.add("topic, patterns", "amq.topic", pattern);
    bench.look_up("topic, patterns", "amq.topic", [](int i) {
      return "site" + number(i % 50) + ".device" + number(i % 2000) + ".x.s" + number(i);
    });
    bench.remove("topic, patterns", "amq.topic", pattern);
    topic_hostile(bench);
  }
  {
    Bench bench;
    const auto none = [](int) { return std::string(); };
    bench.add("headers", "amq.headers", none, header_pattern);
    bench.look_up("headers", "amq.headers", none, header_properties);
    bench.remove("headers", "amq.headers", none, header_pattern);
  }
  {
    Bench bench;
    for (int i = 0; i < kBindings; ++i) {
      bench.store.apply(
          Bind{{"/", "amq.topic", DestinationKind::kQueue, "q0", device_key(i) + number(i), ""}});
    }
    const auto qid = bench.store.queue("/", "q0")->qid;
    const double seconds = seconds_of([&] { bench.store.apply(DeleteQueue{"/", "q0", qid}); });
    std::printf("%-34s        %7.3f s\n", "deleting a queue of 100,000", seconds);
  }
  {
    Bench bench;
    for (int i = 0; i < kBindings; ++i) bench.declare("many" + number(i));
    const auto bind_all = [&](bool bind) {
      return seconds_of([&] {
        for (int i = 0; i < kBindings; ++i) {
          const BindingRecord record{
              "/", "amq.direct", DestinationKind::kQueue, "many" + number(i), "same", ""};
          if (bind) {
            bench.store.apply(Bind{record});
          } else {
            bench.store.apply(Unbind{record});
          }
        }
      });
    };
    const double bound = bind_all(true);
    std::printf("%-34s add    %7.3f s\n", "direct, 100,000 queues on one key", bound);
    std::printf("%-34s remove %7.3f s\n", "direct, 100,000 queues on one key", bind_all(false));
  }
  return 0;
}
