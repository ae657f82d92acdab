// What the two kernels know of a simulated connection: bytes and signals under way, and those that
// have arrived. The streams on it are in sim_net.h, the ways it takes in sim_paths.h.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/net.h"
#include "broker/runtime/sim/sim_paths.h"

namespace ringtail::runtime {

class SimEnv;
class SimNetwork;
class SimStream;

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

// Side 0 connected, side 1 accepted. Shared by the two streams and the events under way.
class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  struct End {
    SimStream* stream = nullptr;  // null: not adopted yet, or destroyed
    SimHostNumber host = 0;
    std::string name;  // "127.0.0.1:5672"
    bool loopback = false;
    SimByteQueue arrived;
    std::size_t capacity = 0;        // of the direction that leads away from this end
    std::size_t in_flight = 0;       // of that: taken from this end and not yet read by the other
    std::uint64_t last_arrival = 0;  // when the last thing sent from here gets there
    bool gone = false;               // closed on this side
    std::uint64_t linger_until = 0;  // then: until when it takes input to throw it away
    bool end_arrived = false;        // the other side has closed
    bool reset_arrived = false;
    bool forgotten = false;  // gone with its kernel, which sends nothing again
  };

  explicit SimConnection(SimNetwork& network);

  End& end(int side) { return ends_[side]; }
  std::size_t room(int side) const { return ends_[side].capacity - ends_[side].in_flight; }
  void send(int side, std::vector<std::uint8_t> bytes);
  // `side` has read that much.
  void read(int side, std::size_t size);
  // The owner of this side closes it, and lingers.
  void close(int side);
  // The kernel closes it: its process is dead, or nobody adopted it. Input that was not read is
  // answered by a reset, and so is what comes later; output that it has still goes out.
  void drop(int side);
  // Ends both sides; what has arrived can still be read.
  void abort(int side);

  // --- for SimPaths ---
  // What `side` sends does not get there now.
  bool blocked(int side) const;
  // What waited on its way from `side` arrives.
  void go_on(int side);
  // Something on the way has forgotten the connection, and says so to both sides.
  void reset_both();

 private:
  struct Packet {
    enum class Kind : unsigned char {
      kData,
      kRead,   // the other side's bytes were read
      kEnd,    // closed
      kReset,  // sent once
      kAnswer  // a reset that answers data; the data is sent again if it gets lost
    };
    Kind kind;
    std::vector<std::uint8_t> bytes{};
    std::size_t size = 0;
  };

  // At that time, if its way is open then; else it waits until it is.
  void transmit(int side, std::uint64_t arrival_ns, Packet packet);
  void reached(int side, Packet packet);
  void deliver(int side, const Packet& packet);
  void acknowledge(int side, std::size_t size);
  void arrive(int side, std::span<const std::uint8_t> bytes);
  // From `side` to the other one.
  void send_reset(int side);
  void reset_now(int side);
  std::uint64_t soon_ns(int side);
  // When something sent now from `side` arrives: behind everything sent before.
  std::uint64_t arrival_ns(int side);

  SimNetwork& network_;
  End ends_[2];
  std::deque<Packet> waiting_[2];  // sent from that side, and the way was cut
};

// One side of a connection that nobody owns: accepted or detached and not adopted yet. Destroying
// it closes the side.
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

}  // namespace ringtail::runtime
