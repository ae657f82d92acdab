#include "tools/perf/tls_env.h"

#include "broker/runtime/config.h"

namespace ringtail::perf {

namespace {

constexpr std::uint64_t kHandshakeTimeoutMs = 30000;
// As many as a user asks for may begin at once.
constexpr std::size_t kHandshakesMax = 1000000;

}  // namespace

TlsEnv::TlsEnv(runtime::Env& inner, runtime::TlsContext context)
    : inner_(inner),
      context_(std::move(context)),
      handshakes_(inner, kHandshakeTimeoutMs, kHandshakesMax) {}

void TlsEnv::add(const Target& target) {
  if (target.tls) names_[{target.host, target.port}] = target.server_name;
}

void TlsEnv::connect(const std::string& address, std::uint16_t port,
                     std::function<void(runtime::Result<std::unique_ptr<runtime::Stream>>)> done,
                     std::uint64_t timeout_ms) {
  const auto name = names_.find({address, port});
  if (name == names_.end()) {
    inner_.net().connect(address, port, std::move(done), timeout_ms);
    return;
  }
  inner_.net().connect(
      address, port,
      [this, server_name = name->second,
       done = std::move(done)](runtime::Result<std::unique_ptr<runtime::Stream>> stream) {
        if (stream.ok()) {
          stream = std::unique_ptr<runtime::Stream>(
              std::make_unique<runtime::TlsStream>(std::move(stream).value(), context_, handshakes_,
                                                   runtime::TlsStream::Side::kClient, server_name));
        }
        done(std::move(stream));
      },
      timeout_ms);
}

runtime::Result<runtime::TlsContext> make_tls_context(const Options& options) {
  runtime::TlsConfig config;
  config.ca_file = options.ca_file;
  const runtime::Result<runtime::TlsFiles> files = runtime::read_tls_files(config);
  RT_TRY(files.status());
  return runtime::TlsContext::client(!options.ca_file.empty(), files.value().authorities);
}

}  // namespace ringtail::perf
