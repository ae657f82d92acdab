// TLS on the links between nodes. Both ends prove first that they have the cookie
// (peer_handshake.h), so that a stranger costs no signature; then they speak TLS, in which each
// shows a certificate of the cluster's authority. The first octet inside is the acceptor's and says
// that it takes what the dialer has shown (kTlsReady).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "broker/runtime/config.h"
#include "broker/runtime/env.h"
#include "broker/runtime/tls/tls_box.h"
#include "broker/runtime/tls/tls_context.h"
#include "broker/runtime/tls/tls_handshakes.h"

namespace ringtail::cluster {

inline constexpr std::uint8_t kTlsReady = 1;

// The certificates of a node's links; for all its shards, from any thread.
class LinkTls {
 public:
  // `config` outlives this; it has a certificate. To be loaded before links use it.
  explicit LinkTls(const runtime::TlsConfig& config) : config_(config) {}
  LinkTls(const LinkTls&) = delete;
  LinkTls& operator=(const LinkTls&) = delete;

  // Reads the files, and uses them if they have changed; not ok: what was used stays in use.
  // Blocks, for a moment. From one thread.
  runtime::Status load();
  // The same with what they hold: for links from now on.
  runtime::Status use(runtime::TlsFiles files);

  runtime::TlsContext server() const { return server_.get(); }
  runtime::TlsContext client() const { return client_.get(); }

 private:
  runtime::Status use_new();

  const runtime::TlsConfig& config_;
  runtime::TlsFiles files_;  // the last that were tried
  runtime::Status status_;   // and how that went
  runtime::TlsBox server_;
  runtime::TlsBox client_;
};

// What the links of one shard are secured by. Outlives them.
class LinkSecurity {
 public:
  // All outlive this; `tls` null: links are not encrypted.
  LinkSecurity(runtime::Env& env, std::string_view cookie, const LinkTls* tls);

  std::string_view cookie() const { return cookie_; }
  bool has_tls() const { return tls_ != nullptr; }
  // What is spoken behind the handshake of the dialing end, and of the accepting one; the stream
  // itself without TLS. To be started.
  std::unique_ptr<runtime::Stream> dialed(std::unique_ptr<runtime::Stream> stream);
  std::unique_ptr<runtime::Stream> accepted(std::unique_ptr<runtime::Stream> stream);

 private:
  const std::string_view cookie_;
  const LinkTls* const tls_;
  runtime::TlsHandshakes handshakes_;
};

}  // namespace ringtail::cluster
