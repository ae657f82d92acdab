// What the management interface can do to the node as a whole: RabbitMQ's "app" is all that serves,
// the process stays. Implemented by app.h; called on the HTTP server's threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/status.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker::http {

class AppControl {
 public:
  enum class State : std::uint8_t { kStarting, kRunning, kStopping, kStopped };
  using Members = std::vector<std::string>;  // names of nodes
  using Users = std::vector<std::shared_ptr<const cluster::metadata::UserRecord>>;

  virtual ~AppControl() = default;
  virtual State state() const = 0;
  // Why the last start came to nothing; empty: it did not.
  virtual std::string last_error() const = 0;

  // Begins; state() tells when it is done. kInvalid: it is not the time. `administrators` are those
  // who may do the rest while it is stopped; `members` all nodes of the cluster.
  virtual runtime::Status stop(Users administrators, Members members) = 0;
  virtual runtime::Status start() = 0;

  // --- while it is stopped (else kInvalid); done when they return ---
  // Leaves the cluster and forgets everything. `force`: without asking the others.
  virtual runtime::Status reset(bool force) = 0;
  // The next start does not wait for the others of the cluster, who are lost.
  virtual runtime::Status force_boot() = 0;
  // Forgets everything; the next start joins the cluster of this member ("name@host", "host:port").
  // `already`: it is of this node's own cluster, and nothing was done.
  virtual runtime::Status join(const std::string& member, bool& already) = 0;
};

}  // namespace ringtail::broker::http
