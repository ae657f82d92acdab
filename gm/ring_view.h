// Who is on a ring, and in which order. A view is decided by the directory (directory.h), never by
// the members; it is a plain value.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/runtime/ids.h"

namespace ringtail::gm {

// Grows with each new master. What carries an older one is refused (GM1).
using Epoch = std::uint64_t;
// Of an entry of a ring's log, from 1 without a gap, through all epochs.
using Number = std::uint64_t;

// Names an entry for ever: no two entries have the same one.
struct Position {
  Epoch epoch = 0;
  Number number = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// One membership: a node in one of its lives, from one view on. Whoever comes back, in another life
// or in the same one, is another member, of which nothing is known (GM2).
struct MemberId {
  runtime::NodeId node;
  std::uint64_t life = 0;
  std::uint64_t joined = 0;  // the revision of the first view that it was in
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

enum class Standing : std::uint8_t {
  kInSync,   // has all that is committed: nothing is committed without it, and it may lead
  kJoining,  // gets every entry, and may lack older ones
};

struct RingMember {
  MemberId id;
  Standing standing = Standing::kJoining;
  friend bool operator==(const RingMember&, const RingMember&) = default;
};

struct RingView {
  Epoch epoch = 0;
  std::uint64_t revision = 0;  // grows with every change of the view, through all epochs
  // Everybody who counts is among the members. False: somebody whose life has ended may yet lead
  // some day, and nothing is committed until the directory says that he never will (GM11).
  bool led = true;
  // In ring order: the master, those in sync by age, those that join. Empty: no ring.
  std::vector<RingMember> members;

  const RingMember* find(const MemberId& id) const;
  bool is_master(const MemberId& id) const { return !members.empty() && members.front().id == id; }
  bool in_sync(const MemberId& id) const;
  // Whom this member has entries from, and hands them to. The master has no left neighbour, the
  // last member no right one: what has come so far need not be sent back to where it began.
  std::optional<MemberId> left_of(const MemberId& id) const;
  std::optional<MemberId> right_of(const MemberId& id) const;
  // What is wrong with it, for whoever made it; empty: nothing.
  std::string trouble() const;

  friend bool operator==(const RingView&, const RingView&) = default;
};

}  // namespace ringtail::gm
