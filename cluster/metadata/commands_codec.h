// Entries of the log and snapshots as bytes (commands.proto), and back. Decoding is total: what is
// not such bytes is kCorrupt, and says why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/status.h"
#include "cluster/metadata/commands.h"
#include "cluster/metadata/saved_state.h"

namespace ringtail::cluster::metadata {

// Commands of one node in order; see Store::accept for the numbers.
struct Proposal {
  NodeId node;
  Life life = 0;
  std::uint64_t first_request = 0;
  std::uint64_t oldest_request = 0;
  std::vector<Command> commands = {};
};

std::string encode(const Proposal& proposal);
runtime::Result<Proposal> decode_proposal(std::string_view bytes);

std::string encode(const SavedState& state);
// A state of this record alone. States joined are one (commands.proto).
std::string encode_alone(const ExchangeRecord& record);
std::string encode_alone(const QueueRecord& record);
std::string encode_alone(const BindingRecord& record);
runtime::Result<SavedState> decode_state(std::string_view bytes);

}  // namespace ringtail::cluster::metadata
