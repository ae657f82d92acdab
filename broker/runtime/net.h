// Sockets; one of the five doors to the outside (env.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/status.h"

namespace ringtail::runtime {

// What is known of a TLS session, once its handshake is done.
struct TlsInfo {
  std::string protocol;  // "TLSv1.3"
  std::string cipher;    // OpenSSL's name
  // Of the client's certificate, if it showed one and it was verified.
  bool has_peer_certificate = false;
  std::string peer_subject;           // distinguished name, RFC 4514: "CN=client,O=Example"
  std::string peer_common_name;       // empty: none
  std::string peer_alternative_name;  // the first DNS or e-mail name; empty: none
  std::string peer_issuer;
  std::string peer_validity;  // "2024-01-01T00:00:00Z - 2025-01-01T00:00:00Z"
};

// What a stream tells its owner. Called on the stream's shard, from the loop, never from inside a
// call to the stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // Bytes have come. They lie in the shard's read buffer and are valid during the call only; the
  // kReadHeadroom bytes in front of them are writable too, so that the owner can put what an
  // earlier read left directly before them and parse both as one.
  virtual void on_read(std::span<std::uint8_t> data) noexcept = 0;
  // Output that write() could not hand to the kernel at once has been written.
  virtual void on_written() noexcept = 0;
  // The stream has ended: by close() (status ok), by the peer (kClosed) or by an error. Exactly
  // once, as the last event; the owner may destroy the stream from here on, this call included, and
  // from within on_read().
  virtual void on_closed(const Status& status) noexcept = 0;
};

class AcceptedSocket;

// A connected byte stream. Owned by the one who uses it; lives and acts on one shard.
class Stream {
 public:
  virtual ~Stream() = default;
  // Begins to read; events go to `events` from now on. Again: they go to another (what speaks TLS
  // from here on), from within on_read() too, when all of its data is used.
  virtual void start(StreamEvents& events) = 0;
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;
  // Takes everything in `chain` and writes it. True: the kernel has it all. False: the rest is on
  // its way and on_written() will follow; until then write() must not be called (pending_write()).
  virtual bool write(OutChain& chain) = 0;
  virtual bool pending_write() const = 0;
  // Ends the stream; output not yet written is lost; on_closed() follows. Idempotent.
  virtual void close() = 0;
  // Takes the connection away from this stream, for another shard's adopt(). Only when nothing is
  // pending to be written, and from within on_read() with all of its data used or while reading is
  // paused: what has not been read stays in the kernel. The stream hears nothing more and can be
  // destroyed at once, inside its own callback too. Null: it has ended already or is about to, and
  // on_closed() says how as ever.
  virtual std::unique_ptr<AcceptedSocket> detach() = 0;
  // The stream ends with kTimeout when the peer's kernel has not taken what was written for so
  // long (TCP_USER_TIMEOUT); an idle stream never does. Nothing in a simulation.
  virtual void set_peer_timeouts(std::uint64_t) {}
  // "127.0.0.1:5672", "[::1]:5672".
  virtual std::string peer_name() const = 0;
  virtual std::string local_name() const = 0;
  // The peer is a loopback address.
  virtual bool peer_is_loopback() const = 0;
  // Null: no TLS, or its handshake is not done.
  virtual const TlsInfo* tls() const { return nullptr; }
};

// A connection on its way from the shard that accepted or detached it to the one that will own it.
class AcceptedSocket {
 public:
  virtual ~AcceptedSocket() = default;  // not adopted: closed
};

class Listener {
 public:
  virtual ~Listener() = default;  // stops accepting
  virtual std::string local_name() const = 0;
  virtual std::uint16_t port() const = 0;
};

class Net {
 public:
  virtual ~Net() = default;
  // Looks a host name up; `done` gets its numeric addresses, one at least, in the system's order,
  // or kNotFound. A numeric address is its own name.
  virtual void resolve(const std::string& host,
                       std::function<void(Result<std::vector<std::string>>)> done) = 0;
  // Listens on an address ("127.0.0.1", "::1", "0.0.0.0", "::"; never a host name) and port (0: any
  // free one), exclusively: a port in use is kBusy, an address that is not ours kInvalid. IPv6
  // sockets take IPv6 only. `accepted` runs on this shard; hand the socket to any shard's adopt().
  // `backlog` connections may wait in the kernel until they are accepted.
  virtual Result<std::unique_ptr<Listener>> listen(
      const std::string& address, std::uint16_t port,
      std::function<void(std::unique_ptr<AcceptedSocket>)> accepted,
      int backlog = kListenBacklog) = 0;
  virtual Result<std::unique_ptr<Stream>> adopt(std::unique_ptr<AcceptedSocket> socket) = 0;
  // Connects; `done` gets the stream or the reason, never inside the call. kRefused: that machine
  // has nobody who listens there, told at once; kTimeout: no answer in `timeout_ms` (0: as long as
  // the kernel tries). Whoever asked is still there when `done` runs, or the loop ends before.
  virtual void connect(const std::string& address, std::uint16_t port,
                       std::function<void(Result<std::unique_ptr<Stream>>)> done,
                       std::uint64_t timeout_ms = kConnectTimeoutMs) = 0;
};

}  // namespace ringtail::runtime
