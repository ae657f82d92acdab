#include "tests/sim/raft_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/runtime/log.h"

namespace ringtail::sim {

using runtime::Status;

// --- the machine ---------------------------------------------------------------------------------

void ListMachine::apply(raft::Index index, raft::Term, std::string_view payload) {
  if (!applied_.empty() && applied_.rbegin()->first >= index) {
    cluster_.violated("an index is applied again");
  }
  applied_.emplace(index, std::string(payload));
  cluster_.applied(index, std::string(payload));
}

void ListMachine::snapshot(std::function<void(runtime::BytesChain)> done) {
  std::string text;
  for (const auto& [index, payload] : applied_) {
    text += std::to_string(index) + ' ' + payload + '\n';
  }
  runtime::BytesChain chain;
  const std::size_t half = text.size() / 3;
  chain.append(runtime::Bytes::copy(runtime::as_bytes(text.substr(0, half))));
  chain.append(runtime::Bytes::copy(runtime::as_bytes(text.substr(half))));
  if (cluster_.world().rng().chance(0.5)) return done(std::move(chain));
  // As one that is written down in steps.
  env_.schedule(cluster_.world().rng().between(0, 20) * runtime::kMillisecondNs,
                runtime::SimEventKind::kWork,
                [done = std::move(done), chain = std::move(chain)] { done(chain); });
}

Status ListMachine::restore(std::string_view bytes) {
  applied_.clear();
  while (!bytes.empty()) {
    const std::size_t space = bytes.find(' ');
    const std::size_t end = bytes.find('\n');
    const raft::Index index = std::stoull(std::string(bytes.substr(0, space)));
    applied_.emplace(index, std::string(bytes.substr(space + 1, end - space - 1)));
    cluster_.applied(index, applied_.at(index));
    bytes.remove_prefix(end + 1);
  }
  return {};
}

// --- a process -----------------------------------------------------------------------------------

RaftProcess::RaftProcess(RaftCluster& cluster, runtime::SimHost& host, NodeId id)
    : cluster_(cluster), host_(host), id_(id), env_(host), machine_(cluster, env_) {
  env_.set_after_callback([this] { after_callback(); });
  raft::RaftNodeOptions options = cluster.options();
  options.id = id;
  options.address = "node" + std::to_string(id.value);
  options.directory = "/data/raft";
  raft::RaftNode::Callbacks callbacks;
  callbacks.lost = [this](const Status& why) { lost_ = why; };
  callbacks.turn_end_wanted = [this] { turn_end_ = true; };
  node_ = std::make_unique<raft::RaftNode>(env_, machine_, *this, options, callbacks);
}

RaftProcess::~RaftProcess() { host_.drive().kill_processes(); }

void RaftProcess::after_callback() {
  while (std::exchange(turn_end_, false)) node_->turn_end();
}

void RaftProcess::begin(bool bootstrap) {
  enter([&] {
    node_->open([this, bootstrap](runtime::Result<bool> pristine) {
      if (!pristine.ok()) return cluster_.violated("open: " + pristine.status().text());
      if (!bootstrap || !pristine.value()) return start();
      node_->bootstrap([this](const Status& status) {
        if (status.ok()) start();
      });
    });
  });
}

void RaftProcess::start() {
  const Status started = node_->start();
  if (!started.ok()) return cluster_.violated("start: " + started.text());
  up_ = true;
}

void RaftProcess::send(NodeId to, std::string header, runtime::Bytes body) {
  cluster_.carry(id_, to, header, body);
}

// --- the cluster ---------------------------------------------------------------------------------

RaftCluster::RaftCluster(std::uint64_t seed, raft::RaftNodeOptions options)
    : world_(seed), options_(std::move(options)) {
  runtime::set_log_level(runtime::LogLevel::kNone);
}

RaftCluster::~RaftCluster() {
  for (auto& [id, host] : hosts_) host->drive().kill_processes();
  processes_.clear();
}

NodeId RaftCluster::add_host(bool bootstrap) {
  const NodeId id{++last_id_};
  hosts_[id] = std::make_unique<runtime::SimHost>(world_);
  processes_[id] = std::make_unique<RaftProcess>(*this, *hosts_[id], id);
  lives_[id] = std::make_shared<int>(0);
  processes_[id]->begin(bootstrap);
  return id;
}

void RaftCluster::crash(NodeId id, bool power) {
  lives_.erase(id);
  if (power) {
    hosts_.at(id)->drive().crash();
  } else {
    hosts_.at(id)->drive().kill_processes();
  }
  processes_.erase(id);
}

void RaftCluster::start(NodeId id) {
  processes_[id] = std::make_unique<RaftProcess>(*this, *hosts_.at(id), id);
  lives_[id] = std::make_shared<int>(0);
  processes_[id]->begin(id.value == 1);
}

void RaftCluster::forget_host(NodeId id) {
  if (processes_.contains(id)) crash(id, false);
  hosts_.erase(id);
}

RaftProcess* RaftCluster::process(NodeId id) {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : found->second.get();
}

std::vector<NodeId> RaftCluster::hosts() const {
  std::vector<NodeId> ids;
  for (const auto& [id, host] : hosts_) ids.push_back(id);
  return ids;
}

void RaftCluster::carry(NodeId from, NodeId to, const std::string& header,
                        const runtime::Bytes& body) {
  ++sent_;
  if (is_cut(from, to) || world_.rng().chance(net_.loss)) return;
  const int copies = world_.rng().chance(net_.repeat) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    std::uint64_t delay = world_.rng().between(net_.least_ns, net_.most_ns);
    if (world_.rng().chance(net_.late)) {
      delay += world_.rng().between(0, 50) * runtime::kMillisecondNs;
    }
    const auto found = lives_.find(to);
    if (found == lives_.end()) return;
    // It comes to the life that it was sent to, as on a connection; the cut may come before it.
    world_.after(delay, runtime::SimEventKind::kWork,
                 [this, from, to, header, body, life = std::weak_ptr<int>(found->second)] {
                   RaftProcess* const receiver = process(to);
                   if (life.expired() || receiver == nullptr || is_cut(from, to)) return;
                   receiver->enter([&] {
                     receiver->node().received(from, header, runtime::as_text(body.span()));
                   });
                   check_leaders();
                 });
  }
}

RaftProcess* RaftCluster::leader() {
  RaftProcess* best = nullptr;
  for (auto& [id, process] : processes_) {
    if (!process->up() || !process->node().leads()) continue;
    if (best == nullptr || process->node().term() > best->node().term()) best = process.get();
  }
  return best;
}

bool RaftCluster::await_leader(std::uint64_t limit_ns) {
  return world_.run_until([this] { return leader() != nullptr; }, limit_ns);
}

bool RaftCluster::propose(RaftProcess& at, std::vector<std::string> payloads) {
  at.enter([&] {
    at.node().propose(payloads, [this, payloads](raft::Proposed outcome, raft::Index) {
      if (outcome != raft::Proposed::kApplied) return;
      acknowledged_.insert(payloads.begin(), payloads.end());
    });
  });
  return true;
}

bool RaftCluster::change(const std::function<void(raft::RaftNode&, raft::RaftNode::Done)>& ask) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (!await_leader()) return false;
    const auto outcome = std::make_shared<std::pair<bool, Status>>();
    RaftProcess* const at = leader();
    at->enter([&] {
      ask(at->node(), [outcome](const Status& status) { *outcome = {true, status}; });
    });
    world_.run_until([&] { return outcome->first; }, 20 * runtime::kSecondNs);
    if (outcome->first && outcome->second.ok()) return true;
    world_.run_for(50 * runtime::kMillisecondNs);
  }
  return false;
}

bool RaftCluster::set_server(NodeId id, raft::Role role) {
  return change([&](raft::RaftNode& node, raft::RaftNode::Done done) {
    node.set_server({id, "node" + std::to_string(id.value), role}, std::move(done));
  });
}

bool RaftCluster::remove_server(NodeId id) {
  return change([&](raft::RaftNode& node, raft::RaftNode::Done done) {
    node.remove_server(id, std::move(done));
  });
}

bool RaftCluster::await_equal(std::uint64_t limit_ns) {
  return world_.run_until(
      [this] {
        RaftProcess* const first = leader();
        if (first == nullptr) return false;
        for (const raft::Server& server : first->node().members()) {
          if (server.role == raft::Role::kSpare) continue;
          RaftProcess* const other = process(server.id);
          if (other == nullptr || !other->up() ||
              other->node().last_applied() != first->node().last_applied()) {
            return false;
          }
        }
        return true;
      },
      limit_ns);
}

std::string RaftCluster::describe() {
  std::string text;
  for (auto& [id, process] : processes_) {
    const struct ::raft& library = process->node().library();
    text += fmt::format(
        "node {}{}: state {} term {} leader {} last {} stored {} commit {} applied {} "
        "log from {} snapshot {} lost '{}'\n",
        id.value, process->up() ? "" : " (not up)", library.state, library.current_term,
        process->node().leader().value, raft_last_index(const_cast<struct ::raft*>(&library)),
        library.last_stored, library.commit_index, library.last_applied, library.log.offset + 1,
        library.log.snapshot.last_index, process->lost().text());
    if (library.state != RAFT_LEADER) continue;
    for (unsigned i = 0; i < library.configuration.n; ++i) {
      const struct raft_server& server = library.configuration.servers[i];
      const struct raft_progress& progress = library.leader_state.progress[i];
      text += fmt::format("  server {} role {} progress {} next {} match {} snapshot {}\n",
                          server.id, server.role, progress.state, progress.next_index,
                          progress.match_index, progress.snapshot_index);
    }
  }
  return text;
}

// --- the checkers --------------------------------------------------------------------------------

void RaftCluster::violated(const std::string& what) {
  ++failures_;
  FAIL_CHECK(what << " (seed " << world_.seed() << ", " << world_.now_ns() / 1000 << " us)");
}

void RaftCluster::applied(raft::Index index, const std::string& payload) {
  const auto [found, added] = committed_.emplace(index, payload);
  if (!added && found->second != payload) {
    violated("two nodes differ at index " + std::to_string(index) + ": " + found->second + ", " +
             payload);
  }
}

void RaftCluster::check_leaders() {
  for (auto& [id, process] : processes_) {
    if (!process->up() || process->node().library().state != RAFT_LEADER) continue;
    const auto [found, added] = leaders_.emplace(process->node().term(), id);
    if (!added && found->second != id) {
      violated("two leaders in term " + std::to_string(process->node().term()));
    }
  }
}

void RaftCluster::check_bounds() {
  for (auto& [id, process] : processes_) {
    if (!process->up()) continue;
    const struct ::raft& library = process->node().library();
    const std::size_t entries = library.log.front <= library.log.back
                                    ? library.log.back - library.log.front
                                    : library.log.size - library.log.front + library.log.back;
    const std::size_t most = 10 * (options_.snapshot_entries + options_.log.trailing) + 500;
    if (entries > most) violated("the log in memory has " + std::to_string(entries) + " entries");
    if (process->node().log_files() > options_.snapshot_log_files + 60) {
      violated("there are " + std::to_string(process->node().log_files()) + " files of the log");
    }
  }
}

void RaftCluster::check_nothing_lost(const ListMachine& machine) {
  std::set<std::string> there;
  for (const auto& [index, payload] : machine.applied()) there.insert(payload);
  for (const std::string& payload : acknowledged_) {
    if (!there.contains(payload)) violated(payload + " was acknowledged and is gone");
  }
}

}  // namespace ringtail::sim
