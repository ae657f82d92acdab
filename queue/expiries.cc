#include "queue/expiries.h"

#include <algorithm>
#include <iterator>

namespace ringtail::queue {

namespace {

using runtime::MemoryGauge;

}  // namespace

void Expiries::pushed(Position position, Position before, Terms terms) {
  if (!terms.expires()) return;
  if (runs_ == nullptr) runs_ = std::make_unique<std::deque<Run>>();
  if (!runs_->empty() && runs_->back().last == before && runs_->back().terms == terms) {
    runs_->back().last = position;
    return;
  }
  runs_->push_back({position, position, terms});
  MemoryGauge::add(sizeof(Run));
}

Terms Expiries::of(Position position) const {
  if (runs_ == nullptr) return {};
  const auto behind =
      std::upper_bound(runs_->begin(), runs_->end(), position,
                       [](Position wanted, const Run& run) { return wanted < run.first; });
  if (behind == runs_->begin()) return {};
  const Run& run = *std::prev(behind);
  return run.last < position ? Terms() : run.terms;
}

Expiries Expiries::split_from(Position first) {
  Expiries rest;
  if (runs_ == nullptr) return rest;
  while (!runs_->empty() && runs_->back().last >= first) {
    Run& run = runs_->back();
    if (rest.runs_ == nullptr) rest.runs_ = std::make_unique<std::deque<Run>>();
    rest.runs_->push_front({std::max(run.first, first), run.last, run.terms});
    if (run.first < first) {
      run.last = first - 1;
      MemoryGauge::add(sizeof(Run));
      break;
    }
    runs_->pop_back();
  }
  if (runs_->empty()) runs_.reset();
  return rest;
}

void Expiries::drop_run() {
  runs_->pop_front();
  MemoryGauge::add(-static_cast<std::int64_t>(sizeof(Run)));
  if (runs_->empty()) runs_.reset();
}

void Expiries::clear() {
  if (runs_ == nullptr) return;
  MemoryGauge::add(-static_cast<std::int64_t>(runs_->size() * sizeof(Run)));
  runs_.reset();
}

}  // namespace ringtail::queue
