#include "cluster/link_tls.h"

#include <utility>

#include "broker/runtime/limits.h"
#include "broker/runtime/log.h"
#include "broker/runtime/tls/tls_stream.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

using runtime::Result;
using runtime::Status;
using runtime::Stream;
using runtime::TlsContext;
using runtime::TlsFiles;
using runtime::TlsStream;

Status LinkTls::load() {
  Result<TlsFiles> files = runtime::read_tls_files(config_);
  RT_TRY(files.status());
  return use(std::move(files).value());
}

Status LinkTls::use(TlsFiles files) {
  // By content, and each state once: files are replaced one by one, and what does not fit together
  // may be half of a change.
  if (files == files_) return status_;
  files_ = std::move(files);
  return status_ = use_new();
}

Status LinkTls::use_new() {
  Result<TlsContext> server = TlsContext::server(config_, files_);
  RT_TRY(server.status());
  Result<TlsContext> client = TlsContext::peer(config_, files_);
  RT_TRY(client.status());
  runtime::log(runtime::LogLevel::kInfo, "link", "TLS between nodes, certificate: {}",
               runtime::describe_certificate(files_.certificate));
  server_.put(std::move(server).value());
  client_.put(std::move(client).value());
  return {};
}

LinkSecurity::LinkSecurity(runtime::Env& env, std::string_view cookie, const LinkTls* tls)
    : cookie_(cookie),
      tls_(tls),
      handshakes_(env, kHandshakeTimeoutMs, runtime::kTlsHandshakesMax) {}

std::unique_ptr<Stream> LinkSecurity::dialed(std::unique_ptr<Stream> stream) {
  if (!has_tls()) return stream;
  return std::make_unique<TlsStream>(std::move(stream), tls_->client(), handshakes_,
                                     TlsStream::Side::kClient);
}

std::unique_ptr<Stream> LinkSecurity::accepted(std::unique_ptr<Stream> stream) {
  if (!has_tls()) return stream;
  return std::make_unique<TlsStream>(std::move(stream), tls_->server(), handshakes_,
                                     TlsStream::Side::kServer);
}

}  // namespace ringtail::cluster
