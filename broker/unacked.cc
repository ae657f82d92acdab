#include "broker/unacked.h"

#include <algorithm>

namespace ringtail::broker {

std::size_t Unacked::search(std::uint64_t tag) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), tag,
                       [](const Entry& entry, std::uint64_t wanted) { return entry.tag < wanted; });
  if (at == entries_.end() || at->tag != tag || at->link == nullptr) return kNone;
  return static_cast<std::size_t>(at - entries_.begin());
}

void Unacked::squeeze() {
  std::erase_if(entries_, [](const Entry& entry) { return entry.link == nullptr; });
}

void Unacked::restore(const Entry& entry) {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), entry.tag,
                       [](const Entry& other, std::uint64_t wanted) { return other.tag < wanted; });
  ++count_;
  if (at != entries_.end() && at->tag == entry.tag) {
    *at = entry;
  } else {
    entries_.insert(at, entry);
  }
}

}  // namespace ringtail::broker
