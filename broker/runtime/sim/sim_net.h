// Simulated sockets. A connection is two pipes with latency and a bounded buffer each, like the
// kernel's: a reader that stops makes the writer's write() pend. Reads come in pieces of random
// size, down to one byte. Bytes are never lost or reordered within a connection; it can be refused
// or reset, and it stalls while the way between its hosts is cut (sim_paths.h).
//
// Ends, as uv/uv_tcp.cc has them on Linux: close() lets the other side read what is under way and
// then see the end (kClosed), and throws away what still comes in for a while (linger_ns), after
// which a reset goes back; a close() with a write pending, and abort(), reset at once. A reset is
// seen behind everything that arrived before. A side that does not read notices an end only when it
// reads on, or, of a reset, when a write of its own fails. A process that is killed closes its
// sockets at once: with a reset where it had not read everything, and whatever comes later is
// answered by one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/net.h"
#include "broker/runtime/sim/sim_connection.h"
#include "broker/runtime/sim/sim_paths.h"
#include "broker/runtime/sim/sim_world.h"

namespace ringtail::runtime {

class SimEnv;
class SimHost;
class SimListener;
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
  // What was cut goes on when its sender tries again: at the latest after this, or after as long as
  // it was cut, if that is less (Linux: after two minutes).
  std::uint64_t retransmit_max_ns = 2 * kSecondNs;
  // A connection that stalled is reset when its way opens again.
  double reset_on_heal = 0;
};

// All hosts and listeners of one world, which owns it.
class SimNetwork {
 public:
  explicit SimNetwork(SimWorld& world) : world_(world), paths_(*this) {}

  SimNetOptions& options() { return options_; }
  SimWorld& world() { return world_; }
  // Cuts and delays between hosts.
  SimPaths& paths() { return paths_; }
  const SimHosts& hosts() const { return hosts_; }

  // --- for the parts of the simulation ---
  SimHostNumber add(SimHost& host) {
    hosts_.push_back(&host);
    return ++last_host_;
  }
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
  // What every host's name look-up answers.
  void set_name(const std::string& host, std::vector<std::string> addresses) {
    names_[host] = std::move(addresses);
  }
  // Null: no such name.
  const std::vector<std::string>* addresses_of(const std::string& host) const {
    const auto found = names_.find(host);
    return found == names_.end() ? nullptr : &found->second;
  }
  std::uint64_t latency_ns(SimHostNumber from, SimHostNumber to);

 private:
  SimWorld& world_;
  SimNetOptions options_;
  SimPaths paths_;
  SimHosts hosts_;
  SimHostNumber last_host_ = 0;
  std::vector<SimListener*> listeners_;
  std::map<std::string, std::vector<std::string>> names_;
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
  std::unique_ptr<AcceptedSocket> detach() override;
  std::string peer_name() const override { return connection_->end(1 - side_).name; }
  std::string local_name() const override { return own().name; }
  bool peer_is_loopback() const override { return connection_->end(1 - side_).loopback; }

  // Ends the stream with a reset, for tests.
  void abort();

  // Its process is dead.
  void die();
  bool is_of(const SimEnv& env) const { return &env_ == &env; }

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
  void cancel_events();
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
  // Its process is dead: nobody listens any more.
  bool dead() const;
  // A connection for it is complete; it waits while the process stands.
  void accept(std::unique_ptr<AcceptedSocket> socket);

 private:
  void hand_over(std::unique_ptr<AcceptedSocket> socket);

  SimEnv& env_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
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
  void resolve(const std::string& host,
               std::function<void(Result<std::vector<std::string>>)> done) override;
  void connect(const std::string& address, std::uint16_t port,
               std::function<void(Result<std::unique_ptr<Stream>>)> done,
               std::uint64_t timeout_ms = kConnectTimeoutMs) override;

  // The shard's read buffer: kReadHeadroom bytes, then kReadBufferSize.
  std::uint8_t* read_buffer();
  // A stream of this shard, until it ends.
  void add(const std::shared_ptr<SimConnection>& connection, int side);
  void remove(const SimConnection& connection, int side);
  // The process is dead: the kernel closes what is open here, and lingers no longer.
  void kill();

 private:
  using Connected = std::function<void(Result<std::unique_ptr<Stream>>)>;
  struct Dial;
  using DialRef = std::shared_ptr<Dial>;
  struct Open {
    std::weak_ptr<SimConnection> connection;
    int side;
  };

  // The kernel asks the other host.
  void ask(const DialRef& dial);
  // The question is there.
  void arrive(const DialRef& dial);
  void establish(const DialRef& dial, SimHost& host, SimListener& listener);
  // No answer: again after a while, until time is up.
  void ask_again(const DialRef& dial);
  void end(const DialRef& dial, Code code, const std::string& reason, std::uint64_t delay_ns);

  SimEnv& env_;
  std::vector<std::uint8_t> buffer_;
  std::vector<Open> open_;
  std::size_t sweep_at_ = 64;  // when open_ is so long, those that are no more leave it
};

}  // namespace ringtail::runtime
