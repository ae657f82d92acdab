// What TLS costs: messages of 1 KiB from one stream to another in memory, a batch at a time, with a
// copy in and out of each as on sockets. The best of many rounds, so that what else runs on the
// machine counts little.
//
// usage: tls_bench [bytes of a message]
#define DOCTEST_CONFIG_IMPLEMENT  // the certificates are made by what tests use
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "broker/runtime/config.h"
#include "broker/runtime/copy_bytes.h"
#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/tls/tls_stream.h"
#include "tests/unit/runtime/tls_certificates.h"

namespace ringtail::runtime {
namespace {

constexpr int kRounds = 200;
constexpr std::size_t kRound = 4 * 1024 * 1024;
constexpr std::size_t kBatch = 200 * 1024;

// One end of a connection whose bytes lie in memory until deliver() is called.
class Pipe final : public Stream {
 public:
  void start(StreamEvents& events) override { events_ = &events; }
  void pause_reading() override {}
  void resume_reading() override {}
  bool write(OutChain& chain) override {
    peer->arrived_.splice(chain);
    return true;
  }
  bool pending_write() const override { return false; }
  void close() override { std::abort(); }
  std::unique_ptr<AcceptedSocket> detach() override { return nullptr; }
  std::string peer_name() const override { return "memory"; }
  std::string local_name() const override { return "memory"; }
  bool peer_is_loopback() const override { return true; }

  void deliver() {
    while (!arrived_.empty()) {
      OutChain::Piece pieces[32];
      const std::size_t count = arrived_.peek(pieces);
      std::size_t size = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t part = std::min(pieces[i].size, kReadBufferSize - size);
        copy_bytes(buffer() + size, pieces[i].data, part);
        size += part;
      }
      arrived_.consume(size);
      events_->on_read({buffer(), size});
    }
  }

  Pipe* peer = nullptr;

 private:
  static std::uint8_t* buffer() {
    static std::unique_ptr<std::uint8_t[]> memory(
        new std::uint8_t[kReadHeadroom + kReadBufferSize]);
    return memory.get() + kReadHeadroom;
  }

  StreamEvents* events_ = nullptr;
  OutChain arrived_;
};

class Owner final : public StreamEvents {
 public:
  void on_read(std::span<std::uint8_t> data) noexcept override {
    for (std::size_t at = 0; at < data.size(); at += 1024) {
      copy_bytes(message_, data.data() + at, std::min<std::size_t>(data.size() - at, 1024));
    }
    read += data.size();
  }
  void on_written() noexcept override {}
  void on_closed(const Status&) noexcept override { std::abort(); }

  std::size_t read = 0;

 private:
  std::uint8_t message_[1024];
};

struct Connection {
  Connection() {
    auto server_pipe = std::make_unique<Pipe>();
    auto client_pipe = std::make_unique<Pipe>();
    pipes[0] = server_pipe.get();
    pipes[1] = client_pipe.get();
    pipes[0]->peer = pipes[1];
    pipes[1]->peer = pipes[0];
    const TestCertificate certificate({.subject = {{"CN", "server"}}, .authority = true});
    TlsConfig config;
    auto context = TlsContext::server(config, {certificate.certificate(), certificate.key(), {}});
    auto client_context = TlsContext::client(false, {});
    if (!context.ok() || !client_context.ok()) std::abort();
    server = std::make_unique<TlsStream>(std::move(server_pipe), std::move(context).value(),
                                         handshakes, TlsStream::Side::kServer);
    client = std::make_unique<TlsStream>(std::move(client_pipe), std::move(client_context).value(),
                                         handshakes, TlsStream::Side::kClient);
    server->start(owners[0]);
    client->start(owners[1]);
    while (server->tls() == nullptr || client->tls() == nullptr) deliver();
  }
  void deliver() {
    pipes[0]->deliver();
    pipes[1]->deliver();
  }

  SimWorld world{1};
  SimHost host{world};
  SimEnv env{host};
  TlsHandshakes handshakes{env, 60000, 10};
  Pipe* pipes[2];
  Owner owners[2];
  std::unique_ptr<TlsStream> server;
  std::unique_ptr<TlsStream> client;
};

double round_ns(Connection& connection, const std::string& message) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t sent = 0; sent < kRound;) {
    OutChain out;
    for (std::size_t batch = 0; batch < kBatch; batch += message.size()) {
      out.append_copy(message.data(), message.size());
    }
    sent += out.size();
    connection.server->write(out);
    connection.deliver();
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  return std::chrono::duration<double, std::nano>(took).count();
}

int run(std::size_t size) {
  Connection connection;
  const std::string message(size, 'x');
  double best = round_ns(connection, message);
  for (int i = 1; i < kRounds; ++i) best = std::min(best, round_ns(connection, message));
  std::printf("%s, messages of %zu bytes: %.0f ns each, %.2f GB/s\n",
              connection.server->tls()->cipher.c_str(), size,
              best / static_cast<double>(kRound / size), static_cast<double>(kRound) / best);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace ringtail::runtime

int main(int argc, char** argv) {
  doctest::Context checks;
  checks.setAsDefaultForAssertsOutOfTestCases();
  return ringtail::runtime::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1100);
}
