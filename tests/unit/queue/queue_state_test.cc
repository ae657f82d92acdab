#include "queue/queue_state.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/sim/sim_world.h"
#include "queue/channel_link.h"
#include "queue/unacked.h"
#include "tests/unit/queue/queue_fixture.h"

namespace ringtail::queue::queue_state_test {
namespace {

using test::body_of;
using test::make_message;

TEST_CASE("fifo keeps the order over chunk borders and after being emptied") {
  EntryFifo fifo;
  Position in = 0;
  Position out = 0;
  for (const int burst : {1, 62, 63, 64, 300, 5}) {
    for (int i = 0; i < burst; ++i) fifo.push(Entry(make_message("m"), ++in));
    for (int i = 0; i < burst / 2; ++i) CHECK(fifo.pop().position() == ++out);
    CHECK(fifo.size() == in - out);
  }
  EntryFifo moved = std::move(fifo);
  while (!moved.empty()) CHECK(moved.pop().position() == ++out);
  CHECK(out == in);
  moved.push(Entry(make_message("m"), ++in));
  CHECK(moved.pop().position() == in);
}

// What a queue is, said as simply as possible: messages by position, each ready or held.
struct Model {
  struct Item {
    std::string body;
    bool redelivered = false;
    Terms terms;
    DeliveryToken held = 0;  // 0: ready
    int channel = 0;
  };
  std::map<Position, Item> items;

  std::map<Position, Item>::iterator first_ready() {
    auto at = items.begin();
    while (at != items.end() && at->second.held != 0) ++at;
    return at;
  }
  std::map<Position, Item>::iterator by_token(DeliveryToken token) {
    auto at = items.begin();
    while (at != items.end() && at->second.held != token) ++at;
    return at;
  }
  std::size_t ready() const {
    std::size_t count = 0;
    for (const auto& [position, item] : items) count += item.held == 0 ? 1 : 0;
    return count;
  }
  std::size_t ready_expiring() const {
    std::size_t count = 0;
    for (const auto& [position, item] : items) {
      count += item.held == 0 && item.terms.expires() ? 1 : 0;
    }
    return count;
  }
  std::uint64_t ready_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [position, item] : items) bytes += item.held == 0 ? item.body.size() : 0;
    return bytes;
  }
};

// Drives QueueState and Unacked as a queue does, beside the model.
class ModelRun {
 public:
  ModelRun(unsigned seed, std::uint8_t max_priority)
      : random_(seed), max_priority_(max_priority), state_(max_priority) {
    for (std::uint64_t channel = 0; channel < 3; ++channel) {
      links_.push_back(std::make_unique<ChannelLink>(
          runtime::Address{{}, {}, runtime::ActorId{channel + 1}}, channel + 1));
    }
  }
  ~ModelRun() {
    for (auto& link : links_) {
      while (unacked_.release_first(*link).entry) {
      }
    }
  }

  void step() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return push();
      case 4:
      case 5:
      case 6:
        return take();
      case 7:
      case 8:
        return settle(below(2) == 0);
      case 9:
        return try_bad_tokens();
      case 10:
        if (below(10) == 0) channel_gone();
        return;
      default:
        if (below(40) == 0) purge();
        unacked_.trim();
    }
  }

  void check() {
    REQUIRE(state_.ready() == model_.ready());
    REQUIRE(state_.ready_bytes() == model_.ready_bytes());
    REQUIRE(state_.ready_expiring() == model_.ready_expiring());
    if (state_.ready() > 0) {
      REQUIRE(state_.front_terms() == model_.first_ready()->second.terms);
    }
    REQUIRE(unacked_.count() == model_.items.size() - model_.ready());
  }

 private:
  std::size_t below(std::size_t bound) { return random_.below(bound); }

  void push() {
    const std::string body(below(20), 'x');
    Model::Item item;
    item.body = body;
    if (below(3) != 0) item.terms = Terms::expiring_at(below(3));
    const auto priority = static_cast<std::uint8_t>(below(max_priority_ + 3U));
    if (state_.ready() == 0 && below(2) == 0) {
      const Entry entry = state_.pass(make_message(body), priority);
      model_.items[entry.position()] = item;
      state_.put_back(entry, item.terms, false);
    } else if (max_priority_ == 0 && below(2) == 0) {
      item.terms = Terms();
      model_.items[state_.push(make_message(body))] = item;
    } else {
      model_.items[state_.push(make_message(body), item.terms, priority)] = item;
    }
  }

  void take() {
    if (state_.ready() == 0) return;
    Terms terms;
    Entry entry = state_.take(terms);
    const auto expected = model_.first_ready();
    REQUIRE(expected->first == entry.position());
    REQUIRE(expected->second.body == body_of(entry.message()));
    REQUIRE(expected->second.redelivered == entry.redelivered());
    REQUIRE(expected->second.terms == terms);
    if (below(4) == 0) {
      model_.items.erase(expected);
      return;
    }
    const std::size_t channel = below(links_.size());
    const DeliveryToken token = unacked_.hold(std::move(entry), terms, *links_[channel], nullptr);
    REQUIRE(token != 0);
    REQUIRE(model_.by_token(token) == model_.items.end());
    expected->second.held = token;
    expected->second.channel = static_cast<int>(channel);
    tokens_.push_back(token);
  }

  void settle(bool back) {
    if (tokens_.empty()) return;
    const std::size_t at = below(tokens_.size());
    const DeliveryToken token = tokens_[at];
    tokens_.erase(tokens_.begin() + static_cast<std::ptrdiff_t>(at));
    const auto item = model_.by_token(token);
    REQUIRE(item != model_.items.end());
    Unacked::Held held =
        unacked_.release(token, *links_[static_cast<std::size_t>(item->second.channel)]);
    REQUIRE(held.entry);
    REQUIRE(held.entry.position() == item->first);
    old_.push_back(token);
    if (back) {
      const bool mark = below(2) == 0;
      REQUIRE(held.terms == item->second.terms);
      held.terms.count_return();
      item->second.terms = held.terms;
      state_.put_back(std::move(held.entry), held.terms, mark);
      item->second.held = 0;
      item->second.redelivered |= mark;
    } else {
      model_.items.erase(item);
    }
  }

  void try_bad_tokens() {
    ChannelLink& link = *links_[below(links_.size())];
    CHECK(!unacked_.release(0, link).entry);
    CHECK(!unacked_.release(random_.next(), link).entry);
    if (!old_.empty()) CHECK(!unacked_.release(old_[below(old_.size())], link).entry);
    if (!tokens_.empty()) {
      const DeliveryToken token = tokens_[below(tokens_.size())];
      const auto owner = static_cast<std::size_t>(model_.by_token(token)->second.channel);
      CHECK(!unacked_.release(token, *links_[(owner + 1) % links_.size()]).entry);
    }
  }

  void channel_gone() {
    const std::size_t channel = below(links_.size());
    for (;;) {
      Unacked::Held held = unacked_.release_first(*links_[channel]);
      if (!held.entry) break;
      auto& item = model_.items.at(held.entry.position());
      REQUIRE(item.channel == static_cast<int>(channel));
      std::erase(tokens_, item.held);
      old_.push_back(item.held);
      item.held = 0;
      item.redelivered = true;
      state_.put_back(std::move(held.entry), held.terms, true);
    }
    for (const auto& [position, item] : model_.items) {
      REQUIRE((item.held == 0 || item.channel != static_cast<int>(channel)));
    }
  }

  void purge() {
    std::size_t taken = 0;
    for (const EntryFifo& entries : state_.take_all()) taken += entries.size();
    REQUIRE(taken == model_.ready());
    std::erase_if(model_.items, [](const auto& item) { return item.second.held == 0; });
  }

  runtime::SimRng random_;
  const std::uint8_t max_priority_;
  QueueState state_;
  Unacked unacked_;
  Model model_;
  std::vector<std::unique_ptr<ChannelLink>> links_;
  std::vector<DeliveryToken> tokens_;
  std::vector<DeliveryToken> old_;
};

TEST_CASE("queue state and unacked table do what the model does") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    ModelRun run(seed, seed % 3 == 0 ? 0 : seed % 3 == 1 ? 3 : 255);
    for (int i = 0; i < 1500; ++i) {
      run.step();
      run.check();
    }
  }
}

TEST_CASE("tokens of slots that were given back stay unknown") {
  ChannelLink link(runtime::Address{}, 1);
  Unacked unacked;
  std::vector<DeliveryToken> tokens;
  for (Position position = 1; position <= 1000; ++position) {
    tokens.push_back(unacked.hold(Entry(make_message("m"), position), Terms(), link, nullptr));
  }
  for (const DeliveryToken token : tokens) CHECK(unacked.release(token, link).entry);
  unacked.trim();
  const DeliveryToken token = unacked.hold(Entry(make_message("m"), 1001), Terms(), link, nullptr);
  for (const DeliveryToken old : tokens) CHECK(!unacked.release(old, link).entry);
  CHECK(unacked.release(token, link).entry);
}

}  // namespace
}  // namespace ringtail::queue::queue_state_test
