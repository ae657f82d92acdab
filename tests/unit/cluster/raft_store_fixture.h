// One life of a process with Raft's files, on a simulated host.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/log.h"
#include "broker/runtime/sim/sim_env.h"
#include "cluster/raft/raft_log_store.h"

namespace ringtail::cluster::raft {

inline LogStoreOptions small_files() {
  LogStoreOptions options;
  options.file_bytes = 600;
  options.trailing = 5;
  return options;
}

struct StoreLife {
  explicit StoreLife(runtime::SimHost& on, LogStoreOptions options = small_files())
      : host(on), env(on), store(env, "/data/raft", options, [this](const runtime::Status& why) {
          CHECK(lost.ok());
          lost = why;
        }) {
    runtime::set_log_level(runtime::LogLevel::kNone);
    bool done = false;
    env.enter([&] {
      store.open([&](runtime::Result<LoadedLog> result) {
        done = true;
        status = result.status();
        if (result.ok()) loaded = std::move(result).value();
      });
    });
    REQUIRE(host.world().run_until([&] { return done; }));
  }
  ~StoreLife() { host.drive().kill_processes(); }

  // Appends entries of this term, numbered on.
  void append(Term term, std::vector<std::string> payloads, Index first) {
    std::vector<EntryView> views;
    for (const std::string& payload : payloads) {
      views.push_back({term, EntryKind::kCommand, payload});
    }
    env.enter([&] { store.append(first, views, [this] { ++acked; }); });
  }
  bool settle() {
    return host.world().run_until([&] { return store.idle() || !lost.ok(); });
  }
  runtime::Status put(Index index, Term term, std::vector<std::string_view> payload,
                      bool replaces = false) {
    SnapshotSource source;
    source.header.index = index;
    source.header.term = term;
    source.header.configuration_index = 1;
    source.configuration = encode_configuration({{{1}, "one", Role::kVoter}});
    for (const std::string_view piece : payload) source.header.payload_size += piece.size();
    source.payload = std::move(payload);
    put_status = runtime::Status(runtime::Code::kTimeout, "no answer");
    env.enter([&] {
      store.put_snapshot(source, replaces,
                         [this](const runtime::Status& answer) { put_status = answer; });
    });
    host.world().run_until(
        [&] { return put_status.code() != runtime::Code::kTimeout || !lost.ok(); });
    return put_status;
  }
  void close() {
    bool closed = false;
    env.enter([&] { store.close([&] { closed = true; }); });
    REQUIRE(host.world().run_until([&] { return closed; }));
  }
  std::vector<std::string> files() { return env.disk().list("/data/raft").value(); }

  runtime::SimHost& host;
  runtime::SimEnv env;
  runtime::Status lost;
  runtime::Status status;
  LoadedLog loaded;
  runtime::Status put_status;
  int acked = 0;
  RaftLogStore store;
};

}  // namespace ringtail::cluster::raft
