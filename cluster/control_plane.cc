#include "cluster/control_plane.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/log.h"
#include "cluster/control_kinds.h"
#include "cluster/data_directory.h"

namespace ringtail::cluster {

using metadata::NodeDown;
using metadata::NodeRecord;
using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;
using runtime::Result;
using runtime::Status;

namespace {

std::string raft_directory(const std::string& data_dir) { return data_dir + "/raft"; }

raft::RaftNodeOptions raft_options(const ControlPlaneOptions& options) {
  raft::RaftNodeOptions raft;
  raft.id = options.identity.node;
  raft.address = to_text(MemberAddress{raft.id, options.name, {options.host, options.port}});
  raft.directory = raft_directory(options.data_dir);
  return raft;
}

ControlOptions control_options(const LivenessTimes& times) {
  ControlOptions options;
  options.ping_ms = times.heartbeat_ms;
  options.silence_ms = times.down_ms;
  options.connect_timeout_ms = times.down_ms;
  return options;
}

}  // namespace

ControlPlane::ControlPlane(runtime::Shard& control, ControlPlaneOptions options)
    : shard_(control),
      options_(std::move(options)),
      identity_(options_.identity),
      hub_(control, options_.data_shards, options_.cookie, control_options(options_.times), *this,
           options_.tls),
      owner_(control, options_.data_shards, *this, *this),
      raft_(control.env(), *this, *this, raft_options(options_),
            {[this](const Status& why) { fail(why); },
             [this](NodeId leader, raft::Term) { leader_changed(leader); }, [](raft::Index) {},
             [this] { shard_.flush_batches_at_turn_end(raft_turn_); }}),
      watch_(options_.times),
      led_ms_(now_ms()),
      led_before_ms_(led_ms_) {
  RT_CHECK(control.id().value == options_.data_shards, "the control shard comes behind the others");
  owner_.store().add_observer(*this);
  hub_.set_control_admission(
      [this](const LinkHello& hello, std::string& reason) { return admit_control(hello, reason); });
  timer_ = control.env().timers().make([this] { tick(); });
  if (options_.tls == nullptr) return;
  certificate_timer_ = control.env().timers().make([this] { reload_certificate(); });
  certificate_timer_->start(runtime::kTlsFilesCheckMs, runtime::kTlsFilesCheckMs);
}

ControlPlane::~ControlPlane() = default;

// --- beginning -----------------------------------------------------------------------------------

void ControlPlane::start(std::function<void(const Started&)> done,
                         std::function<void(const Status&)> lost) {
  RT_CHECK(state_ == State::kNew, "a control plane is started once");
  started_ = std::move(done);
  lost_ = std::move(lost);
  state_ = State::kForming;
  hub_.set_own(link_identity());
  if (const Status status = listen(); !status.ok()) return fail(status);
  // Raft makes its files when it is opened: a member without them has lost them, and must not come
  // back as if it had promised nothing.
  const bool had_files = shard_.env().disk().list(raft_directory(options_.data_dir)).ok();
  raft_.open([this, had_files](Result<bool> pristine) { raft_opened(pristine, had_files); });
}

void ControlPlane::reload_certificate() {
  if (options_.tls == nullptr) return;
  const Status status = options_.tls->load();
  if (!status.ok() && status.text() != certificate_trouble_) {
    log(LogLevel::kError, "link",
        "the new certificate between nodes is not used, the old one stays: {}", status.text());
  }
  certificate_trouble_ = status.text();
}

Status ControlPlane::listen() {
  std::uint16_t port = options_.port;
  for (const std::string& address : options_.bind) {
    if (const Status status = hub_.listener().listen(address, port); !status.ok()) {
      return status.within("cluster listener");
    }
    if (port == 0) port = hub_.listener().port();
  }
  return {};
}

void ControlPlane::raft_opened(const Result<bool>& pristine, bool had_files) {
  if (!pristine.ok()) return fail(pristine.status());
  if (identity_.has_cluster()) {
    if (!had_files) {
      return fail({Code::kCorrupt,
                   options_.data_dir + ": belongs to cluster " + to_text(identity_.cluster) +
                       ", but has lost its log (" + raft_directory(options_.data_dir) +
                       "): remove the data directory, and the node joins as a new one"});
    }
    if (options_.force_boot) return begin_alone();
    if (raft_.has_log() && !options_.formation.join.empty()) {
      log(LogLevel::kInfo, "cluster",
          "{} is a member of cluster {} already: it does not ask {} to take it in (--join)",
          options_.name, to_text(identity_.cluster), to_text(options_.formation.join.front()));
    }
    return raft_.has_log() ? begin({}) : form();
  }
  // It died while it began its cluster: nobody has heard of it. One that has only a term had yet to
  // say in its log who the servers are.
  if (!pristine.value() && raft_.has_log()) return begin_cluster_again();
  form();
}

// A log of others, or with others, is that of a node whose identity is lost: with another number it
// would never be heard, and what it has to say would be nobody's.
void ControlPlane::begin_cluster_again() {
  const Result<raft::Configuration> servers = raft_.servers_in_log();
  if (!servers.ok()) return fail(servers.status());
  if (servers.value().size() != 1 || servers.value().front().id != identity_.node) {
    return fail({Code::kCorrupt,
                 options_.data_dir + ": has the log of a node of a cluster (" +
                     raft_directory(options_.data_dir) + "), but has lost its identity (" +
                     identity_path(options_.data_dir) +
                     "): put that file back, or remove the data directory, and the node joins as "
                     "a new one"});
  }
  begin_cluster();
}

void ControlPlane::form() {
  FormationOptions options = options_.formation;
  options.again = identity_.has_cluster();
  formation_ =
      std::make_unique<Formation>(shard_, hub_.control(), own_member(), std::move(options),
                                  [this](const Formation::Outcome& outcome) { formed(outcome); });
  formation_->start();
}

void ControlPlane::formed(const Formation::Outcome& outcome) {
  const Formation::Outcome result = outcome;
  if (!result.status.ok()) return fail(result.status);
  if (result.begins) {
    raft_.bootstrap([this](const Status& status) {
      if (!status.ok()) return fail(status);
      begin_cluster();
    });
    return;
  }
  if (identity_.has_cluster() && identity_.cluster != result.cluster) {
    return fail({Code::kInvalid, options_.data_dir + ": belongs to cluster " +
                                     to_text(identity_.cluster) + ", those to join to cluster " +
                                     to_text(result.cluster) + ": remove the data directory"});
  }
  identity_.cluster = result.cluster;
  identity_.force_generation = result.force_generation;
  log(LogLevel::kInfo, "cluster", "joining cluster {}", to_text(identity_.cluster));
  save_own();
  begin(result.members);
}

void ControlPlane::begin_cluster() {
  shard_.env().rng().fill_secure(identity_.cluster);
  log(LogLevel::kInfo, "cluster", "beginning cluster {}", to_text(identity_.cluster));
  save_own();
  begin({});
}

// The others are of the generation before, and may not come near this one: what they have agreed on
// meanwhile, if they have, is another history. The generation comes first: should this node die
// here, it waits for nobody at its next start either, since the mark is still there.
void ControlPlane::begin_alone() {
  ++identity_.force_generation;
  log(LogLevel::kWarning, "cluster",
      "going on alone, as an operator wished: all others of the cluster are of another generation "
      "now ({}), and have to be reset to join again",
      identity_.force_generation);
  save_own();
  if (failed_) return;
  raft_.force_alone([this](const Status& status) {
    if (!status.ok()) return fail(status);
    if (const Status done = forget_force_boot(shard_.env().disk(), options_.data_dir); !done.ok()) {
      return fail(done);
    }
    begin({});
  });
}

void ControlPlane::save_own() {
  if (const Status status = save_identity(shard_.env().disk(), options_.data_dir, identity_);
      !status.ok()) {
    return fail(status);
  }
  hub_.set_own(link_identity());
}

void ControlPlane::begin(const std::vector<MemberAddress>& members) {
  if (failed_) return;
  state_ = State::kComing;
  if (const Status status = raft_.start(); !status.ok()) return fail(status);
  if (failed_) return;  // its own snapshot says that it is forgotten
  keep_links(members);
  keep_links_to_servers();
  timer_->start(1, tick_ms());
  ask_for_life();
}

void ControlPlane::ask_for_life() {
  if (options_.retires) return;
  NodeRecord record;
  record.id = identity_.node;
  record.name = options_.name;
  record.host = options_.host;
  record.port = hub_.listener().port();
  record.shards = options_.data_shards;
  while (record.boot == 0) record.boot = shard_.env().rng().next();
  owner_.begin_life(std::move(record));
}

void ControlPlane::life_begun(const NodeRecord& record) {
  log(LogLevel::kInfo, "cluster", "node {} begins its life {}", record.name, record.life);
  life_ = record.life;
  hub_.set_own(link_identity());
  next_heartbeat_ms_ = 0;
  timer_->start(1, tick_ms());  // its lease, at once
}

void ControlPlane::life_ended() {
  life_ = 0;
  lease_.revoke();
  reach_.clear();  // sessions begin anew
  hub_.set_own(link_identity());
  if (state_ == State::kLeaving || state_ == State::kClosed) return;
  log(LogLevel::kWarning, "cluster",
      "the cluster has declared this node down: its life has ended, it asks for the next");
  ask_for_life();
}

// All shards get the metadata when this node may act on it.
void ControlPlane::serve_if_possible() {
  if (state_ != State::kComing || life_ == 0 || !holds_lease()) return;
  state_ = State::kServing;
  owner_.publish([this] {
    bool empty = true;
    owner_.store().for_each_user([&empty](const auto&) { empty = false; });
    if (started_) std::exchange(started_, nullptr)({{}, empty});
  });
}

void ControlPlane::fail(const Status& why) {
  if (failed_) return;
  failed_ = true;
  timer_->stop();
  if (started_) return std::exchange(started_, nullptr)({why, false});
  if (lost_) std::exchange(lost_, nullptr)(why);
}

std::uint64_t ControlPlane::tick_ms() const {
  return std::max<std::uint64_t>(1, options_.times.heartbeat_ms / 5);
}

LinkIdentity ControlPlane::link_identity() const {
  return {identity_.cluster,    identity_.force_generation, identity_.node, options_.name, life_,
          options_.data_shards, options_.tls != nullptr};
}

MemberAddress ControlPlane::own_member() const {
  return {
      identity_.node, options_.name, {options_.host, const_cast<LinkHub&>(hub_).listener().port()}};
}

// --- being forgotten -----------------------------------------------------------------------------

void ControlPlane::retire(std::function<void(const Status&)> done) {
  RT_CHECK(options_.retires, "a node that retires begins no life");
  retire_deadline_ms_ = now_ms() + runtime::kRetireTimeoutMs;
  // Whoever knows nothing is known by nobody.
  if (!identity_.has_cluster()) return done({});
  start([done = std::move(done)](const Started& started) { done(started.status); },
        [](const Status&) {});
}

// Asked for again and again: it may be lost, and is refused while the former life has not ended.
void ControlPlane::retire_step() {
  if (!options_.retires || started_ == nullptr) return;
  const std::uint64_t now = now_ms();
  if (now >= retire_deadline_ms_) {
    return fail({Code::kTimeout, "no majority of the cluster answers"});
  }
  if (raft_.leader().value == 0 || now < next_retire_ms_) return;
  next_retire_ms_ = now + options_.times.heartbeat_ms;
  owner_.forget(identity_.node);
}

// From the log, or from another member. Whoever wished it is content; whoever stops has stopped.
// Another must not go on: nobody counts with it, and its queues are no queues any more.
void ControlPlane::own_node_forgotten() {
  if (state_ == State::kClosed || failed_) return;
  life_ = 0;
  lease_.revoke();
  if (options_.retires) {
    if (started_) std::exchange(started_, nullptr)({{}, false});
    return;
  }
  if (state_ == State::kLeaving) {
    if (left_) std::exchange(left_, nullptr)();
    return;
  }
  fail(
      {Code::kInvalid,
       options_.name + " was forgotten by its cluster (forget_cluster_node), or another node " +
           "has taken its place: empty the data directory " + options_.data_dir +
           " but for the file cookie (ringtailctl force_reset does so where the app is stopped), " +
           "and let it join again as a new one"});
}

// --- between Raft, the links and the metadata ----------------------------------------------------

void ControlPlane::submit(std::string proposal) {
  if (failed_ || state_ == State::kForming) return;
  if (raft_.leads()) {
    raft_.propose({std::move(proposal)}, [](raft::Proposed, raft::Index) {});
  } else if (raft_.leader().value != 0) {
    hub_.control().send(raft_.leader(), kProposal, proposal);
  }
}

void ControlPlane::apply(raft::Index index, raft::Term term, std::string_view payload) {
  if (const Status status = owner_.commit(index, term, payload); !status.ok()) {
    fail(status.within("entry " + std::to_string(index) + " of the metadata's log"));
  }
}

void ControlPlane::snapshot(std::function<void(runtime::BytesChain)> done) {
  done(owner_.snapshot());
}

Status ControlPlane::restore(std::string_view bytes) { return owner_.restore(bytes); }

void ControlPlane::send(NodeId to, std::string header, runtime::Bytes body) {
  runtime::OutChain out;
  if (!body.empty()) out.append(std::move(body));
  hub_.control().send(to, kRaftMessage, header, out);
}

// --- ending --------------------------------------------------------------------------------------

void ControlPlane::leave(std::function<void()> done) {
  if (failed_ || state_ != State::kServing) return done();
  state_ = State::kLeaving;
  left_ = std::move(done);
  leave_deadline_ms_ = now_ms() + runtime::kLeaveTimeoutMs;
  leave_step();
}

// Another leads, then the log says that this node has stopped, then its vote is gone.
void ControlPlane::leave_step() {
  if (left_ == nullptr || transferring_) return;
  const raft::Configuration servers = raft_.members();
  const auto votes = [&](NodeId id) {
    return std::any_of(servers.begin(), servers.end(), [id](const raft::Server& server) {
      return server.id == id && server.role == raft::Role::kVoter;
    });
  };
  bool others = false;
  owner_.store().for_each_node([&](const auto& node) {
    others = others || (node->up && node->id != identity_.node && votes(node->id));
  });
  if (others && raft_.leads() && now_ms() < leave_deadline_ms_) {
    transferring_ = true;
    raft_.transfer_leadership({}, [this](const Status&) { transferring_ = false; });
    return;
  }
  if (!said_down_) {
    said_down_ = true;
    owner_.propose(
        NodeDown{identity_.node, life_, true}, [](const auto&) {}, true);
  }
  const bool over = life_ == 0 && (!others || !votes(identity_.node));
  if (over || now_ms() >= leave_deadline_ms_) std::exchange(left_, nullptr)();
}

void ControlPlane::close(std::function<void()> done) {
  state_ = State::kClosed;
  timer_->stop();
  formation_.reset();
  raft_.close(std::move(done));
}

}  // namespace ringtail::cluster
