#include "broker/runtime/tls/tls_stream.h"

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/config.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/sim/sim_client.h"
#include "broker/runtime/sim/sim_env.h"
#include "tests/unit/runtime/tls_certificates.h"

namespace tls_stream_test {

using namespace ringtail::runtime;

namespace {

constexpr std::uint64_t kTimeoutMs = 5000;

// One side of a connection over TLS.
class Peer final : public StreamEvents {
 public:
  explicit Peer(std::unique_ptr<TlsStream> own_stream) : stream(std::move(own_stream)) {
    stream->start(*this);
  }
  void send(std::string_view text) {
    out.append_copy(text.data(), text.size());
    flush();
  }
  void flush() {
    if (closed > 0 || stream->pending_write() || out.empty()) return;
    stream->write(out);
    CHECK(out.empty());
  }

  std::unique_ptr<TlsStream> stream;
  OutChain out;
  std::string read;
  int written = 0;
  int closed = 0;
  Status why;
  bool close_on_read = false;
  bool destroy_on_read = false;
  bool pause_on_read = false;
  bool paused = false;

 private:
  void on_read(std::span<std::uint8_t> data) noexcept override {
    CHECK(closed == 0);
    CHECK_FALSE(data.empty());
    std::memset(data.data() - kReadHeadroom, 0x55, kReadHeadroom);
    read.append(as_text(data));
    CHECK_FALSE(paused);
    if (pause_on_read) {
      paused = true;
      stream->pause_reading();
    }
    if (close_on_read) stream->close();
    if (destroy_on_read) stream.reset();
  }
  void on_written() noexcept override {
    CHECK(closed == 0);
    CHECK_FALSE(stream->pending_write());
    ++written;
    flush();
  }
  void on_closed(const Status& status) noexcept override {
    ++closed;
    why = status;
  }
};

std::string pattern(std::size_t size, std::uint64_t seed) {
  SimRng rng(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('a' + rng.below(26));
  return text;
}

const TestCertificate& authority() {
  static const TestCertificate made({.subject = {{"CN", "authority"}}, .authority = true});
  return made;
}

const TestCertificate& server_certificate() {
  static const TestCertificate made(
      {.subject = {{"CN", "server"}}, .alternative_names = "DNS:broker.example,IP:127.0.0.1"},
      authority());
  return made;
}

TlsConfig server_config() {
  TlsConfig config;
  config.cert_file = "cert.pem";
  config.key_file = "key.pem";
  return config;
}

TlsContext server_context(const TlsConfig& config) {
  auto made = TlsContext::server(config, {server_certificate().certificate(),
                                          server_certificate().key(), authority().certificate()});
  REQUIRE_MESSAGE(made.ok(), made.status().text());
  return std::move(made).value();
}

TlsContext client_context(bool verify = false, const std::string& authorities = {}) {
  auto made = TlsContext::client(verify, authorities);
  REQUIRE_MESSAGE(made.ok(), made.status().text());
  return std::move(made).value();
}

// With a certificate to show.
TlsContext client_context(const TestCertificate& certificate) {
  TlsContext context = client_context();
  const std::unique_ptr<BIO, int (*)(BIO*)> cert(BIO_new(BIO_s_mem()), BIO_free);
  const std::string pem = certificate.certificate() + certificate.key();
  BIO_write(cert.get(), pem.data(), static_cast<int>(pem.size()));
  X509* x = PEM_read_bio_X509(cert.get(), nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(cert.get(), nullptr, nullptr, nullptr);
  REQUIRE(SSL_CTX_use_certificate(context.get(), x) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey(context.get(), key) == 1);
  X509_free(x);
  EVP_PKEY_free(key);
  return context;
}

// A host that accepts TLS on 127.0.0.1:5671, and one that connects to it.
struct Net2 {
  explicit Net2(SimWorld& own_world, const TlsConfig& config = server_config(),
                std::size_t at_most = 100)
      : world(own_world),
        server_host(own_world),
        server_env(server_host),
        client_env(server_host),
        handshakes(server_env, kTimeoutMs, at_most),
        client_handshakes(client_env, 60000, 100000),
        context(server_context(config)) {
    auto made =
        server_env.net().listen("127.0.0.1", 5671, [this](std::unique_ptr<AcceptedSocket> socket) {
          auto stream = server_env.net().adopt(std::move(socket));
          REQUIRE(stream.ok());
          servers.push_back(std::make_unique<Peer>(std::make_unique<TlsStream>(
              std::move(stream).value(), context, handshakes, TlsStream::Side::kServer)));
        });
    REQUIRE(made.ok());
    listener = std::move(made).value();
  }
  Peer& connect(TlsContext with, const std::string& name = {}) {
    const std::size_t before = clients.size();
    client_env.net().connect(
        "127.0.0.1", 5671, [this, with, name](Result<std::unique_ptr<Stream>> stream) {
          REQUIRE(stream.ok());
          raw = stream.value().get();
          clients.push_back(std::make_unique<Peer>(std::make_unique<TlsStream>(
              std::move(stream).value(), with, client_handshakes, TlsStream::Side::kClient, name)));
        });
    until([&] { return clients.size() > before; });
    return *clients.back();
  }
  Peer& server(std::size_t index = 0) {
    until([&] { return servers.size() > index; });
    return *servers[index];
  }
  void until(const std::function<bool()>& done) { REQUIRE(world.run_until(done)); }

  SimWorld& world;
  SimHost server_host;
  SimEnv server_env;
  SimEnv client_env;
  TlsHandshakes handshakes;
  TlsHandshakes client_handshakes;
  TlsContext context;
  std::unique_ptr<Listener> listener;
  Stream* raw = nullptr;  // beneath the last client
  std::vector<std::unique_ptr<Peer>> servers;
  std::vector<std::unique_ptr<Peer>> clients;
};

// Both ends of a handshake that the server refuses: its reason.
std::string refusal(const TlsConfig& config, TlsContext with) {
  SimWorld world(1);
  Net2 net(world, config);
  Peer& client = net.connect(std::move(with));
  Peer& server = net.server();
  net.until([&] { return server.closed == 1 && client.closed == 1; });
  CHECK(server.why.code() == Code::kInvalid);
  CHECK(server.stream->tls() == nullptr);
  CHECK(server.read.empty());
  CHECK(net.handshakes.under_way() == 0);
  return server.why.text();
}

TlsConfig verifying() {
  TlsConfig config = server_config();
  config.ca_file = "ca.pem";
  config.verify_peer = true;
  config.fail_if_no_peer_cert = true;
  return config;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("TLS carries bytes both ways, whatever the pieces") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    SimWorld world(seed);
    Net2 net(world);
    Peer& client = net.connect(client_context(true, authority().certificate()), "broker.example");
    // Written before the handshake is done: it waits.
    const std::string early = pattern(1 + seed * 100, seed);
    client.send(early);
    CHECK(client.stream->pending_write());
    Peer& server = net.server();
    net.until([&] { return server.read == early; });
    REQUIRE(server.stream->tls() != nullptr);
    CHECK(server.stream->tls()->protocol == "TLSv1.3");
    CHECK_FALSE(server.stream->tls()->cipher.empty());
    CHECK_FALSE(server.stream->tls()->has_peer_certificate);
    CHECK(client.stream->tls()->peer_subject == "CN=server");
    CHECK(net.handshakes.under_way() == 0);

    std::string sent;
    SimRng rng(seed);
    const std::size_t sizes[] = {1, 7, 100, 1024, 16383, 16384, 16385, 70000, 300000};
    for (int i = 0; i < 30; ++i) {
      const std::string part = pattern(sizes[rng.below(9)], seed * 100 + rng.below(1000));
      sent += part;
      server.out.append_copy(part.data(), part.size() / 2);
      server.out.append(Bytes::copy(as_bytes(part).subspan(part.size() / 2)));
      server.flush();
      if (rng.below(3) == 0) world.run_for(kMillisecondNs);
    }
    const std::string back = pattern(100000, seed + 1);
    client.send(back);
    net.until([&] { return client.read.size() == sent.size(); });
    CHECK(client.read == sent);
    net.until([&] { return server.read.size() == early.size() + back.size(); });
    CHECK(server.read == early + back);

    client.stream->close();
    net.until([&] { return client.closed == 1 && server.closed == 1; });
    CHECK(client.why.ok());
    CHECK(server.why.code() == Code::kClosed);
  }
}

TEST_CASE("TLS keeps back-pressure both ways") {
  SimWorld world(3);
  Net2 net(world);
  Peer& client = net.connect(client_context());
  Peer& server = net.server();
  net.until([&] { return server.stream->tls() != nullptr && client.stream->tls() != nullptr; });
  world.run_for(kSecondNs);
  client.stream->pause_reading();
  const std::string much = pattern(4 * 1024 * 1024, 9);
  server.send(much);
  CHECK(server.stream->pending_write());
  const int written = server.written;
  world.run_for(10 * kSecondNs);
  CHECK(client.read.empty());
  CHECK(server.stream->pending_write());
  CHECK(server.written == written);
  client.stream->resume_reading();
  net.until([&] { return client.read.size() == much.size(); });
  CHECK(client.read == much);
  net.until([&] { return !server.stream->pending_write(); });
  CHECK(server.written == written + 1);
}

TEST_CASE("TLS: an owner that pauses in the middle of a read gets the rest when it goes on") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SimWorld world(seed);
    Net2 net(world);
    Peer& client = net.connect(client_context());
    Peer& server = net.server();
    server.pause_on_read = true;
    const std::string much = pattern(1024 * 1024, seed);
    client.send(much);
    std::size_t largest = 0;
    for (std::size_t before = 0; server.read.size() < much.size(); before = server.read.size()) {
      net.until([&] { return server.paused; });
      largest = std::max(largest, server.read.size() - before);
      world.run_for(10 * kMillisecondNs);
      server.paused = false;
      server.stream->resume_reading();
      CHECK_FALSE(server.paused);  // never from inside a call
    }
    CHECK(server.read == much);
    CHECK(largest <= 128 * 1024);
    client.stream->close();
    net.until([&] { return server.closed == 1; });
  }
}

// What goes on in freed memory is for a sanitizer to see.
TEST_CASE("TLS: an owner may destroy the stream in the middle of a read, and hears nothing more") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimWorld world(seed);
    Net2 net(world);
    Peer& client = net.connect(client_context());
    Peer& server = net.server();
    server.destroy_on_read = true;
    client.send(pattern(200000, 1));
    net.until([&] { return server.stream == nullptr && client.closed == 1; });
    CHECK_FALSE(server.read.empty());
    CHECK(server.closed == 0);
  }
}

TEST_CASE("TLS: an owner that closes in the middle hears nothing but the end") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimWorld world(seed);
    Net2 net(world);
    Peer& client = net.connect(client_context());
    Peer& server = net.server();
    server.close_on_read = true;
    client.send(pattern(200000, 1));
    net.until([&] { return server.closed == 1 && client.closed == 1; });
    const std::size_t read = server.read.size();
    CHECK(server.why.ok());
    CHECK(read > 0);
    world.run_for(kSecondNs);
    CHECK(server.read.size() == read);
  }
}

TEST_CASE("TLS: an end without close_notify is an end by the peer") {
  SimWorld world(5);
  Net2 net(world);
  Peer& client = net.connect(client_context());
  Peer& server = net.server();
  client.send("hello");
  net.until([&] { return server.read == "hello"; });
  net.clients.clear();  // its stream goes without a word
  net.until([&] { return server.closed == 1; });
  CHECK(server.why.code() == Code::kClosed);
}

TEST_CASE("TLS: whom a server takes") {
  const TestCertificate good({.subject = {{"C", "NL"},
                                          {"O", "Ex, \"am\\ple"},
                                          {"OU", "#1"},
                                          {"+emailAddress", "a@b"},
                                          {"serialNumber", "7"},
                                          {"CN", " J\xc3\xb6rg~ "},
                                          {"UID", "u"}},
                              .alternative_names = "email:me@here,DNS:client.example"},
                             authority());
  SimWorld world(1);
  Net2 net(world, verifying());
  Peer& client = net.connect(client_context(good));
  Peer& server = net.server();
  client.send("x");
  net.until([&] { return server.read == "x"; });
  const TlsInfo& info = *server.stream->tls();
  CHECK(info.has_peer_certificate);
  CHECK(info.peer_subject ==
        "UID=u,CN=\\ J\\C3\\B6rg\\7E\\ ,SERIALNUMBER=7,OU=\\#1+EMAILADDRESS=a@b,"
        "O=Ex\\, \\\"am\\\\ple,C=NL");
  CHECK(info.peer_common_name == " J\xc3\xb6rg~ ");
  CHECK(info.peer_alternative_name == "client.example");
  CHECK(info.peer_issuer == "CN=authority");
  CHECK(info.peer_validity.size() == 43);
  CHECK(contains(info.peer_validity, "Z - 20"));
}

TEST_CASE("TLS: whom a server refuses, and why") {
  const TestCertificate other_authority({.subject = {{"CN", "authority"}}, .authority = true});
  CHECK(contains(refusal(verifying(), client_context()), "peer did not return a certificate"));
  const TestCertificate expired({.from_s = -7200, .to_s = -3600}, authority());
  CHECK(contains(refusal(verifying(), client_context(expired)), "certificate has expired"));
  const TestCertificate future({.from_s = 7200}, authority());
  CHECK(contains(refusal(verifying(), client_context(future)), "certificate is not yet valid"));
  const TestCertificate stranger({}, other_authority);
  const std::string strange = refusal(verifying(), client_context(stranger));
  CHECK_MESSAGE(contains(strange, "certificate verify failed: "), strange);
  const TestCertificate alone(TestCertificate::Wanted{});
  CHECK(contains(refusal(verifying(), client_context(alone)), "self-signed certificate"));

  TlsContext old = client_context();
  SSL_CTX_set_security_level(old.get(), 0);
  SSL_CTX_set_min_proto_version(old.get(), TLS1_1_VERSION);
  SSL_CTX_set_max_proto_version(old.get(), TLS1_1_VERSION);
  CHECK(contains(refusal(server_config(), old), "unsupported protocol"));
  TlsConfig only_13 = server_config();
  only_13.versions = {"tlsv1.3"};
  TlsContext tls12 = client_context();
  SSL_CTX_set_max_proto_version(tls12.get(), TLS1_2_VERSION);
  CHECK(contains(refusal(only_13, tls12), "unsupported protocol"));
  TlsConfig one_cipher = server_config();
  one_cipher.ciphers = {"ECDHE-ECDSA-AES256-GCM-SHA384"};
  TlsContext other_cipher = client_context();
  SSL_CTX_set_cipher_list(other_cipher.get(), "ECDHE-ECDSA-AES128-GCM-SHA256");
  SSL_CTX_set_max_proto_version(other_cipher.get(), TLS1_2_VERSION);
  CHECK(contains(refusal(one_cipher, other_cipher), "no shared cipher"));
}

TEST_CASE("TLS: no certificate where none is required, and version and cipher as configured") {
  TlsConfig config = verifying();
  config.fail_if_no_peer_cert = false;
  config.ciphers = {"ECDHE-ECDSA-AES256-GCM-SHA384"};
  SimWorld world(1);
  Net2 net(world, config);
  Peer& client = net.connect(client_context());
  client.send("x");
  net.until([&] { return net.server().read == "x"; });
  CHECK_FALSE(net.server().stream->tls()->has_peer_certificate);
  CHECK(net.server().stream->tls()->protocol == "TLSv1.2");
  CHECK(net.server().stream->tls()->cipher == "ECDHE-ECDSA-AES256-GCM-SHA384");
}

TEST_CASE("TLS: AES-128 where nothing is configured, unless the client's order counts") {
  const auto cipher = [](bool node_order, int version) {
    TlsConfig config = server_config();
    config.honor_cipher_order = node_order;
    SimWorld world(1);
    Net2 net(world, config);
    TlsContext context = client_context();
    SSL_CTX_set_max_proto_version(context.get(), version);
    Peer& client = net.connect(context);
    net.until([&] { return client.stream->tls() != nullptr; });
    return client.stream->tls()->cipher;
  };
  CHECK(cipher(true, TLS1_3_VERSION) == "TLS_AES_128_GCM_SHA256");
  CHECK(cipher(true, TLS1_2_VERSION) == "ECDHE-ECDSA-AES128-GCM-SHA256");
  CHECK(cipher(false, TLS1_3_VERSION) == "TLS_AES_256_GCM_SHA384");  // OpenSSL's own order
  CHECK(cipher(false, TLS1_2_VERSION) == "ECDHE-ECDSA-AES256-GCM-SHA384");
}

TEST_CASE("TLS: whom a client refuses") {
  const TestCertificate other({.authority = true});
  const auto reason = [](TlsContext context, const std::string& name) {
    SimWorld world(1);
    Net2 net(world);
    Peer& client = net.connect(std::move(context), name);
    net.until([&] { return client.closed == 1 || client.stream->tls() != nullptr; });
    return client.why.text();
  };
  CHECK(contains(reason(client_context(true, other.certificate()), "broker.example"),
                 "certificate verify failed: "));
  const std::string trusted = authority().certificate();
  CHECK(contains(reason(client_context(true, trusted), "other.example"), "hostname mismatch"));
  CHECK(contains(reason(client_context(true, trusted), "127.0.0.2"), "IP address mismatch"));
  CHECK(reason(client_context(true, trusted), "127.0.0.1").empty());
  CHECK(reason(client_context(false), "other.example").empty());
}

TEST_CASE("TLS: garbage, plain protocols, silence") {
  struct Try {
    std::string text;
    std::string reason;
  };
  std::string broken = "\x16\x03\x01\x02\x01\x01";
  broken.resize(2000, '\x7f');
  for (const Try& what : {Try{std::string("AMQP\0\0\x09\x01", 8), "AMQP without TLS"},
                          Try{"GET / HTTP/1.1\r\n\r\n", "HTTP without TLS"},
                          Try{"\x80 nonsense", "first byte is 128 instead of 22"},
                          Try{broken, "TLS handshake failed: "}}) {
    SimWorld world(2);
    Net2 net(world);
    SimClient client(net.server_host);
    client.connect("127.0.0.1", 5671);
    client.send(what.text);
    CAPTURE(what.text);
    Peer& server = net.server();
    net.until([&] { return server.closed == 1; });
    CHECK_MESSAGE(contains(server.why.text(), what.reason), server.why.text());
    net.until([&] { return client.closed(); });
  }
  SimWorld world(2);
  Net2 net(world);
  SimClient silent(net.server_host);
  silent.connect("127.0.0.1", 5671);
  Peer& server = net.server();
  world.run_for((kTimeoutMs - 1000) * kMillisecondNs);
  CHECK(server.closed == 0);
  CHECK(net.handshakes.under_way() == 1);
  net.until([&] { return server.closed == 1; });
  CHECK(server.why.code() == Code::kTimeout);
  CHECK(net.handshakes.under_way() == 0);
}

TEST_CASE("TLS: data that breaks later ends the stream") {
  SimWorld world(4);
  Net2 net(world);
  Peer& client = net.connect(client_context());
  client.send("fine");
  Peer& server = net.server();
  net.until([&] { return server.read == "fine"; });
  OutChain chain;
  const std::string record = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
  chain.append_copy(record.data(), record.size());
  net.raw->write(chain);
  net.until([&] { return server.closed == 1 && client.closed == 1; });
  CHECK(server.why.code() == Code::kInvalid);
  CHECK(contains(server.why.text(), "TLS failed: "));
  CHECK(server.read == "fine");
}

TEST_CASE("TLS: a flood of half-open handshakes pushes out its own, others are served") {
  SimWorld world(7);
  Net2 net(world, server_config(), 20);
  std::vector<std::unique_ptr<SimClient>> flood;
  std::size_t served = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 50; ++i) {
      flood.push_back(std::make_unique<SimClient>(net.server_host));
      flood.back()->connect("127.0.0.1", 5671);
      if (i % 2 == 0) flood.back()->send("\x16\x03\x01");
    }
    world.run_for(2 * kMillisecondNs);
    CHECK(net.handshakes.under_way() <= 20);
    Peer& honest = net.connect(client_context());
    honest.send("hello");
    net.until([&] { return honest.closed == 1 || honest.stream->tls() != nullptr; });
    if (honest.stream->tls() != nullptr) ++served;
  }
  CHECK(served == 10);
  std::size_t busy = 0;
  for (const auto& server : net.servers) busy += server->why.code() == Code::kBusy ? 1U : 0U;
  CHECK(busy >= 400);
  net.until([&] { return net.handshakes.under_way() == 0; });
}

TEST_CASE("TLS: many handshakes at once take their steps in turns, and all come through") {
  SimWorld world(8);
  Net2 net(world);
  for (int i = 0; i < 60; ++i) {
    net.client_env.net().connect("127.0.0.1", 5671, [&net](Result<std::unique_ptr<Stream>> stream) {
      net.clients.push_back(std::make_unique<Peer>(
          std::make_unique<TlsStream>(std::move(stream).value(), client_context(),
                                      net.client_handshakes, TlsStream::Side::kClient)));
      net.clients.back()->send("AMQP");
    });
  }
  net.until([&] {
    std::size_t done = 0;
    for (const auto& server : net.servers) done += server->read == "AMQP" ? 1U : 0U;
    return done == 60;
  });
  CHECK(net.handshakes.under_way() == 0);
}

TEST_CASE("TLS: files that make no context are named") {
  const TlsConfig config = server_config();
  const std::string certificate = server_certificate().certificate();
  const std::string key = server_certificate().key();
  const auto reason = [](const TlsConfig& with, const TlsFiles& files) {
    const auto made = TlsContext::server(with, files);
    REQUIRE(!made.ok());
    return made.status().text();
  };
  CHECK(reason(config, {"", key, ""}) ==
        "certificate file 'cert.pem': there is no certificate in PEM form in it");
  CHECK(contains(reason(config, {certificate.substr(0, 200), key, ""}), "certificate file"));
  CHECK(contains(reason(config, {certificate, "", ""}),
                 "key file 'key.pem': there is no private key in PEM form in it"));
  CHECK(contains(reason(config, {certificate, authority().key(), ""}),
                 "key file 'key.pem': does not belong to the certificate in 'cert.pem'"));
  TlsConfig with_password = config;
  const std::string locked = server_certificate().encrypted_key("secret");
  CHECK(reason(config, {certificate, locked, ""}) ==
        "key file 'key.pem': it is encrypted; set ssl_options.password");
  with_password.key_password = "wrong";
  CHECK(contains(reason(with_password, {certificate, locked, ""}), "does not open it"));
  with_password.key_password = "secret";
  CHECK(TlsContext::server(with_password, {certificate, locked, ""}).ok());
  TlsConfig with_authority = config;
  with_authority.ca_file = "ca.pem";
  CHECK(contains(reason(with_authority, {certificate, key, "x"}),
                 "certificate authorities file 'ca.pem'"));
  TlsConfig with_cipher = config;
  with_cipher.ciphers = {"NO-SUCH"};
  CHECK(reason(with_cipher, {certificate, key, ""}) ==
        "ssl_options.ciphers: 'NO-SUCH' is not a cipher of OpenSSL");
  with_cipher.ciphers = {"TLS_AES_128_GCM_SHA256"};
  with_cipher.versions = {"tlsv1.2"};
  CHECK(contains(reason(with_cipher, {certificate, key, ""}), "ssl_options.ciphers: none of them"));
  TlsConfig missing = config;
  missing.cert_file = "/nonexistent/c.pem";
  CHECK(read_tls_files(missing).status().text() ==
        "certificate file '/nonexistent/c.pem': No such file or directory");
  CHECK(contains(describe_certificate(certificate), "CN=server, valid until 20"));
  CHECK(describe_certificate("x").empty());
}

}  // namespace tls_stream_test
