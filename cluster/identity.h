// Who a node is, across its starts: its number, the cluster that it belongs to, and the secret that
// members share. In files of the data directory (docs/FORMATS.md, "Identity"). Read before the
// node's shards start, since their addresses hold the number; blocking calls on a thread of
// nobody's.
#pragma once

#include <cstdint>
#include <string>

#include "broker/runtime/disk.h"
#include "broker/runtime/rng.h"
#include "cluster/link_identity.h"

namespace ringtail::cluster {

struct Identity {
  runtime::NodeId node;  // never 0
  ClusterId cluster{};   // zero: it belongs to none yet
  std::uint64_t force_generation = 0;

  bool has_cluster() const { return cluster != ClusterId{}; }
};

// The file that says it.
std::string identity_path(const std::string& data_dir);
// What the data directory says; where it says nothing, a new node with a number drawn by chance,
// which is kept at once. kCorrupt names the file.
runtime::Result<Identity> load_identity(runtime::Disk& disk, const std::string& data_dir,
                                        runtime::Rng& rng);
// The same where something must be said; kNotFound otherwise.
runtime::Result<Identity> read_identity(runtime::Disk& disk, const std::string& data_dir);
std::string encode(const Identity& identity);
runtime::Status save_identity(runtime::Disk& disk, const std::string& data_dir,
                              const Identity& identity);

// The secret in that file, without white space around it; made by chance, for its owner's eyes
// alone, where there is no such file. kInvalid: others may read it, or it is empty.
runtime::Result<std::string> load_cookie(runtime::Disk& disk, const std::string& path,
                                         runtime::Rng& rng);

// "00c0ffee..." of 32 digits.
std::string to_text(const ClusterId& cluster);

}  // namespace ringtail::cluster
