// Hosts that talk to each other, for the tests of what can befall hosts and the ways between them.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/sim/sim_client.h"
#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

// A machine with one process, which accepts on port 5672 and keeps what it reads.
class FaultyHost {
 public:
  // What the process has of one connection.
  struct Served final : StreamEvents {
    explicit Served(std::unique_ptr<Stream> own) : stream(std::move(own)) { stream->start(*this); }
    void on_read(std::span<std::uint8_t> data) noexcept override { read.append(as_text(data)); }
    void on_written() noexcept override {}
    void on_closed(const Status& status) noexcept override {
      ++closed;
      why = status;
    }
    bool send(std::string_view text) {
      OutChain chain;
      chain.append_copy(text.data(), text.size());
      return stream->write(chain);
    }
    std::unique_ptr<Stream> stream;
    std::string read;
    int closed = 0;
    Status why;
  };

  FaultyHost(SimWorld& world, std::string own_address)
      : address(std::move(own_address)), host(world, {address}) {
    start();
  }
  void start() {
    env = std::make_unique<SimEnv>(host);
    auto made = env->net().listen(address, 5672, [this](std::unique_ptr<AcceptedSocket> socket) {
      served.push_back(std::make_unique<Served>(env->net().adopt(std::move(socket)).value()));
    });
    REQUIRE_MESSAGE(made.ok(), made.status().text());
    listener = std::move(made).value();
  }
  // The objects of the process go.
  void destroy() {
    served.clear();
    listener.reset();
    env.reset();
  }

  const std::string address;
  SimHost host;
  std::unique_ptr<SimEnv> env;
  std::unique_ptr<Listener> listener;
  std::vector<std::unique_ptr<Served>> served;
};

// Three of them, and a connection from the first to the second.
struct ThreeHosts {
  explicit ThreeHosts(std::uint64_t seed)
      : world(seed), a(world, "10.0.0.1"), b(world, "10.0.0.2"), c(world, "10.0.0.3") {
    client = std::make_unique<SimClient>(a.host);
    client->connect(b.address, 5672);
    REQUIRE(world.run_until([&] { return client->connected() && !b.served.empty(); }));
  }
  FaultyHost::Served& server() { return *b.served.front(); }
  SimPaths& paths() { return world.network().paths(); }
  // What becomes of a new connection, and after how many milliseconds.
  std::pair<Code, std::uint64_t> connect(FaultyHost& from, FaultyHost& to,
                                         std::uint64_t timeout_ms = kConnectTimeoutMs) {
    SimEnv env(from.host);
    bool done = false;
    Code code = Code::kOk;
    const std::uint64_t start_ns = world.now_ns();
    env.net().connect(
        to.address, 5672,
        [&](Result<std::unique_ptr<Stream>> stream) {
          done = true;
          code = stream.status().code();
        },
        timeout_ms);
    REQUIRE(world.run_until([&] { return done; }, 200 * kSecondNs));
    return {code, (world.now_ns() - start_ns) / kMillisecondNs};
  }

  SimWorld world;
  FaultyHost a;
  FaultyHost b;
  FaultyHost c;
  std::unique_ptr<SimClient> client;
};

inline std::string letters(std::size_t size, std::uint64_t seed) {
  SimRng rng(seed);
  std::string text(size, '\0');
  for (char& letter : text) letter = static_cast<char>('a' + rng.below(26));
  return text;
}

}  // namespace ringtail::runtime
