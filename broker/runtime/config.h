// What an operator sets: command-line flags, a rabbitmq.conf-style file, defaults. A flag beats the
// file, the file beats the default; an unknown key or a bad value is an error that names the key,
// the value and the rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/limits.h"
#include "broker/runtime/log.h"
#include "broker/runtime/status.h"

namespace ringtail::runtime {

struct ListenAddress {
  std::string address;  // numeric
  std::uint16_t port = 0;
};

struct PeerAddress {
  std::string host;  // a name or a numeric address
  std::uint16_t port = 0;
};

// "host:port", "[::1]:port", "host", "name@host"; without a port the usual one.
bool parse_peer(std::string_view text, PeerAddress& out);

// What partitions mean in RabbitMQ. Here a minority never changes metadata; docs/CLUSTERING.md says
// what is left of each.
enum class PartitionHandling : unsigned char {
  kIgnore,
  kPauseMinority,
  kPauseIfAllDown,
  kAutoheal,
};

// ssl_options.* of RabbitMQ.
struct TlsConfig {
  std::string keys = "ssl_options";  // what they are called in a file, for errors
  std::string cert_file = {};        // PEM; needed with amqps_port
  std::string key_file = {};         // PEM; needed with amqps_port
  std::string key_password = {};
  std::string ca_file = {};                // PEM; whose signatures on client certificates count
  bool verify_peer = false;                // ask for a certificate, refuse one that does not verify
  bool fail_if_no_peer_cert = false;       // with verify_peer: refuse a client that shows none
  unsigned depth = 1;                      // intermediate certificates
  std::vector<std::string> versions = {};  // "tlsv1.2", "tlsv1.3"; empty: both
  std::vector<std::string> ciphers = {};   // OpenSSL names; empty: OpenSSL's defaults
  bool honor_cipher_order = true;
  std::uint32_t handshake_timeout_ms = 5000;
};

struct ClusterConfig {
  // For peers, on every address of `bind`; 0: any free port.
  std::uint16_t port = kClusterPort;
  // What peers are told to connect to; empty: the host of the node's name.
  std::string host;
  std::vector<PeerAddress> join;  // any members of the cluster to join; empty: none
  // cluster_formation.classic_config.nodes.*: names (name@host) of those that begin as one cluster.
  std::vector<std::string> peers;
  std::string cookie_file;  // empty: `cookie` in the data directory
  // Of the links, cluster_ssl_options.*; without a certificate they are not encrypted.
  TlsConfig tls = {
      .keys = "cluster_ssl_options", .verify_peer = true, .fail_if_no_peer_cert = true};
  std::uint32_t heartbeat_ms = 250;
  std::uint32_t lease_ms = 1500;
  std::uint32_t node_down_ms = 2000;
  PartitionHandling partition_handling = PartitionHandling::kPauseMinority;
};

// Which part of a client's certificate is the user name (mechanism EXTERNAL).
enum class CertLogin : unsigned char { kDistinguishedName, kCommonName, kSubjectAltName };

struct Config {
  std::string node_name;  // name@host
  std::string data_dir;
  std::vector<std::string> bind = {"127.0.0.1", "::1"};
  // On every address of `bind`; 0: any free port.
  std::uint16_t amqp_port = 5672;
  // listeners.tcp.N = ip:port, or port (then on every address of `bind`). As in RabbitMQ they take
  // the place of amqp_port, which then counts only where it is given too; listeners.tcp = none
  // empties both. Listen on all of these, and on amqp_port where amqp_listener_enabled.
  std::vector<ListenAddress> extra_amqp_listeners;
  bool amqp_listener_enabled = true;
  // AMQP over TLS, on every address of `bind`; 0: off. listeners.ssl.N as listeners.tcp.N.
  std::uint16_t amqps_port = 0;
  std::vector<ListenAddress> extra_amqps_listeners;
  TlsConfig tls;
  CertLogin cert_login = CertLogin::kDistinguishedName;
  // HTTP, on every address of `bind`; kept apart from 0, which is any free port.
  std::uint16_t management_port = 15672;
  bool management_enabled = true;
  std::string definitions_file;  // load_definitions; empty: none
  // Connections that the kernel keeps for a listener until they are accepted.
  std::uint16_t tcp_backlog = kListenBacklog;
  unsigned shards = 0;      // set by parse_command_line(): cores available less one
  std::string config_file;  // empty: none
  LogLevel log_level = LogLevel::kInfo;
  // 4096 to 131072. RabbitMQ takes more, and 0 for no limit; both become 131072 here, the largest
  // frame that the read buffer holds (limits.h), with a warning.
  std::uint32_t frame_max = 131072;
  std::uint16_t channel_max = 2047;  // 0: no limit, which is 65535
  std::uint16_t heartbeat_s = 60;    // 0: none
  std::uint32_t handshake_timeout_ms = 10000;
  std::uint64_t max_message_size = 128ULL * 1024 * 1024;
  std::uint64_t memory_high_watermark = 0;  // bytes; from a fraction of RAM or cgroup when 0
  double memory_high_watermark_fraction = 0.4;
  // The part of the watermark from which messages in memory go to the disk; 0 to 1.
  double paging_ratio = 0.5;
  std::uint64_t disk_free_limit = 50'000'000;  // bytes
  // Times the memory of the machine or the cgroup; then it has set disk_free_limit. 0: not given.
  double disk_free_limit_relative = 0;
  std::vector<std::string> loopback_users = {"guest"};
  std::string default_user = "guest";
  std::string default_pass = "guest";
  // At the first start on an empty data directory, and only without a definitions file.
  std::string default_vhost = "/";
  std::vector<std::string> default_user_tags = {"administrator"};
  std::string default_permissions_configure = ".*";
  std::string default_permissions_write = ".*";
  std::string default_permissions_read = ".*";
  std::vector<std::string> auth_mechanisms = {"PLAIN", "AMQPLAIN"};  // and EXTERNAL
  std::uint64_t consumer_timeout_ms = 0;                             // 0: off
  std::uint32_t consumer_max_per_channel = 0;                        // 0: no limit
  std::uint64_t connection_max = 0;                                  // 0: no limit
  std::uint64_t vhost_max = 0;                                       // 0: no limit
  std::uint64_t cluster_queue_limit = 0;                             // 0: no limit
  // What a declaration with x-queue-type = quorum gets: a durable queue mirrored on a majority, or
  // a refusal (queue_types.quorum.accept = false).
  bool accept_quorum_queues = true;
  ClusterConfig cluster;
  // client-local, min-masters, random or balanced.
  std::string queue_master_locator = "client-local";
  std::string product = "Ringtail";   // server-properties; some clients switch on "RabbitMQ"
  std::string cluster_name;           // empty: the node name
  std::vector<std::string> warnings;  // known keys that this node does not act on, to be logged
};

struct CommandLine {
  enum class Action { kRun, kSayVersion, kSayHelp };
  Action action = Action::kRun;
  Config config;
  std::string text;  // what to print for kSayVersion and kSayHelp
};

// Flags, then the file that --config names and conf.d/*.conf beside it (in the order of their
// names, a later line beats an earlier one), then defaults of this machine.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

// One file's lines into `config`, which stays as it was when a line is refused. Exposed for tests;
// `name` is for messages. Sets no defaults of the machine.
Status apply_config_text(Config& config, const std::string& text, const std::string& name);

// What a running node is told in place of the file: a size ("2GB", "50000000"); kInvalid says the
// rule.
Result<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace ringtail::runtime
