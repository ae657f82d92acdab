// What the user asked for on the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/status.h"

namespace ringtail::perf {

enum class Command : std::uint8_t { kHelp, kVersion, kLoad, kConnections, kQueues, kReady };

// One broker, from amqp://user:password@host:port/vhost, or amqps:// for TLS.
struct Target {
  std::string host = "127.0.0.1";
  std::uint16_t port = 5672;
  std::string user = "guest";
  std::string password = "guest";
  std::string vhost = "/";
  bool tls = false;
  std::string server_name;  // the host as it was given; certificates are for names

  std::string name() const;  // "127.0.0.1:5672", "[::1]:5672"
};

// Arguments of a declaration in the order they were given; values as text (arguments.h).
using ArgumentList = std::vector<std::pair<std::string, std::string>>;

// How a message finds its queues; decides what "lost" and "duplicated" mean.
enum class Spread : std::uint8_t {
  kOneKnown,  // a queue of its own by routing key
  kAll,       // every queue gets a copy
  kOneOfAll,  // some queue gets it; which one is the broker's business
};

struct Options {
  Command command = Command::kLoad;
  std::string text;  // kHelp, kVersion: what to print

  std::vector<Target> producer_targets;  // used in turn
  std::vector<Target> consumer_targets;
  Target control;  // declarations happen here
  std::uint16_t heartbeat_s = 0;
  std::string ca_file;  // whom to trust with TLS; empty: any certificate will do

  int producers = 1;
  int consumers = 1;
  int queues = 1;
  std::string queue_name = "perf";  // of the only queue; of several, the part before "-N"
  std::string exchange;
  std::string exchange_type = "direct";
  std::string routing_key;  // empty: the queue's name
  std::string binding_key;  // empty: the routing key
  bool durable = false;
  bool auto_delete = false;
  bool existing = false;  // declare nothing
  bool keep = false;      // delete nothing afterwards
  ArgumentList queue_arguments;
  ArgumentList consumer_arguments;
  Spread spread = Spread::kOneKnown;

  std::size_t body_size = 16;
  bool persistent = false;
  bool mandatory = false;
  std::uint32_t confirm_window = 0;  // per producer; 0: no confirms
  double rate = 0;                   // messages per second, all producers together; 0: unlimited
  std::uint64_t count = 0;           // messages, all producers together; 0: until the time is over
  double duration_s = 0;
  double warmup_s = 0;

  bool auto_ack = false;
  std::uint32_t ack_batch = 1;
  std::uint16_t prefetch = 0;
  bool resubscribe = false;

  double drain_s = 10;  // without progress
  bool fail_on_lost = true;
  bool fail_on_duplicated = true;
  bool fail_on_reordered = true;

  int connections = 0;              // kConnections
  double hold_s = -1;               // kConnections; below 0: until interrupted
  bool delete_only = false;         // kQueues
  std::uint64_t pipeline = 1;       // kQueues
  std::int64_t wait_messages = -1;  // kReady

  bool json = false;
  std::string label;
  double interval_s = 1;  // 0: no progress lines

  std::string queue_at(int index) const;
  // The routing key of messages for that queue.
  std::string key_at(int index) const;
};

// The command line as options; a failure names the option, the value and the rule.
runtime::Result<Options> parse_options(int argc, const char* const* argv);

// amqp[s]://[user[:password]@]host[:port][/vhost] or host[:port]; percent escapes are understood.
// `tls`: all brokers are meant to be reached by it.
runtime::Result<Target> parse_target(const std::string& text, bool tls = false);

}  // namespace ringtail::perf
