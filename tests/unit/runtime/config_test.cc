#include "broker/runtime/config.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "broker/runtime/config_settings.h"
#include "broker/runtime/version.h"

namespace config_test {

using namespace ringtail::runtime;

namespace {

Result<CommandLine> parse(std::vector<std::string> flags) {
  std::vector<const char*> argv = {"ringtail"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

Config config_of(std::vector<std::string> flags) {
  Result<CommandLine> line = parse(std::move(flags));
  REQUIRE_MESSAGE(line.ok(), line.status().text());
  return std::move(line).value().config;
}

std::string error_of(std::vector<std::string> flags) {
  const Result<CommandLine> line = parse(std::move(flags));
  REQUIRE(!line.ok());
  CHECK(line.status().code() == Code::kInvalid);
  return line.status().text();
}

Config file_config(const std::string& text) {
  Config config;
  const Status status = apply_config_text(config, text, "test.conf");
  REQUIRE_MESSAGE(status.ok(), status.text());
  return config;
}

std::string file_error(const std::string& text) {
  Config config;
  const Status status = apply_config_text(config, text, "test.conf");
  REQUIRE(!status.ok());
  return status.text();
}

// A file that is gone at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const int descriptor = mkstemp(path_);
    REQUIRE(descriptor >= 0);
    close(descriptor);
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/ringtail-config-XXXXXX";
};

}  // namespace

TEST_CASE("without flags the machine decides") {
  const Config config = config_of({});
  CHECK(config.node_name.starts_with("ringtail@"));
  CHECK(config.node_name.size() > 9);
  CHECK(config.node_name.find('.') == std::string::npos);
  CHECK((config.data_dir == "/var/lib/ringtail" || config.data_dir == "./ringtail-data"));
  CHECK(config.bind == std::vector<std::string>{"127.0.0.1", "::1"});
  CHECK(config.amqp_port == 5672);
  CHECK(config.amqp_listener_enabled);
  CHECK(config.extra_amqp_listeners.empty());
  CHECK(config.shards >= 1);
  CHECK(config.shards <= 256);
  CHECK(config.log_level == LogLevel::kInfo);
  CHECK(config.frame_max == 131072);
  CHECK(config.channel_max == 2047);
  CHECK(config.heartbeat_s == 60);
  CHECK(config.handshake_timeout_ms == 10000);
  CHECK(config.max_message_size == 134217728);
  CHECK(config.memory_high_watermark > 16U * 1024 * 1024);
  CHECK(config.loopback_users == std::vector<std::string>{"guest"});
  CHECK(config.default_user == "guest");
  CHECK(config.default_pass == "guest");
  CHECK(config.product == "Ringtail");
  CHECK(config.warnings.empty());
  CHECK(config.config_file.empty());
}

TEST_CASE("every flag sets its value") {
  const Config config = config_of({"--node-name", "rabbit@my-host.example.org",
                                   "--data-dir",  "/tmp/x y",
                                   "--bind",      "10.0.0.1, ::1",
                                   "--amqp-port", "0",
                                   "--shards=3",  "--log-level",
                                   "debug",       "--frame-max",
                                   "4096",        "--channel-max",
                                   "0",           "--heartbeat",
                                   "10",          "--max-message-size",
                                   "16MiB",       "--memory-high-watermark",
                                   "2GB"});
  CHECK(config.node_name == "rabbit@my-host.example.org");
  CHECK(config.data_dir == "/tmp/x y");
  CHECK(config.bind == std::vector<std::string>{"10.0.0.1", "::1"});
  CHECK(config.amqp_port == 0);
  CHECK(config.shards == 3);
  CHECK(config.log_level == LogLevel::kDebug);
  CHECK(config.frame_max == 4096);
  CHECK(config.channel_max == 0);
  CHECK(config.heartbeat_s == 10);
  CHECK(config.max_message_size == 16 * 1024 * 1024);
  CHECK(config.memory_high_watermark == 2000000000);
}

TEST_CASE("bind takes several addresses, all, and several flags") {
  CHECK(config_of({"--bind", "*"}).bind == std::vector<std::string>{"0.0.0.0", "::"});
  CHECK(config_of({"--bind", "::"}).bind == std::vector<std::string>{"::"});
  CHECK(config_of({"--bind", "0.0.0.0"}).bind == std::vector<std::string>{"0.0.0.0"});
  CHECK(config_of({"--bind", "[::1]", "--bind", "127.0.0.1", "--bind=127.0.0.1"}).bind ==
        std::vector<std::string>{"::1", "127.0.0.1"});
  for (const char* wrong : {"", "localhost", "127.0.0.1,", "1.2.3", "1.2.3.4:5672", "::g"}) {
    CAPTURE(wrong);
    const std::string error = error_of({"--bind", wrong});
    CHECK(error.find("flag --bind: '" + std::string(wrong) + "' is not a list of addresses") == 0);
  }
}

TEST_CASE("a bad value names the flag, the value and the rule") {
  CHECK(error_of({"--amqp-port", "99999"}) ==
        "flag --amqp-port: '99999' is not a port (0 to 65535; 0 takes any free one)");
  const std::vector<std::vector<std::string>> wrong = {
      {"amqp-port", "-1"},
      {"amqp-port", "56x"},
      {"amqp-port", ""},
      {"amqp-port", " 5672"},
      {"amqp-port", "65536"},
      {"node-name", "ringtail"},
      {"node-name", "@host"},
      {"node-name", "a@"},
      {"node-name", "a@b@c"},
      {"node-name", "a b@host"},
      {"node-name", "a@ho/st"},
      {"data-dir", ""},
      {"shards", "0"},
      {"shards", "257"},
      {"shards", "two"},
      {"log-level", "loud"},
      {"frame-max", "4095"},
      {"frame-max", "1"},
      {"frame-max", "many"},
      {"channel-max", "65536"},
      {"channel-max", "1.5"},
      {"heartbeat", "65536"},
      {"heartbeat", "10s"},
      {"max-message-size", "0"},
      {"max-message-size", "1XB"},
      {"max-message-size", "513MiB"},
      {"max-message-size", "-5"},
      {"memory-high-watermark", "0"},
      {"memory-high-watermark", "0.0"},
      {"memory-high-watermark", "1.01"},
      {"memory-high-watermark", "nan"},
      {"memory-high-watermark", "2PB"},
      {"memory-high-watermark", "0x1p-1"},
      {"memory-high-watermark", "99999999999TB"},
  };
  for (const auto& pair : wrong) {
    CAPTURE(pair[0]);
    CAPTURE(pair[1]);
    const std::string error = error_of({"--" + pair[0] + "=" + pair[1]});
    CHECK(error.find("flag --" + pair[0] + ": '" + pair[1] + "' is") == 0);
  }
}

TEST_CASE("flags of later versions and unknown ones are refused by name") {
  for (const char* flag : {"metrics-port"}) {
    CAPTURE(flag);
    const std::string error = error_of({"--" + std::string(flag), "1"});
    CHECK(error == "flag --" + std::string(flag) +
                       ": belongs to a later version of Ringtail; this is 0.1.0");
  }
  CHECK(error_of({"--metrics-port=1"}).find("flag --metrics-port: belongs") == 0);
  CHECK(error_of({"--amqp-prot", "1"}) == "unknown flag --amqp-prot; see --help");
  CHECK(error_of({"--amqp_port=1"}) == "unknown flag --amqp_port; see --help");
  CHECK(error_of({"start"}) == "'start' is not a flag; see --help");
  CHECK(error_of({"--shards", "2", "-"}) == "'-' is not a flag; see --help");
}

TEST_CASE("a flag without a value is named") {
  CHECK(error_of({"--amqp-port"}) == "flag --amqp-port: needs a value");
  CHECK(error_of({"--data-dir", "--shards", "2"}) == "flag --data-dir: needs a value");
}

TEST_CASE("--version and --help") {
  Result<CommandLine> line = parse({"--version"});
  REQUIRE(line.ok());
  CHECK(line.value().action == CommandLine::Action::kSayVersion);
  CHECK(line.value().text == std::string(kVersionLine) + "\n");
  CHECK(std::string(kVersionLine)
            .starts_with(std::string(kProductName) + " " + std::string(kVersion) + " (AMQP 0-9-1"));
  line = parse({"--help"});
  REQUIRE(line.ok());
  CHECK(line.value().action == CommandLine::Action::kSayHelp);
  std::string text = line.value().text;
  for (const Setting& setting : settings()) {
    CAPTURE(setting.flag);
    const std::size_t at = text.find("--" + std::string(setting.flag) + " " + setting.argument);
    REQUIRE(at != std::string::npos);
    const std::string rest = text.substr(at, text.find("\n  --", at) - at);
    CHECK(rest.find("(default: " + std::string(setting.fallback) + ")") != std::string::npos);
  }
  CHECK(text.find("--config FILE") != std::string::npos);
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    REQUIRE(end != std::string::npos);
    CHECK_MESSAGE(end - at <= 100, text.substr(at, end - at));
  }
}

TEST_CASE("sizes take units") {
  const std::vector<std::pair<const char*, std::uint64_t>> sizes = {{"4096", 4096},
                                                                    {"128MiB", 134217728},
                                                                    {"2GB", 2000000000},
                                                                    {"2 GB", 2000000000},
                                                                    {"1k", 1024},
                                                                    {"1K", 1024},
                                                                    {"1kb", 1000},
                                                                    {"1Ki", 1024},
                                                                    {"3Mi", 3145728},
                                                                    {"1GiB", 1073741824},
                                                                    {"1T", 1099511627776},
                                                                    {"10MB", 10000000},
                                                                    {"7b", 7},
                                                                    {"0", 0},
                                                                    {"1tb", 1000000000000},
                                                                    {"500MiB", 524288000}};
  for (const auto& size : sizes) {
    CAPTURE(size.first);
    std::uint64_t parsed = 1;
    REQUIRE(parse_size(size.first, parsed));
    CHECK(parsed == size.second);
  }
  for (const char* wrong : {"", "MB", "1.5GB", "1 x", "1Mib s", "-1", "18446744073709551616",
                            "18014398509481984K", "1kk", "1ib"}) {
    CAPTURE(wrong);
    std::uint64_t parsed = 0;
    CHECK_FALSE(parse_size(wrong, parsed));
  }
}

TEST_CASE("the watermark is a part or a size") {
  const std::uint64_t half = config_of({"--memory-high-watermark", "0.5"}).memory_high_watermark;
  const std::uint64_t all = config_of({"--memory-high-watermark", "1"}).memory_high_watermark;
  CHECK(half > 0);
  CHECK(all / 2 == half);
  CHECK(config_of({"--memory-high-watermark", "123456789"}).memory_high_watermark == 123456789);
}

TEST_CASE("the limit of the disk is a size or a multiple of the memory") {
  CHECK(config_of({}).disk_free_limit == 50'000'000);
  CHECK(config_of({"--disk-free-limit", "2GB"}).disk_free_limit == 2'000'000'000);
  CHECK(config_of({"--disk-free-limit", "1"}).disk_free_limit == 1);
  CHECK(config_of({"--disk-free-limit", "0"}).disk_free_limit == 0);
  const std::uint64_t memory = config_of({"--memory-high-watermark", "1"}).memory_high_watermark;
  CHECK(config_of({"--disk-free-limit", "1.0"}).disk_free_limit == memory);
  CHECK(file_config("disk_free_limit.absolute = 64MiB").disk_free_limit == 64ULL << 20);
  CHECK(file_config("disk_free_limit = 7").disk_free_limit == 7);
  CHECK(file_config("disk_free_limit.relative = 1.5").disk_free_limit_relative == 1.5);
  for (const char* both : {"disk_free_limit.absolute = 8\ndisk_free_limit.relative = 2.0",
                           "disk_free_limit.relative = 2.0\ndisk_free_limit.absolute = 8"}) {
    CHECK(file_config(both).disk_free_limit == 8);
    CHECK(file_config(both).disk_free_limit_relative == 0);
  }
  const TemporaryFile relative("disk_free_limit.relative = 2.0\n");
  CHECK(config_of({"--config", relative.path()}).disk_free_limit > memory);
  CHECK(config_of({"--config", relative.path(), "--disk-free-limit", "9"}).disk_free_limit == 9);
  const TemporaryFile absolute("disk_free_limit.absolute = 9\n");
  CHECK(config_of({"--config", absolute.path(), "--disk-free-limit", "1.0"}).disk_free_limit ==
        memory);
}

TEST_CASE("the paging ratio is a part of the watermark") {
  CHECK(config_of({}).paging_ratio == 0.5);
  CHECK(file_config("vm_memory_high_watermark_paging_ratio = 0.75").paging_ratio == 0.75);
  CHECK(file_config("memory_high_watermark_paging_ratio = 1").paging_ratio == 1);
}

TEST_CASE("a file: comments, quotes, spaces, line ends") {
  const Config config = file_config(
      "# a comment\r\n"
      "\n"
      "   heartbeat=7   # seconds\r\n"
      "\tdefault_user = 'al ice#1' # quoted\n"
      "default_pass = \"it's\"\n"
      "cluster_name = plain text # cut here\n"
      "frame_max = 8192");
  CHECK(config.heartbeat_s == 7);
  CHECK(config.default_user == "al ice#1");
  CHECK(config.default_pass == "it's");
  CHECK(config.cluster_name == "plain text");
  CHECK(config.frame_max == 8192);
  CHECK(config.warnings.empty());
}

TEST_CASE("a file: what is not a line, names file, line and text") {
  CHECK(file_error("\n\nheartbeat") ==
        "test.conf line 3: 'heartbeat' is not of the form key = value");
  CHECK(file_error("= 5") == "test.conf line 1: '= 5' is not of the form key = value");
  CHECK(file_error("a b = 5") == "test.conf line 1: 'a b = 5' is not of the form key = value");
  CHECK(file_error("default_user = 'x") ==
        "test.conf line 1: default_user: the quote is not closed");
  CHECK(file_error("default_user = 'x' y") ==
        "test.conf line 1: default_user: there is text behind the closing quote");
}

TEST_CASE("a file: every flag's own key") {
  const Config config = file_config(
      "node_name = a@b\ndata_dir = /d\nbind = *\namqp_port = 5673\nshards = 2\n"
      "log_level = warning\nframe_max = 64KiB\nchannel_max = 9\nheartbeat = 8\n"
      "max_message_size = 1MB\nmemory_high_watermark = 0.25\n");
  CHECK(config.node_name == "a@b");
  CHECK(config.data_dir == "/d");
  CHECK(config.bind.size() == 2);
  CHECK(config.amqp_port == 5673);
  CHECK(config.shards == 2);
  CHECK(config.log_level == LogLevel::kWarning);
  CHECK(config.frame_max == 65536);
  CHECK(config.channel_max == 9);
  CHECK(config.heartbeat_s == 8);
  CHECK(config.max_message_size == 1000000);
  CHECK(config.memory_high_watermark_fraction == doctest::Approx(0.25));
}

TEST_CASE("a file: RabbitMQ's keys that act") {
  const Config config = file_config(
      "handshake_timeout = 20000\nproduct.name = RabbitMQ\ncluster_name = c1\n"
      "log.console = true\nlog.console.level = error\n"
      "vm_memory_high_watermark.relative = 0.6\n");
  CHECK(config.handshake_timeout_ms == 20000);
  CHECK(config.product == "RabbitMQ");
  CHECK(config.cluster_name == "c1");
  CHECK(config.log_level == LogLevel::kError);
  CHECK(config.memory_high_watermark_fraction == doctest::Approx(0.6));
  CHECK(config.warnings.empty());
  CHECK(file_config("handshake_timeout = infinity").handshake_timeout_ms == 4294967295U);
  CHECK(file_config("vm_memory_high_watermark.absolute = 1GB").memory_high_watermark == 1000000000);
  for (const char* wrong : {"handshake_timeout = 0",
                            "handshake_timeout = soon",
                            "log.console = maybe",
                            "log.console.level = loud",
                            "default_pass =",
                            "default_user = ''",
                            "vm_memory_high_watermark.relative = 1.5",
                            "disk_free_limit.absolute = much",
                            "disk_free_limit.relative = 0",
                            "disk_free_limit.relative = 1GB",
                            "vm_memory_high_watermark_paging_ratio = 1.5",
                            "vm_memory_high_watermark.absolute = much",
                            "default_pass = encrypted:abc",
                            "default_pass = $(RINGTAIL_NO_SUCH)",
                            "default_pass = $(X",
                            "heartbeat = x",
                            "listeners.tcp = 5672",
                            "loopback_users = guest",
                            "loopback_users.guest = no",
                            "listeners.tcp.1 = localhost:5672",
                            "listeners.tcp.1 = 70000",
                            "listeners.tcp.default = :1",
                            "listeners.tcp.1 = 127.0.0.1:70000"}) {
    const std::string line(wrong);
    const std::string key = line.substr(0, line.find(' '));
    CHECK(file_error("\n" + line).find("test.conf line 2: " + key + ": '") == 0);
  }
}

TEST_CASE("a file: AMQP listeners") {
  Config config = file_config("listeners.tcp.default = 5673");
  CHECK(config.amqp_port == 5673);
  CHECK(config.amqp_listener_enabled);
  CHECK(config.extra_amqp_listeners.empty());

  // Named listeners take the default one's place ...
  config = file_config("listeners.tcp.1 = 127.0.0.1:5673\nlisteners.tcp.other = ::1:5674\n");
  CHECK_FALSE(config.amqp_listener_enabled);
  REQUIRE(config.extra_amqp_listeners.size() == 2);
  CHECK(config.extra_amqp_listeners[0].address == "127.0.0.1");
  CHECK(config.extra_amqp_listeners[0].port == 5673);
  CHECK(config.extra_amqp_listeners[1].address == "::1");
  CHECK(config.extra_amqp_listeners[1].port == 5674);

  // ... unless it is there as well. A port alone is for every address.
  config = file_config("listeners.tcp.1 = 5680\namqp_port = 5672\nbind = 127.0.0.1,10.1.1.1");
  CHECK(config.amqp_listener_enabled);
  REQUIRE(config.extra_amqp_listeners.size() == 2);
  CHECK(config.extra_amqp_listeners[1].address == "10.1.1.1");
  CHECK(config.extra_amqp_listeners[1].port == 5680);

  config = file_config("listeners.tcp = none\nlisteners.tcp.1 = 5680\namqp_port = 5672");
  CHECK_FALSE(config.amqp_listener_enabled);
  CHECK(config.extra_amqp_listeners.empty());
}

TEST_CASE("a file: loopback users") {
  CHECK(file_config("loopback_users.guest = false").loopback_users.empty());
  CHECK(file_config("loopback_users = none").loopback_users.empty());
  CHECK(file_config("loopback_users = none\nloopback_users.guest = true").loopback_users.empty());
  CHECK(file_config("loopback_users.bob = true").loopback_users ==
        std::vector<std::string>{"guest", "bob"});
  CHECK(file_config("loopback_users.guest = true").loopback_users ==
        std::vector<std::string>{"guest"});
}

TEST_CASE("a file: known keys without effect are warned about") {
  for (const char* key : {"ssl_options.honor_ecc_order",
                          "management_agent.disable_metrics_collector",
                          "prometheus.return_per_object_metrics",
                          "cluster_formation.randomized_startup_delay_range.min",
                          "cluster_partition_handling.pause_if_all_down.nodes.1",
                          "cluster_keepalive_interval",
                          "net_ticktime",
                          "vm_memory_calculation_strategy",
                          "total_memory_available_override_value",
                          "memory_monitor_interval",
                          "mirroring_sync_batch_size",
                          "channel_max_per_node",
                          "initial_frame_max",
                          "session_max_per_connection",
                          "default_limits.vhosts.1.pattern",
                          "default_policies.operator.1.expires",
                          "default_users.bob.password",
                          "default_queue_type",
                          "tcp_listen_options.linger.on",
                          "num_acceptors.tcp",
                          "log.file.level",
                          "log.dir",
                          "log.connection.level",
                          "auth_backends.1",
                          "auth_backends.1.authn",
                          "auth_ldap.servers.1",
                          "password_hashing_module",
                          "credential_validator.min_length",
                          "reverse_dns_lookups",
                          "proxy_protocol",
                          "collect_statistics_interval",
                          "queue_index_embed_msgs_below",
                          "classic_queue.default_version",
                          "raft.wal_max_size_bytes",
                          "deprecated_features.permit.transient_nonexcl_queues",
                          "hipe_compile",
                          "background_gc_enabled",
                          "mnesia_table_loading_retry_limit",
                          "product.version"}) {
    CAPTURE(key);
    const Config config = file_config(std::string(key) + " = whatever");
    REQUIRE(config.warnings.size() == 1);
    CHECK(config.warnings[0] ==
          "key '" + std::string(key) + "' is known but has no effect in this version");
  }
}

TEST_CASE("a file: unknown keys and keys of later versions are refused by name") {
  for (const char* key :
       {"hartbeat", "amqp.port", "amqp-port", "listeners.tcp.", "config", "auth_backends.1.other",
        "auth_backends", "ssl_options.", "Heartbeat", "default_permissions.all",
        "auth_backends..authn", "listeners.ssl.", "version", "ssl_options.verfy",
        "ssl_options.versions.", "auth_mechanisms", "default_user_tags", "nodename"}) {
    CAPTURE(key);
    CHECK(file_error("heartbeat = 1\n" + std::string(key) + " = 1") ==
          "test.conf line 2: unknown key '" + std::string(key) + "'");
  }
  CHECK(file_error("metrics_port = 1") ==
        "test.conf line 1: key 'metrics_port' belongs to a later version of Ringtail");
}

TEST_CASE("a refused file leaves the configuration as it was") {
  Config config;
  CHECK_FALSE(apply_config_text(config, "heartbeat = 5\nnonsense = 1", "x").ok());
  CHECK(config.heartbeat_s == 60);
}

TEST_CASE("frame_max beyond the largest frame is cut, with a warning") {
  for (const char* text : {"0", "131073", "1GB"}) {
    const Config config = config_of({"--frame-max", text});
    CHECK(config.frame_max == 131072);
    REQUIRE(config.warnings.size() == 1);
    CHECK(config.warnings[0].find("frame_max " + std::string(text)) == 0);
  }
}

TEST_CASE("a flag beats the file, the file beats the default") {
  const TemporaryFile file(
      "heartbeat = 11\nchannel_max = 12\nvm_memory_high_watermark.absolute = 1GB\n"
      "listeners.tcp = none\nlog_level = error\nbind = 10.0.0.1\nlisteners.tcp.1 = 5690\n");
  Config config = config_of({"--heartbeat", "13", "--config", file.path()});
  CHECK(config.config_file == file.path());
  CHECK(config.heartbeat_s == 13);
  CHECK(config.channel_max == 12);
  CHECK(config.frame_max == 131072);
  CHECK(config.log_level == LogLevel::kError);
  CHECK(config.memory_high_watermark == 1000000000);
  CHECK_FALSE(config.amqp_listener_enabled);

  config = config_of({"--config", file.path(), "--memory-high-watermark", "0.4", "--amqp-port",
                      "5691", "--bind", "127.0.0.1"});
  CHECK(config.memory_high_watermark != 1000000000);
  CHECK(config.amqp_listener_enabled);
  CHECK(config.amqp_port == 5691);
  CHECK(config.bind == std::vector<std::string>{"127.0.0.1"});
  CHECK(config.extra_amqp_listeners.empty());
}

TEST_CASE("a config file that is not there, or wrong, is named") {
  const Result<CommandLine> missing = parse({"--config", "/nonexistent/ringtail.conf"});
  REQUIRE(!missing.ok());
  CHECK(missing.status().text() ==
        "config file '/nonexistent/ringtail.conf': No such file or directory");
  const Result<CommandLine> directory = parse({"--config", "/tmp"});
  REQUIRE(!directory.ok());
  CHECK(directory.status().text() == "config file '/tmp': Is a directory");
  const TemporaryFile file("\nheartbeat = 65536");
  CHECK(error_of({"--config", file.path()}) ==
        file.path() +
            " line 2: heartbeat: '65536' is not a heartbeat (0 to 65535 seconds; 0 is none)");
  CHECK(error_of({"--config="}) == "flag --config: '' is not a file name");
}

}  // namespace config_test
