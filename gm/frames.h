// What members of a ring send each other. Sessions between members keep their order and lose
// nothing but what was under way when they ended (cluster/message_bus.h).
#pragma once

#include <cstdint>
#include <vector>

#include "gm/entry.h"
#include "gm/ring_view.h"

namespace ringtail::gm {

// To the right neighbour.
struct HandOn {
  Epoch epoch = 0;
  // The sender's count of times that it has begun to talk to a right neighbour.
  std::uint64_t session = 0;
  // The entries follow this position. None at all: a question whether the receiver has it.
  Position previous;
  // What lies before is not here any more: a member that joins begins behind `previous` (GM8).
  bool begins_here = false;
  Number committed = 0;
  std::vector<Entry> entries;
};

// To the left neighbour and to the origin; once where they are the same.
struct Report {
  Epoch epoch = 0;
  // The receiver is the left neighbour, and `session` the last that it has named; 0: it has not
  // been heard since it became that. The origin's copy says nothing of it.
  bool to_left = false;
  std::uint64_t session = 0;
  // The sender has all up to `at` of the origin's log; or, if not, asks its left neighbour whether
  // that has this one.
  bool matched = false;
  Position at;
  Number stored = 0;
  bool complete = false;  // nothing older is missing
};

}  // namespace ringtail::gm
