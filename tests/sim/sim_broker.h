// A whole node under the simulator, and a client of it that speaks AMQP with the project's own
// codec. Everything happens in virtual time, on one thread, from one seed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/amqp/frame_reader.h"
#include "broker/amqp/frame_writer.h"
#include "broker/amqp/methods.h"
#include "broker/boot.h"
#include "broker/broker_shard.h"
#include "broker/disk_monitor.h"
#include "broker/listener.h"
#include "broker/memory_monitor.h"
#include "broker/runtime/config.h"
#include "broker/runtime/sim/sim_client.h"
#include "broker/runtime/sim/sim_shard.h"
#include "cluster/control_plane.h"
#include "cluster/data_directory.h"
#include "cluster/message_bus.h"

namespace ringtail::sim {

inline constexpr std::uint16_t kPort = 5672;

// What Node (broker/node.h) is with threads: shards, what runs on each, the listener, the monitor.
class BrokerNode {
 public:
  // kAndWait runs the world until the node accepts; kOnly does not, since a node may need others to
  // begin: ready() says when it does, failed() why it cannot.
  enum class Begin : bool { kOnly, kAndWait };

  // Of `config` the shards, the port and the data directory are set here, and the name where there
  // is none. The host's drive is the data directory, so that a second one on the same host goes on
  // where the first was. Destroying it ends the process as kill -9 does; SimDrive::crash() before
  // that takes the power away too.
  BrokerNode(runtime::SimHost& host, std::uint16_t shards, runtime::Config config = {},
             runtime::NodeId id = {}, Begin begin = Begin::kAndWait);
  ~BrokerNode();
  BrokerNode(const BrokerNode&) = delete;
  BrokerNode& operator=(const BrokerNode&) = delete;

  broker::BrokerShard& shard(std::size_t at) { return *broker_shards_[at]; }
  runtime::NodeId id() const { return directory_.identity.node; }
  // Runs a test's code as a callback of that shard's loop.
  void run_on_shard(std::size_t at, const std::function<void()>& code) {
    node_.driver(at).run(code);
  }
  std::size_t shards() const { return broker_shards_.size(); }
  cluster::ControlPlane& control() { return *control_; }
  // Queue processes on all shards.
  std::size_t queues();
  // It accepts clients, and has not begun to stop.
  bool ready() const { return listener_ != nullptr; }
  const runtime::Status& failed() const { return failed_; }
  // As SIGSTOP and SIGCONT.
  void pause() { node_.pause(); }
  void resume() { node_.resume(); }
  // Asks every connection to end, as a node does that stops; `shut_down_done()` when they have.
  void shut_down();
  bool shut_down_done() const { return shut_down_done_; }
  // In order, once ready: clients, then the node's part in the cluster, then its files. `stopped()`
  // when it can be destroyed.
  void stop();
  bool stopped() const { return stopped_; }
  // The disk has failed: why. A real node ends then.
  const runtime::Status& lost() const { return lost_; }

 private:
  void begin();
  void boot(bool empty);
  void open();
  void fail(const runtime::Status& why);
  void leave();
  void close_stores(std::size_t from);
  // A callback of that shard's loop, as soon as it runs.
  void later(std::size_t shard, std::function<void()> code);

  runtime::SimHost& host_;
  runtime::Config config_;
  cluster::DataDirectory directory_;
  runtime::SimNode node_;
  std::unique_ptr<cluster::ControlPlane> control_;  // on the shard behind the others
  std::unique_ptr<broker::Boot> boot_;
  runtime::LetterCodecs codecs_;
  std::vector<std::unique_ptr<broker::BrokerShard>> broker_shards_;
  std::vector<std::unique_ptr<cluster::MessageBus>> buses_;
  std::unique_ptr<broker::Listener> listener_;
  std::unique_ptr<broker::MemoryMonitor> memory_monitor_;
  std::unique_ptr<broker::DiskMonitor> disk_monitor_;
  bool shut_down_done_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  runtime::Status failed_;
  runtime::Status lost_;
};

// A method that the node sent, with the content that followed it.
struct ServerFrame {
  std::uint16_t channel = 0;
  std::uint32_t key = 0;
  std::string arguments;
  std::string properties;
  std::string body;

  template <typename Method>
  bool is() const {
    return key == amqp::kMethodKey<Method>;
  }
  // Slices this frame.
  template <typename Method>
  Method as() const {
    Method method;
    RT_CHECK(is<Method>() && method.decode(runtime::as_bytes(arguments)), "not such a method");
    return method;
  }
};

// Owned by a test. It acts when the test calls it: poll() takes what has come, answers the
// handshake, connection.close and channel.close, and keeps the rest in `inbox`.
class AmqpClient {
 public:
  explicit AmqpClient(runtime::SimHost& host) : world_(host.world()), socket_(host) {}

  // Who logs in.
  void set_user(std::string user, std::string password) {
    user_ = std::move(user);
    password_ = std::move(password);
  }
  // It says that it understands basic.cancel, unless told not to.
  void set_hears_cancel(bool hears) { hears_cancel_ = hears; }
  // What it asks for; none unless told. It sends one only by heartbeat().
  void set_heartbeat_s(std::uint16_t seconds) { heartbeat_s_ = seconds; }
  void heartbeat();
  // Starts connecting; opened() when connection.open-ok came.
  void connect(const std::string& vhost = "/", const std::string& address = "127.0.0.1");
  bool opened() const { return opened_; }
  // The connection is over, for whatever reason.
  bool closed() const { return socket_.closed(); }
  bool blocked() const { return blocked_; }
  int times_blocked() const { return times_blocked_; }
  // Of the last connection.blocked.
  const std::string& blocked_reason() const { return blocked_reason_; }
  // Of the connection.close that the node sent; 0: none.
  std::uint16_t close_code() const { return close_code_; }
  const std::string& close_text() const { return close_text_; }
  // connection.close-ok has come.
  bool close_ok() const { return close_ok_; }

  template <typename Method>
  void send(std::uint16_t channel, const Method& method) {
    runtime::OutChain out;
    amqp::write_method(out, channel, method);
    send(out);
  }
  // The method goes out right behind connection.open, not waiting for the answer.
  template <typename Method>
  void send_behind_open(std::uint16_t channel, const Method& method) {
    amqp::write_method(behind_open_, channel, method);
  }
  void publish(std::uint16_t channel, std::string_view exchange, std::string_view key,
               std::string_view body, bool mandatory = false, std::string_view properties = {});
  void send(runtime::OutChain& out);
  void send_raw(std::string_view bytes) { socket_.send(bytes); }

  void poll();
  // The first such frame in the inbox of that channel is taken out.
  template <typename Method>
  bool take(std::uint16_t channel, ServerFrame& out) {
    return take_key(channel, amqp::kMethodKey<Method>, out);
  }
  // Runs the world until such a frame has come, and takes it out; false when it does not.
  template <typename Method>
  bool await(std::uint16_t channel, ServerFrame& out) {
    return world_.run_until([&] { return take<Method>(channel, out); });
  }
  template <typename Method>
  bool await(std::uint16_t channel) {
    ServerFrame frame;
    return await<Method>(channel, frame);
  }
  bool await_open();
  bool open_channel(std::uint16_t channel);
  bool declare(std::uint16_t channel, std::string_view queue, bool exclusive = false,
               bool auto_delete = false);
  // Ends the connection in order and waits for it.
  bool close();

  void pause_reading() { socket_.pause(); }
  void resume_reading() { socket_.resume(); }
  void abort() { socket_.abort(); }
  // Bytes that have come.
  std::uint64_t received() const { return socket_.total_received(); }
  // Bytes that the node has not taken from us.
  std::size_t unsent() const { return socket_.unsent(); }

  std::deque<ServerFrame> inbox;

 private:
  bool take_key(std::uint16_t channel, std::uint32_t key, ServerFrame& out);
  void handle(const amqp::Frame& frame);
  void handle_method(const amqp::Frame& frame);
  void complete(ServerFrame frame);
  bool answer(const ServerFrame& frame);
  void start_ok();

  // One per channel: a content that is coming.
  struct Coming {
    std::uint16_t channel = 0;
    ServerFrame frame;
    std::uint64_t missing = 0;
    bool header_seen = false;
  };

  runtime::SimWorld& world_;
  runtime::SimClient socket_;
  std::string user_ = "guest";
  std::string password_ = "guest";
  std::string vhost_;
  std::string close_text_;
  runtime::OutChain behind_open_;
  amqp::FrameReader reader_;
  std::vector<std::uint8_t> input_;
  std::vector<Coming> coming_;
  bool hears_cancel_ = true;
  std::uint16_t heartbeat_s_ = 0;
  bool opened_ = false;
  bool blocked_ = false;
  int times_blocked_ = 0;
  std::string blocked_reason_;
  std::uint16_t close_code_ = 0;
  bool close_ok_ = false;
};

}  // namespace ringtail::sim
