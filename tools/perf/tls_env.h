// An Env whose connections to some brokers are over TLS: everything else is the inner one's.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/env.h"
#include "broker/runtime/tls/tls_stream.h"
#include "tools/perf/options.h"

namespace ringtail::perf {

// Lives on the thread of the inner Env, which outlives it; outlives its connections.
class TlsEnv final : public runtime::Env, private runtime::Net {
 public:
  TlsEnv(runtime::Env& inner, runtime::TlsContext context);

  // From here on this address and port mean TLS; `target.host` is numeric.
  void add(const Target& target);

  runtime::Clock& clock() override { return inner_.clock(); }
  runtime::Timers& timers() override { return inner_.timers(); }
  runtime::Rng& rng() override { return inner_.rng(); }
  runtime::Disk& disk() override { return inner_.disk(); }
  runtime::Net& net() override { return *this; }

 private:
  void resolve(const std::string& host,
               std::function<void(runtime::Result<std::vector<std::string>>)> done) override {
    inner_.net().resolve(host, std::move(done));
  }
  runtime::Result<std::unique_ptr<runtime::Listener>> listen(
      const std::string& address, std::uint16_t port,
      std::function<void(std::unique_ptr<runtime::AcceptedSocket>)> accepted,
      int backlog) override {
    return inner_.net().listen(address, port, std::move(accepted), backlog);
  }
  runtime::Result<std::unique_ptr<runtime::Stream>> adopt(
      std::unique_ptr<runtime::AcceptedSocket> socket) override {
    return inner_.net().adopt(std::move(socket));
  }
  void connect(const std::string& address, std::uint16_t port,
               std::function<void(runtime::Result<std::unique_ptr<runtime::Stream>>)> done,
               std::uint64_t timeout_ms) override;

  runtime::Env& inner_;
  runtime::TlsContext context_;
  runtime::TlsHandshakes handshakes_;
  std::map<std::pair<std::string, std::uint16_t>, std::string> names_;  // of TLS brokers
};

// What the options ask for: with `ca_file` the brokers' certificates are verified. An error names
// the file.
runtime::Result<runtime::TlsContext> make_tls_context(const Options& options);

}  // namespace ringtail::perf
