// What a mirrored queue knows of those who publish to it, on each of its members: up to which
// number it has what they published, so that what is sent again after a failover is recognised.
// Numbers of a producer are contiguous, so one number says all (ARCHITECTURE 4a.6). Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "broker/runtime/limits.h"
#include "queue/mirror/changes.h"

namespace ringtail::queue {

class Producers {
 public:
  struct State {
    std::uint64_t taken = 0;    // is in the log, or applied
    std::uint64_t applied = 0;  // is committed
    // Those among the last ones that were refused: who sends them again hears that again.
    std::vector<std::uint64_t> refused;
  };

  State& at(const Producer& producer) { return known_[producer]; }
  const State* find(const Producer& producer) const {
    const auto found = known_.find(producer);
    return found == known_.end() ? nullptr : &found->second;
  }
  void took(const Published& published) {
    State& state = at(published.producer);
    state.taken = std::max(state.taken, published.up_to);
    state.refused.insert(state.refused.end(), published.refused.begin(), published.refused.end());
    // Nobody has more than this unsettled.
    std::erase_if(state.refused, [&state](std::uint64_t number) {
      return number + 2 * runtime::kPublishWindowMessages < state.taken;
    });
  }
  void applied(const Producer& producer, std::uint64_t up_to) {
    State& state = at(producer);
    state.applied = std::max(state.applied, up_to);
    state.taken = std::max(state.taken, up_to);
  }
  // What was taken and not committed may never be: it is taken again when it comes again.
  void forget_taken() {
    for (auto at = known_.begin(); at != known_.end();) {
      State& state = at->second;
      state.taken = state.applied;
      std::erase_if(state.refused, [&state](std::uint64_t one) { return one > state.applied; });
      at = state.applied == 0 ? known_.erase(at) : std::next(at);
    }
  }
  void forget(const Producer& producer) { known_.erase(producer); }
  void clear() { known_.clear(); }
  const std::map<Producer, State>& all() const { return known_; }

 private:
  std::map<Producer, State> known_;
};

}  // namespace ringtail::queue
