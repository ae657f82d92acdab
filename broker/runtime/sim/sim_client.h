// A test's end of a connection: sends bytes, collects what comes back. It belongs to no shard; its
// callbacks run by themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

// Owned by a test. The test moves time with SimWorld::run_until() between calls.
class SimClient final : public StreamEvents {
 public:
  // `host` is where the client runs.
  explicit SimClient(SimHost& host) : env_(host) {}

  // Once. Bytes may be sent at once; they go out when the connection stands.
  void connect(const std::string& address, std::uint16_t port);
  void send(std::span<const std::uint8_t> bytes);
  void send(std::string_view text) { send(as_bytes(text)); }
  // Stops and goes on taking bytes off the connection.
  void pause();
  void resume();
  // Ends the connection once everything sent before has left this side.
  void close();
  // Resets the connection, as a client does that is killed with input unread.
  void abort();

  bool connected() const { return stream_ != nullptr && !closed_; }
  // The connection was refused, or has ended; why() says how.
  bool closed() const { return closed_; }
  const Status& why() const { return why_; }
  // Sent and not yet taken by "the kernel".
  std::size_t unsent() const { return out_.size() + (writing_ ? 1 : 0); }
  std::string local_name() const { return stream_ == nullptr ? "" : stream_->local_name(); }

  // Everything received and not taken yet.
  const std::vector<std::uint8_t>& received() const { return received_; }
  std::vector<std::uint8_t> take_received() { return std::exchange(received_, {}); }
  std::uint64_t total_received() const { return total_received_; }

 private:
  void on_read(std::span<std::uint8_t> data) noexcept override;
  void on_written() noexcept override;
  void on_closed(const Status& status) noexcept override;
  void flush();

  SimEnv env_;
  std::unique_ptr<Stream> stream_;
  OutChain out_;
  bool writing_ = false;
  bool paused_ = false;
  bool closing_ = false;
  bool aborting_ = false;
  bool closed_ = false;
  Status why_;
  std::vector<std::uint8_t> received_;
  std::uint64_t total_received_ = 0;
};

}  // namespace ringtail::runtime
