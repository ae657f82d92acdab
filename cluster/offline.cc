#include "cluster/offline.h"

#include <utility>

#include "cluster/metadata/commands_codec.h"
#include "cluster/raft/log_loader.h"

namespace ringtail::cluster {

using metadata::Proposal;
using metadata::SavedState;
using metadata::Store;
using raft::LoadedLog;
using runtime::Result;
using runtime::Status;

namespace {

Status apply(Store& store, raft::Term term, const Proposal& proposal) {
  std::uint64_t number = proposal.first_request;
  std::uint64_t oldest = proposal.oldest_request;
  for (const metadata::Command& command : proposal.commands) {
    if (store.accept(proposal.node, proposal.life, number, std::exchange(oldest, 0)) &&
        !is_void(command, term)) {
      store.apply(command);
    }
    ++number;
  }
  return {};
}

Status replay(const LoadedLog& log, Store& store) {
  std::uint64_t index = log.first;
  std::uint64_t from = 0;
  if (log.snapshot) {
    const auto* bytes = reinterpret_cast<const char*>(log.snapshot->payload.get());
    auto state = metadata::decode_state({bytes, log.snapshot->payload_size});
    if (!state.ok()) return state.status().within("the snapshot of the metadata");
    store.restore(state.value());
    from = log.snapshot->index;
  }
  for (const raft::StoredEntry& entry : log.entries) {
    const std::uint64_t at = index++;
    if (entry.kind != raft::EntryKind::kCommand || at <= from) continue;
    auto proposal = metadata::decode_proposal(entry.payload);
    if (!proposal.ok()) {
      return proposal.status().within("entry " + std::to_string(at) + " of the metadata's log");
    }
    RT_TRY(apply(store, entry.term, proposal.value()));
  }
  return {};
}

}  // namespace

Result<OfflineMetadata> read_offline(runtime::Disk& disk, const std::string& data_dir,
                                     const std::function<void()>& run) {
  auto identity = read_identity(disk, data_dir);
  if (!identity.ok()) return identity.status();
  Result<LoadedLog> log = Status{runtime::Code::kIo, "the metadata was not read to its end"};
  raft::LogLoader loader(disk, data_dir + "/raft", 1);
  loader.start([&log](Result<LoadedLog> loaded) { log = std::move(loaded); });
  run();
  if (!log.ok()) return log.status();
  OfflineMetadata metadata{identity.value(), std::make_unique<Store>()};
  RT_TRY(replay(log.value(), *metadata.store));
  return metadata;
}

}  // namespace ringtail::cluster
