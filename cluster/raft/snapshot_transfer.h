// Snapshots on their way to another node, in parts, so that no frame of the control link is large:
// the next part leaves when the last has arrived. State machines without libraft.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cluster/raft/raft_codec.h"
#include "cluster/raft/transport.h"

namespace ringtail::cluster::raft {

struct TransferOptions {
  std::size_t part_bytes = 256 * 1024;
  std::uint64_t resend_ms = 500;     // a part that was not acknowledged
  std::uint64_t give_up_ms = 10000;  // without any progress
};

// The sending side, for all receivers. On the shard of Raft.
class SnapshotSenders {
 public:
  SnapshotSenders(Transport& transport, TransferOptions options)
      : transport_(transport), options_(options) {}

  // `payload` lives until finished() or stop_all() gives the request back. One that was under way
  // to the same node ends; the return value is its request.
  raft_io_send* start(runtime::NodeId to, std::uint64_t session, const raft_install_snapshot& args,
                      raft_io_send* request, raft_io_send_cb callback, std::uint64_t now_ms);
  // A receiver told how far it is. The request that is done by it, if one is.
  raft_io_send* progressed(runtime::NodeId from, const SnapshotProgress& progress,
                           std::uint64_t now_ms);
  // Sends again what was lost. Requests that are given up.
  std::vector<raft_io_send*> tick(std::uint64_t now_ms);
  std::vector<raft_io_send*> stop_all();
  bool idle() const { return sending_.empty(); }

 private:
  struct Sending {
    SnapshotPart part;  // its offset is what has been acknowledged
    std::string_view payload;
    raft_io_send* request = nullptr;
    std::uint64_t sent_ms = 0;
    std::uint64_t progress_ms = 0;
  };
  void send_part(runtime::NodeId to, Sending& sending, std::uint64_t now_ms);

  Transport& transport_;
  const TransferOptions options_;
  std::map<runtime::NodeId, Sending> sending_;
};

// The receiving side: one snapshot at a time, the newest that was begun.
class SnapshotGatherer {
 public:
  explicit SnapshotGatherer(TransferOptions options) : options_(options) {}

  struct Outcome {
    SnapshotProgress answer;
    std::optional<Incoming> whole;
  };
  // nullopt: no answer is due.
  std::optional<Outcome> take(runtime::NodeId from, const SnapshotPart& part, std::string_view body,
                              std::uint64_t now_ms);
  // Answers as if the whole of it had come; it is not wanted.
  Outcome pass(const SnapshotPart& part);
  // Forgets one that does not go on.
  void tick(std::uint64_t now_ms);

 private:
  const TransferOptions options_;
  bool gathering_ = false;
  runtime::NodeId from_;
  SnapshotPart part_;  // as it began
  RaftBuffer payload_;
  std::uint64_t have_ = 0;
  std::uint64_t last_ms_ = 0;
  std::uint64_t done_session_ = 0;
};

}  // namespace ringtail::cluster::raft
