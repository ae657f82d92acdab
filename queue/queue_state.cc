#include "queue/queue_state.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "broker/runtime/memory_gauge.h"

namespace ringtail::queue {

namespace {

// A heap this large gives its memory back when it is empty.
constexpr std::size_t kReturnedKept = 64;
// A position counts in the lower bits (a million million messages a day for ten years) and has how
// far its level is below the highest above them.
constexpr unsigned kLevelShift = 55;
constexpr Position kNumberMask = (Position{1} << kLevelShift) - 1;

}  // namespace

QueueState::QueueState(std::uint8_t max_priority) {
  if (max_priority == 0) return;
  upper_ = std::make_unique<Upper>();
  upper_->lines.resize(max_priority);
  simple_ = false;
}

QueueState::~QueueState() {
  const std::size_t capacity = returned_.capacity();
  std::vector<Returned>().swap(returned_);
  returned_resized(capacity);
}

QueueState::Line* QueueState::Upper::highest() {
  for (std::size_t word = occupied.size(); word-- > 0;) {
    if (occupied[word] == 0) continue;
    const auto bit = static_cast<std::size_t>(63 - std::countl_zero(occupied[word]));
    return &lines[word * 64 + bit];
  }
  return nullptr;
}

std::uint8_t QueueState::level_of(std::uint8_t priority) const {
  if (upper_ == nullptr) return 0;
  return static_cast<std::uint8_t>(std::min<std::size_t>(priority, upper_->lines.size()));
}

Position QueueState::position_of(std::uint8_t level) {
  const Position position = next_position_++;
  if (upper_ == nullptr) return position;
  return static_cast<Position>(upper_->lines.size() - level) << kLevelShift | position;
}

Position QueueState::push(MessageRef message, Terms terms, std::uint8_t priority) {
  const std::uint8_t level = level_of(priority);
  const Position position = position_of(level);
  Line& line = level == 0 ? lowest_ : upper_->lines[level - 1U];
  if (level > 0) upper_->pushed(level - 1U);
  ready_bytes_ += message->body_size();
  ++ready_;
  if (terms.expires()) {
    ++ready_expiring_;
    simple_ = false;
  }
  line.expiries.pushed(position, upper_ == nullptr ? position - 1 : line.last, terms);
  line.last = position;
  line.fresh.push(Entry(std::move(message), position));
  return position;
}

Entry QueueState::pass(MessageRef message, std::uint8_t priority) {
  RT_DCHECK(ready() == 0, "a message must not overtake others");
  return Entry(std::move(message), position_of(level_of(priority)));
}

Entry QueueState::take_any(Terms& terms) {
  Entry entry = take_first(terms);
  simple_ = is_simple();
  return entry;
}

Entry QueueState::take_first(Terms& terms) {
  --ready_;
  Line& line = first_line();
  if (returned_comes_first(line)) {
    Returned returned = take_returned();
    terms = returned.terms;
    if (terms.expires()) --ready_expiring_;
    ready_bytes_ -= returned.entry.message()->body_size();
    return std::move(returned.entry);
  }
  Entry entry = line.fresh.pop();
  ready_bytes_ -= entry.message()->body_size();
  if (ready_expiring_ != 0) {
    terms = line.expiries.of_front(entry.position());
    if (terms.expires()) --ready_expiring_;
    line.expiries.popped(entry.position());
  }
  if (&line != &lowest_ && line.fresh.empty()) {
    upper_->emptied(static_cast<std::size_t>(&line - upper_->lines.data()));
  }
  return entry;
}

Terms QueueState::front_terms() const {
  RT_DCHECK(ready() > 0, "the terms of nothing");
  const Line& line = first_line();
  return returned_comes_first(line) ? returned_.front().terms
                                    : line.expiries.of_front(line.fresh.front().position());
}

QueueState::Returned QueueState::take_returned() {
  std::pop_heap(returned_.begin(), returned_.end(), comes_later);
  Returned returned = std::move(returned_.back());
  returned_.pop_back();
  if (returned_.empty() && returned_.capacity() > kReturnedKept) {
    const std::size_t capacity = returned_.capacity();
    std::vector<Returned>().swap(returned_);
    returned_resized(capacity);
  }
  return returned;
}

void QueueState::put_back(Entry entry, Terms terms, bool redelivered) {
  RT_DCHECK(entry && (entry.position() & kNumberMask) < next_position_,
            "put back what was never taken");
  if (redelivered) entry.mark_redelivered();
  simple_ = false;
  ++ready_;
  ready_bytes_ += entry.message()->body_size();
  if (terms.expires()) ++ready_expiring_;
  const std::size_t capacity = returned_.capacity();
  returned_.push_back({std::move(entry), terms});
  if (returned_.capacity() != capacity) returned_resized(capacity);
  std::push_heap(returned_.begin(), returned_.end(), comes_later);
}

void QueueState::returned_resized(std::size_t capacity_before) {
  const auto size = [](std::size_t capacity) {
    return static_cast<std::int64_t>(capacity * sizeof(Returned));
  };
  runtime::MemoryGauge::add(size(returned_.capacity()) - size(capacity_before));
}

std::vector<EntryFifo> QueueState::take_all() {
  std::vector<EntryFifo> all;
  const auto take_line = [&all](Line& line) {
    line.expiries.clear();
    if (!line.fresh.empty()) all.push_back(std::move(line.fresh));
  };
  take_line(lowest_);
  if (upper_ != nullptr) {
    for (Line& line : upper_->lines) take_line(line);
    upper_->occupied = {};
  }
  if (!returned_.empty()) {
    EntryFifo came_back;
    for (Returned& returned : returned_) came_back.push(std::move(returned.entry));
    all.push_back(std::move(came_back));
    const std::size_t capacity = returned_.capacity();
    std::vector<Returned>().swap(returned_);
    returned_resized(capacity);
  }
  ready_ = 0;
  ready_bytes_ = 0;
  ready_expiring_ = 0;
  simple_ = is_simple();
  return all;
}

}  // namespace ringtail::queue
