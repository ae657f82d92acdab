// A queue's messages that leave memory and come back, against a plain list of them; and what the
// segments hold of them.
#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

#include "queue/queue_state.h"
#include "queue/store/segment_table.h"

namespace queue_paging_test {

using namespace ringtail::queue;

namespace {

MessageRef make_message(const std::string& body) {
  Message* message = Message::create({}, {}, body.size(), {});
  message->append_body(ringtail::runtime::as_bytes(body));
  return MessageRef(message);
}

std::string body_of(const Entry& entry) {
  return std::string(ringtail::runtime::as_text(entry.message()->inline_body()));
}

// One lane; what is paged out lies in a list, as segments would hold it.
class PagedQueue {
 public:
  explicit PagedQueue(unsigned seed) : random_(seed) {}

  void step() {
    const auto dice = random_() % 100;
    if (dice < 50) {
      push();
    } else if (dice < 75) {
      take();
    } else if (dice < 80 && !taken_.empty()) {
      put_back();
    } else if (dice < 90) {
      page_out();
    } else {
      page_in(1 + random_() % 40);
    }
    REQUIRE(state_.ready() == expected_.size());
    REQUIRE(state_.paged() == paged_.size());
  }
  void drain() {
    while (state_.ready() > 0) {
      if (!state_.can_take()) page_in(10);
      take();
    }
    CHECK(expected_.empty());
    CHECK(state_.ready_bytes() == 0);
    CHECK(state_.ready_expiring() == 0);
  }

 private:
  struct Known {
    std::string body;
    Terms terms;
  };

  void push() {
    const Terms terms = random_() % 4 == 0 ? Terms::expiring_at(random_() % 3) : Terms();
    const std::string body = std::to_string(next_++);
    const Position position = state_.push(make_message(body), terms, 0);
    expected_[position] = {body, terms};
  }
  void take() {
    if (!state_.can_take()) return;
    const auto first = expected_.begin();
    REQUIRE(state_.front().position() == first->first);
    REQUIRE(state_.front_terms() == first->second.terms);
    Terms terms;
    Entry entry = state_.take(terms);
    REQUIRE(entry.position() == first->first);
    REQUIRE(body_of(entry) == first->second.body);
    REQUIRE(terms == first->second.terms);
    expected_.erase(first);
    if (random_() % 3 == 0) taken_.emplace_back(std::move(entry), terms);
  }
  void put_back() {
    auto [entry, terms] = std::move(taken_.front());
    taken_.pop_front();
    expected_[entry.position()] = {body_of(entry), terms};
    state_.put_back(std::move(entry), terms, true);
  }
  void page_out() {
    if (!state_.has_tail()) state_.begin_tail(0, 1 + random_() % 100);
    EntryFifo out = state_.page_out(0, state_.next_number(), 1 + random_() % 100);
    while (!out.empty()) paged_.push_back(out.pop());
  }
  void page_in(std::size_t most) {
    for (; most > 0 && !paged_.empty(); --most) {
      Entry entry = std::move(paged_.front());
      paged_.pop_front();
      const Terms terms = expected_[entry.position()].terms;
      state_.page_in(entry.message(), entry.position(), terms, false);
    }
  }

  std::minstd_rand random_;
  QueueState state_;
  std::map<Position, Known> expected_;  // ready
  std::deque<Entry> paged_;
  std::deque<std::pair<Entry, Terms>> taken_;
  int next_ = 0;
};

}  // namespace

TEST_CASE("paging: order, terms and counts stay what they are") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    PagedQueue queue(seed);
    for (int step = 0; step < 2000; ++step) queue.step();
    queue.drain();
  }
}

TEST_CASE("paging: a higher level that is paged out holds the lower ones back") {
  QueueState state(1);
  for (int i = 0; i < 200; ++i) state.push(make_message("high"), {}, 1);
  state.push(make_message("low"), {}, 0);
  state.begin_tail(0, 1);
  CHECK(state.page_out(0, state.next_number(), 1000).size() > 0);
  Terms terms;
  std::size_t here = 0;
  for (; state.can_take(); ++here) CHECK(body_of(state.take(terms)) == "high");
  CHECK(here + state.paged(0) == 200);
  CHECK(state.ready() == state.paged(0) + 1);
  CHECK(state.take_all().size() == 1);  // the low one; what was paged out counts no more
  CHECK(state.ready() == 0);
  CHECK(state.paged() == 0);
}

TEST_CASE("segments: die when all of theirs has left, are sparse when little is left") {
  store::SegmentTable table;
  const store::MessageFacts facts{.body_size = 10, .persistent = true};
  std::map<int, std::uint64_t> numbers;
  for (int segment = 0; segment < 3; ++segment) {
    numbers[segment] = table.begin(0, 7).state.number;
    for (std::uint64_t i = 1; i <= 100; ++i) {
      table.added(0, static_cast<std::uint64_t>(segment) * 100 + i, facts, 50);
    }
  }
  CHECK(table.take_dirty().size() == 3);
  CHECK_FALSE(table.has_dead());
  for (std::uint64_t number = 1; number <= 100; ++number) table.removed(number, facts);
  for (std::uint64_t number = 101; number <= 190; ++number) table.removed(number, facts);
  table.removed(150, facts);   // once is enough
  table.removed(1000, facts);  // never was
  CHECK(table.has_dead());
  const auto dead = table.take_dead(false);
  REQUIRE(dead.size() == 1);
  CHECK(dead[0]->state.number == numbers[0]);
  const auto everywhere = [](std::uint8_t) { return ~std::uint64_t{0}; };
  CHECK(table.sparse_run(1 << 20, 1 << 20, everywhere).empty());  // too short to be worth it
  CHECK(table.sparse_run(1 << 20, 0, everywhere) == std::vector<std::uint64_t>{numbers[1]});
  CHECK(table.sparse_run(1 << 20, 0, [](std::uint8_t) { return std::uint64_t{150}; }).empty());
  CHECK(table.is_alive(195));
  CHECK_FALSE(table.is_alive(120));
  const std::vector<store::SegmentTable::Kept> kept{{195, facts}, {250, facts}};
  table.removed_all_but(kept);
  CHECK(table.find(numbers[1])->alive == 1);
  CHECK(table.find(numbers[2])->state.live_bytes == 10);
  CHECK(table.is_alive(250));
  CHECK_FALSE(table.is_alive(251));
}

}  // namespace queue_paging_test
