#include "tools/perf/verify.h"

namespace ringtail::perf {

namespace {

// A number this far beyond all seen is no number of ours; believing it would cost its bits.
constexpr std::uint64_t kJumpMax = std::uint64_t{1} << 32;

std::size_t copies_of(const Options& options) {
  return options.spread == Spread::kAll && options.producers > 0
             ? static_cast<std::size_t>(options.queues)
             : 1;
}

}  // namespace

Verifier::Verifier(const Options& options, std::uint16_t run)
    : run_(run),
      producers_(options.producers),
      spread_(options.spread),
      body_size_(options.body_size),
      copies_(copies_of(options)),
      sets_(static_cast<std::size_t>(options.producers) * copies_) {
  for (int i = 0; i < producers_; ++i) shares_.emplace_back(i, producers_, options.queues);
}

bool Verifier::delivered(const Identity& identity, std::uint64_t body_size, bool redelivered,
                         Subscription& subscription) {
  faults_.redelivered += redelivered ? 1 : 0;
  if (!is_ours(identity) || body_size < kStampSize) {
    ++faults_.foreign;
    return false;
  }
  const std::size_t track = track_of(identity);
  const std::size_t copy = copies_ == 1 ? 0 : static_cast<std::size_t>(subscription.queue);
  SequenceSet& seen = sets_[track * copies_ + copy];
  if (identity.number > seen.end() + kJumpMax) {
    ++faults_.foreign;
    return false;
  }
  if (!seen.add(identity.number)) {
    ++faults_.duplicated;
    return false;
  }
  ++unique_;
  if (producers_ != 0) {
    faults_.damaged += body_size != body_size_ ? 1 : 0;
    faults_.misrouted += expected_in(identity, subscription.queue) ? 0 : 1;
  }
  // What was delivered before and put back comes when it comes.
  if (!redelivered) check_order(track, identity.number, subscription);
  return true;
}

void Verifier::check_order(std::size_t track, std::uint64_t number, Subscription& subscription) {
  if (track >= subscription.next.size()) subscription.next.resize(track + 1, 0);
  std::uint64_t& next = subscription.next[track];
  if (number < next) {
    ++faults_.reordered;
  } else {
    next = number + 1;
  }
}

bool Verifier::expected_in(const Identity& identity, int queue) const {
  if (spread_ != Spread::kOneKnown) return true;
  const QueueShare& share = shares_[identity.producer];
  if (share.count == 1) return queue == share.first;
  const auto count = static_cast<std::uint64_t>(share.count);
  return queue == share.at(static_cast<int>(identity.number % count));
}

std::size_t Verifier::find_track(const Identity& identity) {
  const std::uint32_t key = std::uint32_t{identity.run} << 16 | identity.producer;
  const auto [at, fresh] = tracks_.try_emplace(key, sets_.size());
  if (fresh) sets_.emplace_back();
  return at->second;
}

std::uint64_t Verifier::holes() const {
  std::uint64_t holes = 0;
  for (const SequenceSet& seen : sets_) holes += seen.end() - seen.count();
  return holes;
}

}  // namespace ringtail::perf
