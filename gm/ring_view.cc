#include "gm/ring_view.h"

#include <algorithm>

namespace ringtail::gm {

const RingMember* RingView::find(const MemberId& id) const {
  const auto at = std::find_if(members.begin(), members.end(),
                               [&](const RingMember& member) { return member.id == id; });
  return at == members.end() ? nullptr : &*at;
}

bool RingView::in_sync(const MemberId& id) const {
  const RingMember* member = find(id);
  return member != nullptr && member->standing == Standing::kInSync;
}

std::optional<MemberId> RingView::left_of(const MemberId& id) const {
  for (std::size_t at = 1; at < members.size(); ++at) {
    if (members[at].id == id) return members[at - 1].id;
  }
  return std::nullopt;
}

std::optional<MemberId> RingView::right_of(const MemberId& id) const {
  for (std::size_t at = 0; at + 1 < members.size(); ++at) {
    if (members[at].id == id) return members[at + 1].id;
  }
  return std::nullopt;
}

std::string RingView::trouble() const {
  if (epoch == 0 || revision == 0) return "a view without its epoch or revision";
  if (members.empty()) return "a ring without a master";
  if (members.front().standing != Standing::kInSync) return "a master that is not in sync";
  bool joining = false;
  for (std::size_t at = 0; at < members.size(); ++at) {
    for (std::size_t other = 0; other < at; ++other) {
      if (members[other].id.node == members[at].id.node) return "a node that is a member twice";
    }
    if (members[at].standing == Standing::kInSync && joining) {
      return "a member in sync behind one that joins";
    }
    joining = members[at].standing == Standing::kJoining;
  }
  return {};
}

}  // namespace ringtail::gm
