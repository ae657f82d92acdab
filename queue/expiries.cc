#include "queue/expiries.h"

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
