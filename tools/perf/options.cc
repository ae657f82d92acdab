#include "tools/perf/options.h"

// A repeated option is a list; a comma inside a value is the value's own.
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <fmt/format.h>

#include <algorithm>
#include <cxxopts.hpp>
#include <exception>

#include "tools/perf/arguments.h"
#include "tools/perf/stamp.h"

namespace ringtail::perf {

namespace {

using runtime::Code;
using runtime::Result;
using runtime::Status;

constexpr const char* kSynopsis =
    R"(ringtail-perf - load and verification for any AMQP 0-9-1 broker

Usage:
  ringtail-perf [throughput] [options]     as fast as the broker goes, or at --rate
  ringtail-perf latency [options]          at a fixed rate: 10000 messages a second of 1 KiB, 30 s
                                           after 2 s of warm-up, unless told otherwise
  ringtail-perf connections --count N [--hold S]   open N idle connections of one channel, hold them
  ringtail-perf queues --count N [--delete]        declare (or delete) N queues
  ringtail-perf ready [--messages M]               wait until the broker serves a connection

An interrupt ends the publishing, drains and reports; a second one reports at once.
The exit code is 0 when all is well, 1 when something failed, 2 for a wrong command line.

Every message carries its run, producer, number and the time it was due. Latencies count from that
time, so a broker that stalls cannot hide it. Lost, duplicated and reordered messages are found by
number; each of them fails the run.

Examples:
  The speed of one queue with small messages, no acknowledgements:
    ringtail-perf --auto-ack --duration 10
  Durable and safe, four queues, each message confirmed and acknowledged, a report for a script:
    ringtail-perf --queues 4 --producers 4 --consumers 4 --durable --persistent --size 1024 \
                  --confirm 1000 --prefetch 1000 --duration 30 --warmup 5 --json
  Latency at a rate that the broker can take, on another host and vhost:
    ringtail-perf latency --uri amqp://app:secret@10.0.0.7:5672/shop --rate 5000 --auto-ack
)";

using Text = std::string;
using Texts = std::vector<std::string>;

template <typename T>
auto of() {
  return cxxopts::value<T>();
}

constexpr std::uint16_t kTlsPort = 5671;
constexpr const char* kGroups[] = {"Where to connect", "Queues and routing",   "Producers",
                                   "Consumers",        "How long, how strict", "Report"};

// clang-format off: one option a line reads better than what it makes of it
void add_places(cxxopts::Options& parser) {
  parser.add_options(kGroups[0])(
      "uri", "brokers, taken in turn; amqp[s]://user:password@host:port/vhost or host:port",
      cxxopts::value<Text>()->default_value("amqp://guest:guest@127.0.0.1/"),
      "U[,U...]")("producer-uri", "brokers of the producers (--uri)", of<Text>(), "U[,U...]")(
      "consumer-uri", "brokers of the consumers (--uri)", of<Text>(), "U[,U...]")(
      "tls", "TLS to all brokers, as amqps:// does (port 5671)")(
      "ca-file", "with TLS: PEM of whom to trust; without it any certificate will do", of<Text>(),
      "FILE")("heartbeat", "seconds to negotiate (0: none)", of<std::uint16_t>(), "S");
  parser.add_options(kGroups[1])("q,queues", "number of queues (1)", of<int>(), "N")(
      "queue", "name of the queue; of several: NAME-0, NAME-1, ... (perf)", of<Text>(), "NAME")(
      "durable", "durable queues and exchange")("auto-delete", "auto-delete queues")(
      "queue-arg", "argument of queue.declare: true, false, a number, [a,b] or text; repeatable",
      of<Texts>(),
      "K=V")("exchange", "publish to this exchange, bound to the queues", of<Text>(), "NAME")(
      "exchange-type", "its type; fanout gives each queue a copy (direct)", of<Text>(), "T")(
      "routing-key", "one for all messages; each queue gets a copy (the queue's name)", of<Text>(),
      "KEY")("binding-key", "of the bindings (the routing key)", of<Text>(), "KEY")(
      "existing", "declare nothing and delete nothing")("keep", "leave the queues at the end");
}

void add_load(cxxopts::Options& parser) {
  parser.add_options(kGroups[2])("x,producers",
                                 "number of producers, each on its own connection (1)", of<int>(),
                                 "N")("s,size", "bytes of a body, at least 16 (16)",
                                      of<std::size_t>(), "N")("persistent", "delivery mode 2")(
      "mandatory", "publish with the mandatory flag, count what comes back")(
      "c,confirm", "publisher confirms, at most N outstanding a producer (0: off)",
      of<std::uint32_t>(),
      "N")("r,rate", "messages a second, all producers together (0: unlimited)", of<double>(), "R");
  parser.add_options(kGroups[3])("y,consumers",
                                 "number of consumers, each on its own connection (1)", of<int>(),
                                 "N")("a,auto-ack", "consume without acknowledgements")(
      "ack-batch", "acknowledge N deliveries with one multiple ack (1: each singly)",
      of<std::uint32_t>(), "N")("p,prefetch", "basic.qos (0: unlimited)", of<std::uint16_t>(), "N")(
      "consumer-arg", "argument of basic.consume, as --queue-arg", of<Texts>(), "K=V")(
      "resubscribe", "consume again when the broker cancels the consumer");
}

void add_rest(cxxopts::Options& parser) {
  parser.add_options(kGroups[4])(
      "d,duration", "seconds of publishing (10 where there is no --count)", of<double>(), "S")(
      "n,count", "messages, all producers together; connections; queues", of<std::uint64_t>(), "N")(
      "w,warmup", "leave the first S seconds out of rates and latencies (0)", of<double>(), "S")(
      "drain",
      "after publishing, wait until S seconds pass without a message (10);"
      " 0: do not wait, do not call messages lost",
      of<double>(),
      "S")("allow", "faults that do not fail the run: lost, duplicated, reordered", of<Text>(),
           "F[,F...]")("hold", "connections: seconds to hold them (until interrupted)",
                       of<double>(), "S")("delete", "queues: delete instead of declare")(
      "pipeline", "queues: at most N requests without an answer (1)", of<std::uint64_t>(), "N")(
      "messages", "ready: wait until the queue holds M messages", of<std::int64_t>(), "M");
  parser.add_options(kGroups[5])("json", "one JSON object on stdout")(
      "label", "text to put into it", of<Text>(), "TEXT")(
      "interval", "seconds between progress lines on stderr (1); 0: none", of<double>(), "S")(
      "version", "print the version")("h,help", "this text");
  parser.add_options()("command", "", of<Text>());
}
// clang-format on

cxxopts::Options make_parser() {
  cxxopts::Options parser("ringtail-perf", "");
  add_places(parser);
  add_load(parser);
  add_rest(parser);
  parser.parse_positional({"command"});
  parser.set_width(100);
  return parser;
}

std::string help_text(const cxxopts::Options& parser) {
  std::string groups =
      parser.help({kGroups[0], kGroups[1], kGroups[2], kGroups[3], kGroups[4], kGroups[5]});
  // The library puts a usage line of its own in front; the synopsis says it better. It also calls
  // each group "... options".
  const std::size_t first = groups.find(std::string(" ") + kGroups[0]);
  if (first != std::string::npos) groups.erase(0, first);
  for (const char* group : kGroups) {
    const std::string heading = std::string(" ") + group + " options:";
    const std::size_t at = groups.find(heading);
    if (at != std::string::npos) groups.replace(at, heading.size(), std::string(group) + ":");
  }
  return std::string(kSynopsis) + "\n" + groups;
}

Status bad(const std::string& text) { return Status(Code::kInvalid, text); }

template <typename T>
void take(const cxxopts::ParseResult& parsed, const char* name, T& into) {
  if (parsed.count(name) != 0) into = parsed[name].as<T>();
}
void take_flag(const cxxopts::ParseResult& parsed, const char* name, bool& into) {
  if (parsed.count(name) != 0) into = parsed[name].as<bool>();
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::size_t from = 0;
  while (from <= list.size()) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (comma > from) items.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return items;
}

Status take_targets(const cxxopts::ParseResult& parsed, const char* name,
                    std::vector<Target>& into) {
  into.clear();
  for (const std::string& item : split(parsed[name].as<std::string>())) {
    Result<Target> target = parse_target(item, parsed.count("tls") != 0);
    if (!target.ok()) return target.status().within(fmt::format("--{}", name));
    into.push_back(std::move(target).value());
  }
  return into.empty() ? bad(fmt::format("--{} names no broker", name)) : Status();
}

Status take_arguments(const cxxopts::ParseResult& parsed, const char* name, ArgumentList& into) {
  if (parsed.count(name) == 0) return {};
  for (const std::string& item : parsed[name].as<std::vector<std::string>>()) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      return bad(fmt::format("--{} {}: want NAME=VALUE", name, item));
    }
    into.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return {};
}

Status take_command(const std::string& name, Options& options) {
  options.command = Command::kLoad;
  if (name == "throughput" || name == "run") return {};
  if (name == "latency") {
    options.rate = 10000;
    options.body_size = 1024;
    options.duration_s = 30;
    options.warmup_s = 2;
    return {};
  }
  if (name == "connections") options.command = Command::kConnections;
  if (name == "queues") options.command = Command::kQueues;
  if (name == "ready") options.command = Command::kReady;
  return options.command == Command::kLoad ? bad("unknown command " + name) : Status();
}

Status take_allow(const cxxopts::ParseResult& parsed, Options& options) {
  if (parsed.count("allow") == 0) return {};
  for (const std::string& kind : split(parsed["allow"].as<std::string>())) {
    if (kind == "lost") {
      options.fail_on_lost = false;
    } else if (kind == "duplicated") {
      options.fail_on_duplicated = false;
    } else if (kind == "reordered") {
      options.fail_on_reordered = false;
    } else {
      return bad("--allow " + kind + ": want lost, duplicated or reordered");
    }
  }
  return {};
}

Status take_values(const cxxopts::ParseResult& parsed, Options& options) {
  std::vector<Target> all;
  RT_TRY(take_targets(parsed, "uri", all));
  options.control = all.front();
  options.producer_targets = all;
  options.consumer_targets = all;
  if (parsed.count("producer-uri") != 0) {
    RT_TRY(take_targets(parsed, "producer-uri", options.producer_targets));
  }
  if (parsed.count("consumer-uri") != 0) {
    RT_TRY(take_targets(parsed, "consumer-uri", options.consumer_targets));
  }
  take(parsed, "ca-file", options.ca_file);
  const auto uses_tls = [](const std::vector<Target>& targets) {
    return std::any_of(targets.begin(), targets.end(), [](const Target& t) { return t.tls; });
  };
  if (!options.ca_file.empty() && !options.control.tls && !uses_tls(options.producer_targets) &&
      !uses_tls(options.consumer_targets)) {
    return bad("--ca-file needs --tls or amqps://");
  }
  take(parsed, "heartbeat", options.heartbeat_s);
  take(parsed, "queues", options.queues);
  take(parsed, "queue", options.queue_name);
  take_flag(parsed, "durable", options.durable);
  take_flag(parsed, "auto-delete", options.auto_delete);
  take(parsed, "exchange", options.exchange);
  take(parsed, "exchange-type", options.exchange_type);
  take(parsed, "routing-key", options.routing_key);
  take(parsed, "binding-key", options.binding_key);
  take_flag(parsed, "existing", options.existing);
  take_flag(parsed, "keep", options.keep);
  take(parsed, "producers", options.producers);
  take(parsed, "size", options.body_size);
  take_flag(parsed, "persistent", options.persistent);
  take_flag(parsed, "mandatory", options.mandatory);
  take(parsed, "confirm", options.confirm_window);
  take(parsed, "rate", options.rate);
  take(parsed, "consumers", options.consumers);
  take_flag(parsed, "auto-ack", options.auto_ack);
  take(parsed, "ack-batch", options.ack_batch);
  take(parsed, "prefetch", options.prefetch);
  take_flag(parsed, "resubscribe", options.resubscribe);
  take(parsed, "duration", options.duration_s);
  take(parsed, "count", options.count);
  take(parsed, "warmup", options.warmup_s);
  take(parsed, "drain", options.drain_s);
  take(parsed, "hold", options.hold_s);
  take_flag(parsed, "delete", options.delete_only);
  take(parsed, "pipeline", options.pipeline);
  take(parsed, "messages", options.wait_messages);
  take_flag(parsed, "json", options.json);
  take(parsed, "label", options.label);
  take(parsed, "interval", options.interval_s);
  RT_TRY(take_allow(parsed, options));
  RT_TRY(take_arguments(parsed, "queue-arg", options.queue_arguments));
  return take_arguments(parsed, "consumer-arg", options.consumer_arguments);
}

void choose_spread(Options& options) {
  if (options.exchange.empty()) return;
  const std::string& type = options.exchange_type;
  if (type == "fanout" || type == "headers" || !options.routing_key.empty()) {
    options.spread = Spread::kAll;
  }
  const bool known = type == "direct" || type == "topic" || type == "fanout" || type == "headers";
  if (options.existing || !known || !options.binding_key.empty()) {
    options.spread = Spread::kOneOfAll;
  }
}

Status check(const cxxopts::ParseResult& parsed, Options& options) {
  if (options.body_size < kStampSize) return bad("--size: at least 16 bytes, for the stamp");
  if (options.queues < 1 || options.queues > 1000000) return bad("--queues: 1 to 1000000");
  if (options.producers < 0 || options.producers > kMaxProducers) {
    return bad(fmt::format("--producers: 0 to {}", kMaxProducers));
  }
  if (options.consumers < 0 || options.consumers > 100000) return bad("--consumers: 0 to 100000");
  if (options.ack_batch == 0) return bad("--ack-batch: at least 1");
  if (options.pipeline == 0) return bad("--pipeline: at least 1");
  const double times[] = {options.rate, options.duration_s, options.warmup_s, options.drain_s,
                          options.interval_s};
  for (const double value : times) {
    if (!(value >= 0 && value <= 1e9)) return bad("rates and times: 0 to 1000000000");
  }
  if (options.exchange.empty() && !options.routing_key.empty()) {
    return bad("--routing-key needs --exchange");
  }
  if (options.command == Command::kLoad) {
    if (options.producers == 0 && options.consumers == 0) return bad("nobody to work");
    if (options.count != 0 && parsed.count("duration") == 0) options.duration_s = 0;
    const bool endless = options.count == 0 && options.duration_s == 0;
    if (endless && options.producers > 0) options.duration_s = 10;
    if (endless && options.producers == 0 && options.drain_s == 0) {
      return bad("draining without an end: give --count, --duration or --drain");
    }
    if (options.duration_s > 0 && options.warmup_s >= options.duration_s) {
      return bad("--warmup must be shorter than --duration");
    }
    return {};
  }
  if (options.command == Command::kReady) return {};
  if (options.count == 0 || options.count > 1000000) return bad("--count: 1 to 1000000");
  options.connections = static_cast<int>(options.count);
  if (options.command == Command::kQueues) options.queues = static_cast<int>(options.count);
  return {};
}

Result<Options> read_parsed(const cxxopts::Options& parser, const cxxopts::ParseResult& parsed) {
  Options options;
  if (parsed.count("help") != 0) {
    options.command = Command::kHelp;
    options.text = help_text(parser);
    return options;
  }
  if (parsed.count("version") != 0) {
    options.command = Command::kVersion;
    return options;
  }
  if (!parsed.unmatched().empty()) return bad("unexpected argument " + parsed.unmatched().front());
  if (parsed.count("command") != 0) {
    RT_TRY(take_command(parsed["command"].as<std::string>(), options));
  }
  RT_TRY(take_values(parsed, options));
  RT_TRY(check(parsed, options));
  RT_TRY(check_arguments(options.queue_arguments));
  RT_TRY(check_arguments(options.consumer_arguments));
  choose_spread(options);
  return options;
}

// --- targets ---

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return bad("bad percent escape in " + text);
    plain.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return plain;
}

Status parse_credentials(const std::string& text, Target& target) {
  const std::size_t colon = text.find(':');
  Result<std::string> user = unescape(text.substr(0, colon));
  if (!user.ok()) return user.status();
  target.user = std::move(user).value();
  if (colon == std::string::npos) return {};
  Result<std::string> password = unescape(text.substr(colon + 1));
  if (!password.ok()) return password.status();
  target.password = std::move(password).value();
  return {};
}

Status parse_authority(const std::string& text, Target& target) {
  std::string host = text;
  std::string port;
  // An IPv6 address stands in brackets, so that its colons are not the port's.
  const std::size_t bracket = text.find(']');
  const std::size_t colon =
      text.find(':', !text.empty() && text[0] == '[' && bracket != std::string::npos ? bracket : 0);
  if (colon != std::string::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (!host.empty()) target.host = host;
  if (colon == std::string::npos) return {};
  std::uint32_t number = 0;
  for (const char c : port) {
    if (c < '0' || c > '9' || number > 65535) return bad("bad port in " + text);
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  if (number == 0 || number > 65535) return bad("bad port in " + text);
  target.port = static_cast<std::uint16_t>(number);
  return {};
}

}  // namespace

std::string Target::name() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

std::string Options::queue_at(int index) const {
  return queues == 1 ? queue_name : fmt::format("{}-{}", queue_name, index);
}

std::string Options::key_at(int index) const {
  return routing_key.empty() ? queue_at(index) : routing_key;
}

Result<Target> parse_target(const std::string& text, bool tls) {
  Target target;
  std::string rest = text;
  const std::size_t scheme = rest.find("://");
  if (scheme != std::string::npos) {
    const std::string name = rest.substr(0, scheme);
    if (name != "amqp" && name != "amqps") {
      return bad("only amqp:// and amqps:// are understood: " + text);
    }
    tls = tls || name == "amqps";
    rest = rest.substr(scheme + 3);
  }
  target.tls = tls;
  if (tls) target.port = kTlsPort;
  const std::size_t slash = rest.find('/');
  std::string authority = rest.substr(0, slash);
  if (slash != std::string::npos && slash + 1 < rest.size()) {
    Result<std::string> vhost = unescape(rest.substr(slash + 1));
    if (!vhost.ok()) return vhost.status();
    target.vhost = std::move(vhost).value();
  }
  const std::size_t at = authority.rfind('@');
  if (at != std::string::npos) {
    RT_TRY(parse_credentials(authority.substr(0, at), target));
    authority = authority.substr(at + 1);
  }
  RT_TRY(parse_authority(authority, target));
  target.server_name = target.host;
  return target;
}

Result<Options> parse_options(int argc, const char* const* argv) {
  // The library reports what it does not like by throwing.
  try {
    cxxopts::Options parser = make_parser();
    return read_parsed(parser, parser.parse(argc, argv));
  } catch (const std::exception& error) {
    return Status(Code::kInvalid, error.what());
  }
}

}  // namespace ringtail::perf
