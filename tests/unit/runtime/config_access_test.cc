// Settings of logins, first start, limits, TLS and HTTP; files beside the file.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "broker/runtime/config.h"

namespace config_access_test {

using namespace ringtail::runtime;

namespace {

Result<CommandLine> parse(std::vector<std::string> flags) {
  std::vector<const char*> argv = {"ringtail"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
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
  CHECK(status.code() == Code::kInvalid);
  return status.text();
}

using Texts = std::vector<std::string>;

constexpr const char* kCertificate = "ssl_options.certfile = /c\nssl_options.keyfile = /k\n";

}  // namespace

TEST_CASE("a file: what the first start makes") {
  Config config = file_config("");
  CHECK(config.default_vhost == "/");
  CHECK(config.default_user_tags == Texts{"administrator"});
  config = file_config(
      "default_user = u\ndefault_pass = p\ndefault_vhost = shop\n"
      "default_user_tags.monitoring = true\ndefault_user_tags.policymaker = true\n"
      "default_user_tags.monitoring = false\ndefault_user_tags.mine = true\n"
      "default_permissions.configure = ^x\ndefault_permissions.write = '#'\n"
      "default_permissions.read =\n");
  CHECK(config.default_user == "u");
  CHECK(config.default_pass == "p");
  CHECK(config.default_vhost == "shop");
  CHECK(config.default_user_tags == Texts{"policymaker", "mine"});
  CHECK(config.default_permissions_configure == "^x");
  CHECK(config.default_permissions_write == "#");
  CHECK(config.default_permissions_read.empty());
  CHECK(config.warnings.empty());
  CHECK(file_error("default_permissions.read = (")
            .find("test.conf line 1: default_permissions.read: '(' is not a permission") == 0);
  CHECK(file_error("default_user_tags.a = maybe") ==
        "test.conf line 1: default_user_tags.a: 'maybe' is not true or false");
  CHECK(file_error("default_vhost = ''") == "test.conf line 1: default_vhost: '' is empty");
}

TEST_CASE("a file: definitions to load, under every name") {
  for (const char* key : {"definitions", "load_definitions", "management.load_definitions",
                          "definitions.local.path"}) {
    CAPTURE(key);
    CHECK(file_config(std::string(key) + " = /etc/d.json").definitions_file == "/etc/d.json");
  }
  CHECK(file_config("definitions.import_backend = local_filesystem").warnings.empty());
  CHECK(file_error("definitions.import_backend = https")
            .find("definitions.import_backend: 'https' is not supported") != std::string::npos);
  const auto line = parse({"--definitions", "x.json"});
  REQUIRE(line.ok());
  CHECK(line.value().config.definitions_file == "x.json");
}

TEST_CASE("a file: mechanisms in their order") {
  CHECK(file_config("").auth_mechanisms == Texts{"PLAIN", "AMQPLAIN"});
  CHECK(file_config("auth_mechanisms.1 = EXTERNAL\nauth_mechanisms.2 = PLAIN").auth_mechanisms ==
        Texts{"EXTERNAL", "PLAIN"});
  CHECK(file_error("auth_mechanisms.1 = RABBIT-CR-DEMO") ==
        "test.conf line 1: auth_mechanisms.1: 'RABBIT-CR-DEMO' is not a mechanism of this node "
        "(PLAIN, AMQPLAIN, EXTERNAL)");
}

TEST_CASE("a file: limits") {
  const Config config = file_config(
      "consumer_timeout = 1800000\nconsumer_max_per_channel = 16\nconnection_max = 1000\n"
      "vhost_max = 5\ncluster_queue_limit = infinity\nqueue_types.quorum.accept = false\n"
      "tcp_listen_options.backlog = 128\n");
  CHECK(config.consumer_timeout_ms == 1800000);
  CHECK(config.consumer_max_per_channel == 16);
  CHECK(config.connection_max == 1000);
  CHECK(config.vhost_max == 5);
  CHECK(config.cluster_queue_limit == 0);
  CHECK_FALSE(config.accept_quorum_queues);
  CHECK(config.tcp_backlog == 128);
  CHECK(config.warnings.empty());
  for (const std::string key :
       {"consumer_max_per_channel", "connection_max", "vhost_max", "cluster_queue_limit"}) {
    CHECK(file_error(key + " = -1") ==
          "test.conf line 1: " + key +
              ": '-1' is not a limit (0 to 4294967295; 0 or infinity is none)");
    CHECK(file_error(key + " = 4294967296").find("is not a limit") != std::string::npos);
  }
  CHECK(file_error("consumer_timeout = soon").find("'soon' is not a time") != std::string::npos);
  CHECK(file_error("queue_types.quorum.accept = 1").find("true or false") != std::string::npos);
  CHECK(file_error("tcp_listen_options.backlog = 0").find("backlog") != std::string::npos);
}

TEST_CASE("a file: the HTTP port") {
  CHECK(file_config("").management_port == 15672);
  for (const std::string key :
       {"management_port", "management.tcp.port", "management.listener.port"}) {
    CHECK(file_config(key + " = 8080").management_port == 8080);
    CHECK_FALSE(file_config(key + " = none").management_enabled);
    CHECK(file_error(key + " = 65536").find("'65536' is not a port") != std::string::npos);
  }
  CHECK(file_config("management.tcp.ip = 127.0.0.1").warnings.empty());
  CHECK(file_config("management.tcp.ip = 0.0.0.0").warnings.size() == 1);
  CHECK(file_error("management.tcp.ip = host").find("numeric address") != std::string::npos);
}

TEST_CASE("a file: TLS") {
  const Config config = file_config(
      "listeners.ssl.default = 5671\nssl_options.certfile = /c.pem\nssl_options.keyfile = /k.pem\n"
      "ssl_options.cacertfile = /ca.pem\nssl_options.password = secret\n"
      "ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n"
      "ssl_options.depth = 2\nssl_options.versions.1 = tlsv1.3\nssl_options.versions.2 = tlsv1.2\n"
      "ssl_options.ciphers.1 = ECDHE-RSA-AES256-GCM-SHA384\n"
      "ssl_options.ciphers.2 = TLS_AES_128_GCM_SHA256\nssl_options.honor_cipher_order = false\n"
      "ssl_options.client_renegotiation = false\nssl_options.secure_renegotiate = true\n"
      "ssl_handshake_timeout = 7000\nssl_cert_login_from = common_name\n");
  CHECK(config.amqps_port == 5671);
  CHECK(config.amqp_listener_enabled);
  CHECK(config.tls.cert_file == "/c.pem");
  CHECK(config.tls.key_file == "/k.pem");
  CHECK(config.tls.ca_file == "/ca.pem");
  CHECK(config.tls.key_password == "secret");
  CHECK(config.tls.verify_peer);
  CHECK(config.tls.fail_if_no_peer_cert);
  CHECK(config.tls.depth == 2);
  CHECK(config.tls.versions == Texts{"tlsv1.3", "tlsv1.2"});
  CHECK(config.tls.ciphers == Texts{"ECDHE-RSA-AES256-GCM-SHA384", "TLS_AES_128_GCM_SHA256"});
  CHECK_FALSE(config.tls.honor_cipher_order);
  CHECK(config.tls.handshake_timeout_ms == 7000);
  CHECK(config.cert_login == CertLogin::kCommonName);
  CHECK(config.warnings.empty());
  for (const std::string line :
       {"ssl_options.verify = yes", "ssl_options.depth = 256", "ssl_options.versions.1 = tls1.2",
        "ssl_options.ciphers.1 = A:B", "ssl_options.honor_cipher_order = on",
        "ssl_options.client_renegotiation = true", "ssl_options.crl_check = true",
        "ssl_handshake_timeout = 0", "ssl_cert_login_from = email", "listeners.ssl = 5671",
        "listeners.ssl.default = 65536", "listeners.ssl.1 = host:1", "ssl_options.certfile = ''",
        "ssl_options.secure_renegotiate = false"}) {
    CAPTURE(line);
    const std::string key = line.substr(0, line.find(' '));
    CHECK(file_error("\n" + line).find("test.conf line 2: " + key + ": '") == 0);
  }
}

TEST_CASE("a file: TLS listeners") {
  Config config = file_config(std::string(kCertificate) +
                              "bind = 127.0.0.1,10.0.0.1\nlisteners.ssl.1 = 5671\n"
                              "listeners.ssl.b = ::1:5673\n");
  CHECK(config.amqps_port == 0);
  CHECK(config.amqp_listener_enabled);
  REQUIRE(config.extra_amqps_listeners.size() == 3);
  CHECK(config.extra_amqps_listeners[0].address == "::1");
  CHECK(config.extra_amqps_listeners[2].address == "10.0.0.1");
  CHECK(config.extra_amqps_listeners[2].port == 5671);
  config = file_config(std::string(kCertificate) +
                       "listeners.ssl = none\nlisteners.ssl.1 = 5671\namqps_port = 5672");
  CHECK(config.extra_amqps_listeners.empty());
  CHECK(config.amqps_port == 0);
}

TEST_CASE("what TLS needs is named") {
  CHECK(file_error("amqps_port = 5671") ==
        "the TLS listener on port 5671 needs a certificate: ssl_options.certfile");
  CHECK(file_error("listeners.ssl.1 = 5670\nssl_options.certfile = /c") ==
        "the TLS listener on port 5670 needs its key: ssl_options.keyfile");
  const std::string base = "amqps_port = 5671\n" + std::string(kCertificate);
  CHECK(file_error(base + "ssl_options.verify = verify_peer") ==
        "ssl_options.verify = verify_peer needs the authorities to trust: "
        "ssl_options.cacertfile");
  CHECK(file_error(base + "ssl_options.fail_if_no_peer_cert = true") ==
        "ssl_options.fail_if_no_peer_cert = true needs ssl_options.verify = verify_peer");
  CHECK(file_error(base + "ssl_options.versions.1 = tlsv1.1") ==
        "ssl_options.versions needs tlsv1.2 or tlsv1.3");
  const Config old =
      file_config(base + "ssl_options.versions.1 = tlsv1.2\nssl_options.versions.2 = tlsv1.1\n");
  REQUIRE(old.warnings.size() == 1);
  CHECK(old.warnings[0].find("tlsv1.1 is not spoken") != std::string::npos);
  // Without a listener it is not missed.
  CHECK(file_config("ssl_options.verify = verify_peer").tls.verify_peer);
  const auto line = parse({"--amqps-port", "5671"});
  REQUIRE(!line.ok());
  CHECK(line.status().text() ==
        "the TLS listener on port 5671 needs a certificate: ssl_options.certfile");
  CHECK(parse({"--amqps-port", "none"}).ok());
  CHECK(parse({"--amqps-port", "0"}).ok());
}

TEST_CASE("a file: values from the environment") {
  setenv("RINGTAIL_TEST_A", "one # two", 1);
  setenv("RINGTAIL_TEST_B", "$(RINGTAIL_TEST_A)", 1);
  CHECK(file_config("default_user = $(RINGTAIL_TEST_A)").default_user == "one # two");
  CHECK(file_config("default_user = a$(RINGTAIL_TEST_A)b$(RINGTAIL_TEST_A) # c").default_user ==
        "aone # twobone # two");
  CHECK(file_config("default_user = '$(RINGTAIL_TEST_B)'").default_user == "$(RINGTAIL_TEST_A)");
  CHECK(file_error("heartbeat = $(RINGTAIL_NO_SUCH)") ==
        "test.conf line 1: heartbeat: '$(RINGTAIL_NO_SUCH)' refers to RINGTAIL_NO_SUCH, which is "
        "not in the environment");
  CHECK(file_error("default_pass = a$(b") ==
        "test.conf line 1: default_pass: 'a$(b' has a $( without its )");
  unsetenv("RINGTAIL_TEST_A");
  unsetenv("RINGTAIL_TEST_B");
}

TEST_CASE("conf.d beside the file is read behind it, by name") {
  char name[] = "/tmp/ringtail-conf-XXXXXX";
  REQUIRE(mkdtemp(name) != nullptr);
  const std::filesystem::path folder(name);
  const std::string file = (folder / "ringtail.conf").string();
  std::filesystem::create_directory(folder / "conf.d");
  std::ofstream(file) << "heartbeat = 1\nchannel_max = 1\nlisteners.tcp.1 = 1000\n";
  std::ofstream(folder / "conf.d" / "20-b.conf") << "heartbeat = 20\n";
  std::ofstream(folder / "conf.d" / "10-a.conf") << "heartbeat = 10\nframe_max = 8192\n";
  std::ofstream(folder / "conf.d" / "30-c.txt") << "nonsense\n";
  auto line = parse({"--config", file});
  REQUIRE_MESSAGE(line.ok(), line.status().text());
  CHECK(line.value().config.heartbeat_s == 20);
  CHECK(line.value().config.frame_max == 8192);
  CHECK(line.value().config.channel_max == 1);
  CHECK_FALSE(line.value().config.amqp_listener_enabled);
  CHECK(line.value().config.extra_amqp_listeners.size() == 2);
  std::ofstream(folder / "conf.d" / "40-d.conf") << "\nheartbeat = x\n";
  line = parse({"--config", file});
  REQUIRE(!line.ok());
  CHECK(line.status().text().find((folder / "conf.d" / "40-d.conf").string() +
                                  " line 2: heartbeat: 'x'") == 0);
  std::filesystem::remove_all(folder);
}

}  // namespace config_access_test
