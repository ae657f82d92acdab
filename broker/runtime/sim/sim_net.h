// Simulated sockets. A connection is two pipes with latency and a bounded buffer each, like the
// kernel's: a reader that stops makes the writer's write() pend. Reads come in pieces of random
// size, down to one byte. Bytes are never lost or reordered within a connection; it can be refused
// or reset.
//
// Ends, as uv/uv_tcp.cc has them on Linux: close() lets the other side read what is under way and
// then see the end (kClosed), and throws away what still comes in for a while (linger_ns), after
// which a reset goes back; a close() with a write pending, and abort(), reset at once. A reset is
// seen behind everything that arrived before. A side that does not read notices an end only when it
// reads on, or, of a reset, when a write of its own fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/net.h"
#include "broker/runtime/sim/sim_world.h"

namespace ringtail::runtime {

class SimEnv;
class SimHost;
class SimListener;
class SimSocket;
class SimStream;

struct SimNetOptions {
  std::uint64_t latency_min_ns = 20 * kMicrosecondNs;
  std::uint64_t latency_max_ns = 200 * kMicrosecondNs;
  // What one direction of a connection holds; chosen per direction.
  std::size_t kernel_buffer_min = 16 * 1024;
  std::size_t kernel_buffer_max = 256 * 1024;
  // One read brings 1 to 8 bytes; or a random part of what is there; otherwise all of it.
  double tiny_read = 0.05;
  double part_read = 0.3;
  // A write that would fit is taken in part only, and pends.
  double short_write = 0.02;
  std::uint64_t linger_ns = kSecondNs;
  // A connection attempt is refused; a connection is reset when a piece of data arrives.
  double refuse = 0;
  double reset = 0;
};

// All hosts and listeners of one world, which owns it.
class SimNetwork {
 public:
  explicit SimNetwork(SimWorld& world) : world_(world) {}

  SimNetOptions& options() { return options_; }
  SimWorld& world() { return world_; }

  // --- for the parts of the simulation ---
  void add(SimHost& host) { hosts_.push_back(&host); }
  void remove(SimHost& host) { std::erase(hosts_, &host); }
  void add(SimListener& listener) { listeners_.push_back(&listener); }
  void remove(SimListener& listener) { std::erase(listeners_, &listener); }
  // The host that `address` means when `from` says it; null: nobody.
  SimHost* host_of(const std::string& address, SimHost& from) const;
  // Who would get connections to this address; null: nobody.
  SimListener* listener_of(const SimHost& host, const std::string& address,
                           std::uint16_t port) const;
  // Whether listening there collides with somebody.
  bool in_use(const SimHost& host, const std::string& address, std::uint16_t port) const;
  std::uint64_t latency_ns();

 private:
  SimWorld& world_;
  SimNetOptions options_;
  std::vector<SimHost*> hosts_;
  std::vector<SimListener*> listeners_;
};

// Bytes that have arrived and are read from the front.
class SimByteQueue {
 public:
  bool empty() const { return at_ == bytes_.size(); }
  std::size_t size() const { return bytes_.size() - at_; }
  const std::uint8_t* data() const { return bytes_.data() + at_; }
  void append(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void consume(std::size_t size);

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// One connection: what "the kernels" on both sides know. Side 0 connected, side 1 accepted. Shared
// by the two streams and the events under way.
class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  struct End {
    SimStream* stream = nullptr;  // null: not adopted yet, or destroyed
    std::string name;             // "127.0.0.1:5672"
    bool loopback = false;
    SimByteQueue arrived;
    std::size_t capacity = 0;        // of the direction that leads away from this end
    std::size_t in_flight = 0;       // of that: taken from this end and not yet read by the other
    std::uint64_t last_arrival = 0;  // when the last thing sent from here gets there
    bool gone = false;               // closed on this side
    std::uint64_t linger_until = 0;  // then: until when it takes input to throw it away
    bool end_arrived = false;        // the other side has closed
    bool reset_arrived = false;
  };

  explicit SimConnection(SimNetwork& network);

  End& end(int side) { return ends_[side]; }
  std::size_t room(int side) const { return ends_[side].capacity - ends_[side].in_flight; }
  void send(int side, std::vector<std::uint8_t> bytes);
  // `side` has read that much.
  void read(int side, std::size_t size);
  void close(int side);
  // Ends both sides; what has arrived can still be read.
  void abort(int side);

 private:
  void acknowledge(int side, std::size_t size);
  void arrive(int side, std::span<const std::uint8_t> bytes);
  void reset_later(int side);
  void reset_now(int side);
  // When something sent now from `side` arrives: behind everything sent before.
  std::uint64_t arrival_ns(int side);

  SimNetwork& network_;
  End ends_[2];
};

// One side of a connection that nobody has adopted yet. Destroying it closes the side.
class SimSocket final : public AcceptedSocket {
 public:
  SimSocket(std::shared_ptr<SimConnection> connection, int side)
      : connection_(std::move(connection)), side_(side) {}
  ~SimSocket() override;
  std::unique_ptr<SimStream> adopt(SimEnv& env);

 private:
  std::shared_ptr<SimConnection> connection_;  // null once adopted
  int side_;
};

class SimStream final : public Stream {
 public:
  SimStream(SimEnv& env, std::shared_ptr<SimConnection> connection, int side);
  ~SimStream() override;

  void start(StreamEvents& events) override;
  void pause_reading() override;
  void resume_reading() override;
  bool write(OutChain& chain) override;
  bool pending_write() const override { return pending_write_; }
  void close() override;
  std::string peer_name() const override { return connection_->end(1 - side_).name; }
  std::string local_name() const override { return own().name; }
  bool peer_is_loopback() const override { return connection_->end(1 - side_).loopback; }

  // Ends the stream with a reset, for tests.
  void abort();

  // --- from the connection ---
  void something_arrived();
  void room_made();

 private:
  SimConnection::End& own() const { return connection_->end(side_); }
  void read_once();
  std::size_t next_read_size();
  // Hands output to "the kernel" until it is full.
  void pump(std::size_t limit);
  void written();
  void fail_write();
  // The stream ends; on_closed() follows.
  void finish(const Status& status);

  SimEnv& env_;
  const std::shared_ptr<SimConnection> connection_;
  const int side_;
  StreamEvents* events_ = nullptr;
  OutChain pending_;
  bool pending_write_ = false;
  bool write_failed_ = false;
  bool paused_ = false;
  bool finished_ = false;
  SimEventId read_event_;
  SimEventId write_event_;
  SimEventId closed_event_;
};

class SimListener final : public Listener {
 public:
  SimListener(SimEnv& env, std::string address, std::uint16_t port,
              std::function<void(std::unique_ptr<AcceptedSocket>)> accepted);
  ~SimListener() override;

  std::string local_name() const override;
  std::uint16_t port() const override { return port_; }

  const std::string& address() const { return address_; }
  SimHost& host() const;
  void accept(std::unique_ptr<AcceptedSocket> socket);

 private:
  SimEnv& env_;
  const std::string address_;
  const std::uint16_t port_;
  std::function<void(std::unique_ptr<AcceptedSocket>)> accepted_;
};

// The door of one shard.
class SimNet final : public Net {
 public:
  explicit SimNet(SimEnv& env) : env_(env) {}

  Result<std::unique_ptr<Listener>> listen(
      const std::string& address, std::uint16_t port,
      std::function<void(std::unique_ptr<AcceptedSocket>)> accepted,
      int backlog = kListenBacklog) override;
  Result<std::unique_ptr<Stream>> adopt(std::unique_ptr<AcceptedSocket> socket) override;
  void connect(const std::string& address, std::uint16_t port,
               std::function<void(Result<std::unique_ptr<Stream>>)> done) override;

  // The shard's read buffer: kReadHeadroom bytes, then kReadBufferSize.
  std::uint8_t* read_buffer();

 private:
  using Connected = std::function<void(Result<std::unique_ptr<Stream>>)>;
  // The attempt has reached the other host.
  void arrive(const std::string& address, std::uint16_t port, const Connected& done);

  SimEnv& env_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace ringtail::runtime
