// A few members of a ring side by side, where a test says what happens and when: frames lie until
// they are delivered, disks have nothing until they are told to.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "gm/member.h"

namespace ringtail::sim {

class RingBench final : public gm::Directory {
 public:
  using Frame = std::variant<gm::HandOn, gm::Report>;

  struct Place final : gm::MemberOwner {
    Place(RingBench& of, gm::MemberId id) : bench(of), self(id) {}
    void received(const gm::Entry& entry) override { entries.push_back(entry.at); }
    void committed(gm::Number up_to) override { applied = up_to; }
    void kept(gm::Number up_to) override { on_disks = up_to; }
    void cut(gm::Number above, std::vector<gm::Entry> taken) override {
      cuts.push_back(above);
      for (const gm::Entry& entry : taken) kept_aside.push_back(entry.at);
    }
    void restarted(const gm::Position& base) override { restarts.push_back(base); }
    void diverged(const gm::Position& at) override { divergences.push_back(at); }
    void send(const gm::MemberId& to, gm::HandOn frame) override {
      bench.under_way[{self.node.value, to.node.value}].emplace_back(self, std::move(frame));
    }
    void send(const gm::MemberId& to, const gm::Report& frame) override {
      bench.under_way[{self.node.value, to.node.value}].emplace_back(self, frame);
    }

    RingBench& bench;
    gm::MemberId self;
    std::unique_ptr<gm::Member> member;
    std::vector<gm::Position> entries;
    gm::Number applied = 0;
    gm::Number on_disks = 0;
    std::vector<gm::Number> cuts;
    std::vector<gm::Position> kept_aside;
    std::vector<gm::Position> restarts;
    std::vector<gm::Position> divergences;
  };

  // Members 1 to `count` in sync, and see the first view.
  explicit RingBench(std::uint32_t count) {
    view.epoch = view.revision = 1;
    for (std::uint32_t number = 1; number <= count; ++number) {
      view.members.push_back({id(number), gm::Standing::kInSync});
    }
    for (std::uint32_t number = 1; number <= count; ++number) add(number, id(number), true);
    show();
  }

  static gm::MemberId id(std::uint32_t number, std::uint64_t joined = 1) {
    return {runtime::NodeId{number}, 1, joined};
  }
  Place& place(std::uint32_t number) { return *places.at(number); }
  gm::Member& member(std::uint32_t number) { return *places.at(number)->member; }
  void add(std::uint32_t number, const gm::MemberId& self, bool complete) {
    auto& place = places[number];
    place = std::make_unique<Place>(*this, self);
    place->member = std::make_unique<gm::Member>(
        gm::MemberOptions{.self = self, .window_bytes = 1 << 20, .keep_bytes = keep_bytes}, *place,
        *this, gm::Log{}, 0, complete);
  }

  // Another view: these numbers in ring order, the first `in_sync` of them in sync.
  void change(bool new_epoch, const std::vector<std::uint32_t>& members, std::size_t in_sync) {
    std::vector<gm::RingMember> next;
    for (const std::uint32_t number : members) {
      next.push_back({places.at(number)->self,
                      next.size() < in_sync ? gm::Standing::kInSync : gm::Standing::kJoining});
    }
    view.members = std::move(next);
    ++view.revision;
    if (new_epoch) ++view.epoch;
  }
  void show(std::uint32_t number) { member(number).set_view(view, now_ms); }
  void show() {
    for (const gm::RingMember& one : view.members) show(one.id.node.value);
  }

  // By whoever leads in his own view.
  gm::Position append(std::uint32_t by) {
    gm::Entry entry;
    const std::uint8_t octet = 1;
    entry.changes = runtime::Bytes::copy({&octet, 1});
    return member(by).append(std::move(entry));
  }
  void store(std::uint32_t number) { member(number).stored(member(number).committed()); }
  void turn(std::uint32_t number) { member(number).turn_end(now_ms); }

  // One frame, or all of them, from one to another; false: there was none.
  bool deliver(std::uint32_t from, std::uint32_t to) {
    auto& way = under_way[{from, to}];
    if (way.empty()) return false;
    auto [sender, frame] = std::move(way.front());
    way.pop_front();
    if (auto* hand_on = std::get_if<gm::HandOn>(&frame)) {
      member(to).receive(sender, std::move(*hand_on));
    } else {
      member(to).receive(sender, std::get<gm::Report>(frame), now_ms);
    }
    return true;
  }
  void drop(std::uint32_t from, std::uint32_t to) { under_way[{from, to}].clear(); }
  // Turns and frames of these members until nothing moves.
  void run(const std::vector<std::uint32_t>& members) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::uint32_t number : members) turn(number);
      for (const std::uint32_t from : members) {
        for (const std::uint32_t to : members) {
          while (deliver(from, to)) moved = true;
        }
      }
    }
  }

  void propose(const gm::ViewChange& change) override { proposals.push_back(change); }

  std::uint64_t now_ms = 1000;
  std::size_t keep_bytes = 1 << 20;
  gm::RingView view;
  std::map<std::uint32_t, std::unique_ptr<Place>> places;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::pair<gm::MemberId, Frame>>>
      under_way;
  std::vector<gm::ViewChange> proposals;
};

}  // namespace ringtail::sim
