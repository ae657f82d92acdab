// Where a ring's views come from. The directory agrees on them with the other nodes (cluster/ has
// one on Raft); members learn of a view by Member::set_view(), and may ask for another one.
#pragma once

#include <cstdint>

#include "gm/ring_view.h"

namespace ringtail::gm {

// A change of one view: it happens only if the view is still the one that it was proposed for (GM9:
// compare and set), so that a proposal that comes late changes nothing.
struct ViewChange {
  enum class Kind : std::uint8_t {
    kAdmit,  // a member that joins is in sync from here on
    kEvict,  // a member in sync joins again from here on
  };
  std::uint64_t ring = 0;  // the qid
  Epoch epoch = 0;
  std::uint64_t revision = 0;
  Kind kind = Kind::kAdmit;
  MemberId member;
};

class Directory {
 public:
  virtual ~Directory() = default;
  // By a master. It may be lost, refused, or agreed on after a while; the views that follow tell.
  virtual void propose(const ViewChange& change) = 0;
};

}  // namespace ringtail::gm
