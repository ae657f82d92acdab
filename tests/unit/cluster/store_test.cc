#include "cluster/metadata/store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace store_test {

using namespace ringtail::cluster::metadata;

namespace {

std::string text_of(const ExchangeRecord& record) {
  return "exchange " + record.vhost + "|" + record.name + "|" + record.type +
         (record.durable ? " durable" : "") + (record.auto_delete ? " auto-delete" : "") +
         (record.internal ? " internal" : "") + (record.predeclared ? " predeclared" : "");
}

std::string text_of(const QueueRecord& record) {
  return "queue " + record.vhost + "|" + record.name + " qid " + std::to_string(record.qid.value) +
         " shard " + std::to_string(record.shard.value);
}

std::string text_of(const BindingRecord& record) {
  return "binding " + record.vhost + "|" + record.source +
         (record.kind == DestinationKind::kQueue ? " -> queue " : " -> exchange ") +
         record.destination + " key " + record.routing_key + " arguments " + record.arguments;
}

// Writes down what it is told and checks that the view agrees.
struct Recorder : Observer {
  explicit Recorder(const Store& observed) : store(observed) {}
  void exchange_added(const std::shared_ptr<const ExchangeRecord>& record) override {
    CHECK(store.exchange(record->vhost, record->name) == record);
    add(text_of(*record));
  }
  void exchange_removed(const ExchangeRecord& record) override {
    CHECK(store.exchange(record.vhost, record.name) == nullptr);
    remove(text_of(record));
  }
  void queue_added(const std::shared_ptr<const QueueRecord>& record) override {
    CHECK(store.queue(record->vhost, record->name) == record);
    add(text_of(*record));
  }
  void queue_removed(const QueueRecord& record) override {
    CHECK(store.queue(record.vhost, record.name) == nullptr);
    remove(text_of(record));
  }
  void binding_added(const BindingRecord& record) override {
    CHECK(store.exchange(record.vhost, record.source) != nullptr);
    add(text_of(record));
  }
  void binding_removed(const BindingRecord& record) override { remove(text_of(record)); }

  void add(const std::string& text) {
    log.push_back("+ " + text);
    CHECK(present.insert(text).second);
  }
  void remove(const std::string& text) {
    log.push_back("- " + text);
    CHECK(present.erase(text) == 1);
  }

  const Store& store;
  std::vector<std::string> log;
  std::set<std::string> present;
};

DeclareExchange exchange(std::string name, bool auto_delete = false) {
  DeclareExchange command;
  command.record.vhost = "/";
  command.record.name = std::move(name);
  command.record.type = "topic";
  command.record.auto_delete = auto_delete;
  return command;
}

DeclareQueue queue(std::string name, ConnectionId owner = 0, std::uint16_t shard = 0) {
  DeclareQueue command;
  command.record.vhost = "/";
  command.record.name = std::move(name);
  command.record.exclusive_owner = owner;
  command.client_shard.value = shard;
  return command;
}

BindingRecord binding(std::string source, DestinationKind kind, std::string destination,
                      std::string key = "", std::string arguments = "") {
  return {
      "/", std::move(source), kind, std::move(destination), std::move(key), std::move(arguments)};
}

constexpr DestinationKind kQ = DestinationKind::kQueue;
constexpr DestinationKind kX = DestinationKind::kExchange;

Outcome bind(Store& store, BindingRecord record) {
  return store.apply(Bind{std::move(record)}).outcome;
}
Outcome unbind(Store& store, BindingRecord record) {
  return store.apply(Unbind{std::move(record)}).outcome;
}
Outcome delete_queue(Store& store, const std::string& name) {
  return store.apply(DeleteQueue{"/", name, store.queue("/", name)->qid}).outcome;
}

constexpr std::size_t kPredeclaredCount = 7;

}  // namespace

TEST_CASE("a new store has the default vhost and its exchanges") {
  Store store(2);
  CHECK(store.has_vhost("/"));
  CHECK_FALSE(store.has_vhost("other"));
  CHECK(store.exchange("/", "")->type == "direct");
  CHECK(store.exchange("/", "amq.direct")->type == "direct");
  CHECK(store.exchange("/", "amq.fanout")->type == "fanout");
  CHECK(store.exchange("/", "amq.topic")->type == "topic");
  CHECK(store.exchange("/", "amq.headers")->type == "headers");
  CHECK(store.exchange("/", "amq.match")->type == "headers");
  CHECK(store.exchange("/", "amq.rabbitmq.trace")->internal);
  CHECK(store.exchange("/", "amq.topic")->durable);
  CHECK(store.exchange("/", "amq.nothing") == nullptr);
  CHECK(store.queue("nowhere", "q") == nullptr);

  const auto version = store.version();
  CHECK(store.apply(DeleteExchange{"/", "amq.topic", false}).outcome == Outcome::kUnchanged);
  CHECK(store.apply(PutVhost{{.name = "/"}}).outcome == Outcome::kReplaced);
  CHECK(store.version() == version);
  CHECK(store.apply(PutVhost{{.name = "other"}}).outcome == Outcome::kDone);
  CHECK(store.version() > version);
  CHECK(store.exchange("other", "amq.match")->vhost == "other");
}

TEST_CASE("queues get an id that is never used again and the shard with the fewest") {
  Store store(3);
  CHECK(store.apply(queue("a")).queue->shard.value == 0);
  CHECK(store.apply(queue("b")).queue->shard.value == 1);
  CHECK(store.apply(queue("mine", 7, 2)).queue->shard.value == 2);
  CHECK(store.apply(queue("mine2", 7, 2)).queue->shard.value == 2);
  CHECK(store.apply(queue("c")).queue->shard.value == 0);
  CHECK(store.apply(queue("d")).queue->shard.value == 1);

  const auto again = store.apply(queue("a"));
  CHECK(again.outcome == Outcome::kUnchanged);
  CHECK(again.queue->qid.value == 1);
  CHECK(store.apply(DeleteQueue{"/", "a", Qid{99}}).outcome == Outcome::kUnchanged);
  CHECK(store.apply(DeleteQueue{"/", "a", Qid{1}}).outcome == Outcome::kDone);
  CHECK(store.apply(DeleteQueue{"/", "a", Qid{1}}).outcome == Outcome::kUnchanged);
  CHECK(store.queue("/", "a") == nullptr);
  const auto successor = store.apply(queue("a"));
  CHECK(successor.queue->qid.value == 7);
  CHECK(successor.queue->shard.value == 0);

  auto lost = queue("lost");
  lost.record.vhost = "nowhere";
  CHECK(store.apply(lost).outcome == Outcome::kNoVhost);

  std::vector<std::string> names;
  store.for_each_queue([&names](const auto& record) { names.push_back(record->name); });
  CHECK(names == std::vector<std::string>{"b", "mine", "mine2", "c", "d", "a"});
}

TEST_CASE("a binding is all of source, kind, destination, key and arguments") {
  Store store(1);
  store.apply(queue("n"));
  store.apply(queue("m"));
  store.apply(exchange("n"));
  Recorder recorder(store);
  store.add_observer(recorder);
  const std::size_t before = recorder.present.size();
  const std::vector<BindingRecord> all = {
      binding("amq.topic", kQ, "n", "k"),        binding("amq.direct", kQ, "n", "k"),
      binding("amq.topic", kX, "n", "k"),        binding("amq.topic", kQ, "m", "k"),
      binding("amq.topic", kQ, "n", "k", "arg"), binding("amq.topic", kQ, "n", "kar", "g"),
      binding("amq.topic", kQ, "n", ""),
  };
  for (const auto& each : all) CHECK(bind(store, each) == Outcome::kDone);
  for (const auto& each : all) CHECK(bind(store, each) == Outcome::kUnchanged);
  CHECK(recorder.present.size() == before + all.size());
  for (const auto& each : all) CHECK(unbind(store, each) == Outcome::kDone);
  for (const auto& each : all) CHECK(unbind(store, each) == Outcome::kUnchanged);
  CHECK(recorder.present.size() == before);

  CHECK(bind(store, binding("none", kQ, "none")) == Outcome::kNoExchange);
  CHECK(bind(store, binding("amq.topic", kQ, "none")) == Outcome::kNoDestination);
  CHECK(bind(store, binding("amq.topic", kX, "m")) == Outcome::kNoDestination);
  CHECK(bind(store, binding("", kQ, "m", "m")) == Outcome::kUnchanged);
}

TEST_CASE("deleting an exchange removes bindings from and to it") {
  Store store(1);
  store.apply(queue("q"));
  store.apply(exchange("x"));
  Recorder recorder(store);
  store.add_observer(recorder);
  bind(store, binding("x", kQ, "q", "one"));
  bind(store, binding("x", kX, "x", "self"));
  bind(store, binding("amq.topic", kX, "x", "two"));
  CHECK(store.apply(DeleteExchange{"/", "x", true}).outcome == Outcome::kInUse);
  CHECK(unbind(store, binding("x", kQ, "q", "one")) == Outcome::kDone);
  CHECK(store.apply(DeleteExchange{"/", "x", true}).outcome == Outcome::kInUse);
  CHECK(unbind(store, binding("x", kX, "x", "self")) == Outcome::kDone);
  bind(store, binding("x", kX, "x", "self"));
  CHECK(store.apply(DeleteExchange{"/", "x", false}).outcome == Outcome::kDone);
  CHECK(store.apply(DeleteExchange{"/", "x", false}).outcome == Outcome::kUnchanged);
  CHECK(recorder.present.size() == kPredeclaredCount + 1);
  // A new one of that name begins without bindings.
  store.apply(exchange("x"));
  CHECK(store.apply(DeleteExchange{"/", "x", true}).outcome == Outcome::kDone);
}

TEST_CASE("auto-delete exchanges go with their last binding, and so do those bound to them") {
  Store store(1);
  store.apply(queue("q"));
  store.apply(exchange("a", true));
  store.apply(exchange("b", true));
  store.apply(exchange("c", true));
  store.apply(exchange("unused", true));
  bind(store, binding("a", kX, "b", "1"));
  bind(store, binding("a", kX, "b", "2"));
  bind(store, binding("b", kX, "c"));
  bind(store, binding("c", kQ, "q"));
  bind(store, binding("amq.fanout", kX, "a"));
  Recorder recorder(store);
  store.add_observer(recorder);
  recorder.log.clear();

  SUBCASE("by deleting the queue") {
    CHECK(delete_queue(store, "q") == Outcome::kDone);
    CHECK(recorder.log == std::vector<std::string>{
                              "- binding /|c -> queue q key  arguments ",
                              "- queue /|q qid 1 shard 0",
                              "- binding /|b -> exchange c key  arguments ",
                              "- exchange /|c|topic auto-delete",
                              "- binding /|a -> exchange b key 1 arguments ",
                              "- binding /|a -> exchange b key 2 arguments ",
                              "- exchange /|b|topic auto-delete",
                              "- binding /|amq.fanout -> exchange a key  arguments ",
                              "- exchange /|a|topic auto-delete",
                          });
    CHECK(store.exchange("/", "unused") != nullptr);
  }
  SUBCASE("by unbinding") {
    const auto result = store.apply(Unbind{binding("c", kQ, "q")});
    CHECK(result.outcome == Outcome::kDone);
    CHECK(result.exchange == nullptr);
    CHECK(store.exchange("/", "a") == nullptr);
    CHECK(store.queue("/", "q") != nullptr);
  }
  SUBCASE("only with the last one") {
    CHECK(unbind(store, binding("a", kX, "b", "1")) == Outcome::kDone);
    CHECK(store.exchange("/", "a") != nullptr);
    CHECK(unbind(store, binding("a", kX, "b", "2")) == Outcome::kDone);
    CHECK(store.exchange("/", "a") == nullptr);
    CHECK(store.exchange("/", "b") != nullptr);
  }
}

TEST_CASE("a late observer is told the present state, exchanges first, bindings last") {
  Store store(2);
  Recorder early(store);
  store.add_observer(early);
  store.apply(queue("q"));
  store.apply(exchange("x"));
  bind(store, binding("x", kQ, "q", "1"));
  bind(store, binding("amq.topic", kX, "x", "2"));
  Recorder late(store);
  store.add_observer(late);
  CHECK(late.present == early.present);
  CHECK(late.log.front() == "+ exchange /||direct durable predeclared");
  CHECK(late.log[kPredeclaredCount] == "+ exchange /|x|topic");
  CHECK(late.log[kPredeclaredCount + 1] == "+ queue /|q qid 1 shard 0");
  CHECK(late.log.back() == "+ binding /|x -> queue q key 1 arguments ");
}

namespace {

// The documented rules again, in the plainest way: lists that are searched from end to end.
struct Model {
  std::map<std::string, std::pair<bool, bool>> exchanges;  // name -> auto-delete, predeclared
  std::map<std::string, std::uint64_t> queues;
  std::vector<BindingRecord> bindings;
  std::uint64_t next_qid = 1;

  Model() {
    for (const char* name : {"", "amq.direct", "amq.fanout", "amq.topic", "amq.headers",
                             "amq.match", "amq.rabbitmq.trace"}) {
      exchanges[name] = {false, true};
    }
  }
  bool is_source(const std::string& name) const {
    for (const auto& each : bindings) {
      if (each.source == name) return true;
    }
    return false;
  }
  template <typename Gone>
  void remove_bindings(Gone gone) {
    std::set<std::string> losers;
    std::vector<BindingRecord> left;
    for (const auto& each : bindings) {
      if (gone(each)) {
        losers.insert(each.source);
      } else {
        left.push_back(each);
      }
    }
    bindings = left;
    for (const auto& name : losers) {
      if (exchanges.count(name) != 0 && exchanges[name].first && !is_source(name)) {
        remove_exchange(name);
      }
    }
  }
  void remove_exchange(const std::string& name) {
    exchanges.erase(name);
    remove_bindings([&name](const BindingRecord& each) {
      return each.source == name || (each.kind == kX && each.destination == name);
    });
  }
  void remove_queue(const std::string& name) {
    queues.erase(name);
    remove_bindings(
        [&name](const BindingRecord& each) { return each.kind == kQ && each.destination == name; });
  }

  Outcome bind_outcome(const BindingRecord& record) const {
    if (exchanges.count(record.source) == 0) return Outcome::kNoExchange;
    const bool there = record.kind == kQ ? queues.count(record.destination) != 0
                                         : exchanges.count(record.destination) != 0;
    return there ? Outcome::kDone : Outcome::kNoDestination;
  }
  bool bound(const BindingRecord& record) const {
    return std::find(bindings.begin(), bindings.end(), record) != bindings.end();
  }

  template <typename Other>
  Outcome apply(const Other&) {
    return Outcome::kUnchanged;
  }
  Outcome apply(const DeclareExchange& command) {
    return exchanges.emplace(command.record.name, std::pair(command.record.auto_delete, false))
                   .second
               ? Outcome::kDone
               : Outcome::kUnchanged;
  }
  Outcome apply(const DeleteExchange& command) {
    const auto found = exchanges.find(command.name);
    if (found == exchanges.end() || found->second.second) return Outcome::kUnchanged;
    if (command.if_unused && is_source(command.name)) return Outcome::kInUse;
    remove_exchange(command.name);
    return Outcome::kDone;
  }
  Outcome apply(const DeclareQueue& command) {
    if (!queues.emplace(command.record.name, next_qid).second) return Outcome::kUnchanged;
    ++next_qid;
    return Outcome::kDone;
  }
  Outcome apply(const DeleteQueue& command) {
    const auto found = queues.find(command.name);
    if (found == queues.end() || found->second != command.qid.value) return Outcome::kUnchanged;
    remove_queue(command.name);
    return Outcome::kDone;
  }
  Outcome apply(const Bind& command) {
    const Outcome outcome = bind_outcome(command.record);
    if (outcome != Outcome::kDone) return outcome;
    if (command.record.source.empty() || bound(command.record)) return Outcome::kUnchanged;
    bindings.push_back(command.record);
    return Outcome::kDone;
  }
  Outcome apply(const Unbind& command) {
    const Outcome outcome = bind_outcome(command.record);
    if (outcome != Outcome::kDone) return outcome;
    if (!bound(command.record)) return Outcome::kUnchanged;
    const BindingRecord record = command.record;
    remove_bindings([&record](const BindingRecord& each) { return each == record; });
    return Outcome::kDone;
  }

  // Without qids and shards, which the recorder also writes down.
  std::set<std::string> exchanges_and_bindings() const {
    std::set<std::string> all;
    for (const auto& [name, kind] : exchanges) all.insert("exchange /|" + name + "|");
    for (const auto& each : bindings) all.insert(text_of(each));
    return all;
  }
};

std::set<std::string> exchanges_and_bindings(const Recorder& recorder) {
  std::set<std::string> all;
  for (const auto& text : recorder.present) {
    if (text.starts_with("exchange")) all.insert(text.substr(0, text.rfind('|') + 1));
    if (text.starts_with("binding")) all.insert(text);
  }
  return all;
}

class CommandSource {
 public:
  explicit CommandSource(unsigned seed) : random_(seed) {}
  Command next(const Store& store) {
    switch (below(10)) {
      case 0: {
        return exchange(exchange_name(), below(2) == 0);
      }
      case 1:
        if (below(3) != 0) return exchange(exchange_name(), true);
        return DeleteExchange{"/", exchange_name(), below(2) == 0};
      case 2:
        return queue(queue_name(), below(3), static_cast<std::uint16_t>(below(3)));
      case 3: {
        const std::string name = queue_name();
        const auto record = store.queue("/", name);
        return DeleteQueue{"/", name, record == nullptr || below(4) == 0 ? Qid{1} : record->qid};
      }
      case 4:
      case 5:
      case 6:
        return Unbind{any_binding()};
      default:
        return Bind{any_binding()};
    }
  }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  std::string exchange_name() {
    static const char* const kNames[] = {"a", "b", "c", "d", "amq.topic", ""};
    return kNames[below(6)];
  }
  std::string queue_name() { return std::string(1, static_cast<char>('q' + below(3))); }
  BindingRecord any_binding() {
    const bool to_queue = below(2) == 0;
    return binding(exchange_name(), to_queue ? kQ : kX, to_queue ? queue_name() : exchange_name(),
                   below(3) == 0 ? "key" : "", below(4) == 0 ? "arguments" : "");
  }
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("two replicas and the plain model agree on random commands") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Store left(3);
    Store right(3);
    Model model;
    Recorder left_recorder(left);
    left.add_observer(left_recorder);
    Recorder right_recorder(right);
    right.add_observer(right_recorder);
    CommandSource source(seed);
    for (int step = 0; step < 600; ++step) {
      const Command command = source.next(left);
      const auto version = left.version();
      const auto outcome = left.apply(command).outcome;
      REQUIRE(right.apply(command).outcome == outcome);
      REQUIRE(std::visit([&model](const auto& known) { return model.apply(known); }, command) ==
              outcome);
      REQUIRE((left.version() > version) == (outcome == Outcome::kDone));
    }
    CHECK(left_recorder.log == right_recorder.log);
    CHECK(left_recorder.log.size() > 100);
    CHECK(exchanges_and_bindings(left_recorder) == model.exchanges_and_bindings());
    Recorder late(left);
    left.add_observer(late);
    CHECK(late.present == left_recorder.present);
  }
}

TEST_CASE("removing everything leaves nothing") {
  Store store(3);
  CommandSource source(5);
  for (int step = 0; step < 3000; ++step) store.apply(source.next(store));
  for (const char* name : {"q", "r", "s"}) {
    if (store.queue("/", name) != nullptr) delete_queue(store, name);
  }
  for (const char* name : {"a", "b", "c", "d"}) store.apply(DeleteExchange{"/", name, false});
  Recorder recorder(store);
  store.add_observer(recorder);
  // What is left goes from a pre-declared exchange to a pre-declared exchange.
  for (const std::string& text : recorder.present) {
    if (!text.starts_with("binding")) continue;
    const bool between_predeclared =
        text.starts_with("binding /|amq.topic -> exchange amq.topic key") ||
        text.starts_with("binding /|amq.topic -> exchange  key");
    CHECK(between_predeclared);
  }
  for (const char* key : {"", "key"}) {
    for (const char* arguments : {"", "arguments"}) {
      unbind(store, binding("amq.topic", kX, "amq.topic", key, arguments));
      unbind(store, binding("amq.topic", kX, "", key, arguments));
    }
  }
  Recorder last(store);
  store.add_observer(last);
  CHECK(last.present.size() == kPredeclaredCount);
}

}  // namespace store_test
