// TLS over any Stream, as a Stream: the same promises to its owner, so that whoever uses one need
// not know. Pure over the inner stream: it runs in the simulator as on sockets.
//
// Owned by the one who uses it, on the inner stream's shard. The handshake begins with start();
// what is written before it is done waits (write() returns false), and tls() tells when it is.
// Reading: what one read of the inner stream brings is decrypted into a buffer of the thread, with
// kReadHeadroom in front, and handed over in a few reads. Writing: output is gathered to whole
// records and goes to the inner stream in batches, one under way at a time, so that the ciphertext
// held is bounded. A paused stream pauses the inner one: nothing is decrypted that nobody takes.
//
// Ends: close() sends close_notify; so does the answer to the peer's, which ends the stream as
// kClosed does, as a cut without it. A failed handshake sends its alert and ends the stream with
// kInvalid, kTimeout or kBusy (too many at once) and a text that says why.
//
// An idle session holds no record buffers: about 15 KiB, nearly all OpenSSL's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/net.h"
#include "broker/runtime/tls/tls_context.h"
#include "broker/runtime/tls/tls_handshakes.h"

struct bio_st;
struct ssl_st;

namespace ringtail::runtime {

class TlsStream final : public Stream,
                        private StreamEvents,
                        public TlsUnderWayHook,
                        public TlsWaitingHook {
 public:
  enum class Side : unsigned char { kServer, kClient };

  // `inner` is connected and not started. `server_name`, of a client: what it asks for (SNI) and,
  // where the context verifies, what the certificate must be for; may be a numeric address or
  // empty.
  TlsStream(std::unique_ptr<Stream> inner, TlsContext context, TlsHandshakes& handshakes, Side side,
            std::string server_name = {});
  ~TlsStream() override;

  void start(StreamEvents& events) override;
  void pause_reading() override;
  void resume_reading() override;
  bool write(OutChain& chain) override;
  bool pending_write() const override { return owner_waits_; }
  void close() override;
  void set_peer_timeouts(std::uint64_t timeout_ms) override {
    inner_->set_peer_timeouts(timeout_ms);
  }
  // Null, and nothing happens: a session is bound to its shard.
  std::unique_ptr<AcceptedSocket> detach() override { return nullptr; }
  std::string peer_name() const override { return inner_->peer_name(); }
  std::string local_name() const override { return inner_->local_name(); }
  bool peer_is_loopback() const override { return inner_->peer_is_loopback(); }
  const TlsInfo* tls() const override { return info_.get(); }

  // --- for TlsHandshakes ---
  void take_step();
  void give_up(const Status& status);
  std::uint64_t handshake_until_ms() const { return handshake_until_ms_; }
  void set_handshake_until_ms(std::uint64_t time_ms) { handshake_until_ms_ = time_ms; }

 private:
  enum class State : unsigned char { kNew, kHandshaking, kOpen, kEnding, kClosed };
  struct Ssl;  // the callbacks that OpenSSL reads and writes by

  void on_read(std::span<std::uint8_t> data) noexcept override;
  void on_written() noexcept override;
  void on_closed(const Status& status) noexcept override;

  void transition(State to);
  Status open_session();
  void handshake();
  void handshake_failed();
  void handshake_done();
  bool read_records();  // false: the owner has destroyed this
  int read_some();
  void answer_peer();
  // Encrypts and writes what there is; true: the inner stream has all of the owner's output.
  bool pump();
  bool encrypt_batch();
  void update_reading();
  void end(Status status);

  std::unique_ptr<Stream> inner_;
  TlsContext context_;  // until the session is made
  TlsHandshakes& handshakes_;
  StreamEvents* events_ = nullptr;
  ssl_st* ssl_ = nullptr;                 // of a server, from the client's first bytes on
  std::span<const std::uint8_t> input_;   // what the inner stream brought and OpenSSL has not taken
  std::vector<std::uint8_t> kept_input_;  // while it waits for a step, or the owner pauses
  OutChain plain_;                        // the owner's output that is not encrypted yet
  OutChain cipher_;                       // what the inner stream has not been given yet
  std::unique_ptr<TlsInfo> info_;
  std::string server_name_;
  Status failure_;  // why it ends; ok: the owner closed it
  std::uint64_t handshake_until_ms_ = 0;
  const Side side_;
  State state_ = State::kNew;
  bool owner_waits_ = false;  // write() returned false, on_written() is due
  bool owner_paused_ = false;
  bool* destroyed_ = nullptr;  // while the owner is called, who may destroy this then
};

}  // namespace ringtail::runtime
