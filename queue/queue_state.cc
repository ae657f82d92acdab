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
  upper_ = std::make_unique<Upper>(max_priority);
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

Position QueueState::next_position(std::uint8_t priority) const {
  if (upper_ == nullptr) return next_position_;
  return static_cast<Position>(upper_->lines.size() - level_of(priority)) << kLevelShift |
         next_position_;
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
  line.in->expiries.pushed(position, upper_ == nullptr ? position - 1 : line.last, terms);
  line.last = position;
  line.in->entries.push(Entry(std::move(message), position));
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

bool QueueState::returned_comes_first(const Line& line) const {
  if (returned_.empty()) return false;
  const Position returned = returned_.front().entry.position();
  if (!line.head.entries.empty()) return returned < line.head.entries.front().position();
  if (line.empty()) return true;
  // What is paged out has a level too: what came back may be of a lower one.
  const auto lane = upper_ == nullptr || &line == &lowest_
                        ? lanes() - 1
                        : lanes() - 2 - static_cast<std::size_t>(&line - upper_->lines.data());
  return returned >> kLevelShift <= lane;
}

bool QueueState::first_is_here() const {
  const Line& line = first_line();
  return !line.head.entries.empty() || returned_comes_first(line);
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
  Entry entry = line.head.entries.pop();
  ready_bytes_ -= entry.message()->body_size();
  if (ready_expiring_ != 0) {
    terms = line.head.expiries.of_front(entry.position());
    if (terms.expires()) --ready_expiring_;
    line.head.expiries.popped(entry.position());
  }
  if (line.head.entries.empty()) advance(line);
  return entry;
}

// Nothing is left of the line's head.
void QueueState::advance(Line& line) {
  if (line.paged > 0) return;
  if (line.tail != nullptr) {
    line.head.entries = std::move(line.tail->entries);
    line.head.expiries = std::move(line.tail->expiries);
    line.tail.reset();
    line.in = &line.head;
  }
  if (line.head.entries.empty()) mark_empty(line);
}

void QueueState::mark_empty(Line& line) {
  if (&line == &lowest_) return;
  upper_->emptied(static_cast<std::size_t>(&line - upper_->lines.data()));
}

const Entry& QueueState::front() const {
  RT_DCHECK(can_take(), "the front of nothing");
  const Line& line = first_line();
  return returned_comes_first(line) ? returned_.front().entry : line.head.entries.front();
}

Terms QueueState::front_terms() const {
  RT_DCHECK(can_take(), "the terms of nothing");
  const Line& line = first_line();
  return returned_comes_first(line)
             ? returned_.front().terms
             : line.head.expiries.of_front(line.head.entries.front().position());
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
  const auto take_zone = [&all](Zone& zone) {
    zone.expiries.clear();
    if (!zone.entries.empty()) all.push_back(std::move(zone.entries));
  };
  const auto take_line = [&](Line& line) {
    take_zone(line.head);
    if (line.tail != nullptr) take_zone(*line.tail);
    line.tail.reset();
    line.in = &line.head;
    line.paged = 0;
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
  paged_ = 0;
  simple_ = is_simple();
  return all;
}

// --- paging -------------------------------------------------------------------------------------

const QueueState::Line& QueueState::line_at(std::uint8_t lane) const {
  RT_CHECK(lane < lanes(), "a lane that the queue does not have");
  const std::size_t level = lanes() - 1 - lane;
  return level == 0 ? lowest_ : upper_->lines[level - 1];
}

bool QueueState::has_tail() const {
  if (lowest_.tail != nullptr) return true;
  return upper_ != nullptr && std::any_of(upper_->lines.begin(), upper_->lines.end(),
                                          [](const Line& line) { return line.tail != nullptr; });
}

void QueueState::begin_tail(std::uint8_t lane, std::size_t keep) {
  Line& line = line_at(lane);
  RT_CHECK(line.tail == nullptr && line.paged == 0, "a second tail");
  EntryFifo rest = line.head.entries.split_off(keep);
  if (rest.empty()) return;
  line.tail = std::make_unique<Zone>();
  const Position first = rest.front().position();
  line.tail->entries = std::move(rest);
  line.tail->expiries = line.head.expiries.split_from(first);
  line.in = line.tail.get();
  simple_ = false;
}

EntryFifo QueueState::page_out(std::uint8_t lane, std::uint64_t up_to, std::size_t limit) {
  EntryFifo out;
  Line& line = line_at(lane);
  if (line.tail == nullptr) return out;
  EntryFifo& entries = line.tail->entries;
  while (!entries.empty() && out.size() < limit &&
         (entries.front().position() & kNumberMask) <= up_to) {
    Entry entry = entries.pop();
    line.tail->expiries.popped(entry.position());
    out.push(std::move(entry));
  }
  line.paged += out.size();
  paged_ += out.size();
  return out;
}

void QueueState::page_in(MessageRef message, Position position, Terms terms, bool redelivered) {
  Line& line = line_at(static_cast<std::uint8_t>(position >> kLevelShift));
  RT_CHECK(line.paged > 0, "more comes back than was paged out");
  --line.paged;
  --paged_;
  const Position before =
      line.head.entries.empty() ? position - 1 : line.head.entries.last_position();
  line.head.expiries.pushed(position, before, terms);
  line.head.entries.push(Entry(std::move(message), position, redelivered));
  if (line.paged == 0 && line.tail_size() == 0) {
    line.tail.reset();
    line.in = &line.head;
  }
}

void QueueState::page_lost(std::uint8_t lane, std::uint64_t body_size) {
  Line& line = line_at(lane);
  RT_CHECK(line.paged > 0, "more is lost than was paged out");
  --line.paged;
  --paged_;
  --ready_;
  ready_bytes_ -= body_size;
  if (line.head.entries.empty()) advance(line);
}

void QueueState::restore_paged(std::uint8_t lane, std::uint64_t count, std::uint64_t bytes,
                               std::uint64_t expiring) {
  if (count == 0) return;
  Line& line = line_at(lane);
  RT_CHECK(line.empty(), "a line that is restored too late");
  line.paged = count;
  paged_ += count;
  ready_ += count;
  ready_bytes_ += bytes;
  ready_expiring_ += expiring;
  line.tail = std::make_unique<Zone>();
  line.in = line.tail.get();
  if (&line != &lowest_) upper_->pushed(static_cast<std::size_t>(&line - upper_->lines.data()));
  simple_ = false;
}

void QueueState::restore(MessageRef message, Position position, Terms terms, bool redelivered) {
  Line& line = line_at(static_cast<std::uint8_t>(position >> kLevelShift));
  if (&line != &lowest_) upper_->pushed(static_cast<std::size_t>(&line - upper_->lines.data()));
  ++ready_;
  ready_bytes_ += message->body_size();
  if (terms.expires()) {
    ++ready_expiring_;
    simple_ = false;
  }
  line.in->expiries.pushed(position, line.last, terms);
  line.last = position;
  line.in->entries.push(Entry(std::move(message), position, redelivered));
}

void QueueState::visit_above(std::uint64_t above, const Visit& visit) const {
  const auto visit_zone = [&](const Zone& zone, Position lane) {
    bool more = true;
    zone.entries.visit_above(lane << kLevelShift | above, [&](const Entry& entry) {
      more = visit(entry, zone.expiries.of(entry.position()), Whereabouts::kWaiting);
      return more;
    });
    return more;
  };
  for (std::size_t lane = 0; lane < lanes(); ++lane) {
    const Line& line = line_at(static_cast<std::uint8_t>(lane));
    if (visit_zone(line.head, lane) && line.tail != nullptr) visit_zone(*line.tail, lane);
  }
  for (const Returned& returned : returned_) {
    if ((returned.entry.position() & kNumberMask) > above) {
      visit(returned.entry, returned.terms, Whereabouts::kCameBack);
    }
  }
}

}  // namespace ringtail::queue
