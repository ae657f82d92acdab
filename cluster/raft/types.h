// What the parts of cluster/raft say to each other: entries, servers, configurations.
//
// libraft (raft.h) stays inside this folder: its names are C's, its memory is raft_malloc()'s.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/ids.h"
#include "broker/runtime/status.h"

extern "C" {
#include <raft.h>
}

namespace ringtail::cluster::raft {

using Term = std::uint64_t;
using Index = std::uint64_t;  // of an entry; the first one is 1

enum class EntryKind : std::uint8_t {
  kCommand = RAFT_COMMAND,
  kBarrier = RAFT_BARRIER,
  kChange = RAFT_CHANGE,  // its payload is a configuration
};

// An entry whose bytes belong to somebody else.
struct EntryView {
  Term term = 0;
  EntryKind kind = EntryKind::kCommand;
  std::string_view payload;
};

struct StoredEntry {
  Term term = 0;
  EntryKind kind = EntryKind::kCommand;
  std::string payload;
};

enum class Role : std::uint8_t {
  kStandby = RAFT_STANDBY,  // gets the log, has no vote
  kVoter = RAFT_VOTER,
  kSpare = RAFT_SPARE,  // neither
};

struct Server {
  runtime::NodeId id;   // never 0
  std::string address;  // as its owner writes it; libraft wants no two servers to have the same
  Role role = Role::kVoter;
  friend bool operator==(const Server&, const Server&) = default;
};

using Configuration = std::vector<Server>;

inline constexpr std::size_t kMaxServers = 64;
inline constexpr std::size_t kMaxAddressBytes = 512;

// libraft's own encoding, since it is what lies in the log as the payload of kChange.
std::string encode_configuration(const Configuration& configuration);
// kInvalid: libraft would read beyond its end, or refuse it. `bytes` may come from anywhere.
runtime::Result<Configuration> decode_configuration(std::string_view bytes);

// Memory that libraft frees, or takes over.
struct RaftFree {
  void operator()(std::uint8_t* bytes) const { raft_free(bytes); }
};
using RaftBuffer = std::unique_ptr<std::uint8_t[], RaftFree>;
RaftBuffer make_raft_buffer(std::size_t size);  // never null; of at least 8 bytes

// A snapshot that was read: what it stands for, and its payload.
struct StoredSnapshot {
  Index index = 0;
  Term term = 0;
  Index configuration_index = 0;
  std::string configuration;  // encoded
  RaftBuffer payload;
  std::size_t payload_size = 0;
  bool installed = false;  // it came from another node
};

}  // namespace ringtail::cluster::raft
