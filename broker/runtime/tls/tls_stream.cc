#include "broker/runtime/tls/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstdint>

#include "broker/runtime/copy_bytes.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/tls/tls_certificate.h"

namespace ringtail::runtime {

namespace {

// One record (RFC 8446, 5.1): the plaintext, and what lies before its encrypted form.
constexpr std::size_t kRecordMax = 16 * 1024;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kPage = 4096;
// How near in their pages a target must lie behind its source for a slow memcpy (copy_bytes.h).
constexpr std::size_t kNear = 64;
// Encrypted in one go before the inner stream is asked whether it takes more.
constexpr std::size_t kBatchMax = 128 * 1024;
// Pieces looked at to fill one record.
constexpr std::size_t kGatherPieces = 32;
// Decrypted in one go before the owner gets it. Both are a part of a read of 256 KiB only, so that
// the bytes are still in the processor's cache when they are looked at next.
constexpr std::size_t kPlainBufferSize = 128 * 1024;
// Answers to what a peer asks of TLS itself (new keys) that it does not take.
constexpr std::size_t kControlOutputMax = 16 * 1024;
// What a client may send before its handshake is done and while it waits for a step: the longest
// that OpenSSL takes is a list of certificates of 100 KiB, in several reads; most are below 8 KiB.
constexpr std::size_t kHandshakeReadMax = 64 * 1024;
constexpr std::uint8_t kHandshakeRecord = 22;
// What read_some() says when the owner has destroyed the stream; no error of OpenSSL's.
constexpr int kDestroyed = -1;

// OpenSSL copies a record from the owner's memory into a buffer of its own and back, by the memcpy
// that copy_bytes() keeps away from. Where that buffer lies is seen when a record passes the BIO,
// and the next one is nearly always there again. This decides nothing but how fast it copies.
thread_local std::uintptr_t encrypts_at = 0;
thread_local std::uintptr_t decrypts_at = 0;

bool is_copied_slowly(const std::uint8_t* data) {
  return (encrypts_at - reinterpret_cast<std::uintptr_t>(data)) % kPage < kNear;
}

// From `memory` on, in less than a page: where it lies far from `other` as offsets in a page go.
std::uint8_t* far_from(std::uintptr_t other, std::uint8_t* memory) {
  return memory + (other + kPage / 2 - reinterpret_cast<std::uintptr_t>(memory)) % kPage;
}

// One per thread: a shard's streams read and write one after the other.
std::uint8_t* plain_buffer() {
  static thread_local std::unique_ptr<std::uint8_t[]> memory;
  if (!memory) memory = std::make_unique<std::uint8_t[]>(kReadHeadroom + kPlainBufferSize + kPage);
  return far_from(decrypts_at, memory.get() + kReadHeadroom);
}

std::uint8_t* record_buffer() {
  static thread_local std::unique_ptr<std::uint8_t[]> memory;
  if (!memory) memory = std::make_unique<std::uint8_t[]>(kRecordMax + kPage);
  return far_from(encrypts_at, memory.get());
}

std::size_t gather(std::span<const OutChain::Piece> pieces, std::size_t wanted, std::uint8_t* to) {
  std::size_t size = 0;
  for (const OutChain::Piece& piece : pieces) {
    const std::size_t part = std::min(piece.size, wanted - size);
    copy_bytes(to + size, piece.data, part);
    size += part;
    if (size == wanted) break;
  }
  return size;
}

bool is_numeric_address(const std::string& name) {
  return name.find(':') != std::string::npos ||
         name.find_first_not_of("0123456789.") == std::string::npos;
}

std::string what_came(std::span<const std::uint8_t> input) {
  const std::string_view text = as_text(input);
  if (text.starts_with("AMQP")) return "AMQP without TLS on the port for TLS";
  if (text.starts_with("GET ") || text.starts_with("POST ") || text.starts_with("PUT ")) {
    return "HTTP without TLS on the port of AMQP over TLS";
  }
  return "what came is not TLS (its first byte is " + std::to_string(input.front()) +
         " instead of 22)";
}

}  // namespace

// OpenSSL's side: a BIO that reads from input_ and writes into cipher_.
struct TlsStream::Ssl {
  static TlsStream& stream_of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* data, int size) {
    BIO_clear_retry_flags(bio);
    std::span<const std::uint8_t>& input = stream_of(bio).input_;
    if (input.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const std::size_t count = std::min(input.size(), static_cast<std::size_t>(std::max(size, 0)));
    copy_bytes(data, input.data(), count);
    input = input.subspan(count);
    if (count > kRecordHeader) decrypts_at = reinterpret_cast<std::uintptr_t>(data);
    return static_cast<int>(count);
  }

  static int write(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    if (size <= 0) return size;
    const auto count = static_cast<std::size_t>(size);
    OutChain& cipher = stream_of(bio).cipher_;
    copy_bytes(cipher.reserve(count), data, count);
    cipher.advance(count);
    encrypts_at = reinterpret_cast<std::uintptr_t>(data) + kRecordHeader;
    return size;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static int create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  }

  static BIO_METHOD* make_method() {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ringtail stream");
    RT_CHECK(made != nullptr, "OpenSSL makes no BIO method: out of memory");
    BIO_meth_set_read(made, read);
    BIO_meth_set_write(made, write);
    BIO_meth_set_ctrl(made, control);
    BIO_meth_set_create(made, create);
    return made;
  }

  static const BIO_METHOD* method() {
    static const std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)> made(make_method(),
                                                                         BIO_meth_free);
    return made.get();
  }
};

TlsStream::TlsStream(std::unique_ptr<Stream> inner, TlsContext context, TlsHandshakes& handshakes,
                     Side side, std::string server_name)
    : inner_(std::move(inner)),
      context_(std::move(context)),
      handshakes_(handshakes),
      server_name_(std::move(server_name)),
      side_(side) {}

TlsStream::~TlsStream() {
  if (destroyed_ != nullptr) *destroyed_ = true;
  handshakes_.end(*this);
  SSL_free(ssl_);
}

void TlsStream::transition(State to) {
  RT_CHECK(to > state_, "illegal move of a TLS stream");
  state_ = to;
}

void TlsStream::start(StreamEvents& events) {
  RT_CHECK(events_ == nullptr, "a stream started twice");
  events_ = &events;
  const bool closed = state_ != State::kNew;
  if (!closed) {
    transition(State::kHandshaking);
    handshakes_.begin(*this);
  }
  inner_->start(*this);
  if (closed || side_ == Side::kServer) return;
  if (const Status status = open_session(); !status.ok()) {
    end(status);
  } else {
    handshake();
  }
}

Status TlsStream::open_session() {
  ERR_clear_error();
  ssl_ = SSL_new(context_.get());
  BIO* bio = BIO_new(Ssl::method());
  if (ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return Status(Code::kUnavailable, "no TLS session: " + openssl_reason("out of memory"));
  }
  context_ = TlsContext();
  BIO_set_data(bio, this);
  SSL_set_bio(ssl_, bio, bio);
  if (side_ == Side::kServer) {
    SSL_set_accept_state(ssl_);
    return {};
  }
  SSL_set_connect_state(ssl_);
  if (server_name_.empty()) return {};
  if (is_numeric_address(server_name_)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), server_name_.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl_, server_name_.c_str());
    SSL_set1_host(ssl_, server_name_.c_str());
  }
  return {};
}

// --- handshake ----------------------------------------------------------------------------------

void TlsStream::handshake() {
  if (ssl_ == nullptr) {
    if (input_.front() != kHandshakeRecord) {
      end(Status(Code::kInvalid, what_came(input_)));
      return;
    }
    if (const Status status = open_session(); !status.ok()) {
      end(status);
      return;
    }
  }
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) {
    handshake_done();
  } else if (SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ) {
    pump();
  } else {
    handshake_failed();
  }
}

void TlsStream::handshake_failed() {
  std::string reason = openssl_reason("closed by the peer");
  const long verified = SSL_get_verify_result(ssl_);
  if (verified != X509_V_OK) {
    reason += std::string(": ") + X509_verify_cert_error_string(verified);
  }
  end(Status(Code::kInvalid, "TLS handshake failed: " + reason));
}

void TlsStream::handshake_done() {
  handshakes_.end(*this);
  transition(State::kOpen);
  info_ = std::make_unique<TlsInfo>(describe_session(ssl_));
  on_written();
}

// The stream's turn has come: what it read before is input now.
void TlsStream::take_step() {
  if (owner_paused_) return;  // resume_reading() gets in line again
  const std::vector<std::uint8_t> kept = std::move(kept_input_);
  kept_input_ = {};
  input_ = kept;
  if (state_ == State::kHandshaking) handshake();
  if (state_ == State::kOpen && !read_records()) return;
  input_ = {};
  if (state_ < State::kEnding) update_reading();
}

void TlsStream::give_up(const Status& status) { end(status); }

// --- input --------------------------------------------------------------------------------------

void TlsStream::on_read(std::span<std::uint8_t> data) noexcept {
  if (state_ == State::kHandshaking && side_ == Side::kServer && !handshakes_.may_step(*this)) {
    if (data.size() > kHandshakeReadMax) {
      end(Status(Code::kInvalid, "TLS handshake failed: too much came before it was done"));
      return;
    }
    kept_input_.assign(data.begin(), data.end());
    update_reading();
    return;
  }
  input_ = data;
  if (state_ == State::kHandshaking) handshake();
  if (state_ == State::kOpen && !read_records()) return;
  input_ = {};
}

// Decrypts input_ and hands it over, part by part; what is left when the owner pauses is kept.
bool TlsStream::read_records() {
  while (state_ == State::kOpen && !owner_paused_) {
    const int outcome = read_some();
    if (outcome == kDestroyed) return false;
    if (state_ != State::kOpen) return true;  // the owner has closed it
    if (outcome == SSL_ERROR_NONE) continue;
    if (outcome == SSL_ERROR_WANT_READ) {
      answer_peer();
    } else if (outcome == SSL_ERROR_ZERO_RETURN) {
      SSL_shutdown(ssl_);
      end(Status(Code::kClosed, "closed by the peer"));
    }
    return true;
  }
  if (state_ == State::kOpen) kept_input_.assign(input_.begin(), input_.end());
  return true;
}

// Up to a buffer of plaintext; what ended it, as SSL_get_error() has it. After an error the stream
// has ended.
int TlsStream::read_some() {
  std::uint8_t* const buffer = plain_buffer();
  std::size_t size = 0;
  int outcome = SSL_ERROR_NONE;
  while (outcome == SSL_ERROR_NONE && kPlainBufferSize - size >= kRecordMax) {
    std::size_t count = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, buffer + size, kPlainBufferSize - size, &count);
    size += count;
    if (result != 1) outcome = SSL_get_error(ssl_, result);
  }
  const bool failed = outcome != SSL_ERROR_NONE && outcome != SSL_ERROR_WANT_READ &&
                      outcome != SSL_ERROR_ZERO_RETURN;
  const std::string reason = failed ? openssl_reason("the session is broken") : std::string();
  if (size > 0) {
    bool destroyed = false;
    destroyed_ = &destroyed;
    events_->on_read({buffer, size});
    if (destroyed) return kDestroyed;
    destroyed_ = nullptr;
  }
  if (failed) end(Status(Code::kInvalid, "TLS failed: " + reason));
  return outcome;
}

// What the peer asked of TLS itself has its answer.
void TlsStream::answer_peer() {
  if (cipher_.empty()) return;
  if (!inner_->pending_write()) {
    on_written();
  } else if (cipher_.size() > kControlOutputMax) {
    end(Status(Code::kInvalid, "TLS failed: the peer asks for new keys and takes none"));
  }
}

void TlsStream::pause_reading() {
  owner_paused_ = true;
  update_reading();
}

void TlsStream::resume_reading() {
  owner_paused_ = false;
  if (!kept_input_.empty()) handshakes_.wait(*this);
  update_reading();
}

void TlsStream::update_reading() {
  if (state_ != State::kHandshaking && state_ != State::kOpen) return;
  if (owner_paused_ || !kept_input_.empty()) {
    inner_->pause_reading();
  } else {
    inner_->resume_reading();
  }
}

// --- output -------------------------------------------------------------------------------------

bool TlsStream::write(OutChain& chain) {
  RT_CHECK(!owner_waits_, "a write while another is pending");
  if (state_ >= State::kEnding) {
    chain.clear();
    return true;
  }
  plain_.splice(chain);
  owner_waits_ = !pump();
  return !owner_waits_;
}

bool TlsStream::pump() {
  while (!inner_->pending_write()) {
    if (state_ == State::kOpen && !plain_.empty() && !encrypt_batch()) return true;
    if (cipher_.empty()) return plain_.empty();
    if (!inner_->write(cipher_)) return false;
  }
  return false;
}

// False: the session is broken, and the stream ends.
bool TlsStream::encrypt_batch() {
  std::size_t left = std::min(plain_.size(), kBatchMax);
  while (left > 0) {
    OutChain::Piece pieces[kGatherPieces];
    const std::size_t count = plain_.peek(pieces);
    const std::uint8_t* data = pieces[0].data;
    std::size_t size = std::min(pieces[0].size, left);
    const std::size_t record = std::min(left, kRecordMax);
    if (size < record || (record > kCopyAtOnceMax && is_copied_slowly(data))) {
      std::uint8_t* const buffer = record_buffer();
      size = gather({pieces, count}, record, buffer);
      data = buffer;
    } else if (size > kRecordMax) {
      size -= size % kRecordMax;  // the rest goes into one record with what follows
    }
    ERR_clear_error();
    if (SSL_write(ssl_, data, static_cast<int>(size)) != static_cast<int>(size)) {
      end(Status(Code::kInvalid, "TLS failed: " + openssl_reason("it encrypts no more")));
      return false;
    }
    plain_.consume(size);
    left -= size;
  }
  return true;
}

void TlsStream::on_written() noexcept {
  if (state_ >= State::kEnding) return;
  if (!pump() || !owner_waits_) return;
  owner_waits_ = false;
  if (state_ < State::kEnding) events_->on_written();
}

// --- the end ------------------------------------------------------------------------------------

void TlsStream::close() {
  if (state_ >= State::kEnding) return;
  if (state_ == State::kOpen) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
  }
  end(Status());
}

// What OpenSSL has left to say goes out: an alert, close_notify.
void TlsStream::end(Status status) {
  if (state_ >= State::kEnding) return;
  transition(State::kEnding);
  failure_ = std::move(status);
  handshakes_.end(*this);
  kept_input_ = {};
  plain_.clear();
  owner_waits_ = false;
  if (!cipher_.empty() && !inner_->pending_write()) inner_->write(cipher_);
  cipher_.clear();
  inner_->close();
}

void TlsStream::on_closed(const Status& status) noexcept {
  Status final = failure_;
  if (state_ == State::kHandshaking && status.code() == Code::kClosed) {
    final = Status(Code::kClosed, "closed by the peer during the TLS handshake");
  } else if (state_ < State::kEnding) {
    final = status;
  }
  transition(State::kClosed);
  handshakes_.end(*this);
  plain_.clear();
  cipher_.clear();
  owner_waits_ = false;
  events_->on_closed(final);
}

}  // namespace ringtail::runtime
