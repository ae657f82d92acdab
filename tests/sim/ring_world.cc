#include "tests/sim/ring_world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

namespace ringtail::sim {

using namespace gm;
namespace {

runtime::Bytes encode(std::uint64_t value) {
  std::uint8_t bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return runtime::Bytes::copy(bytes);
}

std::uint64_t value_of(const Entry& entry) {
  std::uint64_t value = 0;
  if (!entry.begins_epoch) std::memcpy(&value, entry.changes.data(), sizeof value);
  return value;
}

}  // namespace

// --- a node --------------------------------------------------------------------------------------

void RingNode::received(const Entry& entry) { waiting[entry.at.number] = value_of(entry); }

void RingNode::kept(Number up_to) { world_.check_kept(up_to); }

void RingNode::committed(Number up_to) {
  while (applied.size() < up_to) {
    const Number number = applied.size() + 1;
    REQUIRE(waiting.contains(number));
    applied.push_back(waiting[number]);
    disk.push_back(number);
    waiting.erase(number);
    world_.note_committed(*this, number, applied.back());
  }
}

void RingNode::cut(Number above, std::vector<Entry>) {
  REQUIRE(above >= applied.size());
  waiting.erase(waiting.upper_bound(above), waiting.end());
}

void RingNode::restarted(const Position& base) {
  // Its numbers are those of the others; what they stand for comes when the donor sends it.
  applied.assign(base.number, UINT64_MAX);
  waiting.clear();
  disk.clear();
  awaits_older = true;
}

void RingNode::diverged(const Position&) { ++world_.diverged; }

void RingNode::send(const MemberId& to, HandOn frame) {
  auto& session = world_.sessions[{number_, to.node.value}];
  if (!session.broken) session.frames.push_back({self, to, std::move(frame)});
}

void RingNode::send(const MemberId& to, const Report& frame) {
  auto& session = world_.sessions[{number_, to.node.value}];
  if (!session.broken) session.frames.push_back({self, to, frame});
}

void RingNode::propose(const ViewChange& change) { world_.agree(change); }

// --- the world -----------------------------------------------------------------------------------

RingWorld::RingWorld(std::uint64_t seed, std::uint32_t nodes) : random_(seed) {
  RingView view;
  view.epoch = view.revision = 1;
  for (std::uint32_t number = 1; number <= nodes; ++number) {
    nodes_.push_back(std::make_unique<RingNode>(*this, number));
    view.members.push_back({{runtime::NodeId{number}, 1, 1}, Standing::kInSync});
  }
  views_.push_back(view);
}

void RingWorld::change_view(RingView view) {
  ++view.revision;
  REQUIRE(view.trouble().empty());
  views_.push_back(std::move(view));
  check_in_sync();
}

void RingWorld::agree(const ViewChange& change) {
  if (calm_ || !chance(20)) proposals_.push_back(change);  // or it is lost
}

// Any order, any delay: what is no longer of the present view is refused.
static bool apply_change(RingView& view, const ViewChange& change) {
  if (change.epoch != view.epoch || change.revision != view.revision) return false;
  const auto at = std::find_if(view.members.begin(), view.members.end(),
                               [&](const RingMember& one) { return one.id == change.member; });
  if (at == view.members.end() || at == view.members.begin()) return false;
  RingMember member = *at;
  view.members.erase(at);
  if (change.kind == ViewChange::Kind::kEvict) {
    member.standing = Standing::kJoining;
    view.members.push_back(member);
    return true;
  }
  member.standing = Standing::kInSync;
  const auto joining =
      std::find_if(view.members.begin(), view.members.end(),
                   [](const RingMember& one) { return one.standing == Standing::kJoining; });
  view.members.insert(joining, member);
  return true;
}

void RingWorld::show_view(RingNode& node) {
  if (!node.up || node.seen >= views_.size()) return;
  const RingView& view = views_[node.seen++];
  const auto at =
      std::find_if(view.members.begin(), view.members.end(), [&](const RingMember& one) {
        return one.id.node.value == node.number_ && one.id.life == node.life;
      });
  if (at == view.members.end()) return;
  if (node.member == nullptr || node.self != at->id) {
    node.self = at->id;
    node.applied.clear();
    node.waiting.clear();
    node.disk.clear();
    node.awaits_older = false;
    const bool first = view.revision == 1;
    node.member = std::make_unique<Member>(
        MemberOptions{.self = at->id, .window_bytes = 64, .keep_bytes = 128, .lag_ms = 300}, node,
        node, Log{}, 0, first);
    if (!first) node.awaits_older = true;
  }
  node.member->set_view(view, now_ms);
}

void RingWorld::kill(RingNode& node) {
  if (!node.up) return;
  // The last one in sync is not lost: nothing could go on then.
  RingView next = view();
  std::erase_if(next.members,
                [&](const RingMember& one) { return one.id.node.value == node.number_; });
  if (next.members.empty() || next.members.front().standing != Standing::kInSync) return;
  // It goes on for a while without knowing, or its process has ended.
  if (chance(60)) {
    node.up = false;
    node.member.reset();
    for (auto& [ends, session] : sessions) {
      if (ends.first == node.number_ || ends.second == node.number_) session.broken = true;
    }
  }
  if (next.members == view().members) return;
  if (next.members.front().id != view().members.front().id) ++next.epoch;
  change_view(std::move(next));
}

void RingWorld::come_back(RingNode& node) {
  const auto& members = view().members;
  const bool is_member = std::any_of(members.begin(), members.end(), [&](const RingMember& one) {
    return one.id.node.value == node.number_;
  });
  if (is_member || (node.up && node.seen < views_.size())) return;
  node.up = true;
  ++node.life;
  node.member.reset();
  for (auto& [ends, session] : sessions) {
    if (ends.first == node.number_ || ends.second == node.number_) session.frames.clear();
  }
  RingView next = view();
  next.members.push_back(
      {{runtime::NodeId{node.number_}, node.life, next.revision + 1}, Standing::kJoining});
  change_view(std::move(next));
}

void RingWorld::deliver() {
  if (sessions.empty()) return;
  auto at = sessions.begin();
  std::advance(at, below(static_cast<std::uint32_t>(sessions.size())));
  Session& session = at->second;
  if (session.broken || session.frames.empty()) return;
  UnderWay one = std::move(session.frames.front());
  session.frames.pop_front();
  RingNode& to = node(one.to);
  if (!to.up || to.member == nullptr || to.self != one.to) return;
  if (auto* frame = std::get_if<HandOn>(&one.frame)) {
    to.member->receive(one.from, std::move(*frame));
  } else {
    to.member->receive(one.from, std::get<Report>(one.frame), now_ms);
  }
}

void RingWorld::break_session() {
  const std::uint32_t a = 1 + below(static_cast<std::uint32_t>(nodes_.size()));
  const std::uint32_t b = 1 + below(static_cast<std::uint32_t>(nodes_.size()));
  sessions[{a, b}].broken = true;
  sessions[{b, a}].broken = true;
}

void RingWorld::mend_sessions() {
  for (auto& [ends, session] : sessions) {
    RingNode& from = *nodes_[ends.first - 1];
    RingNode& to = *nodes_[ends.second - 1];
    if (!session.broken || !from.up || !to.up || (!calm_ && chance(70))) continue;
    Session& back = sessions[{ends.second, ends.first}];
    session = {};
    back = {};
    if (from.member) from.member->connected(to.self);
    if (to.member) to.member->connected(from.self);
    return;
  }
}

void RingWorld::append() {
  for (auto& one : nodes_) {
    if (!one->member || !one->member->is_master() || !one->member->takes_part()) continue;
    if (chance(30)) continue;
    Entry entry;
    entry.changes = encode(++values_);
    one->member->append(std::move(entry));
  }
}

void RingWorld::disk() {
  RingNode& one = *nodes_[below(static_cast<std::uint32_t>(nodes_.size()))];
  if (!one.member || one.disk.empty()) return;
  const auto count = 1 + below(static_cast<std::uint32_t>(one.disk.size()));
  const Number last = one.disk[count - 1];
  one.disk.erase(one.disk.begin(), one.disk.begin() + count);
  one.member->stored(last);
}

// What a copy that joined lacks comes from the master, once it knows from where on it has all.
void RingWorld::older() {
  for (auto& one : nodes_) {
    if (!one->member || !one->awaits_older || !one->member->matched().has_value()) continue;
    if (!calm_ && chance(80)) continue;
    const auto hole = std::find(one->applied.rbegin(), one->applied.rend(), UINT64_MAX);
    const auto lacks = static_cast<std::size_t>(one->applied.rend() - hole);
    if (lacks > all_.size()) continue;
    std::copy_n(all_.begin(), lacks, one->applied.begin());
    one->awaits_older = false;
    one->member->completed();
  }
}

void RingWorld::turns() {
  for (auto& one : nodes_) {
    if (one->member && (calm_ || chance(50))) one->member->turn_end(now_ms);
    if (one->member && chance(5)) one->member->tick(now_ms);
  }
}

void RingWorld::step() {
  now_ms += 1 + below(3);
  const std::uint32_t dice = below(1000);
  if (dice < 450) {
    deliver();
  } else if (dice < 600) {
    turns();
  } else if (dice < 700) {
    disk();
  } else if (dice < 800) {
    show_view(*nodes_[below(static_cast<std::uint32_t>(nodes_.size()))]);
  } else if (dice < 850) {
    older();
  } else if (dice < 880) {
    if (proposals_.empty()) return;
    const auto at = below(static_cast<std::uint32_t>(proposals_.size()));
    RingView next = view();
    const bool changes = apply_change(next, proposals_[at]);
    if (changes || chance(50)) proposals_.erase(proposals_.begin() + at);
    if (changes) change_view(std::move(next));
  } else if (dice < 960 || calm_) {
    if (calm_) return mend_sessions();
    append();
  } else if (dice < 970) {
    break_session();
  } else if (dice < 985) {
    mend_sessions();
  } else if (dice < 990) {
    kill(*nodes_[below(static_cast<std::uint32_t>(nodes_.size()))]);
  } else {
    come_back(*nodes_[below(static_cast<std::uint32_t>(nodes_.size()))]);
  }
}

void RingWorld::note_committed(RingNode& node, Number number, std::uint64_t value) {
  ++commits;
  const bool master = node.member != nullptr && node.member->is_master();
  if (number > all_.size()) {
    // Only an origin is the first to commit.
    CHECK(master);
    CHECK(number == all_.size() + 1);
    all_.push_back(value);
    const Epoch epoch = node.member->view().epoch;
    CHECK_MESSAGE(epoch >= committed_epoch_, "a former origin has committed");
    committed_epoch_ = std::max(committed_epoch_, epoch);
    check_in_sync();
  } else {
    CHECK_MESSAGE(all_[number - 1] == value, "two members differ in what is committed");
  }
}

// Every member in sync has all that anybody has committed.
void RingWorld::check_in_sync() const {
  for (const RingMember& one : view().members) {
    if (one.standing != Standing::kInSync) continue;
    const RingNode& node = *nodes_[one.id.node.value - 1];
    if (node.member == nullptr || node.self != one.id) continue;
    for (Number number = node.applied.size() + 1; number <= all_.size(); ++number) {
      const auto at = node.waiting.find(number);
      REQUIRE_MESSAGE(at != node.waiting.end(), "one in sync lacks what is committed");
      CHECK(at->second == all_[number - 1]);
    }
    CHECK(std::find(node.applied.begin(), node.applied.end(), UINT64_MAX) == node.applied.end());
  }
}

void RingWorld::check_kept(Number number) const {
  for (const RingMember& one : view().members) {
    if (one.standing != Standing::kInSync) continue;
    const RingNode& node = *nodes_[one.id.node.value - 1];
    if (node.member == nullptr || node.self != one.id) continue;
    CHECK_MESSAGE(node.applied.size() >= number, "kept, and not yet known to be committed");
    CHECK_MESSAGE((node.disk.empty() || node.disk.front() > number),
                  "kept, and on its way to a disk");
  }
}

bool RingWorld::settled() const {
  for (const auto& one : nodes_) {
    if (one->seen != views_.size() || one->member == nullptr) return false;
    if (!one->member->takes_part() || !view().in_sync(one->self)) return false;
    if (one->member->log().last().number != one->member->committed()) return false;
    if (one->applied != all_) return false;
  }
  return true;
}

bool RingWorld::settle() {
  calm_ = true;
  for (auto& [ends, session] : sessions) session.broken = session.broken || chance(30);
  for (int round = 0; round < 60'000; ++round) {
    if (round % 50 == 0) {
      for (auto& one : nodes_) come_back(*one);
    }
    step();
    if (round % 100 == 0 && settled()) return true;
  }
  return settled();
}

}  // namespace ringtail::sim
