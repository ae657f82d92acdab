// A node: its shards, what runs on each, its listeners; started in order, stopped in reverse.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "broker/boot.h"
#include "broker/broker_shard.h"
#include "broker/disk_monitor.h"
#include "broker/http/server.h"
#include "broker/http/shard_gateway.h"
#include "broker/listener.h"
#include "broker/memory_monitor.h"
#include "broker/runtime/config.h"
#include "broker/runtime/mailbox.h"
#include "broker/runtime/status.h"
#include "broker/runtime/uv/uv_shard.h"
#include "cluster/control_plane.h"
#include "cluster/data_directory.h"
#include "cluster/message_bus.h"

namespace ringtail::broker {

// Owned and used by the App (app.h), on one thread at a time.
class Node {
 public:
  // `app`: for its management interface, or null.
  explicit Node(runtime::Config config, http::AppControl* app = nullptr);
  ~Node();

  // Reads who it is from the data directory, starts the shards, comes to its cluster
  // (cluster/control_plane.h), brings its queues back (boot.h), then opens the listeners, HTTP's
  // last. On failure nothing is left running. Later the process ends, with exit code 74, when the
  // disk does not keep the metadata any more.
  runtime::Status start();
  // That was so because the configuration does not fit the data directory: no other start with both
  // will go better.
  bool misconfigured() const { return misconfigured_; }
  // Looks whether the certificate files of TLS have changed. From any thread, while it runs.
  void reload_certificate();
  // Stops the HTTP server, closes the listeners, says connection.close 320 to every client and
  // waits for them, not longer than kShutDownTimeoutMs; then runs `done` (on shard 0's thread).
  // From any thread.
  void shut_down(std::function<void()> done);
  // Ends the shards and waits for their threads.
  void stop();

  // Of the node that a data directory belongs to, which does not run: its cluster, if it has one,
  // forgets it. kTimeout: nobody there has agreed to that.
  static runtime::Status leave_cluster(const runtime::Config& config);

 private:
  runtime::Status read_data_directory();
  void make_shards();
  runtime::Status boot();
  runtime::Status come_to_cluster(bool& empty);

  struct PerShard {
    std::unique_ptr<BrokerShard> broker_shard;
    std::unique_ptr<cluster::MessageBus> bus;
  };

  const runtime::Config config_;
  http::AppControl* const app_;
  const std::uint16_t shard_count_;
  runtime::Mailboxes mailboxes_;
  std::vector<PerShard> per_shard_;       // each touched by its shard's thread alone
  std::vector<runtime::UvShard> shards_;  // the control shard is the last
  cluster::DataDirectory data_directory_;
  std::unique_ptr<cluster::LinkTls> link_tls_;  // null: links between nodes are not encrypted
  runtime::LetterCodecs codecs_;
  std::unique_ptr<cluster::ControlPlane> control_;  // on the control shard
  // On shard 0.
  std::unique_ptr<Boot> boot_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<MemoryMonitor> memory_monitor_;
  std::unique_ptr<DiskMonitor> disk_monitor_;
  // Used by the server's threads too.
  http::ShardGateway gateway_;
  std::unique_ptr<http::HttpServer> http_server_;
  bool running_ = false;
  bool misconfigured_ = false;
  bool booted_ = false;  // stores were opened, or tried to: they have to be closed

  runtime::Status start_http();
};

}  // namespace ringtail::broker
