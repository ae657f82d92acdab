// What makes a node a member of a cluster, all of it on the node's control shard: its links to the
// control shards of others, its part in Raft, the metadata that Raft keeps, leases, verdicts on who
// is down, and who has a vote.
//
//   links (link_hub.h)          Raft (raft/raft_node.h)         metadata (metadata/owner.h)
//     carries its messages  <->   agrees on proposals      <->    numbers and applies them
//   liveness (liveness.h)  -> NodeDown                membership (membership.h) -> who votes
//   formation (formation.h) -> the first cluster id
//
// Lifecycle: start(); later leave(), when the node stops in order; close(); destruction. Sources:
// control_plane.cc (beginning and ending), control_leases.cc, control_members.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/shard.h"
#include "cluster/formation.h"
#include "cluster/identity.h"
#include "cluster/link_hub.h"
#include "cluster/liveness.h"
#include "cluster/membership.h"
#include "cluster/metadata/owner.h"
#include "cluster/raft/raft_node.h"

namespace ringtail::cluster {

struct ControlPlaneOptions {
  Identity identity;
  std::string name;  // "rabbit@host"
  std::string host;  // where peers reach this node
  std::string data_dir;
  std::string cookie;
  LinkTls* tls = nullptr;  // loaded; outlives the control plane. Null: links are not encrypted
  std::vector<std::string> bind;  // numeric addresses to listen on
  std::uint16_t port = 25672;     // 0: any free one
  std::uint16_t data_shards = 1;
  LivenessTimes times;
  FormationOptions formation;
  // The node goes on without a majority of the others (wants_force_boot()).
  bool force_boot = false;
  // The node has stopped for good: it comes to its cluster only to be forgotten by it.
  bool retires = false;
};

class ControlPlane final : private ControlReceiver,
                           private raft::Transport,
                           private raft::RaftMachine,
                           private metadata::ProposalLog,
                           private metadata::LifeWatcher,
                           private metadata::Observer {
 public:
  struct Started {
    runtime::Status status;
    bool empty = false;  // the cluster knows no user: it has just begun
  };
  // `control` has the id options.data_shards.
  ControlPlane(runtime::Shard& control, ControlPlaneOptions options);
  ~ControlPlane() override;

  // Comes to a cluster, or back to it; `done` when this node has a life in it, holds a lease, and
  // all its shards have the metadata. That takes until a majority is there. `lost` once, later: the
  // disk fails, or holds what this version does not understand, or (kInvalid) the cluster has
  // forgotten this node; the node has to end.
  void start(std::function<void(const Started&)> done,
             std::function<void(const runtime::Status&)> lost);
  // With options.retires: `done` when the cluster has forgotten this node, or there is none.
  void retire(std::function<void(const runtime::Status&)> done);
  // The node stops in order: others lead, and vote without it. `done` when that is so, or nobody is
  // there to agree (kLeaveTimeoutMs).
  void leave(std::function<void()> done);
  // `done` when the disk lets go.
  void close(std::function<void()> done);

  // Looks whether the certificate files of the links have changed, as it does from time to time.
  void reload_certificate();

  metadata::Owner& metadata() { return owner_; }
  LinkHub& links() { return hub_; }
  const raft::RaftNode& raft() const { return raft_; }
  // It may act on what it knows. Who has said that it stops may not.
  bool holds_lease() const { return lease_.valid(now_ms()) && !said_down_; }
  const Identity& identity() const { return identity_; }

 private:
  enum class State : std::uint8_t { kNew, kForming, kComing, kServing, kLeaving, kClosed };

  // --- control_plane.cc ---
  runtime::Status listen();
  void raft_opened(const runtime::Result<bool>& pristine, bool had_files);
  void form();
  void formed(const Formation::Outcome& outcome);
  void begin_cluster_again();
  void begin_cluster();
  void begin_alone();
  void begin(const std::vector<MemberAddress>& members);
  void ask_for_life();
  void serve_if_possible();
  void fail(const runtime::Status& why);
  void save_own();
  LinkIdentity link_identity() const;
  std::uint64_t tick_ms() const;
  MemberAddress own_member() const;
  void leave_step();
  void retire_step();
  std::uint64_t now_ms() const { return shard_.env().clock().boot_ms(); }

  // ProposalLog, LifeWatcher
  void submit(std::string proposal) override;
  void applied_here(std::uint64_t index) override;
  void life_begun(const metadata::NodeRecord& record) override;
  void life_ended() override;
  void own_node_forgotten() override;
  // RaftMachine, Transport
  void apply(raft::Index index, raft::Term term, std::string_view payload) override;
  void snapshot(std::function<void(runtime::BytesChain)> done) override;
  runtime::Status restore(std::string_view bytes) override;
  void send(runtime::NodeId to, std::string header, runtime::Bytes body) override;

  // --- control_leases.cc ---
  void tick();
  void leader_changed(runtime::NodeId leader);
  void lead_tick(std::uint64_t now);
  void ask_for_lease(std::uint64_t now);
  void declare_down(std::uint64_t now);
  void tell_applied_everywhere();
  void heartbeat_came(runtime::NodeId from, std::string_view header);
  void lease_answered(runtime::NodeId from, std::string_view header);
  std::uint64_t led_before_ms();
  void round_came(runtime::NodeId from, std::string_view header);
  void round_acknowledged(runtime::NodeId from, std::string_view header);
  void applied_came(runtime::NodeId from, std::string_view header);
  void applied_everywhere_came(std::string_view header);
  void watch_nodes();
  void watch_voters();

  // --- control_members.cc ---
  void control_received(runtime::NodeId from, NodeLife life, ControlKind kind,
                        std::string_view header,
                        std::span<const std::uint8_t> body) noexcept override;
  void control_connected(runtime::NodeId node) noexcept override;
  void control_disconnected(runtime::NodeId node, LinkEnd end,
                            const runtime::Status& status) noexcept override;
  void control_asked(QuestionId id, const LinkIdentity& from,
                     std::string_view question) noexcept override;
  void node_changed(const std::shared_ptr<const metadata::NodeRecord>& record) override;
  void node_removed(const metadata::NodeRecord& record) override;
  void state_restored() override;
  Refusal admit_control(const LinkHello& hello, std::string& reason) const;
  void tell_of_change(const metadata::NodeRecord& record);
  void join_asked(QuestionId id, const MemberAddress& who);
  std::string why_not(const MemberAddress& who) const;
  void answer_joined(QuestionId id);
  void change_members();
  void member_changed(const MemberChange& change, const runtime::Status& status);
  void keep_links(const std::vector<MemberAddress>& members);
  void keep_links_to_servers();
  std::optional<MemberAddress> server_address(runtime::NodeId node) const;
  std::string name_of(runtime::NodeId node) const;
  unsigned rank_without(runtime::NodeId leader) const;
  void look_who_is_reached(std::uint64_t now);

  // Sends what Raft has gathered in a turn.
  struct RaftTurn final : runtime::TurnTask {
    explicit RaftTurn(raft::RaftNode& of) : raft(of) {}
    void turn_end() noexcept override { raft.turn_end(); }
    raft::RaftNode& raft;
  };

  runtime::Shard& shard_;
  const ControlPlaneOptions options_;
  Identity identity_;
  State state_ = State::kNew;
  std::function<void(const Started&)> started_;
  std::function<void(const runtime::Status&)> lost_;
  LinkHub hub_;
  metadata::Owner owner_;
  raft::RaftNode raft_;
  RaftTurn raft_turn_{raft_};
  std::unique_ptr<Formation> formation_;
  bool failed_ = false;
  NodeLife life_ = 0;

  // Leases.
  std::unique_ptr<runtime::Timer> timer_;
  std::unique_ptr<runtime::Timer> certificate_timer_;  // with TLS between nodes
  std::string certificate_trouble_;                    // the last that was reported
  Lease lease_;
  LeaderWatch watch_;
  NodeId former_leader_;  // the last one that was another, or this node
  // When this node has last heard of a leader, or led; and when that was in a term before this one.
  std::uint64_t led_ms_;
  raft::Term led_term_ = 0;
  std::uint64_t led_before_ms_;
  std::uint64_t next_heartbeat_ms_ = 0;
  std::uint64_t next_retire_ms_ = 0;
  std::uint64_t retire_deadline_ms_ = 0;
  std::uint64_t applied_here_ = 0;
  std::uint64_t told_everywhere_ = 0;
  std::map<runtime::NodeId, metadata::Life> declaring_;  // NodeDown is proposed for these

  // Members.
  std::map<runtime::NodeId, std::string> joining_;  // addresses; no life yet
  std::map<runtime::NodeId, std::uint64_t> joining_until_;
  std::multimap<runtime::NodeId, QuestionId> join_questions_;
  std::map<runtime::NodeId, std::uint64_t> told_until_;  // servers that are forgotten
  std::set<runtime::NodeId> linked_;                     // those that a control link is kept to
  struct Reach {
    std::uint64_t last_ms = 0;  // when its link was last seen to stand
    bool told = false;          // that it is not reached
  };
  std::map<runtime::NodeId, Reach> reach_;                           // of other nodes that are up
  std::map<runtime::NodeId, std::pair<metadata::Life, bool>> seen_;  // lives, and whether up
  bool changing_members_ = false;
  std::uint64_t next_change_ms_ = 0;

  // Leaving.
  std::function<void()> left_;
  std::uint64_t leave_deadline_ms_ = 0;
  bool transferring_ = false;
  bool said_down_ = false;
};

}  // namespace ringtail::cluster
