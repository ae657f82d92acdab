#include "gm/log.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::gm {
namespace {

// More failovers than that back nobody compares positions; contents are compared then.
constexpr std::size_t kEpochsKnown = 64;

}  // namespace

Log::Log(std::vector<EpochStart> history, Number last)
    : history_(std::move(history)), last_(last), first_kept_(last + 1) {}

Position Log::last() const { return {history_.empty() ? 0 : history_.back().epoch, last_}; }

std::optional<Epoch> Log::epoch_at(Number number) const {
  if (number == 0)
    return history_.empty() || history_.front().first == 1 ? std::optional<Epoch>(0) : std::nullopt;
  if (number > last_) return std::nullopt;
  const auto behind =
      std::upper_bound(history_.begin(), history_.end(), number,
                       [](Number wanted, const EpochStart& start) { return wanted < start.first; });
  if (behind == history_.begin()) return std::nullopt;
  return std::prev(behind)->epoch;
}

bool Log::has(const Position& position) const {
  const std::optional<Epoch> epoch = epoch_at(position.number);
  return epoch.has_value() && *epoch == position.epoch;
}

Position Log::candidate(const Position& theirs) const {
  Number number = std::min(last_, theirs.number);
  for (auto start = history_.rbegin(); start != history_.rend(); ++start) {
    if (start->first > number) continue;
    if (start->epoch <= theirs.epoch) return {start->epoch, number};
    number = start->first - 1;
  }
  return {0, 0};
}

void Log::append(Entry entry) {
  RT_CHECK(entry.at.number == last_ + 1, "an entry that does not follow the last one");
  RT_CHECK(entry.at.epoch >= last().epoch, "an entry of an epoch before the last one's");
  if (history_.empty() || history_.back().epoch != entry.at.epoch) {
    history_.push_back({entry.at.epoch, entry.at.number});
    if (history_.size() > kEpochsKnown) history_.erase(history_.begin());
  }
  last_ = entry.at.number;
  kept_bytes_ += entry.size();
  kept_.push_back(std::move(entry));
}

void Log::restart(const Position& base) {
  history_.clear();
  // What lies before is unknown here but for this one.
  if (base.number > 0) history_.push_back({base.epoch, base.number});
  last_ = base.number;
  first_kept_ = base.number + 1;
  kept_.clear();
  kept_bytes_ = 0;
}

std::vector<Entry> Log::cut(Number above) {
  std::vector<Entry> taken;
  if (above >= last_) return taken;
  while (!kept_.empty() && kept_.back().at.number > above) {
    kept_bytes_ -= kept_.back().size();
    taken.push_back(std::move(kept_.back()));
    kept_.pop_back();
  }
  std::reverse(taken.begin(), taken.end());
  while (!history_.empty() && history_.back().first > above) history_.pop_back();
  last_ = above;
  first_kept_ = std::min(first_kept_, above + 1);
  return taken;
}

void Log::release(Number up_to) {
  while (!kept_.empty() && kept_.front().at.number <= up_to) {
    kept_bytes_ -= kept_.front().size();
    first_kept_ = kept_.front().at.number + 1;
    kept_.pop_front();
  }
}

const Entry* Log::find(Number number) const {
  if (number < first_kept_ || number > last_) return nullptr;
  return &kept_[number - first_kept_];
}

}  // namespace ringtail::gm
