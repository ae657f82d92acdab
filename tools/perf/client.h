// One AMQP connection with one channel, as a client sees it: handshake (PLAIN), tuning, heartbeats,
// calls that wait for their answer, both close handshakes. What comes on the channel besides goes
// to its user, frame by frame, without a copy.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broker/amqp/frame_reader.h"
#include "broker/amqp/frame_writer.h"
#include "broker/amqp/methods.h"
#include "broker/runtime/env.h"
#include "tools/perf/options.h"

namespace ringtail::perf {

inline constexpr std::uint16_t kChannel = 1;

// What a client tells the one who uses it. Never called from inside a call to the client, except
// where said.
class ClientUser {
 public:
  // A frame on the channel; its bytes are valid during the call. False: not meant for the user, the
  // client acts on it (answers to calls, flow, close). Only asked once the client is open.
  virtual bool on_frame(const amqp::Frame& frame) noexcept = 0;
  // The bytes that one read brought are used up; output may be gathered now.
  virtual void on_read_done() noexcept {}
  // Output that did not fit into the socket at once has gone.
  virtual void on_writable() noexcept {}
  // The broker has closed the channel: true when the user wants to open it again (reopen()),
  // otherwise the connection counts as lost.
  virtual bool on_channel_closed(const std::string&) noexcept { return false; }
  // connection.blocked and unblocked.
  virtual void on_blocked(bool, const std::string&) noexcept {}
  // Once, when the connection has ended without close(). May come from inside flush().
  virtual void on_lost(const std::string& reason) noexcept = 0;

 protected:
  ~ClientUser() = default;
};

// Lives on the thread of its Env. Closed (or lost) before it is destroyed.
class Client final : private runtime::StreamEvents {
 public:
  // The arguments of the awaited answer.
  using Answer = std::function<void(std::span<const std::uint8_t> arguments)>;

  Client(runtime::Env& env, const Target& target, std::uint16_t heartbeat_s);
  ~Client() override = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Connects and opens the channel; then `opened` runs, or the user's on_lost().
  void open(ClientUser& user, std::function<void()> opened);

  // Sends a method on the channel; `answered` runs when the method `Reply` comes back. Answers come
  // in the order of the calls.
  template <typename Reply, typename Method>
  void call(const Method& method, Answer answered) {
    if (state_ != State::kOpen) return;
    amqp::write_method(out_, kChannel, method);
    calls_.push_back({amqp::kMethodKey<Reply>, std::move(answered)});
  }

  // What is gathered to be written; write whole frames only.
  runtime::OutChain& out() { return out_; }
  // Hands it to the socket, as soon as that takes more.
  void flush();
  // Everything has been written.
  bool idle() const { return out_.empty() && stream_ != nullptr && !stream_->pending_write(); }

  // After on_channel_closed(): opens the channel again.
  void reopen(std::function<void()> opened);

  // connection.close, its answer, then the socket; `closed` runs in the end in any case, from
  // inside the call when the connection is gone already.
  void close(std::function<void()> closed);
  // Drops the socket without a handshake.
  void abort();

  bool is_open() const { return state_ == State::kOpen; }
  bool is_over() const { return state_ == State::kIdle || state_ == State::kOver; }
  std::uint32_t frame_max() const { return frame_max_; }
  // When the bytes being worked on were read; monotonic.
  std::uint64_t read_ns() const { return read_ns_; }
  const std::string& name() const { return name_; }

 private:
  enum class State : std::uint8_t {
    kIdle,            // not opened
    kConnecting,      // TCP
    kStart,           // awaits connection.start
    kTune,            // awaits connection.tune
    kOpening,         // awaits connection.open-ok
    kChannelOpening,  // awaits channel.open-ok
    kOpen,
    kClosing,  // awaits connection.close-ok
    kEnding,   // awaits the end of the stream
    kOver,
  };
  struct Call {
    std::uint32_t reply;
    Answer answered;
  };

  void on_read(std::span<std::uint8_t> data) noexcept override;
  void on_written() noexcept override;
  void on_closed(const runtime::Status& status) noexcept override;

  void connected(runtime::Result<std::unique_ptr<runtime::Stream>> result);
  void parse(std::span<const std::uint8_t>& input);
  void on_method(std::uint16_t channel, std::span<const std::uint8_t> payload);
  void on_handshake(std::uint32_t method, std::span<const std::uint8_t> arguments);
  void on_connection_method(std::uint32_t method, std::span<const std::uint8_t> arguments);
  void on_channel_method(std::uint32_t method, std::span<const std::uint8_t> arguments);
  void answer_start(std::span<const std::uint8_t> arguments);
  void answer_tune(std::span<const std::uint8_t> arguments);
  void start_heartbeats();
  void beat();
  void lose(const std::string& reason);

  runtime::Env& env_;
  const Target target_;
  const std::string name_;
  const std::uint16_t heartbeat_wanted_s_;
  State state_ = State::kIdle;
  ClientUser* user_ = nullptr;
  std::unique_ptr<runtime::Stream> stream_;
  amqp::FrameReader reader_;
  std::vector<std::uint8_t> kept_;  // the beginning of a frame that the last read cut
  runtime::OutChain out_;
  std::deque<Call> calls_;
  std::function<void()> opened_;
  std::function<void()> closed_;
  std::uint32_t frame_max_ = 131072;
  std::uint64_t read_ns_ = 0;

  std::unique_ptr<runtime::Timer> heartbeat_timer_;
  std::uint16_t heartbeat_s_ = 0;
  bool wrote_since_beat_ = false;
  unsigned silent_beats_ = 0;  // halves of the heartbeat without a byte from the broker
};

}  // namespace ringtail::perf
