// Raft's messages as bytes, and back (docs/FORMATS.md, "Raft"; cluster/raft/raft.proto). Pure
// functions. Decoding is total: what a peer sends is a message that libraft can take, or kInvalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "broker/runtime/bytes.h"
#include "cluster/raft/types.h"

namespace ringtail::cluster::raft {

struct Encoded {
  std::string header;
  runtime::Bytes body;
};

// Of an AppendEntries the first entries, as many as fit into `most_bytes` and at least one if
// `most_entries` allows; `*sent` says how many. Not for InstallSnapshot.
Encoded encode_message(const raft_message& message, std::size_t most_entries,
                       std::size_t most_bytes, std::size_t* sent);

struct SnapshotPart {
  std::uint64_t session = 0;
  Term term = 0;
  Index last_index = 0;
  Term last_term = 0;
  Index configuration_index = 0;
  std::string configuration;  // encoded
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};
struct SnapshotProgress {
  std::uint64_t session = 0;
  std::uint64_t have = 0;
};
std::string encode_part(const SnapshotPart& part);
std::string encode_progress(const SnapshotProgress& progress);

// A message for libraft, with memory as libraft wants it: one batch for all entries, payloads at
// multiples of 8. It frees what it was not asked to give away.
class Incoming {
 public:
  Incoming(runtime::NodeId from, unsigned short type);
  Incoming(Incoming&& other) noexcept;
  Incoming& operator=(Incoming&& other) noexcept;
  ~Incoming() { free_memory(); }

  raft_message& message() { return message_; }
  const raft_message& message() const { return message_; }
  runtime::NodeId from() const { return from_; }
  // Of an AppendEntries: without the entries up to this one, which the receiver has.
  void begin_behind(Index index, Term term);
  // What is to be given to libraft, which owns the memory in it from then on.
  raft_message* release();

 private:
  void free_memory();

  runtime::NodeId from_;
  std::string address_;
  raft_message message_{};
  bool owns_ = true;
};

using Received = std::variant<Incoming, SnapshotPart, SnapshotProgress>;

runtime::Result<Received> decode_message(runtime::NodeId from, std::string_view header,
                                         std::string_view body);

// An InstallSnapshot whose payload was gathered.
Incoming install_message(runtime::NodeId from, const SnapshotPart& part,
                         const Configuration& configuration, RaftBuffer payload);

// libraft's form, with memory of its own.
void fill_configuration(const Configuration& from, raft_configuration* to);
Configuration configuration_of(const raft_configuration& from);

}  // namespace ringtail::cluster::raft
