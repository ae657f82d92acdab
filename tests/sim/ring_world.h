// Rings under chance: members on several nodes, sessions between them that break, a directory whose
// views come late, disks that take their time, nodes that die. What the ring keeps alike is a list
// of numbers. One step after the other, each chosen by a seed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <variant>
#include <vector>

#include "gm/member.h"

namespace ringtail::sim {

using namespace gm;

class RingWorld;

// One node: its copy while it is a member, and what happens to it.
class RingNode final : public MemberOwner, public Directory {
 public:
  RingNode(RingWorld& world, std::uint32_t number) : world_(world), number_(number) {}

  void received(const Entry& entry) override;
  void committed(Number up_to) override;
  void kept(Number up_to) override;
  void cut(Number above, std::vector<Entry> entries) override;
  void restarted(const Position& base) override;
  void diverged(const Position& at) override;
  void send(const MemberId& to, HandOn frame) override;
  void send(const MemberId& to, const Report& frame) override;
  void propose(const ViewChange& change) override;

  RingWorld& world_;
  const std::uint32_t number_;
  bool up = true;
  std::uint64_t life = 1;
  std::uint64_t seen = 0;  // views of the directory, by revision
  MemberId self;
  std::unique_ptr<Member> member;
  // What has been applied, from 1; of a copy that joined, what came in another way too.
  std::vector<std::uint64_t> applied;
  std::map<Number, std::uint64_t> waiting;  // received, not yet committed
  std::deque<Number> disk;                  // under way to it
  bool awaits_older = false;
  std::uint64_t appended = 0;
};

class RingWorld {
 public:
  using Frame = std::variant<HandOn, Report>;
  struct UnderWay {
    MemberId from;
    MemberId to;
    Frame frame;
  };
  // From one node to another: frames keep their order.
  struct Session {
    std::deque<UnderWay> frames;
    bool broken = false;
  };

  RingWorld(std::uint64_t seed, std::uint32_t nodes);

  void step();
  // Nothing goes wrong any more: true when all nodes are equal, in sync and done.
  bool settle();

  // --- for nodes ---
  void agree(const ViewChange& change);
  void note_committed(RingNode& node, Number number, std::uint64_t value);
  void check_kept(Number number) const;

  RingNode& node(const MemberId& id) { return *nodes_[id.node.value - 1]; }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  const RingView& view() const { return views_.back(); }

  std::uint64_t now_ms = 1000;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Session> sessions;
  std::uint64_t diverged = 0;
  std::uint64_t commits = 0;

 private:
  void deliver();
  void break_session();
  void mend_sessions();
  void show_view(RingNode& node);
  void kill(RingNode& node);
  void come_back(RingNode& node);
  void append();
  void disk();
  void older();
  void turns();
  void change_view(RingView view);
  void check_in_sync() const;
  bool settled() const;

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<RingNode>> nodes_;
  std::vector<RingView> views_;
  std::deque<ViewChange> proposals_;
  // What has been committed by anybody, from 1: the value, and in which epoch it was appended.
  std::vector<std::uint64_t> all_;
  Epoch committed_epoch_ = 0;
  std::uint64_t values_ = 0;
  bool calm_ = false;
};

}  // namespace ringtail::sim
